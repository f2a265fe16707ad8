// Package fakecloud is a small cloud in memory, for tests only. It serves
// three kinds, one of each way to own an object and to have a secret, and lets
// a test stand between the caller and every call.
//
//	test.cluster       labels; its password can be read again
//	test.cluster.user  lives in a cluster; its password is shown once, and reset
//	test.key           owned by name; its secret is shown once, and recreated
//
// Objects take some looks to become ready, to change and to go away, so that
// work is spread over several activities. Every secret contains Canary.
package fakecloud

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// Canary is part of every secret that this cloud gives out.
const Canary = "canary-4f1d"

// Deployment is the name that ownership labels carry.
const Deployment = "test"

// The kinds.
const (
	KindCluster = "test.cluster"
	KindUser    = "test.cluster.user"
	KindKey     = "test.key"
)

// Object is what exists in the cloud.
type Object struct {
	ID, Kind, Name, Parent string
	Spec                   cloud.Spec
	Owner                  cloud.Owner
	Foreign                []string // labels of others
	Secret                 string
	Created                time.Time
	// Looks is how many looks still show it busy.
	Looks    int
	Deleting bool
	Failed   string
}

// Call is one request.
type Call struct {
	Verb, Kind string
	// Name is the object's name at the provider, or the parent's id for a list.
	Name string
	// Changes is true for requests that change something.
	Changes bool
}

// Cloud is the whole of it.
type Cloud struct {
	mu      sync.Mutex
	objects map[string]*Object
	next    int
	// id makes object ids of two clouds differ.
	id   string
	made map[string]int
	// Calls are all requests so far. Read it only while none is on its way.
	Calls []Call

	// Hook stands between the caller and the effect: it calls do or not, and its
	// error is what the caller gets. Nil lets everything through.
	Hook func(ctx context.Context, c Call, do func() error) error
	// HideFor keeps new objects out of every look for so long.
	HideFor time.Duration
	// BusyLooks is how many looks an object stays busy after each change.
	BusyLooks int
	// Down is the answer to everything, when set.
	Down *cloud.ProviderError
	Now  func() time.Time
}

// New returns an empty cloud.
func New(now func() time.Time) *Cloud {
	return &Cloud{objects: map[string]*Object{}, made: map[string]int{}, BusyLooks: 1, Now: now, id: rand.Text()[:8]}
}

// Open and Deployment make it the accounts of activities.
func (c *Cloud) Open(context.Context, string) (cloud.ProviderResources, error) {
	return resources{c}, nil
}

// Deployment is the name of this deployment.
func (c *Cloud) Deployment(context.Context) (string, error) { return Deployment, nil }

// Manifests lists the kinds of every provider.
func (c *Cloud) Manifests(string) []*cloud.Manifest {
	return []*cloud.Manifest{manifests[KindCluster], manifests[KindUser], manifests[KindKey]}
}

// Manifest returns one of the manifests.
func Manifest(kind string) *cloud.Manifest { return manifests[kind] }

// Objects returns copies of what exists, in the order of creation.
func (c *Cloud) Objects() []Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Object
	for _, o := range c.objects {
		kept := *o
		kept.Spec = o.Spec.Clone()
		all = append(all, kept)
	}
	slices.SortFunc(all, func(a, b Object) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Made counts creates that took effect, by name.
func (c *Cloud) Made() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.made)
}

// SetBusy changes BusyLooks while calls may be on their way.
func (c *Cloud) SetBusy(looks int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.BusyLooks = looks
}

// Edit changes an object behind our back, as its owner can in a console; nil
// from fn removes it.
func (c *Cloud) Edit(id string, fn func(o *Object) *Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := fn(c.objects[id]); o == nil {
		delete(c.objects, id)
	}
}

// Put makes an object that is not ours.
func (c *Cloud) Put(o Object) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.put(&o).ID
}

