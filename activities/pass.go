package activities

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// pass is one attempt at one held record.
type pass struct {
	*Activities
	hold       Hold
	kind       cloud.Kind
	manifest   *cloud.Manifest
	deployment string
	// memo is the kind's notes: one map for the whole attempt, so that what the
	// kind notes in a call is saved by the commit after it.
	memo map[string]string
	// wait is set when the work goes on at a later look, and says when and why.
	wait *waiting
}

type waiting struct {
	delay   time.Duration
	message string
}

// run holds the record, runs work on it while its intent is the expected one,
// and answers what comes next: a cloud.Next, or a retry by the server while
// the same work goes on.
func (a *Activities) run(ctx context.Context, op, id string, want cloud.Intent, work func(ctx context.Context, p *pass) error) (cloud.Next, error) {
	var next cloud.Next
	p := &pass{Activities: a}
	err := a.Records.Hold(ctx, id, func(ctx context.Context, h Hold) error {
		p.hold = h
		r := h.Record()
		// The workflow may have guessed: what the record needs is asked here.
		if r.State.Final() || r.Intent != want || r.HeldBy != "" || r.Adopting() && want == cloud.IntentPresent && op != opAdopt {
			next = cloud.Decide(r, h.LiveChildren(), a.Now())
			return nil
		}
		if err := p.open(ctx, r); err != nil {
			return err
		}
		if err := work(ctx, p); err != nil {
			return err
		}
		next = cloud.Decide(h.Record(), h.LiveChildren(), a.Now())
		return nil
	})
	switch {
	case errors.Is(err, ErrHeld):
		return cloud.Next{}, later(heldDelay, ErrHeld.Error())
	case err != nil:
		return cloud.Next{}, a.internal(ctx, op, id, err)
	case p.wait != nil && working(next.Step):
		return cloud.Next{}, later(p.wait.delay, p.wait.message)
	}
	return next, nil
}

// opAdopt is the one operation for a record that is not taken over yet.
const opAdopt = "adopt"

// working reports whether a step is one that an activity runs again.
func working(s cloud.Step) bool {
	return s != cloud.StepRest && s != cloud.StepEnd && s != cloud.StepRetry
}

func (p *pass) open(ctx context.Context, r *cloud.Resource) error {
	account, err := p.Accounts.Open(ctx, r.AccountID)
	if err != nil {
		return err
	}
	kind, ok := account.Kind(r.Kind)
	if !ok {
		return fmt.Errorf("the provider no longer serves kind %s", r.Kind)
	}
	p.kind, p.manifest = kind, kind.Manifest()
	if p.memo = maps.Clone(r.Memo); p.memo == nil {
		p.memo = map[string]string{}
	}
	p.deployment, err = p.Accounts.Deployment(ctx)
	return err
}

// request builds what the kind may use. A mutating one carries the spec's
// secrets and is refused when a reference is no longer the tenant's.
func (p *pass) request(ctx context.Context, mutating bool) (cloud.Request, error) {
	r := p.hold.Record()
	res, err := p.Records.Resolve(ctx, r, p.manifest, mutating)
	if err != nil {
		return cloud.Request{}, err
	}
	req := lookRequest(r, res, p.Records.SecretDigest, p.Now())
	req.Secrets, req.Memo = res.Secrets, p.memo
	return req, nil
}

// lookRequest is what a kind may use of a record for a look: no secret, and a
// copy of its notes.
func lookRequest(r *cloud.Resource, res *Resolved, digest func(string) string, now time.Time) cloud.Request {
	memo := maps.Clone(r.Memo)
	if memo == nil {
		memo = map[string]string{}
	}
	return cloud.Request{
		ResourceID: r.ID, TenantID: r.TenantID, Name: r.Name,
		ProviderName: cloud.ProviderName(r.ID), ProviderID: r.ProviderID,
		Parent: res.Parent, Spec: r.Spec, Applied: r.AppliedSpec,
		Instances: res.Instances, Networks: res.Networks,
		SecretVersions: res.SecretVersions, Digest: digest, Memo: memo, Now: now,
	}
}

