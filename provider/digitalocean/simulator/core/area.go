package core

import "time"

// Handler answers one request. It runs with the account locked, so it must not
// wait. A returned *Problem becomes the answer with the area's error body; any
// other error is a 500. A handler validates first and writes last: what it wrote
// before it returned an error stays.
type Handler func(c *Call) (Answer, error)

// Route is one operation of the API.
type Route struct {
	Method string
	// Pattern is the path; a segment {name} matches any one segment, which
	// Call.Param returns decoded. A literal segment beats a parameter.
	Pattern string
	Handle  Handler
	// OneAtATime names what two overlapping calls must not share (a cluster id,
	// say): the later one is answered 500 without being done. Nil allows overlap.
	OneAtATime func(c *Call) string
}

// Area is one product of the provider: its routes and what every new account
// holds of it.
type Area struct {
	Name   string
	Routes []Route
	// Seed adds what a new account has from the start; may be nil.
	Seed func(c *Call)
	// Taggable maps a resource type of the tags API to the Type of the Table
	// that holds those objects ("database" -> "database").
	Taggable map[string]string
	// URNs maps the type word of a URN (do:dbaas:<id>) to the Type of the Table.
	URNs map[string]string
	// SecretFields are names of body fields that the ledger masks, besides the
	// usual ones (password, secret, token, ...).
	SecretFields []string
	// ErrorBody shapes the area's errors; nil is the usual {id, message,
	// request_id}.
	ErrorBody func(p *Problem, requestID string) any
	// Raise records a signal asked for through the control surface; nil when
	// the area has none. An error becomes a 400 of the control surface.
	Raise func(c *Call, s Signal) error
}

// Signal is what POST /_simulator/signals asks to be raised.
type Signal struct {
	Account     string     `json:"account"`
	Environment string     `json:"environment"`
	Type        string     `json:"type"`
	At          *time.Time `json:"at,omitempty"`
	Malformed   bool       `json:"malformed,omitempty"`
}
