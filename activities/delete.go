package activities

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// sentDelete is the key under which a record's Sent notes its delete call.
const sentDelete = cloud.SentDeleteKey

// DeleteResource brings a resource to its end at the provider. It runs only
// when nothing lives in the resource any more. What the provider never
// accepted ends without a call; an adoption that never completed is let go;
// what is not ours is not touched and stays in error.
func (a *Activities) DeleteResource(ctx context.Context, id string) (cloud.Next, error) {
	return a.run(ctx, "delete", id, cloud.IntentDelete, remove)
}

func remove(ctx context.Context, p *pass) error {
	r := p.hold.Record()
	switch {
	case p.hold.LiveChildren() > 0:
		return nil
	case r.Adopting():
		return p.released(ctx)
	case r.NeverAccepted():
		return p.deleted(ctx)
	}
	o, req, err := p.look(ctx)
	if err != nil {
		return p.trouble(ctx, err, r.Generation)
	}
	now := p.Now()
	settling := !r.AttemptedAt.IsZero() && now.Before(r.AttemptedAt.Add(p.Settings.Settle)) && r.Sent[sentDelete].IsZero()
	switch {
	case o == nil && settling && r.ReadyAt.IsZero():
		// The create may still show up: ending now could leave an orphan (D3).
		return p.settleFor(ctx, nil, "waiting to see whether the provider accepted the create before it is deleted")
	case o == nil:
		return p.deleted(ctx)
	}
	if why := cloud.Foreign(r, p.manifest, o, p.deployment); why != "" {
		return p.fail(ctx, nil, cloud.ClassNotManaged, why+"; nothing was deleted there", r.Generation)
	}
	if r.ProviderID == "" {
		if err := p.accept(ctx, o); err != nil {
			return err
		}
		req.ProviderID = o.ProviderID
	}
	if sent, ok := r.Sent[sentDelete]; o.Phase == cloud.PhaseDeleting || ok && now.Before(sent.Add(p.Settings.Settle)) {
		return p.settleFor(ctx, nil, "the provider is deleting it")
	}
	return p.sendDelete(ctx, req, r.Generation)
}

// sendDelete asks once, then looks at once: many kinds are gone when the
// answer arrives.
func (p *pass) sendDelete(ctx context.Context, req cloud.Request, generation int64) error {
	err := p.kind.Delete(ctx, req)
	switch cloud.ClassOf(err) {
	case "":
	case cloud.ClassNotFound:
		return p.deleted(ctx)
	default:
		return p.trouble(ctx, err, generation)
	}
	err = p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.SentDelete(p.Now()) })
	if err != nil {
		return err
	}
	o, _, err := p.look(ctx)
	if err == nil && o == nil {
		return p.deleted(ctx)
	}
	return p.settleFor(ctx, nil, "the provider is deleting it")
}

func (p *pass) deleted(ctx context.Context) error {
	return p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Deleted(p.Now()) })
}

func (p *pass) released(ctx context.Context) error {
	return p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Released(p.Now()) })
}
