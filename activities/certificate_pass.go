package activities

import (
	"context"
	"errors"

	"github.com/better-compute/cloud-resources/cloud"
)

// certificatePass is one attempt at one held certificate.
type certificatePass struct {
	*CertificateActivities
	hold  CertificateHold
	certs cloud.Certificates
	// generation is the one that the attempt works for: what was asked since
	// then is not failed by what it met.
	generation int64
	// wait is set when the work goes on at a later look.
	wait *waiting
}

// run holds the certificate and works on it while its intent is the expected
// one; it answers like Activities.run.
func (a *CertificateActivities) run(ctx context.Context, op, id string, want cloud.Intent, work func(p *certificatePass, ctx context.Context) error) (cloud.Next, error) {
	var next cloud.Next
	p := &certificatePass{CertificateActivities: a}
	err := a.Records.HoldCertificate(ctx, id, func(ctx context.Context, h CertificateHold) error {
		p.hold, p.generation = h, h.Record().Generation
		if c := h.Record(); !c.State.Final() && c.Intent == want {
			account, err := a.Accounts.Open(ctx, c.AccountID)
			if err != nil {
				return err
			}
			if p.certs = account.Certificates(); p.certs == nil {
				return errors.New("the provider serves no certificates")
			}
			if err := work(p, ctx); err != nil {
				return err
			}
		}
		next = cloud.DecideCertificate(h.Record(), a.Now())
		return nil
	})
	switch {
	case errors.Is(err, ErrHeld):
		return cloud.Next{}, later(heldDelay, ErrHeld.Error())
	case err != nil:
		return cloud.Next{}, a.shared().internal(ctx, op, id, err)
	case p.wait != nil && working(next.Step):
		return cloud.Next{}, later(p.wait.delay, p.wait.message)
	}
	return next, nil
}

func (p *certificatePass) commit(ctx context.Context, fn func(c *cloud.Certificate) *cloud.CertificateChange) error {
	return p.hold.Commit(ctx, fn)
}

// settleFor makes the certificate wait: the reason is committed, and the server
// runs the activity again after the converge interval.
func (p *certificatePass) settleFor(ctx context.Context, message string) error {
	p.wait = &waiting{delay: p.Settings.Converge, message: message}
	return p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Wait(message, p.Now()) })
}

func (p *certificatePass) fail(ctx context.Context, message string) error {
	return p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange {
		return c.Fail(message, p.generation, p.Settings, p.Now())
	})
}

// trouble handles an error of a look or call by its class. Only what is wrong
// inside (Postgres) is returned.
func (p *certificatePass) trouble(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *cloud.Error
	if errors.As(err, &refused) && refused.Code != cloud.CodeUnavailable && refused.Code != cloud.CodeInternal {
		return p.fail(ctx, refused.Message)
	}
	var pe *cloud.ProviderError
	if !errors.As(err, &pe) {
		return err
	}
	switch pe.Class {
	case cloud.ClassThrottled:
		p.wait = &waiting{delay: max(pe.RetryAfter, heldDelay), message: pe.Error()}
		return p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange {
			return c.Wait("the provider account's request allowance is used up; waiting for it", p.Now())
		})
	case cloud.ClassUnreachable:
		p.wait = &waiting{delay: max(p.Settings.Converge, p.Settings.Refresh/5), message: pe.Error()}
		if err := p.Records.MarkAccount(ctx, p.hold.Record().AccountID, pe.Message); err != nil {
			return err
		}
		return p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange {
			return c.Wait("the provider account does not answer for us: "+pe.Message, p.Now())
		})
	case cloud.ClassBusy, cloud.ClassExists:
		return p.settleFor(ctx, pe.Message)
	case cloud.ClassUnknown:
		p.wait = &waiting{delay: p.Settings.Converge, message: pe.Error()}
		return p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange {
			return c.Unknown("the provider does not give a usable answer: "+pe.Message, unknownLimit, p.generation, p.Settings, p.Now())
		})
	}
	message := pe.Message
	if pe.RequestID != "" {
		message += " (request " + pe.RequestID + ")"
	}
	return p.fail(ctx, message)
}
