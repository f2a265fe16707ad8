package core

import (
	"encoding/json"
	"time"
)

// Table holds the objects of one type; T is their value and must survive JSON.
// The zero Steady is right for provider objects; a steady table ignores late
// visibility (tags, seeds).
//
// Every read returns a copy. Reads see only what is visible at the time of the
// call; Exists and Everything also see what is not visible yet, for uniqueness.
type Table[T any] struct {
	Type   string
	Steady bool
}

// Record is one object as a handler sees it.
type Record[T any] struct {
	Meta
	Value T
}

// Insert stores a new object. Type, CreatedAt, ChangedAt and VisibleAt are
// filled in; the record returned is what was stored.
func (t Table[T]) Insert(c *Call, meta Meta, value T) *Record[T] {
	meta.Type = t.Type
	meta.CreatedAt, meta.ChangedAt, meta.VisibleAt = c.Now, c.Now, c.Now
	if !t.Steady && !meta.Seeded {
		late := max(time.Duration(c.Settings().VisibleAfter), time.Duration(c.effect.InvisibleFor))
		meta.VisibleAt = c.Now.Add(late)
	}
	record := &Record[T]{Meta: meta, Value: value}
	c.Account.put(&object{Meta: meta, Data: encode(value)})
	return record
}

// Save writes a record back and notes the time of the change. An object that is
// no longer there is not brought back.
func (t Table[T]) Save(c *Call, record *Record[T]) {
	old := c.Account.objects[t.Type][record.ID]
	if old == nil {
		return
	}
	record.ChangedAt = c.Now
	c.Account.put(&object{Meta: record.Meta, Seq: old.Seq, Data: encode(record.Value)})
}

// Remove drops an object and what lives in it at once.
func (t Table[T]) Remove(c *Call, id string) {
	if o := c.Account.objects[t.Type][id]; o != nil {
		c.Account.remove(o)
	}
}

// Get returns a visible object.
func (t Table[T]) Get(c *Call, id string) (*Record[T], bool) {
	o := c.Account.objects[t.Type][id]
	if o == nil || o.VisibleAt.After(c.Now) {
		return nil, false
	}
	return record[T](o), true
}

// Peek returns an object, visible or not.
func (t Table[T]) Peek(c *Call, id string) (*Record[T], bool) {
	o := c.Account.objects[t.Type][id]
	if o == nil {
		return nil, false
	}
	return record[T](o), true
}

// Exists tells whether an object is there, visible or not.
func (t Table[T]) Exists(c *Call, id string) bool {
	return c.Account.objects[t.Type][id] != nil
}

// All returns the visible objects, oldest first. A parent of "" means any.
func (t Table[T]) All(c *Call, parent string) []*Record[T] {
	var all []*Record[T]
	for _, r := range t.Everything(c, parent) {
		if !r.VisibleAt.After(c.Now) {
			all = append(all, r)
		}
	}
	return all
}

// Everything returns the objects, oldest first, those not visible yet and those
// dying included. A parent of "" means any.
func (t Table[T]) Everything(c *Call, parent string) []*Record[T] {
	var all []*Record[T]
	for _, o := range c.Account.ordered(t.Type) {
		if parent == "" || o.Parent == parent {
			all = append(all, record[T](o))
		}
	}
	return all
}

// Named returns the object with that name in the parent ("" means any), visible
// or not, dying or not.
func (t Table[T]) Named(c *Call, parent, name string) (*Record[T], bool) {
	for _, r := range t.Everything(c, parent) {
		if r.Name == name {
			return r, true
		}
	}
	return nil, false
}

func record[T any](o *object) *Record[T] {
	r := &Record[T]{Meta: o.Meta}
	r.Tags = append([]string(nil), o.Tags...)
	r.VPCs = append([]string(nil), o.VPCs...)
	r.Steps = append([]Step(nil), o.Steps...)
	if o.GoneAt != nil {
		gone := *o.GoneAt
		r.GoneAt = &gone
	}
	if err := json.Unmarshal(o.Data, &r.Value); err != nil {
		panic("simulator: a stored " + o.Type + " cannot be decoded: " + err.Error())
	}
	return r
}

func encode(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		panic("simulator: a value cannot be encoded: " + err.Error())
	}
	return data
}
