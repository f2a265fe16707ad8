package apitest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

// Provider is a cloud in memory: objects by account and kind.
type Provider struct {
	mu       sync.Mutex
	objects  map[string][]*Object
	signals  map[string][]cloud.Signal
	catalog  []cloud.CatalogItem
	failure  error
	calls    int
	previews func(account string) bool
	// NoSignals and NoCatalog: the provider has none.
	NoSignals, NoCatalog bool
	deployment           func(ctx context.Context) (string, error)
}

// Object is something on an account.
type Object struct {
	Kind   string
	Parent string
	cloud.Observed
}

var _ intent.Accounts = (*Provider)(nil)

// Put adds an object to an account.
func (p *Provider) Put(account string, o Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.Phase == "" {
		o.Phase = cloud.PhaseReady
	}
	p.objects[account] = append(p.objects[account], &o)
}

// Raise adds a signal to an account.
func (p *Provider) Raise(account string, signals ...cloud.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signals[account] = append(p.signals[account], signals...)
}

// Offer sets the catalog.
func (p *Provider) Offer(items ...cloud.CatalogItem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.catalog = items
}

// Fail makes every call fail; nil ends it.
func (p *Provider) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = err
}

// Calls is how many calls there were so far.
func (p *Provider) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

func (p *Provider) call() error {
	p.calls++
	return p.failure
}

// Manifests implements intent.Accounts.
func (p *Provider) Manifests(provider string) []*cloud.Manifest {
	if provider != "digitalocean" {
		return nil
	}
	return manifests
}

// Deployment implements intent.Accounts.
func (p *Provider) Deployment(ctx context.Context) (string, error) { return p.deployment(ctx) }

// Open implements intent.Accounts.
func (p *Provider) Open(_ context.Context, id string) (cloud.ProviderResources, error) {
	return &account{p, id}, nil
}

type account struct {
	p  *Provider
	id string
}

// Certificates says that there are some; the calls are a worker's to make.
func (a *account) Certificates() cloud.Certificates { return struct{ cloud.Certificates }{} }

func (a *account) Healthy(context.Context) error { return nil }

func (a *account) Kind(name string) (cloud.Kind, bool) {
	for _, m := range manifests {
		if m.Kind != name {
			continue
		}
		k := &kind{account: a, manifest: m}
		switch name {
		case Cluster:
			return &clusterKind{k}, true
		case GPU:
			return &gpuKind{k}, true
		}
		return k, true
	}
	return nil, false
}

func unsupported(what string) error {
	return &cloud.ProviderError{Class: cloud.ClassUnsupported, Op: what, Message: "there is none"}
}

func (a *account) Catalog(_ context.Context, on string) ([]cloud.CatalogItem, error) {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	if a.p.NoCatalog {
		return nil, unsupported("list catalog")
	}
	var out []cloud.CatalogItem
	for _, item := range a.p.catalog {
		if on == "" || item.InstallsOn == on {
			out = append(out, item)
		}
	}
	return out, a.p.call()
}

func (a *account) Signals(context.Context) ([]cloud.Signal, error) {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	if a.p.NoSignals || !a.p.previews(a.id) {
		return nil, unsupported("list signals")
	}
	return append([]cloud.Signal(nil), a.p.signals[a.id]...), a.p.call()
}

// kind is any kind of the provider.
type kind struct {
	account  *account
	manifest *cloud.Manifest
}

func (k *kind) Manifest() *cloud.Manifest { return k.manifest }

func (k *kind) each(parent string, fn func(o *Object) bool) error {
	p := k.account.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.call(); err != nil {
		return err
	}
	for _, o := range p.objects[k.account.id] {
		if o.Kind == k.manifest.Kind && o.Parent == parent && !fn(o) {
			return nil
		}
	}
	return nil
}

// Observe finds ids in any letter case, as some products do.
func (k *kind) Observe(_ context.Context, r cloud.Request) (*cloud.Observed, error) {
	var found *cloud.Observed
	err := k.each("", func(o *Object) bool {
		if strings.EqualFold(o.ProviderID, r.ProviderID) {
			observed := o.Observed
			found = &observed
		}
		return found == nil
	})
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, cloud.NotFound("get " + k.manifest.Kind)
	}
	return found, nil
}

func (k *kind) List(_ context.Context, scope cloud.Scope) ([]*cloud.Observed, error) {
	parent, out := "", []*cloud.Observed(nil)
	if scope.Parent != nil {
		parent = scope.Parent.ProviderID
	}
	err := k.each(parent, func(o *Object) bool {
		observed := o.Observed
		out = append(out, &observed)
		return true // more than the limit, as a last page may hold
	})
	return out, err
}

// The rest is not used by intents.
func (k *kind) Find(context.Context, cloud.Request) (*cloud.Observed, error) { return nil, k.unused() }
func (k *kind) Create(context.Context, cloud.Request) (*cloud.Observed, error) {
	return nil, k.unused()
}
func (k *kind) Delete(context.Context, cloud.Request) error  { return k.unused() }
func (k *kind) Diff(cloud.Request, *cloud.Observed) []string { return nil }
func (k *kind) Update(context.Context, cloud.Request, *cloud.Observed, []string) (*cloud.Updated, error) {
	return nil, k.unused()
}

func (k *kind) unused() error { return fmt.Errorf("intents do not change anything at the provider") }

// clusterKind has several spellings of a region and a rule beyond its schema.
type clusterKind struct{ *kind }

func (k *clusterKind) NormaliseSpec(s cloud.Spec) cloud.Spec {
	s = s.Clone()
	if region, ok := s["region"].(string); ok {
		s["region"] = strings.ToLower(region)
	}
	return s
}

func (k *clusterKind) CheckSpec(s cloud.Spec) error {
	if s["network"] != nil && s["vpc"] != nil {
		return cloud.InvalidField("network and vpc name the same thing", "spec.network", "spec.vpc")
	}
	return nil
}

// gpuKind asks the provider how many devices a replica takes: two.
type gpuKind struct{ *kind }

func (k *gpuKind) Booking(_ context.Context, s cloud.Spec) (map[string]int64, error) {
	k.account.p.mu.Lock()
	defer k.account.p.mu.Unlock()
	if err := k.account.p.call(); err != nil {
		return nil, err
	}
	n, _ := s.Int("replicas")
	return map[string]int64{"gpu": 2 * n}, nil
}
