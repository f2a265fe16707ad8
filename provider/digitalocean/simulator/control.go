package simulator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Control drives the control surface of a running simulator, for tests and
// tools. Errors carry the server's words.
type Control struct {
	// URL is the simulator's address, such as http://127.0.0.1:8090.
	URL string
	// HTTP is the client to use; nil is http.DefaultClient.
	HTTP *http.Client
}

// Object is one line of Objects: the common fields (account, type, id, name,
// tags, state, created, changed, visible, dying, seeded, parent) and the
// product's own.
type Object map[string]any

// Text returns a field that is a string, or "".
func (o Object) Text(field string) string {
	text, _ := o[field].(string)
	return text
}

// Seeded tells whether the account had the object from the start.
func (o Object) Seeded() bool { return o["seeded"] == true }

// AddFault registers a fault and returns its id.
func (c Control) AddFault(ctx context.Context, fault Fault) (id string, err error) {
	var made struct {
		ID string `json:"id"`
	}
	err = c.call(ctx, http.MethodPost, "faults", fault, &made)
	return made.ID, err
}

// ClearFaults removes the faults with the ids, or all when none is given.
func (c Control) ClearFaults(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return c.call(ctx, http.MethodDelete, "faults", nil, nil)
	}
	for _, id := range ids {
		if err := c.call(ctx, http.MethodDelete, "faults/"+url.PathEscape(id), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// Faults lists the registered faults, with how often each may still act.
func (c Control) Faults(ctx context.Context) ([]Fault, error) {
	var found []Fault
	err := c.call(ctx, http.MethodGet, "faults", nil, &found)
	return found, err
}

// Requests returns the ledger of an account ("" means all) after a sequence
// number.
func (c Control) Requests(ctx context.Context, account string, since int64) ([]Request, error) {
	query := url.Values{"account": {account}, "since": {strconv.FormatInt(since, 10)}}
	var found []Request
	err := c.call(ctx, http.MethodGet, "requests?"+query.Encode(), nil, &found)
	return found, err
}

// ClearRequests empties the ledger.
func (c Control) ClearRequests(ctx context.Context) error {
	return c.call(ctx, http.MethodDelete, "requests", nil, nil)
}

// Objects returns everything that exists in an account ("" means all).
func (c Control) Objects(ctx context.Context, account string) ([]Object, error) {
	var found []Object
	err := c.call(ctx, http.MethodGet, "objects?"+url.Values{"account": {account}}.Encode(), nil, &found)
	return found, err
}

// Raise raises a signal.
func (c Control) Raise(ctx context.Context, signal Signal) error {
	return c.call(ctx, http.MethodPost, "signals", signal, nil)
}

// Settings returns the settings in force.
func (c Control) Settings(ctx context.Context) (Settings, error) {
	var settings Settings
	err := c.call(ctx, http.MethodGet, "settings", nil, &settings)
	return settings, err
}

// PutSettings changes the settings named in the change (field name -> value,
// durations as strings) and returns all of them.
func (c Control) PutSettings(ctx context.Context, change map[string]any) (Settings, error) {
	var settings Settings
	err := c.call(ctx, http.MethodPut, "settings", change, &settings)
	return settings, err
}

// SetAccount changes what is said of an account: status (active, warning,
// locked), statusMessage, hideCredentials.
func (c Control) SetAccount(ctx context.Context, account string, change map[string]any) error {
	body := map[string]any{"account": account}
	for name, value := range change {
		body[name] = value
	}
	return c.call(ctx, http.MethodPut, "accounts", body, nil)
}

// Reset forgets accounts, faults, the ledger and changed settings.
func (c Control) Reset(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "reset", nil, nil)
}

func (c Control) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+"/_simulator/"+path, body)
	if err != nil {
		return err
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("simulator control %s %s: %d %s", method, path, response.StatusCode, data)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}
