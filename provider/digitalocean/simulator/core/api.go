package core

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// maxBody bounds a request body; the real API takes less.
const maxBody = 8 << 20

// exchange is one API request on its way: what the ledger will say of it.
type exchange struct {
	entry   Request
	headers map[string]string
	fault   Fault
}

// serveAPI is the one path of every provider request: authenticate, count,
// misbehave if planned, act, answer, write the ledger.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	x := &exchange{entry: Request{
		At: s.now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		RequestID: NewUUID(), Body: s.masks.body(body),
	}}
	answer := s.answer(x, r, body)
	if x.headers == nil {
		x.headers = map[string]string{}
	}
	x.headers["x-request-id"] = x.entry.RequestID
	x.entry.Status = answer.Status
	s.ledger.add(x.entry)
	if x.entry.Dropped {
		// net/http closes the connection without an answer on this panic.
		panic(http.ErrAbortHandler)
	}
	for name, value := range x.headers {
		w.Header().Set(name, value)
	}
	writeAnswer(w, answer)
}

func (s *Server) answer(x *exchange, r *http.Request, body []byte) Answer {
	token, ok := bearer(r)
	if !ok {
		return x.problem(nil, &Problem{Status: http.StatusUnauthorized, ID: slug(http.StatusUnauthorized),
			Message: "Unable to authenticate you"})
	}
	x.entry.Account = token
	if problem := s.count(x, token); problem != nil {
		return x.problem(nil, problem)
	}
	target, params, routeProblem := s.routes.find(r)
	var area *Area
	if target != nil {
		area = target.area
	}
	x.fault, _ = s.faults.take(token, r.Method, r.URL.Path)
	x.entry.Fault = x.fault.ID
	effect := x.fault.Effect
	s.wait(time.Duration(effect.Delay))
	if answer, problem, ok := effect.instead(); ok {
		return x.merge(answer, area, problem)
	}
	if routeProblem != nil {
		return x.problem(area, routeProblem)
	}
	call := &Call{Request: r, RequestID: x.entry.RequestID, server: s, params: params, body: body, effect: effect}
	answer, problem := s.act(call, target, token)
	if problem != nil {
		answer = x.problem(area, problem)
	}
	if effect.Then == nil {
		return answer
	}
	if effect.Then.Drop {
		x.entry.Dropped = true
		return answer
	}
	answer, problem, _ = effect.answer(effect.Then.Status)
	return x.merge(answer, area, problem)
}

func (x *exchange) problem(area *Area, p *Problem) Answer {
	return Answer{Status: p.Status, Body: errorBody(area, p, x.entry.RequestID)}
}

func (x *exchange) merge(answer Answer, area *Area, p *Problem) Answer {
	if p == nil {
		return answer
	}
	made := x.problem(area, p)
	made.Headers = answer.Headers
	return made
}

// count finds the account of the token and takes one request off its budget.
func (s *Server) count(x *exchange, token string) *Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	account := s.account(token)
	headers, problem := account.limits.admit(s.now(), s.settings)
	x.headers = headers
	if problem != nil {
		return problem
	}
	if account.Status == "locked" && x.entry.Method != http.MethodGet {
		return Forbidden("Your account has been locked. Please contact support.")
	}
	return nil
}

// act runs the handler under the lock, at one time.
func (s *Server) act(c *Call, t *target, token string) (Answer, *Problem) {
	if t.route.OneAtATime != nil {
		c.Now = s.now()
		key := token + " " + t.route.OneAtATime(c)
		if !s.enter(key) {
			return Answer{}, Refuse(http.StatusInternalServerError, "Server Error")
		}
		defer s.leave(key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Now = s.now()
	c.Account = s.account(token)
	c.Account.settle(c.Now)
	answer, err := s.run(c, t.route.Handle)
	if err == nil {
		return answer, nil
	}
	var problem *Problem
	if !errors.As(err, &problem) {
		s.log.Error("simulator handler failed", "path", c.Request.URL.Path, "error", err)
		problem = Refuse(http.StatusInternalServerError, "Server Error")
	}
	return Answer{}, problem
}

func (s *Server) run(c *Call, handle Handler) (answer Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.log.Error("simulator handler panicked", "cause", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return handle(c)
}

// enter marks a call that must be alone and takes the time in which another one
// would overlap; false when one is under way.
func (s *Server) enter(key string) bool {
	s.mu.Lock()
	if s.inFlight[key] {
		s.mu.Unlock()
		return false
	}
	s.inFlight[key] = true
	overlap := time.Duration(s.settings.OverlapTime)
	s.mu.Unlock()
	s.wait(overlap)
	return true
}

func (s *Server) leave(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inFlight, key)
}

// account returns the account of a token and makes it, seeded, when it is new.
// The caller holds the lock.
func (s *Server) account(token string) *Account {
	if account := s.accounts[token]; account != nil {
		return account
	}
	account := newAccount(token, s.touch)
	s.accounts[token] = account
	seed := &Call{Account: account, Now: s.now(), server: s}
	for _, area := range s.areas {
		if area.Seed != nil {
			area.Seed(seed)
		}
	}
	s.touch()
	return account
}

func (s *Server) now() time.Time { return s.opts.Now().UTC() }

// bearer returns the token of a request. Every token with the prefix of a
// personal access token is an account; nothing else is.
func bearer(r *http.Request) (string, bool) {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(kind, "bearer") && strings.HasPrefix(token, "dop_v1_")
}