func (c *Cloud) put(o *Object) *Object {
	c.next++
	if o.ID == "" {
		o.ID = fmt.Sprintf("%s-%06d", c.id, c.next)
	}
	if o.Secret == "" {
		o.Secret = c.secret()
	}
	if o.Created.IsZero() {
		o.Created = c.Now()
	}
	c.objects[o.ID] = o
	return o
}

func (c *Cloud) secret() string {
	c.next++
	return fmt.Sprintf("%s-%d", Canary, c.next)
}

// Writes lists the calls that changed or tried to change something.
func (c *Cloud) Writes() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	var w []Call
	for _, call := range c.Calls {
		if call.Changes {
			w = append(w, call)
		}
	}
	return w
}

// Forget drops the record of calls.
func (c *Cloud) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Calls = nil
}

// SetHook replaces the hook while calls may be on their way.
func (c *Cloud) SetHook(hook func(ctx context.Context, call Call, do func() error) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Hook = hook
}

// call passes a request through the hook.
func (c *Cloud) call(ctx context.Context, call Call, do func() error) error {
	c.mu.Lock()
	c.Calls = append(c.Calls, call)
	hook, down := c.Hook, c.Down
	c.mu.Unlock()
	if down != nil {
		return down
	}
	effect := func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		return do()
	}
	if hook == nil {
		return effect()
	}
	return hook(ctx, call, effect)
}

// visible returns an object that looks show, or nil. Each look brings a busy
// object nearer to rest.
func (c *Cloud) visible(id string) *Object {
	o := c.objects[id]
	if o == nil || c.Now().Before(o.Created.Add(c.HideFor)) {
		return nil
	}
	if o.Looks > 0 {
		o.Looks--
		return o
	}
	if o.Deleting {
		delete(c.objects, id)
		return nil
	}
	return o
}

type resources struct{ *Cloud }

func (r resources) Kind(name string) (cloud.Kind, bool) {
	k := kind{r.Cloud, manifests[name]}
	switch name {
	case KindCluster:
		return labelled{k}, true
	case KindUser, KindKey:
		return k, true
	}
	return nil, false
}

func (r resources) Catalog(context.Context, string) ([]cloud.CatalogItem, error) { return nil, nil }
func (r resources) Signals(context.Context) ([]cloud.Signal, error)              { return nil, nil }
func (r resources) Certificates() cloud.Certificates                             { return nil }
func (r resources) Healthy(ctx context.Context) error {
	return r.call(ctx, Call{Verb: "healthy"}, func() error { return nil })
}

var manifests = map[string]*cloud.Manifest{
	KindCluster: cloud.MustManifest([]byte(`{"kind":"test.cluster","title":"Cluster","description":"A cluster.","family":"data","ownership":"labels",
		"outputs":[{"name":"host","description":"Where it is."}],"secretOutputs":[{"name":"password","description":"Its password."}],
		"spec":{"type":"object","properties":{"size":{"type":"string","x-updatable":true},"window":{"type":"string","x-updatable":true},
			"token":{"type":"string","x-secret-ref":true}}},"examples":[{"size":"s1"}]}`)),
	KindUser: cloud.MustManifest([]byte(`{"kind":"test.cluster.user","title":"User","description":"A user.","family":"data","parent":"test.cluster","ownership":"parent",
		"identity":{"fields":["name"]},"outputs":[],"secretOutputs":[{"name":"password","description":"Its password.","recover":"reset"}],
		"spec":{"type":"object","properties":{"name":{"type":"string"},"role":{"type":"string","x-updatable":true}}},"examples":[{"name":"app"}]}`)),
	KindKey: cloud.MustManifest([]byte(`{"kind":"test.key","title":"Key","description":"A key.","family":"storage","ownership":"name",
		"outputs":[{"name":"id","description":"Its id."}],"secretOutputs":[{"name":"secret","description":"Its secret.","recover":"recreate"}],
		"spec":{"type":"object","properties":{"scope":{"type":"string","x-updatable":true}}},"examples":[{"scope":"all"}]}`)),
}
