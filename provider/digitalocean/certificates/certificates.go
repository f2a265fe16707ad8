// Package certificates is the TLS certificate ability of a DigitalOcean
// account. Certificates are immutable there: they are created and deleted, and
// one that a load balancer uses cannot be deleted.
package certificates

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

const object = "certificate"

// Account is the ability on one account.
type Account struct{ *doapi.Account }

var _ cloud.Certificates = Account{}

// Create uploads a custom certificate, or asks Let's Encrypt for one.
func (a Account) Create(ctx context.Context, r cloud.CertificateRequest) (*cloud.ObservedCertificate, error) {
	req := &godo.CertificateRequest{Name: r.Name, Type: r.Type}
	if r.Type == string(cloud.CertificateLetsEncrypt) {
		req.DNSNames = r.Domains
	} else {
		req.PrivateKey, req.LeafCertificate, req.CertificateChain = r.PrivateKey.Reveal(), r.Leaf, r.Chain
	}
	c, _, err := a.API.Certificates.Create(ctx, req)
	if err != nil {
		return nil, a.Fail("create "+object, doapi.Create, err, doapi.HideText(r.PrivateKey.Reveal()))
	}
	return a.read("create", c)
}

// Find reads the list by name; names are unique in an account.
func (a Account) Find(ctx context.Context, name string) (*cloud.ObservedCertificate, error) {
	list, err := doapi.Pages[godo.Certificate](ctx, a.Account, "v2/certificates", "certificates", url.Values{"name": {name}}, 0)
	if err != nil {
		return nil, a.Fail("find "+object, doapi.List, err)
	}
	for i := range list {
		if list[i].Name == name {
			return a.read("find", &list[i])
		}
	}
	return nil, cloud.NotFound("find " + object)
}

// Observe reads one certificate.
func (a Account) Observe(ctx context.Context, providerID string) (*cloud.ObservedCertificate, error) {
	c, _, err := a.API.Certificates.Get(ctx, providerID)
	if err != nil {
		return nil, a.Fail("observe "+object, doapi.Look, err)
	}
	return a.read("observe", c)
}

// Delete removes one; a 403 says that a load balancer uses it.
func (a Account) Delete(ctx context.Context, providerID string) error {
	_, err := a.API.Certificates.Delete(ctx, providerID)
	return a.Fail("delete "+object, doapi.Delete, err, doapi.Means(http.StatusForbidden, cloud.ClassBusy))
}

// List reads every page.
func (a Account) List(ctx context.Context) ([]*cloud.ObservedCertificate, error) {
	list, err := doapi.Pages[godo.Certificate](ctx, a.Account, "v2/certificates", "certificates", nil, 0)
	if err != nil {
		return nil, a.Fail("list "+object, doapi.List, err)
	}
	out := make([]*cloud.ObservedCertificate, 0, len(list))
	for i := range list {
		o, err := a.read("list", &list[i])
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func (a Account) read(verb string, c *godo.Certificate) (*cloud.ObservedCertificate, error) {
	if c == nil || c.ID == "" {
		return nil, &cloud.ProviderError{Class: cloud.ClassUnknown, Op: verb + " " + object, Message: "the answer holds no certificate"}
	}
	o := &cloud.ObservedCertificate{
		ProviderID: c.ID, Name: c.Name, Type: c.Type, State: c.State,
		Phase: phase(c.State), Fingerprint: c.SHA1Fingerprint, Domains: c.DNSNames,
	}
	if t, err := time.Parse(time.RFC3339, c.NotAfter); err == nil {
		o.NotAfter = t
	}
	if t, err := time.Parse(time.RFC3339, c.Created); err == nil {
		o.CreatedAt = t
	}
	return o, nil
}

// phase: a word that is not known is taken for busy.
func phase(state string) cloud.Phase {
	switch state {
	case "verified":
		return cloud.PhaseReady
	case "error":
		return cloud.PhaseFailed
	}
	return cloud.PhaseBusy
}
