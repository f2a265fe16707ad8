package activities

import (
	"context"
	"errors"

	"github.com/better-compute/cloud-resources/cloud"
)

// removeFormer removes objects that a newer one replaced. One that a load
// balancer uses stays until the next try and holds back no other.
func (p *certificatePass) removeFormer(ctx context.Context) error {
	_, err := p.removeAll(ctx, p.hold.Record().Former)
	return err
}

// remove ends a certificate: every object that it has or may have goes first.
func (p *certificatePass) remove(ctx context.Context) error {
	done, err := p.removeAll(ctx, p.hold.Record().Objects())
	if err != nil || !done {
		return err
	}
	return p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Deleted(p.Now()) })
}

// removeAll stops where the account cannot go on. done is false when something
// is left.
func (p *certificatePass) removeAll(ctx context.Context, objects []cloud.CertificateObject) (done bool, err error) {
	done = true
	for _, o := range objects {
		gone, err := p.removeObject(ctx, o)
		if err != nil || p.wait != nil {
			return false, err
		}
		done = done && gone
	}
	return done, nil
}

// removeObject looks at an object and deletes it. What is absent is gone, unless
// its create may still show up (D3); what does not bear our name stays.
func (p *certificatePass) removeObject(ctx context.Context, at cloud.CertificateObject) (gone bool, err error) {
	o, err := p.look(ctx, at)
	switch {
	case err != nil:
		return false, p.trouble(ctx, err)
	case o == nil && !at.AttemptedAt.IsZero() && p.Now().Before(at.AttemptedAt.Add(p.Settings.Settle)):
		return false, p.settleFor(ctx, "waiting to see whether the provider accepted a certificate that shall go")
	case o == nil:
		return true, p.removed(ctx, at)
	case !p.hold.Record().Owns(o, at.Serial) && p.hold.Record().Intent == cloud.IntentDelete:
		return false, p.fail(ctx, "the object at the provider does not bear this certificate's name; nothing was deleted there")
	case !p.hold.Record().Owns(o, at.Serial):
		p.Log.WarnContext(ctx, "a former certificate is not ours any more and stays", "certificate", p.hold.Record().ID, "providerId", at.ProviderID)
		return true, p.removed(ctx, at)
	}
	err = p.certs.Delete(ctx, o.ProviderID)
	switch cloud.ClassOf(err) {
	case "", cloud.ClassNotFound:
		return true, p.removed(ctx, at)
	case cloud.ClassBusy, cloud.ClassRefused:
		return false, p.inUse(ctx, err)
	}
	return false, p.trouble(ctx, err)
}

func (p *certificatePass) removed(ctx context.Context, o cloud.CertificateObject) error {
	return p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Removed(o, p.Now()) })
}

// inUse tells that a removal was refused; it is tried again by itself.
func (p *certificatePass) inUse(ctx context.Context, err error) error {
	message := "it stays at the provider while a load balancer uses it"
	if p.hold.Record().Intent != cloud.IntentDelete {
		message = "the one that it replaced stays at the provider while a load balancer uses it"
	}
	if pe := (*cloud.ProviderError)(nil); errors.As(err, &pe) {
		message += ": " + pe.Message
	}
	return p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.InUse(message, p.Settings, p.Now()) })
}
