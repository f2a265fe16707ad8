package activities

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// ReleaseResource removes our labels and lets the object live on. A release
// that the provider refuses is withdrawn for a resource that we created; one
// that we adopted is let go all the same.
func (a *Activities) ReleaseResource(ctx context.Context, id string) (cloud.Next, error) {
	return a.run(ctx, "release", id, cloud.IntentRelease, release)
}

func release(ctx context.Context, p *pass) error {
	r := p.hold.Record()
	labeler, ok := p.kind.(cloud.Labeler)
	if r.Adopting() || !ok {
		return p.released(ctx)
	}
	o, req, err := p.look(ctx)
	switch {
	case err != nil:
		return p.trouble(ctx, err, r.Generation)
	case o == nil, cloud.Foreign(r, p.manifest, o, p.deployment) != "":
		// Gone, or somebody else's by now: there is no label of ours to remove.
		return p.released(ctx)
	}
	err = labeler.Unlabel(ctx, req)
	switch class := cloud.ClassOf(err); {
	case err == nil, class == cloud.ClassNotFound:
		return p.commit(ctx, func(r *cloud.Resource) *cloud.Change {
			if r.Intent == cloud.IntentDelete {
				// Asked while the labels went: the delete finds it not managed.
				return nil
			}
			return r.Released(p.Now())
		})
	case class != cloud.ClassRefused && class != cloud.ClassUnsupported && class != cloud.ClassNotManaged:
		return p.trouble(ctx, err, r.Generation)
	case r.Adopted:
		return p.released(ctx)
	}
	message := "the provider refused to release it: " + err.Error()
	return p.commit(ctx, func(r *cloud.Resource) *cloud.Change {
		return r.WithdrawRelease(message, p.Settings, p.Now())
	})
}
