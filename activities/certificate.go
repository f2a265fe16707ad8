package activities

import (
	"context"
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
	var answer HandAnswer
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
	if e := cloud.AsError(err); e != nil {
		if e.Code == cloud.CodeUnavailable || e.Code == cloud.CodeInternal {
			return answer, a.shared().internal(ctx, "record "+s.Name, s.ResourceID, err)
		}
		a.Log.WarnContext(ctx, "hand-sent signal refused", "certificate", s.ResourceID, "signal", s.Name, "code", e.Code, "reason", e.Message)
		answer.Refused = string(e.Code) + ": " + e.Message
	}
	next, err := a.LoadCertificate(ctx, s.ResourceID)
	answer.Next = next
	return answer, err
}
