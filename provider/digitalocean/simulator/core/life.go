package core

import (
	"bytes"
	"encoding/json"
	"time"
)

// Meta is what every object has, whatever its product.
type Meta struct {
	// Type names the table ("database", "database.user").
	Type string `json:"type"`
	// ID is unique in its type; a child that the API knows by name has ChildID.
	ID string `json:"id"`
	// Parent is the ID of the object this one lives in and goes with.
	Parent string   `json:"parent,omitempty"`
	Name   string   `json:"name"`
	Tags   []string `json:"tags,omitempty"`
	// VPCs are the networks it is a member of.
	VPCs []string `json:"vpcs,omitempty"`
	// Project is the project it was put into; empty is the default project.
	Project   string    `json:"project,omitempty"`
	ProjectAt time.Time `json:"projectAt,omitzero"`
	// State is the product's own word; Note says why it failed.
	State string `json:"state,omitempty"`
	Note  string `json:"note,omitempty"`
	// Steps are what time will do to the object, earliest first.
	Steps []Step `json:"steps,omitempty"`
	// GoneAt is when a dying object stops to exist.
	GoneAt    *time.Time `json:"goneAt,omitempty"`
	VisibleAt time.Time  `json:"visibleAt"`
	CreatedAt time.Time  `json:"createdAt"`
	ChangedAt time.Time  `json:"changedAt"`
	// Seeded marks what the account had before anybody asked.
	Seeded bool `json:"seeded,omitempty"`
}

// Step is one change of an object that happens by itself.
type Step struct {
	At    time.Time `json:"at"`
	State string    `json:"state,omitempty"`
	Note  string    `json:"note,omitempty"`
	// Patch is merged onto the value (RFC 7396).
	Patch json.RawMessage `json:"patch,omitempty"`
	// VPCs replace the networks; nil keeps them.
	VPCs []string `json:"vpcs,omitempty"`
}

// ChildID is the ID of an object that the API knows by a name in its parent.
func ChildID(parent, name string) string { return parent + "/" + name }

// Dying tells whether the object was deleted and only lingers.
func (m *Meta) Dying() bool { return m.GoneAt != nil }

// Busy tells whether time still has something to change.
func (m *Meta) Busy() bool { return len(m.Steps) > 0 || m.GoneAt != nil }

// Become ends what was planned and puts the object in a state at once.
func (m *Meta) Become(state string) {
	m.State, m.Note, m.Steps = state, "", nil
}

// Then plans a step. patch is a value whose JSON is merged onto the object's
// value; nil changes the state only. Steps must be planned in order of time.
func (m *Meta) Then(at time.Time, state string, patch any) {
	step := Step{At: at, State: state}
	if patch != nil {
		data, err := json.Marshal(patch)
		if err != nil {
			panic("simulator: a patch cannot be encoded: " + err.Error())
		}
		step.Patch = data
	}
	m.Steps = append(m.Steps, step)
}

// Provision puts a new object in the busy state and plans its end after the
// provisioning time: ready, or failed when a fault asks for it. With failed ""
// the object then stays busy for ever.
func (c *Call) Provision(m *Meta, busy, ready, failed string) {
	c.plan(m, busy, ready, failed, time.Duration(c.Settings().ProvisionTime), nil)
}

// Change puts an object in the busy state and plans its end after the update
// time: ready with the patch applied, or failed without it when a fault asks for
// that.
func (c *Call) Change(m *Meta, busy, ready, failed string, patch any) {
	c.plan(m, busy, ready, failed, time.Duration(c.Settings().UpdateTime), patch)
}

func (c *Call) plan(m *Meta, busy, ready, failed string, d time.Duration, patch any) {
	m.Become(busy)
	if reason := c.FailWith(); reason != "" {
		if failed != "" {
			m.Steps = []Step{{At: c.Now.Add(d), State: failed, Note: reason}}
		}
		return
	}
	m.Then(c.Now.Add(d), ready, patch)
}

// Doom starts an asynchronous deletion: the object takes the state (kept when
// empty) and goes, with its children, after the deletion time.
func (c *Call) Doom(m *Meta, state string) {
	if state == "" {
		state = m.State
	}
	m.Become(state)
	gone := c.Now.Add(time.Duration(c.Settings().DeleteTime))
	m.GoneAt = &gone
}

func (o *object) take(step Step) {
	if step.State != "" {
		o.State = step.State
	}
	o.Note = step.Note
	if step.VPCs != nil {
		o.VPCs = step.VPCs
	}
	if step.Patch != nil {
		o.Data = mergePatch(o.Data, step.Patch)
	}
	o.ChangedAt = step.At
}

// mergePatch applies an RFC 7396 patch. Both sides were encoded by this package,
// so they always decode.
func mergePatch(target, patch json.RawMessage) json.RawMessage {
	merged := merge(decodeAny(target), decodeAny(patch))
	data, err := json.Marshal(merged)
	if err != nil {
		return target
	}
	return data
}

func merge(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	result, ok := target.(map[string]any)
	if !ok {
		result = map[string]any{}
	}
	for name, value := range fields {
		if value == nil {
			delete(result, name)
		} else {
			result[name] = merge(result[name], value)
		}
	}
	return result
}

func decodeAny(data json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(data))
	// Numbers keep all their digits.
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil
	}
	return value
}
