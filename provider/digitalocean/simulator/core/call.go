package core

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Call is one request on its way through a handler: the account it belongs to,
// its parameters and body, and the time it happens at.
type Call struct {
	Account *Account
	// Request is the HTTP request; its body is already read (see Decode). It is
	// nil while an account is seeded and while a signal is raised.
	Request *http.Request
	// Now is the one time of this call, in UTC.
	Now time.Time
	// RequestID is what the answer's x-request-id header says.
	RequestID string

	server *Server
	params map[string]string
	body   []byte
	effect Effect
}

// Param returns a path parameter, decoded.
func (c *Call) Param(name string) string { return c.params[name] }

// Query returns the first value of a query parameter, or "".
func (c *Call) Query(name string) string { return c.Request.URL.Query().Get(name) }

// HasQuery tells whether the query parameter was sent, even empty.
func (c *Call) HasQuery(name string) bool { return c.Request.URL.Query().Has(name) }

// Settings returns the settings in force.
func (c *Call) Settings() Settings { return c.server.settings }

// Droplets returns the names of the Droplets that every account starts with.
func (c *Call) Droplets() []string { return c.server.opts.Droplets }

// FailWith returns why the object made or changed by this call has to end in the
// product's failed state, or "".
func (c *Call) FailWith() string { return c.effect.Fail }

// Decode reads the JSON body into v. An empty body leaves v alone; unknown
// fields are ignored, as by the real API. A body that is no JSON, or holds a
// value of the wrong type, is a 400.
func (c *Call) Decode(v any) error {
	if len(bytes.TrimSpace(c.body)) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		return BadRequest("The request body could not be read: %s", err)
	}
	return nil
}

// Body returns the body as it came.
func (c *Call) Body() []byte { return c.body }

// TableOfTaggable returns the table type of a resource type of the tags API.
func (c *Call) TableOfTaggable(resourceType string) (string, bool) {
	for _, area := range c.server.areas {
		if table, ok := area.Taggable[resourceType]; ok {
			return table, true
		}
	}
	return "", false
}

// Taggables returns the resource types of the tags API that are served.
func (c *Call) Taggables() []string {
	var types []string
	for _, area := range c.server.areas {
		for word := range area.Taggable {
			types = append(types, word)
		}
	}
	return types
}

// OtherAccounts runs f on a call of every other account, for what is unique at
// the whole provider (a registry's name). It stops when f returns false.
func (c *Call) OtherAccounts(f func(*Call) bool) {
	for _, account := range c.server.accounts {
		if account == c.Account {
			continue
		}
		account.settle(c.Now)
		other := *c
		other.Account = account
		if !f(&other) {
			return
		}
	}
}

// IntParam returns a path parameter as an integer; a 404 when it is none, since
// no object has such an id.
func (c *Call) IntParam(name string) (int, error) {
	n, err := strconv.Atoi(c.Param(name))
	if err != nil {
		return 0, NotFound("The resource you were accessing could not be found.")
	}
	return n, nil
}
