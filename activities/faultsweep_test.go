package activities_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities/fakecloud"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// scenario is a life: what comes before the faults, what happens under them,
// and how it must end whatever they were.
type scenario struct {
	before func(w *world, name string) *cloud.Resource
	under  func(w *world, r *cloud.Resource)
	state  cloud.State
	events []cloud.EventType
	// gone: no object is left.
	gone bool
	// made is how many objects may have existed in all; 0 means one.
	made  int
	check func(t *testing.T, w *world, r *cloud.Resource)
}

var made = []cloud.EventType{cloud.EventCreated, cloud.EventReady}

func and(events []cloud.EventType, more ...cloud.EventType) []cloud.EventType {
	return append(append([]cloud.EventType{}, events...), more...)
}

func newCluster(w *world, name string) *cloud.Resource {
	return w.create(fakecloud.KindCluster, name, cloud.Spec{"size": "s1"})
}

// slowCluster stays busy for a while.
func slowCluster(w *world, name string) *cloud.Resource {
	w.cloud.BusyLooks = 4
	return newCluster(w, name)
}

// secretLost kills the worker right after the provider accepted the create.
func secretLost(w *world, r *cloud.Resource) *cloud.Resource {
	doubled := w.doubled
	w.doubled = false
	w.faults.arm(3, killAfter)
	w.step(r.ID, w.load(r.ID))
	w.faults.disarm()
	w.doubled = doubled
	require.Equal(w.t, []string{"find", "commit", "create"}, w.faults.names)
	return r
}

func readyCluster(w *world, name string) *cloud.Resource {
	r := newCluster(w, name)
	w.settle(r.ID)
	return w.record(r.ID)
}

func settleIt(w *world, r *cloud.Resource) { w.settle(r.ID) }

func sealedIsCurrent(output string) func(t *testing.T, w *world, r *cloud.Resource) {
	return func(t *testing.T, w *world, r *cloud.Resource) {
		require.Equal(t, w.object(r).Secret, w.sealed(r, output), "what is sealed works at the provider")
	}
}

