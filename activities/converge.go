package activities

import (
	"context"
	"slices"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// ProvisionResource brings a resource from pending to ready.
func (a *Activities) ProvisionResource(ctx context.Context, id string) (cloud.Next, error) {
	return a.run(ctx, "provision", id, cloud.IntentPresent, converge)
}

// UpdateResource applies a changed spec, or repairs drift.
func (a *Activities) UpdateResource(ctx context.Context, id string) (cloud.Next, error) {
	return a.run(ctx, "update", id, cloud.IntentPresent, converge)
}

// RefreshResource looks at a resource at rest or in error, and goes on from
// what it sees.
func (a *Activities) RefreshResource(ctx context.Context, id string) (cloud.Next, error) {
	return a.run(ctx, "refresh", id, cloud.IntentPresent, converge)
}

// converge looks and acts until the record is at rest or has to wait.
func converge(ctx context.Context, p *pass) error {
	var seen *cloud.Observed // what the last call answered, instead of a look
	for range maxRounds {
		r := p.hold.Record()
		if r.Intent != cloud.IntentPresent || r.State.Final() {
			return nil
		}
		o, req, err := seen, cloud.Request{}, error(nil)
		if o == nil {
			o, req, err = p.look(ctx)
		} else {
			req, err = p.request(ctx, false)
		}
		seen = nil
		if err != nil {
			return p.trouble(ctx, err, r.Generation)
		}
		if r.ErrorClass == cloud.ClassUnreachable {
			if err := p.Records.MarkAccount(ctx, r.AccountID, ""); err != nil {
				return err
			}
		}
		look := cloud.Look{Observed: o}
		if o != nil && !r.ObservedOnly {
			look.Diff = p.kind.Diff(req, o)
		}
		action := cloud.Reconcile(r, p.manifest, look, p.deployment, p.Settings, p.Now())
		var done bool
		seen, done, err = p.act(ctx, action, o)
		if err != nil {
			return err
		}
		if done {
			return nil
		}
	}
	return p.settleFor(ctx, nil, "several changes in a row; going on at the next look")
}

// act does what Reconcile said. done ends the attempt; otherwise the loop
// looks again, at seen if the call answered with the object.
func (p *pass) act(ctx context.Context, action cloud.Action, o *cloud.Observed) (seen *cloud.Observed, done bool, err error) {
	generation := p.hold.Record().Generation
	switch action.Kind {
	case cloud.ActCreate:
		return p.create(ctx)
	case cloud.ActWait:
		return nil, true, p.settleFor(ctx, o, action.Message)
	case cloud.ActMissing:
		p.wait = &waiting{delay: p.Settings.Converge, message: action.Message}
		return nil, true, p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Missing(p.Now()) })
	case cloud.ActLabel:
		return p.label(ctx)
	case cloud.ActUpdate:
		return p.update(ctx, o, action.Fields)
	case cloud.ActRecover:
		return p.recoverSecrets(ctx, o, action)
	case cloud.ActReady:
		return nil, true, p.ready(ctx, o, generation)
	default:
		return nil, true, p.fail(ctx, o, action.Class, action.Message, generation)
	}
}

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
		return p.exists(ctx, err, generation, prior)
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
func (p *pass) exists(ctx context.Context, refusal error, generation int64, prior time.Time) (*cloud.Observed, bool, error) {
	o, _, err := p.look(ctx)
	if err != nil {
		return nil, true, p.trouble(ctx, err, generation)
	}
	if o == nil || o.Phase == cloud.PhaseDeleting {
		// Taken, yet not to be found: names stay taken for a while after a delete.
		return nil, true, p.settleFor(ctx, nil, "the provider says that the name is still taken")
	}
	if prior.IsZero() && (p.manifest.Ownership == cloud.OwnedByParent || p.manifest.Ownership == cloud.OwnedByRecord) {
		// Nothing but our own attempts tells whose it is, and this was the first,
		// answered with a refusal: it is somebody else's.
		if err := p.unattempt(ctx, prior); err != nil {
			return nil, true, err
		}
		return nil, true, p.fail(ctx, nil, cloud.ClassNotManaged, "one of that name exists at the provider already and is not managed by this deployment", generation)
	}
	if why := cloud.Foreign(p.hold.Record(), p.manifest, o, p.deployment); why != "" {
		if err := p.unattempt(ctx, prior); err != nil {
			return nil, true, err
		}
		return nil, true, p.fail(ctx, nil, cloud.ClassNotManaged, why, generation)
	}
	_ = refusal // ours after all: the refusal only told us so
	return o, false, p.accept(ctx, o)
}

