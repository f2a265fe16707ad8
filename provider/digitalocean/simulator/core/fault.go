package core

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// Fault is one planned misbehaviour. The first registered fault that matches a
// request and is not used up decides; one that still skips lets later faults
// have the request.
type Fault struct {
	ID string `json:"id,omitempty"`
	// Method is an HTTP method or "*".
	Method string `json:"method"`
	// Path is a glob over the path without the query: "*" matches within one
	// segment, "**" any number of segments.
	Path string `json:"path"`
	// Account limits the fault to one account (its token); empty means all.
	Account string `json:"account,omitempty"`
	// Skip lets that many matching requests pass first.
	Skip int `json:"skip,omitempty"`
	// Times is how often the fault acts; nil means always.
	Times  *int   `json:"times,omitempty"`
	Effect Effect `json:"effect"`
}

// Effect is what a fault does; see the control surface in the package comment.
// Several fields may be set: the delay always comes first.
type Effect struct {
	Status       int               `json:"status,omitempty"`
	Headers      map[string]string `json:"headers,omitempty"`
	Body         any               `json:"body,omitempty"`
	Accept       bool              `json:"accept,omitempty"`
	Then         *Then             `json:"then,omitempty"`
	Delay        Duration          `json:"delay,omitzero"`
	InvisibleFor Duration          `json:"invisibleFor,omitzero"`
	Busy         int               `json:"busy,omitempty"`
	Fail         string            `json:"fail,omitempty"`
}

// Then is what follows an accepted request: Drop closes the connection without
// an answer, otherwise Status is answered. JSON: "drop" or a number.
type Then struct {
	Drop   bool
	Status int
}

// MarshalJSON writes "drop" or the status.
func (t Then) MarshalJSON() ([]byte, error) {
	if t.Drop {
		return []byte(`"drop"`), nil
	}
	return []byte(strconv.Itoa(t.Status)), nil
}

// UnmarshalJSON reads "drop" or a status.
func (t *Then) UnmarshalJSON(data []byte) error {
	if string(data) == `"drop"` {
		*t = Then{Drop: true}
		return nil
	}
	if err := json.Unmarshal(data, &t.Status); err != nil || t.Status < 100 || t.Status > 599 {
		return fmt.Errorf(`then is "drop" or an HTTP status`)
	}
	return nil
}

func (f *Fault) validate() error {
	switch {
	case f.Method == "":
		return fmt.Errorf("method is missing; \"*\" means any")
	case !strings.HasPrefix(f.Path, "/") && !strings.HasPrefix(f.Path, "*"):
		return fmt.Errorf("path must begin with / or *")
	case f.Skip < 0 || (f.Times != nil && *f.Times < 0):
		return fmt.Errorf("skip and times cannot be negative")
	}
	e := f.Effect
	if e.Accept != (e.Then != nil) {
		return fmt.Errorf("accept and then belong together")
	}
	for _, status := range []int{e.Status, e.Busy} {
		if status != 0 && (status < 200 || status > 599) {
			return fmt.Errorf("status %d cannot be answered", status)
		}
	}
	if e.Status == 0 && !e.Accept && e.Delay == 0 && e.InvisibleFor == 0 && e.Busy == 0 && e.Fail == "" {
		return fmt.Errorf("effect does nothing")
	}
	return nil
}

func (f *Fault) matches(account, method, requestPath string) bool {
	if f.Account != "" && f.Account != account {
		return false
	}
	if f.Method != "*" && !strings.EqualFold(f.Method, method) {
		return false
	}
	return globMatch(split(f.Path), split(requestPath))
}

func globMatch(pattern, segments []string) bool {
	if len(pattern) == 0 {
		return len(segments) == 0
	}
	if pattern[0] == "**" {
		for i := 0; i <= len(segments); i++ {
			if globMatch(pattern[1:], segments[i:]) {
				return true
			}
		}
		return false
	}
	if len(segments) == 0 {
		return false
	}
	ok, err := path.Match(pattern[0], segments[0])
	return err == nil && ok && globMatch(pattern[1:], segments[1:])
}

type faultList struct {
	mu   sync.Mutex
	next int
	list []*Fault
}

func (l *faultList) add(f Fault) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	f.ID = fmt.Sprintf("fault-%d", l.next)
	l.list = append(l.list, &f)
	return f.ID
}

// remove drops the fault with the id, or all for ""; false when there is none
// with that id.
func (l *faultList) remove(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == "" {
		l.list = nil
		return true
	}
	for i, f := range l.list {
		if f.ID == id {
			l.list = append(l.list[:i:i], l.list[i+1:]...)
			return true
		}
	}
	return false
}

func (l *faultList) all() []Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	faults := []Fault{}
	for _, f := range l.list {
		faults = append(faults, *f)
	}
	return faults
}

// take returns the fault that decides this request, with its use counted.
func (l *faultList) take(account, method, requestPath string) (Fault, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.list {
		if !f.matches(account, method, requestPath) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times != nil {
			if *f.Times == 0 {
				continue
			}
			left := *f.Times - 1
			f.Times = &left
		}
		return *f, true
	}
	return Fault{}, false
}

// instead is the answer of a fault that keeps the request from being done.
func (e Effect) instead() (Answer, *Problem, bool) {
	switch {
	case e.Status != 0:
		return e.answer(e.Status)
	case e.Busy != 0:
		return Answer{}, Refuse(e.Busy, "another operation is in progress; try again when it has finished"), true
	}
	return Answer{}, nil, false
}

func (e Effect) answer(status int) (Answer, *Problem, bool) {
	if e.Body == nil && status >= http.StatusBadRequest {
		return Answer{Headers: e.Headers}, Refuse(status, "%s", http.StatusText(status)), true
	}
	return Answer{Status: status, Body: e.Body, Headers: e.Headers}, nil, true
}