var scenarios = map[string]scenario{
	"create": {before: newCluster, under: settleIt, state: cloud.StateReady, events: made, check: sealedIsCurrent("password")},
	"create, shown late": {
		before: func(w *world, name string) *cloud.Resource {
			w.cloud.HideFor = 70 * time.Second
			return newCluster(w, name)
		},
		under: settleIt, state: cloud.StateReady, events: made, check: sealedIsCurrent("password"),
	},
	"create with two settings": {
		before: func(w *world, name string) *cloud.Resource {
			return w.create(fakecloud.KindCluster, name, cloud.Spec{"size": "s1", "window": "friday"})
		},
		under: settleIt, state: cloud.StateReady, events: made,
	},
	"create a user": {
		before: func(w *world, name string) *cloud.Resource {
			return w.create(fakecloud.KindUser, name, cloud.Spec{"name": "app"}, pgtest.In(readyCluster(w, name+"-parent")))
		},
		under: settleIt, state: cloud.StateReady, events: made, check: sealedIsCurrent("password"),
	},
	"create a key": {
		before: func(w *world, name string) *cloud.Resource {
			return w.create(fakecloud.KindKey, name, cloud.Spec{"scope": "all"})
		},
		under: settleIt, state: cloud.StateReady, events: made, made: 2, check: sealedIsCurrent("secret"),
	},
	"create a key, its secret lost": {
		before: func(w *world, name string) *cloud.Resource {
			return secretLost(w, w.create(fakecloud.KindKey, name, cloud.Spec{"scope": "all"}))
		},
		under: settleIt, state: cloud.StateReady, events: made, made: 3, check: sealedIsCurrent("secret"),
	},
	"create a user, its password lost": {
		before: func(w *world, name string) *cloud.Resource {
			return secretLost(w, w.create(fakecloud.KindUser, name, cloud.Spec{"name": "app"}, pgtest.In(readyCluster(w, name+"-parent"))))
		},
		under: settleIt, state: cloud.StateReady, events: made, check: sealedIsCurrent("password"),
	},
	"update": {
		before: readyCluster,
		under: func(w *world, r *cloud.Resource) {
			w.change(r.ID, func(r *cloud.Resource, now time.Time) *cloud.Change {
				return r.WantSpec(cloud.Spec{"size": "s2", "window": "friday"}, now)
			})
			w.settle(r.ID)
		},
		state: cloud.StateReady, events: and(made, cloud.EventUpdating, cloud.EventUpdated),
		check: func(t *testing.T, w *world, r *cloud.Resource) {
			require.Equal(t, cloud.Spec{"size": "s2", "window": "friday"}, w.object(r).Spec)
		},
	},
	"update while it is created": {
		before: slowCluster,
		under: func(w *world, r *cloud.Resource) {
			w.step(r.ID, w.load(r.ID))
			w.change(r.ID, func(r *cloud.Resource, now time.Time) *cloud.Change {
				return r.WantSpec(cloud.Spec{"size": "s2"}, now)
			})
			w.settle(r.ID)
		},
		state: cloud.StateReady, events: made,
		check: func(t *testing.T, w *world, r *cloud.Resource) {
			require.Equal(t, "s2", w.object(r).Spec["size"])
		},
	},
	"repair drift": {
		before: func(w *world, name string) *cloud.Resource {
			r := readyCluster(w, name)
			w.cloud.Edit(r.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Spec["size"] = "s9"; return o })
			w.change(r.ID, func(r *cloud.Resource, now time.Time) *cloud.Change {
				return r.Refreshed(&cloud.Observed{ProviderID: r.ProviderID}, []string{"size"}, nil, now)
			})
			return r
		},
		under: settleIt,
		state: cloud.StateReady, events: and(made, cloud.EventUpdating, cloud.EventUpdated),
		check: func(t *testing.T, w *world, r *cloud.Resource) {
			require.Equal(t, "s1", w.object(r).Spec["size"])
		},
	},
	"delete": {
		before: readyCluster,
		under: func(w *world, r *cloud.Resource) {
			w.change(r.ID, (*cloud.Resource).WantDelete)
			w.settle(r.ID)
		},
		state: cloud.StateDeleted, events: and(made, cloud.EventDeleting, cloud.EventDeleted), gone: true,
	},
	"delete while it is created": {
		before: slowCluster,
		under: func(w *world, r *cloud.Resource) {
			w.step(r.ID, w.load(r.ID))
			w.change(r.ID, (*cloud.Resource).WantDelete)
			w.settle(r.ID)
		},
		state: cloud.StateDeleted, events: []cloud.EventType{cloud.EventCreated, cloud.EventDeleting, cloud.EventDeleted}, gone: true,
	},
	"delete while it is created, shown late": {
		before: func(w *world, name string) *cloud.Resource {
			w.cloud.HideFor = 70 * time.Second
			return newCluster(w, name)
		},
		under: func(w *world, r *cloud.Resource) {
			w.step(r.ID, w.load(r.ID))
			w.change(r.ID, (*cloud.Resource).WantDelete)
			w.settle(r.ID)
		},
		state: cloud.StateDeleted, events: []cloud.EventType{cloud.EventCreated, cloud.EventDeleting, cloud.EventDeleted}, gone: true,
	},
	"delete a tree": {
		before: func(w *world, name string) *cloud.Resource {
			r := readyCluster(w, name)
			w.settle(w.create(fakecloud.KindUser, name+"-user", cloud.Spec{"name": "app"}, pgtest.In(r)).ID)
			return r
		},
		under: func(w *world, r *cloud.Resource) {
			child := cloud.ResourceID(r.TenantID, r.Owner, fakecloud.KindUser+"/"+r.Name+"-user")
			w.deleteTree(r.ID)
			require.Equal(w.t, cloud.StepRest, w.load(r.ID).Step, "children go first")
			w.settle(child)
			require.Equal(w.t, cloud.StateDeleted, w.record(child).State)
			require.Equal(w.t, and(made, cloud.EventDeleting, cloud.EventDeleted), w.events(child))
			w.settle(r.ID)
		},
		state: cloud.StateDeleted, events: and(made, cloud.EventDeleting, cloud.EventDeleted), gone: true,
	},
	"adopt": {
		before: adopted,
		under:  settleIt, state: cloud.StateReady, events: []cloud.EventType{cloud.EventAdopted, cloud.EventReady},
		check: func(t *testing.T, w *world, r *cloud.Resource) {
			o := w.object(r)
			require.Equal(t, cloud.LabelKey(r.ID), o.Owner.ResourceKey)
			require.Equal(t, cloud.Spec{"size": "s7"}, r.Spec, "the provider's spec is recorded")
			require.Equal(t, o.Secret, w.sealed(r, "password"))
		},
	},
	"release": {
		before: readyCluster,
		under: func(w *world, r *cloud.Resource) {
			w.change(r.ID, (*cloud.Resource).WantRelease)
			w.settle(r.ID)
		},
		state: cloud.StateReleased, events: and(made, cloud.EventReleasing, cloud.EventReleased),
		check: func(t *testing.T, w *world, r *cloud.Resource) {
			require.Empty(t, w.object(r).Owner, "it lives on, without our labels")
		},
	},
}

