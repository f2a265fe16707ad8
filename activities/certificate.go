package activities

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// CertificateActivities are the activities of certificates.
type CertificateActivities struct {
	Records  CertificateRecords
	Accounts Accounts
	Intents  CertificateIntents
	Settings cloud.Settings
	Now      func() time.Time
	Log      *slog.Logger
}

func (a *CertificateActivities) shared() *Activities { return &Activities{Log: a.Log, Now: a.Now} }

// LoadCertificate answers what a certificate needs next.
func (a *CertificateActivities) LoadCertificate(ctx context.Context, id string) (cloud.Next, error) {
	c, err := a.Records.LoadCertificate(ctx, id)
	if err != nil {
		if cloud.AsError(err).Code == cloud.CodeNotFound {
			return cloud.Next{Step: cloud.StepEnd, Message: "no such certificate"}, nil
		}
		return cloud.Next{}, a.shared().internal(ctx, "load", id, err)
	}
	return cloud.DecideCertificate(c, a.Now()), nil
}

// ConvergeCertificate makes the wanted object, puts it in service, and removes
// former ones that nothing uses.
func (a *CertificateActivities) ConvergeCertificate(ctx context.Context, id string) (cloud.Next, error) {
	return a.run(ctx, "converge", id, cloud.IntentPresent, (*certificatePass).converge)
}

// DeleteCertificate removes every object of the certificate.
func (a *CertificateActivities) DeleteCertificate(ctx context.Context, id string) (cloud.Next, error) {
	return a.run(ctx, "delete", id, cloud.IntentDelete, (*certificatePass).remove)
}

// RecordCertificateIntent is RecordIntent for certificates.
func (a *CertificateActivities) RecordCertificateIntent(ctx context.Context, s HandSignal) (HandAnswer, error) {
	var err error
	switch s.Name {
	case "update":
		err = a.Intents.OperatorUpdateCertificate(ctx, s.ResourceID, s.Payload)
	case "delete":
		err = a.Intents.OperatorDeleteCertificate(ctx, s.ResourceID)
	case "refresh":
		err = a.Intents.OperatorRefreshCertificate(ctx, s.ResourceID)
	default:
		err = cloud.Errorf(cloud.CodeInvalidInput, "there is no signal %q; there are update, delete and refresh", s.Name)
	}
	var answer HandAnswer
	if e := cloud.AsError(err); e != nil {
		if e.Code == cloud.CodeUnavailable || e.Code == cloud.CodeInternal {
			return answer, a.shared().internal(ctx, "record "+s.Name, s.ResourceID, err)
		}
		answer.Refused = string(e.Code) + ": " + e.Message
	}
	next, err := a.LoadCertificate(ctx, s.ResourceID)
	answer.Next = next
	return answer, err
}

type certificatePass struct {
	*CertificateActivities
	hold  CertificateHold
	certs cloud.Certificates
	wait  *waiting
}

func (a *CertificateActivities) run(ctx context.Context, op, id string, want cloud.Intent, work func(p *certificatePass, ctx context.Context) error) (cloud.Next, error) {
	var next cloud.Next
	p := &certificatePass{CertificateActivities: a}
	err := a.Records.HoldCertificate(ctx, id, func(ctx context.Context, h CertificateHold) error {
		p.hold = h
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

func (p *certificatePass) settleFor(ctx context.Context, message string) error {
	p.wait = &waiting{delay: p.Settings.Converge, message: message}
	return p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Wait(message, p.Now()) })
}

func (p *certificatePass) fail(ctx context.Context, message string, serial int64) error {
	return p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange {
		return c.Fail(message, serial, p.Settings, p.Now())
	})
}

// trouble handles an error of a look or call by its class.
func (p *certificatePass) trouble(ctx context.Context, err error, serial int64) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *cloud.Error
	if errors.As(err, &refused) && refused.Code != cloud.CodeUnavailable && refused.Code != cloud.CodeInternal {
		return p.fail(ctx, refused.Message, serial)
	}
	var pe *cloud.ProviderError
	if !errors.As(err, &pe) {
		return err
	}
	switch pe.Class {
	case cloud.ClassThrottled:
		p.wait = &waiting{delay: max(pe.RetryAfter, heldDelay), message: pe.Error()}
		return nil
	case cloud.ClassUnreachable:
		p.wait = &waiting{delay: max(p.Settings.Converge, p.Settings.Refresh/5), message: pe.Error()}
		if err := p.Records.MarkAccount(ctx, p.hold.Record().AccountID, pe.Message); err != nil {
			return err
		}
		return p.commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange {
			return c.Wait("the provider account does not answer for us: "+pe.Message, p.Now())
		})
	case cloud.ClassBusy, cloud.ClassExists, cloud.ClassUnknown:
		return p.settleFor(ctx, pe.Message)
	}
	return p.fail(ctx, pe.Message, serial)
}
