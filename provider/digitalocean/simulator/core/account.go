package core

import (
	"encoding/json"
	"sort"
	"time"
)

// Account is what one bearer token stands for: a team of its own with its own
// objects.
type Account struct {
	Token         string `json:"token"`
	UUID          string `json:"uuid"`
	Status        string `json:"status"`
	StatusMessage string `json:"statusMessage"`
	// HideCredentials stands for a token without the scope to view database
	// credentials: passwords are blank in answers.
	HideCredentials bool `json:"hideCredentials"`

	objects map[string]map[string]*object
	pending map[*object]struct{}
	seq     int64
	limits  limiter
	changed func()
}

// object is one stored thing. Its value is kept encoded: what a handler reads is
// a copy, and what it does not save never happened.
type object struct {
	Meta
	Seq  int64           `json:"seq"`
	Data json.RawMessage `json:"data"`
}

func newAccount(token string, changed func()) *Account {
	return &Account{
		Token:   token,
		UUID:    StableUUID("team", token),
		Status:  "active",
		objects: map[string]map[string]*object{},
		pending: map[*object]struct{}{},
		changed: changed,
	}
}

// put stores an object under its type and id, replacing what is there.
func (a *Account) put(o *object) {
	if a.objects[o.Type] == nil {
		a.objects[o.Type] = map[string]*object{}
	}
	if old := a.objects[o.Type][o.ID]; old != nil {
		delete(a.pending, old)
	}
	if o.Seq == 0 {
		a.seq++
		o.Seq = a.seq
	}
	a.objects[o.Type][o.ID] = o
	a.watch(o)
	a.changed()
}

// watch keeps the objects that time will change in a small set, so that settling
// costs nothing for those at rest.
func (a *Account) watch(o *object) {
	if len(o.Steps) > 0 || o.GoneAt != nil {
		a.pending[o] = struct{}{}
	} else {
		delete(a.pending, o)
	}
}

// remove drops an object and everything that lives in it.
func (a *Account) remove(o *object) {
	if a.objects[o.Type][o.ID] != o {
		return
	}
	delete(a.objects[o.Type], o.ID)
	delete(a.pending, o)
	for _, byID := range a.objects {
		for _, child := range byID {
			if child.Parent == o.ID {
				a.remove(child)
			}
		}
	}
	a.changed()
}

// settle lets the time up to now happen: due steps are taken in order and
// objects whose time has come are removed.
func (a *Account) settle(now time.Time) {
	for o := range a.pending {
		if o.GoneAt != nil && !o.GoneAt.After(now) {
			a.remove(o)
			continue
		}
		for len(o.Steps) > 0 && !o.Steps[0].At.After(now) {
			o.take(o.Steps[0])
			o.Steps = o.Steps[1:]
			a.changed()
		}
		a.watch(o)
	}
}

// ordered returns the objects of a type in the order they were made; an empty
// type means every object.
func (a *Account) ordered(kind string) []*object {
	var all []*object
	for t, byID := range a.objects {
		if kind != "" && t != kind {
			continue
		}
		for _, o := range byID {
			all = append(all, o)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Seq < all[j].Seq })
	return all
}
