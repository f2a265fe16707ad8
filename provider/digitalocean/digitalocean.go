package digitalocean

import (
	"net/http"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// Name is the provider's name in accounts and records.
const Name = "digitalocean"

type provider struct {
	manifests []*cloud.Manifest
	// base is shared by all accounts, so that connections are reused.
	base http.RoundTripper
}

// New makes the provider.
func New() cloud.Provider {
	p := &provider{base: http.DefaultTransport}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		own := t.Clone()
		own.MaxIdleConnsPerHost = 16
		p.base = own
	}
	for _, k := range kinds(nil) {
		p.manifests = append(p.manifests, k.Manifest())
	}
	return p
}

func (p *provider) Name() string                 { return Name }
func (p *provider) Manifests() []*cloud.Manifest { return p.manifests }

// Open makes an account's resources. An apiUrl that is no address is an error.
func (p *provider) Open(access cloud.AccountAccess) (cloud.ProviderResources, error) {
	a, err := doapi.Open(access, p.base)
	if err != nil {
		return nil, err
	}
	opened := &account{Account: a, kinds: map[string]cloud.Kind{}}
	for _, k := range kinds(a) {
		opened.kinds[k.Manifest().Kind] = k
	}
	return opened, nil
}