// update makes one call towards the wanted values and notes what it asked for.
func (p *pass) update(ctx context.Context, o *cloud.Observed, fields []string) (*cloud.Observed, bool, error) {
	generation := p.hold.Record().Generation
	if p.hold.Record().ProviderID == "" {
		if err := p.accept(ctx, o); err != nil {
			return nil, true, err
		}
	}
	req, err := p.request(ctx, true)
	if err != nil {
		return nil, true, p.trouble(ctx, err, generation)
	}
	u, err := p.kind.Update(ctx, req, o, fields)
	if err != nil {
		if class := cloud.ClassOf(err); class == cloud.ClassRefused || class == cloud.ClassUnknown {
			// It may be there already (a repeated change is refused by some calls):
			// note it as sent, so that the next looks decide before it is sent again.
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

func (p *pass) stillDiffers(ctx context.Context, o *cloud.Observed, fields []string) bool {
	if o.Phase != cloud.PhaseReady {
		return false // it moves: the next look tells
	}
	req, err := p.request(ctx, false)
	if err != nil {
		return true
	}
	diff := p.kind.Diff(req, o)
	for _, f := range fields {
		for _, d := range diff {
			if f == d {
				return true
			}
		}
	}
	return false
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
	if err := p.accept(ctx, o); err != nil {
		return nil, true, err
	}
	recoverer, ok := p.kind.(cloud.SecretRecoverer)
	if !ok {
		return nil, true, p.settleFor(ctx, o, "the provider does not show its secret outputs; the account's token may lack the right to read them")
	}
	req, err := p.request(ctx, true)
	if err != nil {
		return nil, true, p.trouble(ctx, err, generation)
	}
	again, err := recoverer.RecoverSecrets(ctx, req, o)
	switch {
	case err != nil:
		return nil, true, p.trouble(ctx, err, generation)
	case again == nil:
		return nil, true, p.settleFor(ctx, o, action.Message)
	case again.Phase == cloud.PhaseGone:
		return nil, false, p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.ForgetObject(p.Now()) })
	}
	return again, false, p.accept(ctx, again)
}

// ready commits that the object runs as wanted, and which secrets changed.
func (p *pass) ready(ctx context.Context, o *cloud.Observed, generation int64) error {
	r := p.hold.Record()
	if r.ProviderID == "" || r.AcceptedAt.IsZero() {
		if err := p.accept(ctx, o); err != nil {
			return err
		}
	}
	changed, err := ChangedSecrets(ctx, p.Records, r, o)
	if err != nil {
		return err
	}
	return p.commit(ctx, func(r *cloud.Resource) *cloud.Change {
		was := r.State
		c := r.Ready(o, generation, p.Now())
		if was == cloud.StateReady && r.State == cloud.StateReady {
			refreshed := r.Refreshed(o, nil, changed, p.Now())
			c.Events = append(c.Events, refreshed.Events...)
		}
		return c
	})
}

// ChangedSecrets names the secret outputs in o whose sealed value differs (D20).
func ChangedSecrets(ctx context.Context, records interface {
	SealedDigests(ctx context.Context, id string) (map[string]string, error)
	SecretDigest(value string) string
}, r *cloud.Resource, o *cloud.Observed) ([]string, error) {
	if len(o.Secrets) == 0 || len(r.SecretOutputs) == 0 {
		return nil, nil
	}
	sealed, err := records.SealedDigests(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	var changed []string
	for name, s := range o.Secrets {
		if old, ok := sealed[name]; ok && !s.Empty() && old != records.SecretDigest(s.Reveal()) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, nil
}
