package activities

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// AdoptResource is the first run of an adoption: it writes the ownership
// labels, reads them back, and records the spec that the provider reports.
// Only then is the object ours.
func (a *Activities) AdoptResource(ctx context.Context, id string) (cloud.Next, error) {
	return a.run(ctx, opAdopt, id, cloud.IntentPresent, adopt)
}

func adopt(ctx context.Context, p *pass) error {
	r := p.hold.Record()
	if !r.Adopting() {
		return converge(ctx, p)
	}
	labeler, ok := p.kind.(cloud.Labeler)
	if !ok {
		return p.fail(ctx, nil, cloud.ClassUnsupported, "the kind has no ownership labels, so it cannot be adopted", r.Generation)
	}
	o, req, err := p.look(ctx)
	switch {
	case err != nil:
		return p.trouble(ctx, err, r.Generation)
	case o == nil:
		return p.fail(ctx, nil, cloud.ClassNotFound, "it no longer exists at the provider", r.Generation)
	}
	if why := cloud.Foreign(r, p.manifest, o, p.deployment); why != "" {
		return p.fail(ctx, nil, cloud.ClassNotManaged, why, r.Generation)
	}
	if o.Owner.ResourceKey == "" {
		if err := labeler.Label(ctx, req); err != nil {
			return p.trouble(ctx, err, r.Generation)
		}
		if o, _, err = p.look(ctx); err != nil {
			return p.trouble(ctx, err, r.Generation)
		}
	}
	if o == nil || o.Owner.ResourceKey != cloud.LabelKey(r.ID) {
		return p.settleFor(ctx, nil, "waiting for the provider to show the ownership labels")
	}
	err = p.commit(ctx, func(r *cloud.Resource) *cloud.Change {
		return r.TakeOver(o, p.manifest.IdentityOf(o.Spec), p.Now())
	})
	if err != nil {
		return err
	}
	return converge(ctx, p)
}