func adopted(w *world, name string) *cloud.Resource {
	id := w.cloud.Put(fakecloud.Object{Kind: fakecloud.KindCluster, Name: "legacy-" + name, ID: "legacy-" + name, Spec: cloud.Spec{"size": "s7"}})
	return w.create(fakecloud.KindCluster, name, cloud.Spec{}, func(n *intent.NewResource) {
		n.Resource.Adopted, n.Resource.ProviderID = true, id
	})
}

// TestFaultSweep lives each life again and again: undisturbed, with every
// activity doubled, and with each fault at each of its points, a provider call
// or a commit. Whatever happened, it ends the same: one object or none, each
// event once, no secret outside its seal.
func TestFaultSweep(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			db := pgtest.New(t, postgres.WithClock(clock.Now)).World()
			db.Exec("INSERT INTO quotas (tenant_id, kind, max_count) VALUES ($1, $2, 100000), ($1, $3, 100000), ($1, $4, 100000)",
				pgtest.Acme, fakecloud.KindCluster, fakecloud.KindUser, fakecloud.KindKey)
			points := s.live(t, worldOn(t, db, clock), "undisturbed", 0, "")
			require.NotZero(t, points)
			doubled := worldOn(t, db, clock)
			doubled.doubled = true
			s.live(t, doubled, "doubled", 0, "")
			for _, what := range everyFault {
				// A fault makes a life longer: go on until one ends before its turn.
				for at := 1; at <= points; at++ {
					s.live(t, worldOn(t, db, clock), fmt.Sprintf("f%d-%c%c", at, what[0], what[5]), at, what)
				}
			}
			require.NotContains(t, db.Dump(), fakecloud.Canary)
		})
	}
}

// live lives a life with a fault and checks its end. It returns the number of
// its points.
func (s scenario) live(t *testing.T, w *world, name string, at int, what fault) int {
	r := s.before(w, name)
	existed := len(w.cloud.Objects())
	w.faults.arm(at, what)
	s.under(w, r)
	w.faults.disarm()
	points := w.faults.count
	about := fmt.Sprintf("%s, %s at %d of %v", name, what, at, w.faults.names)
	r = w.record(r.ID)
	require.Equal(t, s.state, r.State, "%s: %s", about, r.Message)
	require.Equal(t, s.events, w.events(r.ID), about)
	var left int
	for _, o := range w.cloud.Objects() {
		if o.ID == r.ProviderID || o.Name == cloud.ProviderName(r.ID) {
			left++
		}
	}
	if s.gone {
		require.Zero(t, left, "%s: an object is left: %+v", about, w.cloud.Objects())
	} else {
		require.Equal(t, 1, left, "%s: objects: %+v", about, w.cloud.Objects())
	}
	require.LessOrEqual(t, len(w.cloud.Objects()), existed+1)
	for object, n := range w.cloud.Made() {
		require.LessOrEqual(t, n, max(s.made, 1), "%s: %s was made %d times", about, object, n)
	}
	if s.check != nil {
		s.check(t, w, r)
	}
	require.NotContains(t, w.log.String(), fakecloud.Canary, about)
	return points
}
