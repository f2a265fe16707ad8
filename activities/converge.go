package activities

import (
	"context"
	"slices"

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
		o, req, err := p.see(ctx, seen)
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
		if !ours(r, o, action) {
			o = nil
		} else if unaccepted(r) {
			// A look found what a lost answer had accepted.
			if err := p.accept(ctx, o); err != nil {
				return err
			}
			if p.hold.Record().Generation != r.Generation {
				continue
			}
		}
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

// see looks, unless the last call told what there is.
func (p *pass) see(ctx context.Context, told *cloud.Observed) (*cloud.Observed, cloud.Request, error) {
	if told == nil {
		return p.look(ctx)
	}
	req, err := p.request(ctx, false)
	return told, req, err
}

// ours reports whether what was seen may be recorded: not a stranger's object,
// and not one that goes away under a name which a new one shall have (B18).
func ours(r *cloud.Resource, o *cloud.Observed, action cloud.Action) bool {
	return o != nil && action.Class != cloud.ClassNotManaged && (o.Phase != cloud.PhaseDeleting || r.ProviderID != "")
}

// unaccepted: nothing is recorded yet of the provider's having accepted it.
func unaccepted(r *cloud.Resource) bool {
	return r.ProviderID == "" || r.AcceptedAt.IsZero() && !r.Adopted
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
	case cloud.ActRecreate:
		return nil, false, p.forget(ctx)
	case cloud.ActReady:
		return nil, true, p.ready(ctx, o, generation)
	default:
		return nil, true, p.fail(ctx, o, action.Class, action.Message, generation)
	}
}

// ready commits that the object runs as wanted, and which secrets changed.
func (p *pass) ready(ctx context.Context, o *cloud.Observed, generation int64) error {
	r := p.hold.Record()
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
