package activities

import (
	"context"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// create notes the attempt, sends the create once and records what came back.
// Whatever happens after the note, the next look finds the object or waits.
func (p *pass) create(ctx context.Context) (*cloud.Observed, bool, error) {
	r := p.hold.Record()
	generation, prior := r.Generation, r.AttemptedAt
	req, err := p.request(ctx, true)
	if err != nil {
		return nil, true, p.trouble(ctx, err, generation)
	}
	if err := p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Attempt(p.Now()) }); err != nil {
		return nil, true, err
	}
	if fresh := p.hold.Record(); fresh.Intent != cloud.IntentPresent || fresh.Generation != generation {
		// Asked otherwise since the look: nothing was sent, so take the note back.
		return nil, fresh.Intent != cloud.IntentPresent, p.unattempt(ctx, prior)
	}
	o, err := p.kind.Create(ctx, req)
	switch class := cloud.ClassOf(err); class {
	case "":
		return o, false, p.accept(ctx, o)
	case cloud.ClassExists:
		return p.exists(ctx, generation, prior)
	case cloud.ClassUnknown:
		return nil, true, p.trouble(ctx, err, generation)
	default: // certainly not processed
		if err := p.unattempt(ctx, prior); err != nil {
			return nil, true, err
		}
		return nil, true, p.trouble(ctx, err, generation)
	}
}

func (p *pass) unattempt(ctx context.Context, prior time.Time) error {
	return p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Unattempt(prior, p.Now()) })
}

func (p *pass) accept(ctx context.Context, o *cloud.Observed) error {
	return p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Accept(o, p.Now()) })
}

// exists handles a create that found its name or identity taken: by our own
// earlier attempt, by an object that is still going away, or by a stranger.
func (p *pass) exists(ctx context.Context, generation int64, prior time.Time) (*cloud.Observed, bool, error) {
	// This create was refused, so only an earlier one can have made the object.
	// With the mark taken back, Foreign knows a first attempt by its absence:
	// where nothing but our attempts tells whose it is, it is somebody else's.
	if err := p.unattempt(ctx, prior); err != nil {
		return nil, true, err
	}
	o, _, err := p.look(ctx)
	if err != nil {
		return nil, true, p.trouble(ctx, err, generation)
	}
	if o == nil || o.Phase == cloud.PhaseDeleting {
		// Taken, yet not to be found: names stay taken for a while after a delete.
		return nil, true, p.settleFor(ctx, nil, "the provider says that the name is still taken")
	}
	return o, false, nil // whose it is, Reconcile says
}
