package platform

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// allowances are offers, quotas, capacities and budgets.
func (c *checker) allowances() {
	for i := range c.f.Offers {
		o := &c.f.Offers[i]
		c.once("offers", at("offers", i, ""), o.Tenant, o.Pool)
		c.tenant(at("offers", i, "tenant"), o.Tenant)
		if o.Status == "" {
			o.Status = OfferActive
		}
		p := c.pool(at("offers", i, "pool"), o.Pool)
		if p == nil {
			continue
		}
		if p.Owner == o.Tenant {
			c.wrong(at("offers", i, "tenant"), "the pool is its own and needs no offer")
		}
		if a := c.accounts[p.Account]; a != nil {
			c.regions(at("offers", i, "excludedRegions"), a, o.ExcludedRegions)
		}
	}
	for i, q := range c.f.Quotas {
		c.once("quotas", at("quotas", i, ""), q.Tenant, q.Kind)
		c.tenant(at("quotas", i, "tenant"), q.Tenant)
	}
	for i, k := range c.f.Capacity {
		c.once("capacity", at("capacity", i, ""), k.Tenant, k.Pool, k.Name)
		c.tenant(at("capacity", i, "tenant"), k.Tenant)
		c.pool(at("capacity", i, "pool"), k.Pool)
	}
	for i, b := range c.f.Budgets {
		c.once("budgets", at("budgets", i, ""), b.Tenant, b.ID)
		c.tenant(at("budgets", i, "tenant"), b.Tenant)
	}
}

func (c *checker) regions(path string, a *Account, regions []string) {
	for _, r := range regions {
		if !slices.Contains(a.Regions, r) {
			c.wrong(path, "%s is no region of the account", r)
		}
	}
}

// references are what specs may name.
func (c *checker) references() {
	for i, n := range c.f.Instances {
		c.once("instances", at("instances", i, "id"), n.ID)
		c.tenant(at("instances", i, "tenant"), n.Tenant)
		c.account(at("instances", i, "account"), n.Account)
	}
	for i, n := range c.f.Networks {
		c.once("networks", at("networks", i, "id"), n.ID)
		c.tenant(at("networks", i, "tenant"), n.Tenant)
		if a := c.account(at("networks", i, "account"), n.Account); a != nil {
			c.regions(at("networks", i, "vpcs"), a, slices.Sorted(maps.Keys(n.VPCs)))
		}
	}
}

// delivery is where commands and events go.
func (c *checker) delivery() {
	if c.f.PKI != nil {
		if err := c.f.PKI.Policy().Validate(); err != nil {
			c.wrong("pki", "%v", err)
		}
	}
	for i, s := range c.f.Subscribers {
		c.once("subscribers", at("subscribers", i, "id"), s.ID)
		c.tenant(at("subscribers", i, "tenant"), s.Tenant)
	}
}

// secretSources lists every source in the file.
func (f *File) secretSources() []*SecretSource {
	var all []*SecretSource
	for i := range f.Accounts {
		all = append(all, &f.Accounts[i].Token)
	}
	for i := range f.Subscribers {
		all = append(all, &f.Subscribers[i].Secret)
	}
	for i := range f.Daemons {
		if f.Daemons[i].Token != nil {
			all = append(all, f.Daemons[i].Token)
		}
	}
	return all
}

// Bounds of a webhook's signing key, in bytes, as Standard Webhooks sets them.
const (
	minWebhookKey = 24
	maxWebhookKey = 64
)

// CheckWebhookSecret refuses what Standard Webhooks cannot sign with.
func CheckWebhookSecret(s cloud.Secret) error {
	encoded, ok := strings.CutPrefix(s.Reveal(), "whsec_")
	if !ok {
		return errors.New("a webhook's secret begins with whsec_")
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return errors.New("a webhook's secret is base64 after whsec_")
	}
	if len(key) < minWebhookKey || len(key) > maxWebhookKey {
		return fmt.Errorf("a webhook's secret has %d to %d bytes", minWebhookKey, maxWebhookKey)
	}
	return nil
}

// IsLive reports whether the file says that it lives.
func (n Instance) IsLive() bool { return n.Live == nil || *n.Live }

// IsLive reports whether the file says that it lives.
func (n Network) IsLive() bool { return n.Live == nil || *n.Live }
