package tinycloud

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Effect is what one planned request does instead of the usual.
type Effect struct {
	// Match says which requests: a method and the beginning of a path; "" is any.
	Method, Path string
	Times        int // 0 is always
	Drop         bool
	Lost         int
	Late         time.Duration
	Status       int
	Body         string
	Headers      map[string]string
}

// Server is the cloud's API, in memory.
type Server struct {
	// Takes is how long a box is being made or changed.
	Takes time.Duration

	mu     sync.Mutex
	boxes  []*storedBox
	serial int
	writes int
	plans  []*Effect
}

type storedBox struct {
	wireBox
	lids  []*storedLid
	doing time.Time
	seen  time.Time // not to be read before
}

type storedLid struct {
	wireLid
	seen time.Time
}

// Writes counts the requests that were no reads.
func (s *Server) Writes() int { s.mu.Lock(); defer s.mu.Unlock(); return s.writes }

// Boxes and Lids count what exists.
func (s *Server) Boxes() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.boxes) }

// Lids counts the lids of all boxes.
func (s *Server) Lids() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.boxes {
		n += len(b.lids)
	}
	return n
}

// Plan makes requests misbehave; without effects all plans are forgotten.
func (s *Server) Plan(effects ...Effect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans = nil
	for _, e := range effects {
		s.plans = append(s.plans, &e)
	}
}

func (s *Server) plan(r *http.Request) *Effect {
	for i, e := range s.plans {
		if e.Method != "" && e.Method != r.Method || !strings.HasPrefix(r.URL.Path, e.Path) || strings.Count(r.URL.Path, "/") < strings.Count(e.Path, "/") {
			continue
		}
		if e.Times > 0 {
			if e.Times--; e.Times == 0 {
				s.plans = slices.Delete(s.plans, i, i+1)
			}
		}
		return e
	}
	return nil
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodGet {
		s.writes++
	}
	e := s.plan(r)
	if e != nil && e.Status != 0 {
		for name, value := range e.Headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(e.Status)
		_, _ = w.Write([]byte(e.Body))
		return
	}
	var late time.Duration
	if e != nil {
		late = e.Late
	}
	status, answer := s.serve(r, time.Now(), late)
	switch {
	case e != nil && e.Drop:
		panic(http.ErrAbortHandler)
	case e != nil && e.Lost != 0:
		w.WriteHeader(e.Lost)
		return
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func no(code, text string) (int, any) {
	return http.StatusBadRequest, refusal{Code: code, Text: text}
}

func (s *Server) serve(r *http.Request, now time.Time, late time.Duration) (int, any) {
	if r.Header.Get("Authorization") == "" {
		return no("WHO", "who are you?")
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] != "boxes" || len(parts) > 4 || len(parts) > 2 && parts[2] != "lids":
		return no("ABSENT", "no such path")
	case len(parts) == 1 && r.Method == http.MethodPost:
		return s.make(r, now, late)
	case len(parts) == 1:
		return s.list(r, now)
	}
	i := slices.IndexFunc(s.boxes, func(b *storedBox) bool { return b.ID == parts[1] && !now.Before(b.seen) })
	if i < 0 {
		return no("ABSENT", "no such box")
	}
	if len(parts) > 2 {
		return s.boxes[i].serveLids(r, parts[3:], now, late)
	}
	return s.serveBox(r, i, now)
}

func (s *Server) serveBox(r *http.Request, i int, now time.Time) (int, any) {
	b := s.boxes[i]
	switch r.Method {
	case http.MethodDelete:
		s.boxes = slices.Delete(s.boxes, i, i+1)
		return http.StatusOK, struct{}{}
	case http.MethodPatch:
		if now.Before(b.doing) {
			return no("BUSY", "the box is being changed")
		}
		var in wireBox
		if json.NewDecoder(r.Body).Decode(&in) != nil || in.Size < 1 {
			return no("BAD", "size?")
		}
		b.Size, b.doing = in.Size, now.Add(s.Takes)
	}
	return http.StatusOK, b.view(now)
}

func (b *storedBox) view(now time.Time) wireBox {
	v := b.wireBox
	v.Key = ""
	if now.Before(b.doing) {
		v.Doing = "hammering"
	}
	return v
}

func (s *Server) make(r *http.Request, now time.Time, late time.Duration) (int, any) {
	var in wireBox
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Name == "" || in.Size < 1 {
		return no("BAD", "name and size?")
	}
	if slices.ContainsFunc(s.boxes, func(b *storedBox) bool { return b.Name == in.Name }) {
		return no("TAKEN", "there is a box of that name")
	}
	s.serial++
	in.ID, in.Place, in.Key = fmt.Sprintf("box-%d", s.serial), "shelf", fmt.Sprintf("key-of-box-%d", s.serial)
	if in.Colour == "" {
		in.Colour = "red"
	}
	b := &storedBox{wireBox: in, doing: now.Add(s.Takes), seen: now.Add(late)}
	s.boxes = append(s.boxes, b)
	v := b.view(now)
	v.Key = b.Key
	return http.StatusOK, v
}

func (s *Server) list(r *http.Request, now time.Time) (int, any) {
	var limit, from int
	_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &limit)
	_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &from)
	found := []wireBox{}
	for i := from; i < len(s.boxes); i++ {
		if limit > 0 && len(found) == limit {
			return http.StatusOK, page{Boxes: &found, More: fmt.Sprint(i)}
		}
		if !now.Before(s.boxes[i].seen) {
			found = append(found, s.boxes[i].view(now))
		}
	}
	return http.StatusOK, page{Boxes: &found}
}

func (b *storedBox) serveLids(r *http.Request, label []string, now time.Time, late time.Duration) (int, any) {
	if len(label) == 0 {
		found := []wireLid{}
		for _, l := range b.lids {
			if !now.Before(l.seen) {
				found = append(found, l.wireLid)
			}
		}
		return http.StatusOK, page{Lids: &found}
	}
	i := slices.IndexFunc(b.lids, func(l *storedLid) bool { return l.Label == label[0] })
	var in wireLid
	if r.Method == http.MethodPost || r.Method == http.MethodPatch {
		if json.NewDecoder(r.Body).Decode(&in) != nil {
			return no("BAD", "a lid?")
		}
	}
	switch {
	case r.Method == http.MethodPost && i >= 0:
		return no("TAKEN", "there is a lid of that label")
	case r.Method == http.MethodPost:
		l := &storedLid{wireLid{label[0], in.Tight}, now.Add(late)}
		b.lids = append(b.lids, l)
		return http.StatusOK, l.wireLid
	case i < 0 || now.Before(b.lids[i].seen):
		return no("ABSENT", "no such lid")
	case r.Method == http.MethodDelete:
		b.lids = slices.Delete(b.lids, i, i+1)
		return http.StatusOK, struct{}{}
	case r.Method == http.MethodPatch:
		b.lids[i].Tight = in.Tight
	}
	return http.StatusOK, b.lids[i].wireLid
}
