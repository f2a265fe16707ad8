package activities

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// converge: make the wanted object if there is none, wait until it is ready,
// put it in service, then remove what it replaced.
func (p *certificatePass) converge(ctx context.Context) error {
	c := p.hold.Record()
	if !c.Replacing() && c.State == cloud.StateReady {
		return p.removeFormer(ctx)
	}
	serial := c.Serial
	o, err := p.object(ctx, c)
	if err != nil {
		return p.trouble(ctx, err, serial)
	}
	if o == nil {
		if !c.AttemptedAt.IsZero() && p.Now().Before(c.AttemptedAt.Add(p.Settings.Settle)) {
			return p.settleFor(ctx, "waiting to see whether the provider accepted the certificate")
		}
		if c.NextID != "" || !c.Replacing() {
			return p.fail(ctx, "it no longer exists at the provider; update it to make it again", serial)
		}
		if o, err = p.create(ctx, c); o == nil || err != nil {
			return err
		}
	}
	switch o.Phase {
	case cloud.PhaseReady:
		err = p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Serve(o, serial, p.Now()) })
		if err != nil {
			return err
		}
		return p.removeFormer(ctx)
	case cloud.PhaseFailed:
		message := o.Message
		if message == "" {
			message = "the provider could not issue it; check that the domains are served by this account's DNS"
		}
		return p.fail(ctx, message, serial)
	}
	err = p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Accept(o, serial, p.Now()) })
	if err != nil {
		return err
	}
	return p.settleFor(ctx, "the provider is issuing the certificate")
}

// object looks at the wanted object: by id, else by its deterministic name.
func (p *certificatePass) object(ctx context.Context, c *cloud.Certificate) (*cloud.ObservedCertificate, error) {
	var o *cloud.ObservedCertificate
	var err error
	switch {
	case !c.Replacing():
		o, err = p.certs.Observe(ctx, c.Current.ProviderID)
	case c.NextID != "":
		o, err = p.certs.Observe(ctx, c.NextID)
	default:
		o, err = p.certs.Find(ctx, cloud.CertificateName(c.ID, c.Serial))
	}
	if cloud.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}

// create notes the attempt and sends the create once. A nil object means that
// the record waits or failed.
func (p *certificatePass) create(ctx context.Context, c *cloud.Certificate) (*cloud.ObservedCertificate, error) {
	serial := c.Serial
	req := cloud.CertificateRequest{
		Name: cloud.CertificateName(c.ID, serial), Type: string(c.Type),
		Leaf: c.Material.Leaf, Chain: c.Material.Chain, Domains: c.Material.Domains,
	}
	if c.Type == cloud.CertificateCustom {
		key, err := p.Records.UnsealPrivateKey(ctx, c)
		if err != nil {
			return nil, p.trouble(ctx, err, serial)
		}
		if _, err := cloud.CheckCertificate(c.Type, c.Material, key, p.Now()); err != nil {
			return nil, p.trouble(ctx, err, serial)
		}
		req.PrivateKey = key
	}
	err := p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Attempt(p.Now()) })
	if err != nil {
		return nil, err
	}
	if fresh := p.hold.Record(); fresh.Serial != serial || fresh.Intent != cloud.IntentPresent {
		return nil, p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Unattempt(p.Now()) })
	}
	o, err := p.certs.Create(ctx, req)
	switch cloud.ClassOf(err) {
	case "":
		return o, nil
	case cloud.ClassExists:
		// Our own earlier attempt, if the name is to be found: only we use it.
		if found, findErr := p.certs.Find(ctx, req.Name); findErr == nil {
			return found, nil
		}
		return nil, p.trouble(ctx, err, serial)
	case cloud.ClassUnknown:
		return nil, p.trouble(ctx, err, serial)
	}
	if err := p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Unattempt(p.Now()) }); err != nil {
		return nil, err
	}
	return nil, p.trouble(ctx, err, serial)
}

// removeFormer removes objects that a newer one replaced. One that a load
// balancer uses stays until the next try.
func (p *certificatePass) removeFormer(ctx context.Context) error {
	for _, f := range p.hold.Record().Former {
		if done, err := p.removeObject(ctx, f.ProviderID); err != nil || !done {
			return err
		}
	}
	return nil
}

// removeObject deletes one object; done is false when the record waits.
func (p *certificatePass) removeObject(ctx context.Context, providerID string) (done bool, err error) {
	err = p.certs.Delete(ctx, providerID)
	switch cloud.ClassOf(err) {
	case "", cloud.ClassNotFound:
		return true, p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange {
			return c.Removed(providerID, p.Now())
		})
	case cloud.ClassBusy, cloud.ClassRefused:
		return false, p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange {
			return c.InUse("the provider keeps a former or deleted certificate while a load balancer uses it: "+err.Error(), p.Settings, p.Now())
		})
	}
	return false, p.trouble(ctx, err, p.hold.Record().Serial)
}

// remove deletes every object of a certificate. A create whose outcome is not
// known is waited for first, so that nothing is left behind.
func (p *certificatePass) remove(ctx context.Context) error {
	c := p.hold.Record()
	ids := make([]string, 0, len(c.Former)+2)
	for _, f := range c.Former {
		ids = append(ids, f.ProviderID)
	}
	if c.Current.ProviderID != "" {
		ids = append(ids, c.Current.ProviderID)
	}
	switch {
	case c.NextID != "":
		ids = append(ids, c.NextID)
	case c.Replacing() && !c.AttemptedAt.IsZero():
		o, err := p.object(ctx, c)
		switch {
		case err != nil:
			return p.trouble(ctx, err, c.Serial)
		case o != nil:
			ids = append(ids, o.ProviderID)
		case p.Now().Before(c.AttemptedAt.Add(p.Settings.Settle)):
			return p.settleFor(ctx, "waiting to see whether the provider accepted the certificate before it is deleted")
		}
	}
	for _, id := range ids {
		if done, err := p.removeObject(ctx, id); err != nil || !done {
			return err
		}
	}
	return p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Deleted(p.Now()) })
}
