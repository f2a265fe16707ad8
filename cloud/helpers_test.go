package cloud

import (
	"encoding/json"
	"time"
)

var (
	t0       = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	settings = Settings{Converge: 30 * time.Second, Refresh: 5 * time.Minute, Settle: 2 * time.Minute}
)

const deploymentName = "here"

// labelled, named, childOf and recorded are manifests of each ownership.
func manifestOf(o Ownership, secrets ...SecretOutput) *Manifest {
	m := &Manifest{Kind: "do.test", Title: "Test", Description: "A test kind", Family: FamilyData, Ownership: o, SecretOutputs: secrets,
		Spec: json.RawMessage(`{"type":"object","properties":{"size":{"type":"string","x-updatable":true},"region":{"type":"string"}}}`)}
	if o == OwnedByParent {
		m.Parent = "do.parent"
	}
	m.schema = &schemaNode{}
	if err := json.Unmarshal(m.Spec, m.schema); err != nil {
		panic(err)
	}
	return m
}

var testID = ResourceID("acme", "acme/alice", "key-1")

// record is a resource as it is right after its create.
func record() *Resource {
	r := &Resource{ID: testID, TenantID: "acme", Kind: "do.test", Name: "one", Billed: true, Spec: Spec{"size": "s1"}}
	r.Created(t0)
	return r
}

// seen is an object of ours in a phase.
func seen(p Phase) *Observed {
	return &Observed{ProviderID: "obj-1", Phase: p, Owner: Owner{ResourceKey: LabelKey(testID), Deployment: deploymentName},
		Spec: Spec{"size": "s1"}, Outputs: map[string]any{"host": "h1"}}
}

// running is a record that is ready since t0.
func running() *Resource {
	r := record()
	r.Attempt(t0)
	r.Accept(seen(PhaseBusy), t0)
	r.Ready(seen(PhaseReady), r.Generation, t0)
	return r
}

func eventTypes(c *Change) []EventType {
	types := []EventType{}
	if c == nil {
		return types
	}
	for _, e := range c.Events {
		types = append(types, e.Type)
	}
	return types
}
