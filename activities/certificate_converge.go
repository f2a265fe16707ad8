package activities

import (
	"cmp"
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// reissueAfter is how many refresh intervals lie between two tries to have a
// certificate issued that the provider could not issue: an hour. Issuers count
// failures and block those who ask again at once.
const reissueAfter = 12

// converge puts the wanted object in service, then removes what it replaced.
func (p *certificatePass) converge(ctx context.Context) error {
	c := p.hold.Record()
	if c.Replacing() || c.State != cloud.StateReady || c.RefreshWanted {
		if served, err := p.serve(ctx); err != nil || !served {
			return err
		}
	}
	return p.removeFormer(ctx)
}

// serve looks for the wanted object, makes it if there is none, and puts it in
// service when it is ready. served is false when the certificate waits or failed.
func (p *certificatePass) serve(ctx context.Context) (served bool, err error) {
	c := p.hold.Record()
	o, err := p.object(ctx, c)
	if err != nil {
		return false, p.trouble(ctx, err)
	}
	if o == nil {
		settling := !c.AttemptedAt.IsZero() && p.Now().Before(c.AttemptedAt.Add(p.Settings.Settle))
		switch {
		case settling:
			return false, p.settleFor(ctx, "waiting to see whether the provider accepted the certificate")
		case c.NextID != "" || !c.Replacing(): // D4
			return false, p.fail(ctx, "it no longer exists at the provider; update it to make it again, or delete it")
		}
		if o, err = p.create(ctx); o == nil || err != nil {
			return false, err
		}
	}
	return p.judge(ctx, o)
}

// judge commits what one look at the wanted object tells.
func (p *certificatePass) judge(ctx context.Context, o *cloud.ObservedCertificate) (served bool, err error) {
	c := p.hold.Record()
	serial := c.Serial
	if !c.Owns(o, serial) {
		return false, p.fail(ctx, "the object at the provider does not bear this certificate's name; nothing was done to it")
	}
	switch {
	case o.Phase == cloud.PhaseReady:
		return true, p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Serve(o, serial, p.Now()) })
	case !c.Replacing() && c.State == cloud.StateReady && o.Phase != cloud.PhaseFailed: // being renewed
		return true, p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Refreshed(o, p.Now()) })
	}
	err = p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Accept(o, serial, p.Now()) })
	if err != nil {
		return false, err
	}
	if o.Phase != cloud.PhaseFailed {
		return false, p.settleFor(ctx, "the provider is issuing the certificate")
	}
	if c.Replacing() && c.State == cloud.StateError && (c.RefreshWanted || !p.Now().Before(c.AttemptedAt.Add(reissueAfter*p.Settings.Refresh))) {
		return p.again(ctx, serial)
	}
	return false, p.fail(ctx, cmp.Or(o.Message, "the provider could not issue it; check that the domains are served by this account's DNS"))
}

// again gives up an object that could not be issued and asks for another.
func (p *certificatePass) again(ctx context.Context, serial int64) (served bool, err error) {
	err = p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Again(serial, p.Now()) })
	if err != nil || p.hold.Record().Serial == serial {
		return false, err
	}
	if err := p.removeFormer(ctx); err != nil || p.wait != nil {
		return false, err
	}
	o, err := p.create(ctx)
	if o == nil || err != nil {
		return false, err
	}
	return p.judge(ctx, o)
}

// object looks at the wanted object: by id, else by its deterministic name.
func (p *certificatePass) object(ctx context.Context, c *cloud.Certificate) (*cloud.ObservedCertificate, error) {
	id := c.NextID
	if !c.Replacing() {
		id = c.Current.ProviderID
	}
	return p.look(ctx, cloud.CertificateObject{Serial: c.Serial, ProviderID: id})
}

// look reads one object; nil when it is absent.
func (p *certificatePass) look(ctx context.Context, at cloud.CertificateObject) (o *cloud.ObservedCertificate, err error) {
	if at.ProviderID == "" {
		o, err = p.certs.Find(ctx, cloud.CertificateName(p.hold.Record().ID, at.Serial))
	} else {
		o, err = p.certs.Observe(ctx, at.ProviderID)
	}
	if cloud.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}

// create notes the attempt and sends the create once. A nil object means that
// the certificate waits or failed.
func (p *certificatePass) create(ctx context.Context) (*cloud.ObservedCertificate, error) {
	c := p.hold.Record()
	serial := c.Serial
	req := cloud.CertificateRequest{
		Name: cloud.CertificateName(c.ID, serial), Type: string(c.Type),
		Leaf: c.Material.Leaf, Chain: c.Material.Chain, Domains: c.Material.Domains,
	}
	if c.Type == cloud.CertificateCustom {
		key, err := p.Records.UnsealPrivateKey(ctx, c)
		if err == nil {
			_, err = cloud.CheckCertificate(c.Type, c.Material, key, p.Now())
		}
		if err != nil {
			return nil, p.trouble(ctx, err)
		}
		req.PrivateKey = key
	}
	err := p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange {
		if c.Serial != serial || c.Intent != cloud.IntentPresent {
			return nil // something else was asked for meanwhile
		}
		return c.Attempt(p.Now())
	})
	if fresh := p.hold.Record(); err != nil || fresh.Serial != serial || fresh.Intent != cloud.IntentPresent {
		return nil, err
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
		return nil, p.trouble(ctx, err)
	case cloud.ClassUnknown:
		return nil, p.trouble(ctx, err)
	}
	unattempt := func(c *cloud.Certificate) *cloud.CertificateChange { return c.Unattempt(serial, p.Now()) }
	if err := p.commit(ctx, unattempt); err != nil {
		return nil, err
	}
	return nil, p.trouble(ctx, err)
}
