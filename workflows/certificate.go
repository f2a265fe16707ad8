package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/better-compute/cloud-resources/cloud"
)

// Activity names of certificates.
const (
	ActivityLoadCertificate     = "LoadCertificate"
	ActivityRecordCertificate   = "RecordCertificateIntent"
	ActivityConvergeCertificate = "ConvergeCertificate"
	ActivityDeleteCertificate   = "DeleteCertificate"
)

var certificateEntity = &entityDef{
	workflow: TypeCertificate,
	load:     ActivityLoadCertificate,
	hand:     ActivityRecordCertificate,
	signals:  []string{SignalDelete, SignalUpdate, SignalRefresh},
	steps: map[cloud.Step]stepDef{
		cloud.StepProvision: {ActivityConvergeCertificate, "make it and wait until it is issued"},
		cloud.StepUpdate:    {ActivityConvergeCertificate, "replace it, then remove the former one"},
		cloud.StepRefresh:   {ActivityConvergeCertificate, "look at it again"},
		cloud.StepDelete:    {ActivityDeleteCertificate, "delete it at the provider"},
	},
}

// Certificate is the workflow of one certificate; its workflow id is the
// certificate's id.
func Certificate(ctx workflow.Context, carried Carried) error {
	return runEntity(ctx, certificateEntity, carried)
}
