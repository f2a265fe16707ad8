package worker

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/better-compute/cloud-resources/workflows"
)

// registerWorkflows registers every workflow under its recorded name.
func registerWorkflows(r worker.WorkflowRegistry) {
	for name, w := range map[string]any{
		workflows.TypeResource:    workflows.CloudResource,
		workflows.TypeCertificate: workflows.Certificate,
		workflows.TypeBatch:       workflows.CommandBatch,
		workflows.TypeAccount:     workflows.AccountSweep,
		workflows.TypeWebhook:     workflows.WebhookDelivery,
	} {
		r.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: name})
	}
}

func register(r worker.ActivityRegistry, name string, a any) {
	r.RegisterActivityWithOptions(a, activity.RegisterOptions{Name: name})
}

// registerRecordActivities registers what asks Postgres only.
func registerRecordActivities(r worker.ActivityRegistry, o Options) {
	register(r, workflows.ActivityLoad, o.Resources.LoadResource)
	register(r, workflows.ActivityRecordIntent, o.Resources.RecordIntent)
	if o.Certificates != nil {
		register(r, workflows.ActivityLoadCertificate, o.Certificates.LoadCertificate)
		register(r, workflows.ActivityRecordCertificate, o.Certificates.RecordCertificateIntent)
	}
	if o.Batches != nil {
		register(r, workflows.ActivityLoadBatch, o.Batches.LoadBatch)
		register(r, workflows.ActivityRecordBatch, o.Batches.RecordBatchIntent)
	}
}

// registerProviderActivities registers what asks somebody outside.
func registerProviderActivities(r worker.ActivityRegistry, o Options) {
	register(r, workflows.ActivityAdopt, o.Resources.AdoptResource)
	register(r, workflows.ActivityProvision, o.Resources.ProvisionResource)
	register(r, workflows.ActivityUpdate, o.Resources.UpdateResource)
	register(r, workflows.ActivityRefresh, o.Resources.RefreshResource)
	register(r, workflows.ActivityDelete, o.Resources.DeleteResource)
	register(r, workflows.ActivityRelease, o.Resources.ReleaseResource)
	register(r, workflows.ActivitySweep, o.Sweeps.SweepAccount)
	if o.Certificates != nil {
		register(r, workflows.ActivityConvergeCertificate, o.Certificates.ConvergeCertificate)
		register(r, workflows.ActivityDeleteCertificate, o.Certificates.DeleteCertificate)
	}
	if o.Batches != nil {
		register(r, workflows.ActivityDispatch, o.Batches.DispatchCommands)
		register(r, workflows.ActivityExpireBatch, o.Batches.ExpireBatch)
	}
}
