package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider"
	"github.com/better-compute/cloud-resources/schema/postgres"
)

// accounts opens provider accounts over the store's tokens. One that was
// opened before is used again as long as nothing about it changed, so that a
// platform change (a rotated token, previews) shows at the next call and
// connections are kept otherwise.
type accounts struct {
	store  *postgres.Store
	budget cloud.Budget
	log    *slog.Logger

	mu     sync.Mutex
	opened map[string]openedAccount
}

type openedAccount struct {
	fingerprint [sha256.Size]byte
	resources   cloud.ProviderResources
}

func newAccounts(store *postgres.Store, log *slog.Logger) *accounts {
	return &accounts{store: store, budget: store.Budget(postgres.DefaultBudgetLimits), log: log, opened: map[string]openedAccount{}}
}

// Manifests of a provider, nil when there is none of that name.
func (a *accounts) Manifests(name string) []*cloud.Manifest {
	p, ok := provider.Find(name)
	if !ok {
		return nil
	}
	return p.Manifests()
}

// Open returns an account's resources. UNAVAILABLE when it cannot be had.
func (a *accounts) Open(ctx context.Context, id string) (cloud.ProviderResources, error) {
	access, err := a.store.AccountAccess(ctx, id)
	if err != nil {
		return nil, err
	}
	fingerprint := fingerprintOf(access)
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, ok := a.opened[id]; ok && o.fingerprint == fingerprint {
		return o.resources, nil
	}
	p, ok := provider.Find(access.Provider)
	if !ok {
		return nil, cloud.Errorf(cloud.CodeUnavailable, "no provider %q is served", access.Provider)
	}
	access.Budget, access.Logger = a.budget, a.log.With("account", id)
	resources, err := p.Open(access)
	if err != nil {
		return nil, &cloud.Error{Code: cloud.CodeUnavailable, Message: "the provider account cannot be opened", Err: err}
	}
	a.opened[id] = openedAccount{fingerprint, resources}
	return resources, nil
}

// Deployment is this deployment's name.
func (a *accounts) Deployment(ctx context.Context) (string, error) { return a.store.Deployment(ctx) }

func fingerprintOf(a cloud.AccountAccess) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v %q", a.Provider, a.APIURL, a.Regions, a.Token.Reveal(), a.Previews, a.Deployment))
}

// meters are the kinds' own meters, by kind.
func meters() map[string][]string {
	out := map[string][]string{}
	for _, p := range provider.Clouds() {
		for _, m := range p.Manifests() {
			if len(m.Meters) > 0 {
				out[m.Kind] = m.Meters
			}
		}
	}
	return out
}
