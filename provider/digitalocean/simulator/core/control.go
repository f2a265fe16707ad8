package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"
)

const controlPrefix = "/_simulator/"

func isControl(path string) bool { return strings.HasPrefix(path, controlPrefix) }

// serveControl answers the control surface. It needs no token, is not counted
// and leaves no trace in the ledger.
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	name, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, controlPrefix), "/")
	answer, err := s.control(r, name, id, body)
	if err != nil {
		answer = Answer{Status: http.StatusBadRequest, Body: Map{"id": "bad_request", "message": err.Error()}}
	}
	writeAnswer(w, answer)
}

func (s *Server) control(r *http.Request, name, id string, body []byte) (Answer, error) {
	switch r.Method + " " + name {
	case "GET requests":
		return s.controlRequests(r)
	case "DELETE requests":
		s.ledger.clear()
		return NoContent()
	case "GET faults":
		return OK(s.faults.all())
	case "POST faults":
		return s.controlAddFault(body)
	case "DELETE faults":
		if !s.faults.remove(id) {
			return Answer{Status: http.StatusNotFound, Body: Map{"id": "not_found", "message": "no fault " + id}}, nil
		}
		return NoContent()
	case "POST signals":
		return s.controlSignal(body)
	case "GET settings":
		s.mu.Lock()
		defer s.mu.Unlock()
		return OK(s.settings)
	case "PUT settings":
		return s.controlSettings(body)
	case "GET accounts":
		return s.controlAccounts()
	case "PUT accounts":
		return s.controlSetAccount(body)
	case "GET objects":
		return s.controlObjects(r)
	case "POST reset":
		s.reset()
		return NoContent()
	}
	return Answer{Status: http.StatusNotFound, Body: Map{"id": "not_found",
		"message": "the control surface has no " + r.Method + " " + name}}, nil
}

// controlRequests takes since as a sequence number or as an RFC 3339 time.
func (s *Server) controlRequests(r *http.Request) (Answer, error) {
	var seq int64
	var at time.Time
	if since := r.URL.Query().Get("since"); since != "" {
		var err error
		if seq, err = strconv.ParseInt(since, 10, 64); err != nil {
			seq = 0
			if at, err = time.Parse(time.RFC3339Nano, since); err != nil {
				return Answer{}, fmt.Errorf("since is a sequence number or an RFC 3339 time")
			}
		}
	}
	return OK(s.ledger.after(r.URL.Query().Get("account"), seq, at))
}

func (s *Server) controlAddFault(body []byte) (Answer, error) {
	var fault Fault
	if err := strict(body, &fault); err != nil {
		return Answer{}, err
	}
	if err := fault.validate(); err != nil {
		return Answer{}, err
	}
	return Created(Map{"id": s.faults.add(fault)})
}

func (s *Server) controlSignal(body []byte) (Answer, error) {
	var signal Signal
	if err := strict(body, &signal); err != nil {
		return Answer{}, err
	}
	if signal.Account == "" {
		return Answer{}, fmt.Errorf("account is missing")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, area := range s.areas {
		if area.Raise == nil {
			continue
		}
		c := &Call{Account: s.account(signal.Account), Now: s.now(), server: s}
		c.Account.settle(c.Now)
		if err := area.Raise(c, signal); err != nil {
			return Answer{}, err
		}
		return NoContent()
	}
	return Answer{}, fmt.Errorf("no area raises signals")
}

// controlSettings changes the settings named in the body and keeps the others.
func (s *Server) controlSettings(body []byte) (Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.settings
	if err := strict(body, &changed); err != nil {
		return Answer{}, err
	}
	if err := changed.validate(); err != nil {
		return Answer{}, err
	}
	s.settings = changed
	return OK(changed)
}

func (s *Server) controlAccounts() (Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	accounts := []*Account{}
	for _, account := range s.accounts {
		copied := *account
		accounts = append(accounts, &copied)
	}
	sort.Slice(accounts, func(i, j int) bool { return accounts[i].Token < accounts[j].Token })
	return OK(accounts)
}

// controlSetAccount changes what is said of an account: its status (active,
// warning, locked) and whether its token may see credentials.
func (s *Server) controlSetAccount(body []byte) (Answer, error) {
	var change struct {
		Account         string  `json:"account"`
		Status          *string `json:"status"`
		StatusMessage   *string `json:"statusMessage"`
		HideCredentials *bool   `json:"hideCredentials"`
	}
	if err := strict(body, &change); err != nil {
		return Answer{}, err
	}
	if change.Account == "" {
		return Answer{}, fmt.Errorf("account is missing")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	account := s.account(change.Account)
	set(&account.Status, change.Status)
	set(&account.StatusMessage, change.StatusMessage)
	set(&account.HideCredentials, change.HideCredentials)
	s.touch()
	copied := *account
	return OK(&copied)
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// controlObjects lists everything that exists, seen or not: the common fields
// over the product's own.
func (s *Server) controlObjects(r *http.Request) (Answer, error) {
	wanted := r.URL.Query().Get("account")
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	objects := []Map{}
	for _, token := range s.tokens() {
		if wanted != "" && wanted != token {
			continue
		}
		account := s.accounts[token]
		account.settle(now)
		for _, o := range account.ordered("") {
			objects = append(objects, o.show(token, now))
		}
	}
	return OK(objects)
}

func (s *Server) tokens() []string {
	var tokens []string
	for token := range s.accounts {
		tokens = append(tokens, token)
	}
	sort.Strings(tokens)
	return tokens
}

func (o *object) show(token string, now time.Time) Map {
	shown, ok := decodeAny(o.Data).(map[string]any)
	if !ok {
		shown = Map{}
	}
	tags := o.Tags
	if tags == nil {
		tags = []string{}
	}
	for name, value := range (Map{
		"account": token, "type": o.Type, "id": o.ID, "name": o.Name, "tags": tags, "state": o.State,
		"created": o.CreatedAt, "changed": o.ChangedAt, "visible": !o.VisibleAt.After(now),
		"dying": o.Dying(), "seeded": o.Seeded, "parent": o.Parent,
	}) {
		shown[name] = value
	}
	return shown
}

// reset forgets accounts, faults, the ledger and changed settings.
func (s *Server) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts = map[string]*Account{}
	s.settings = *s.opts.Settings
	s.faults.remove("")
	s.ledger.clear()
	s.touch()
}

// strict decodes JSON and refuses unknown fields, so that a misspelt fault does
// not silently do nothing.
func strict(body []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	return decoder.Decode(v)
}
