package edge

import (
	"context"
	_ "embed"
	"net/http"
	"net/netip"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed domain.json
var domainJSON []byte

var domainManifest = cloud.MustManifest(domainJSON)

type domain struct{ doapi.Base }

// Domain is the kind do.edge.domain. a is nil when only the manifest is asked for.
func Domain(a *doapi.Account) cloud.Kind { return &domain{doapi.NewBase(a, domainManifest)} }

var (
	_ cloud.SpecChecker    = (*domain)(nil)
	_ cloud.SpecNormaliser = (*domain)(nil)
)

const domainsPath = "v2/domains"

// nameServers answer for every zone of the provider.
var nameServers = []any{"ns1.digitalocean.com", "ns2.digitalocean.com", "ns3.digitalocean.com"}

type wireDomain struct {
	Name string `json:"name"`
	TTL  *int64 `json:"ttl"`
}

type domainAnswer struct {
	Domain *wireDomain `json:"domain"`
}

// NormaliseSpec: names of domains have no letter case, and the last dot says
// nothing.
func (k *domain) NormaliseSpec(s cloud.Spec) cloud.Spec {
	out := s.Clone()
	if name, ok := s["name"].(string); ok {
		out["name"] = host(name)
	}
	return out
}

// CheckSpec: the address is one.
func (k *domain) CheckSpec(s cloud.Spec) error {
	if text := s.String("ip_address"); text != "" {
		if a, err := netip.ParseAddr(text); err != nil || a.Zone() != "" {
			return cloud.InvalidField("not an IPv4 or IPv6 address", "spec.ip_address")
		}
	}
	return nil
}

// host is the one spelling of a host name.
func host(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }

// Find asks for the zone by its name, which is its id.
func (k *domain) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	return k.read(ctx, r, host(r.Spec.String("name")))
}

func (k *domain) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	return k.read(ctx, r, r.ProviderID)
}

func (k *domain) read(ctx context.Context, r cloud.Request, name string) (*cloud.Observed, error) {
	var got domainAnswer
	if err := k.Get(ctx, domainsPath+"/"+doapi.Path(name), &got); err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	if got.Domain == nil || got.Domain.Name == "" {
		return nil, k.Missing(doapi.Look)
	}
	return seenDomain(got.Domain), nil
}

func (k *domain) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	in := map[string]any{"name": host(r.Spec.String("name"))}
	if ip := r.Spec.String("ip_address"); ip != "" {
		in["ip_address"] = ip
	}
	var made domainAnswer
	if err := k.Call(ctx, http.MethodPost, domainsPath, in, &made); err != nil {
		return nil, k.Fail(doapi.Create, r, err, doapi.Fields("name"))
	}
	if made.Domain == nil || made.Domain.Name == "" {
		return nil, k.Missing(doapi.Create)
	}
	return seenDomain(made.Domain), nil
}

func seenDomain(w *wireDomain) *cloud.Observed {
	name := host(w.Name)
	o := &cloud.Observed{
		ProviderID: name, Name: name, Phase: cloud.PhaseReady,
		Spec:    cloud.Spec{"name": name},
		Outputs: map[string]any{"name": name, "urn": "do:domain:" + name, "name_servers": nameServers},
	}
	if w.TTL != nil {
		o.Outputs["ttl"] = *w.TTL
	}
	return o
}

// Diff is empty: nothing of a zone changes.
func (k *domain) Diff(cloud.Request, *cloud.Observed) []string { return nil }

// Update has nothing to change and nothing to start again.
func (k *domain) Update(_ context.Context, _ cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	return &cloud.Updated{Settles: fields}, nil
}

func (k *domain) Delete(ctx context.Context, r cloud.Request) error {
	return k.Fail(doapi.Delete, r, k.Call(ctx, http.MethodDelete, domainsPath+"/"+doapi.Path(r.ProviderID), nil, nil))
}

func (k *domain) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	all, err := doapi.Pages[wireDomain](ctx, k.Account, domainsPath, "domains", nil, s.Limit)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := make([]*cloud.Observed, len(all))
	for i := range all {
		out[i] = seenDomain(&all[i])
	}
	return out, nil
}
