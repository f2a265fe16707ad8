package activities

import (
	"context"
	"slices"

	"github.com/better-compute/cloud-resources/cloud"
)

// update makes one call towards the wanted values and notes what it asked for.
// A repair of drift is noted before it, too.
func (p *pass) update(ctx context.Context, o *cloud.Observed, fields []string) (*cloud.Observed, bool, error) {
	generation := p.hold.Record().Generation
	req, err := p.request(ctx, true)
	if err != nil {
		return nil, true, p.trouble(ctx, err, generation)
	}
	if p.hold.Record().Repairable() {
		err := p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Repairing(fields, p.Now()) })
		if err != nil || p.hold.Record().Generation != generation {
			return nil, false, err
		}
	}
	u, err := p.kind.Update(ctx, req, o, fields)
	if err != nil {
		if class := cloud.ClassOf(err); class == cloud.ClassRefused || class == cloud.ClassUnknown {
			// It may be there already: some calls refuse a repeated change.
			if again, _, lookErr := p.look(ctx); lookErr == nil && again != nil && !p.stillDiffers(ctx, again, fields) {
				return again, false, nil
			}
		}
		return nil, true, p.trouble(ctx, err, generation)
	}
	settles := fields
	if u != nil && u.Settles != nil {
		settles = u.Settles
	}
	err = p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.SentChange(settles, generation, p.Now()) })
	if err != nil || u == nil {
		return nil, false, err
	}
	return u.Observed, false, nil
}

// stillDiffers: the change is not to be seen in an object that has come to
// rest. One that moves differs for good or not; the next look tells.
func (p *pass) stillDiffers(ctx context.Context, o *cloud.Observed, fields []string) bool {
	if o.Phase != cloud.PhaseReady && o.Phase != cloud.PhaseFailed {
		return false
	}
	req, err := p.request(ctx, false)
	if err != nil || len(fields) == 0 {
		return true
	}
	diff := p.kind.Diff(req, o)
	return slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(diff, f) })
}

func (p *pass) label(ctx context.Context) (*cloud.Observed, bool, error) {
	generation := p.hold.Record().Generation
	labeler, ok := p.kind.(cloud.Labeler)
	if !ok {
		return nil, true, p.fail(ctx, nil, cloud.ClassNotManaged, "the object at the provider is not managed by this deployment", generation)
	}
	req, err := p.request(ctx, false)
	if err == nil {
		err = labeler.Label(ctx, req)
	}
	if err != nil {
		return nil, true, p.trouble(ctx, err, generation)
	}
	return nil, false, nil
}

// recoverSecrets gets once-only secrets again that a crash lost (D19).
func (p *pass) recoverSecrets(ctx context.Context, o *cloud.Observed, action cloud.Action) (*cloud.Observed, bool, error) {
	generation := p.hold.Record().Generation
	recoverer, ok := p.kind.(cloud.SecretRecoverer)
	if !ok {
		return nil, true, p.settleFor(ctx, o, "the provider does not show its secret outputs; the account's token may lack the right to read them")
	}
	req, err := p.request(ctx, true)
	if err != nil {
		return nil, true, p.trouble(ctx, err, generation)
	}
	if p.recreates(action.Fields) {
		if err := p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Recovering(p.Now()) }); err != nil {
			return nil, true, err
		}
	}
	again, err := recoverer.RecoverSecrets(ctx, req, o)
	switch {
	case err != nil:
		return nil, true, p.trouble(ctx, err, generation)
	case again == nil:
		return nil, true, p.settleFor(ctx, o, action.Message)
	case again.Phase == cloud.PhaseGone:
		return nil, false, p.forget(ctx)
	}
	return again, false, p.accept(ctx, again)
}

// recreates reports whether one of the secrets is had again only by deleting
// the object and making it anew.
func (p *pass) recreates(secrets []string) bool {
	return slices.ContainsFunc(p.manifest.SecretOutputs, func(s cloud.SecretOutput) bool {
		return s.Recover == cloud.RecoverRecreate && slices.Contains(secrets, s.Name)
	})
}

func (p *pass) forget(ctx context.Context) error {
	return p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.ForgetObject(p.Now()) })
}