// commit saves a change of the fresh record; the kind's notes go with it.
func (p *pass) commit(ctx context.Context, fn func(r *cloud.Resource) *cloud.Change) error {
	return p.hold.Commit(ctx, func(r *cloud.Resource) *cloud.Change {
		r.Memo = maps.Clone(p.memo)
		return fn(r)
	})
}

// look reads the object once: by id, or by name and labels while no id is known.
func (p *pass) look(ctx context.Context) (*cloud.Observed, cloud.Request, error) {
	req, err := p.request(ctx, false)
	if err != nil {
		return nil, req, err
	}
	var o *cloud.Observed
	if req.ProviderID == "" {
		o, err = p.kind.Find(ctx, req)
	} else {
		o, err = p.kind.Observe(ctx, req)
	}
	if cloud.IsNotFound(err) {
		return nil, req, nil
	}
	if err == nil && o != nil && o.Phase == cloud.PhaseGone {
		return nil, req, nil
	}
	return o, req, err
}

// settleFor makes the record wait: the reason is committed, and the server
// runs the activity again after the converge interval.
func (p *pass) settleFor(ctx context.Context, o *cloud.Observed, message string) error {
	p.wait = &waiting{delay: p.Settings.Converge, message: message}
	return p.commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Wait(o, message, p.Now()) })
}

// fail commits a failure of the generation that was worked on.
func (p *pass) fail(ctx context.Context, o *cloud.Observed, class cloud.Class, message string, generation int64) error {
	return p.commit(ctx, func(r *cloud.Resource) *cloud.Change {
		return r.Fail(o, class, message, generation, p.Settings, p.Now())
	})
}

// trouble turns an error of a look or call into a commit and, where the work
// goes on, a wait. Only what is wrong inside (Postgres) is returned.
func (p *pass) trouble(ctx context.Context, err error, generation int64) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *cloud.Error
	if errors.As(err, &refused) {
		if refused.Code == cloud.CodeUnavailable || refused.Code == cloud.CodeInternal {
			return err
		}
		return p.fail(ctx, nil, cloud.ClassRefused, refused.Message, generation)
	}
	var pe *cloud.ProviderError
	if !errors.As(err, &pe) {
		return err
	}
	switch pe.Class {
	case cloud.ClassBusy, cloud.ClassExists:
		return p.settleFor(ctx, nil, pe.Message)
	case cloud.ClassThrottled:
		return p.pause(ctx, pe, max(pe.RetryAfter, heldDelay), "the provider account's request allowance is used up; waiting for it")
	case cloud.ClassUnreachable:
		if err := p.Records.MarkAccount(ctx, p.hold.Record().AccountID, pe.Message); err != nil {
			return err
		}
		return p.pause(ctx, pe, max(p.Settings.Converge, p.Settings.Refresh/5), "the provider account does not answer for us: "+pe.Message)
	case cloud.ClassUnknown:
		p.wait = &waiting{delay: p.Settings.Converge, message: pe.Error()}
		return p.commit(ctx, func(r *cloud.Resource) *cloud.Change {
			return r.Unknown("the provider does not give a usable answer: "+pe.Message, unknownLimit, generation, p.Settings, p.Now())
		})
	default:
		message := pe.Message
		if len(pe.Fields) > 0 {
			message = strings.Join(pe.Fields, ", ") + ": " + message
		}
		if pe.RequestID != "" {
			message += " (request " + pe.RequestID + ")"
		}
		return p.fail(ctx, nil, pe.Class, message, generation)
	}
}

func (p *pass) pause(ctx context.Context, pe *cloud.ProviderError, delay time.Duration, message string) error {
	p.wait = &waiting{delay: delay, message: pe.Error()}
	return p.commit(ctx, func(r *cloud.Resource) *cloud.Change {
		return r.Troubled(pe.Class, message, p.Settings, p.Now())
	})
}
