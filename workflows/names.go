package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
)

// Every name that is recorded in histories or typed by operators. Add, never rename.
const (
	TypeResource    = "CloudResource"
	TypeAccount     = "AccountSweep"
	TypeCertificate = "Certificate"
	TypeBatch       = "CommandBatch"
	TypeWebhook     = "WebhookDelivery"

	SignalUpdate  = "update"
	SignalDelete  = "delete"
	SignalRelease = "release"
	SignalRefresh = "refresh"
	// SignalSweep runs an account's sweep now; SignalDeliver tells a subscriber's
	// workflow that there is news.
	SignalSweep   = "sweep"
	SignalDeliver = "deliver"

	QueryStatus = "status"

	// Queue is where workflows and their Postgres activities run; QueueProvider
	// is where activities that call providers run, so that slow providers never
	// hold back a load. QueueWebhook is where events are posted to subscribers,
	// so that slow ones hold back neither.
	Queue         = "cloud-resources"
	QueueProvider = "cloud-resources-provider"
	QueueWebhook  = "cloud-resources-webhook"
)

// Activity names.
const (
	ActivityLoad         = "LoadResource"
	ActivityRecordIntent = "RecordIntent"
	ActivityAdopt        = "AdoptResource"
	ActivityProvision    = "ProvisionResource"
	ActivityUpdate       = "UpdateResource"
	ActivityRefresh      = "RefreshResource"
	ActivityDelete       = "DeleteResource"
	ActivityRelease      = "ReleaseResource"
	ActivitySweep        = "SweepAccount"
	ActivityDeliver      = "DeliverWebhooks"
)

// AccountWorkflowID is the id of an account's sweep.
func AccountWorkflowID(account string) string { return "account/" + account }

// WebhookWorkflowID is the id of a subscriber's deliveries.
func WebhookWorkflowID(subscriber string) string { return "webhook/" + subscriber }

// Search attributes that every entity workflow carries (all Keyword).
var (
	AttributeTenant  = temporal.NewSearchAttributeKeyKeyword("TenantId")
	AttributePool    = temporal.NewSearchAttributeKeyKeyword("PoolId")
	AttributeAccount = temporal.NewSearchAttributeKeyKeyword("ProviderAccountId")
	AttributeKind    = temporal.NewSearchAttributeKeyKeyword("ResourceKind")
	AttributeState   = temporal.NewSearchAttributeKeyKeyword("ResourceState")
	SearchAttributes = []temporal.SearchAttributeKeyKeyword{AttributeTenant, AttributePool, AttributeAccount, AttributeKind, AttributeState}
)

// Time-outs and limits.
const (
	// loadTimeout bounds one attempt of a Postgres activity, stepTimeout one of
	// a provider activity: several HTTP calls of 30 s at most each, and above
	// all longer than any single one, so that an attempt never outlives its lock.
	loadTimeout = 15 * time.Second
	stepTimeout = 5 * time.Minute
	// sweepTimeout bounds one attempt of a sweep: a few hundred list pages.
	sweepTimeout = 15 * time.Minute
	// heartbeatTimeout is how long a worker may be silent before what it was
	// doing is given to another.
	heartbeatTimeout = 20 * time.Second
	// restHistory is how many events a run may have before it continues as new
	// when at rest. Far below the server's own suggestion (4,096), to keep
	// replays and caches small.
	restHistory = 400
	// brokenDelay is how long the loop waits after an activity failed for good,
	// which only a bug can cause.
	brokenDelay = time.Minute
	// minRetry is the shortest wait before a failed resource is read again; it
	// keeps two clocks that differ from turning the loop into a spin.
	minRetry = time.Second
	// maxHandPayload is how much of a hand-sent payload is read (a spec may have
	// 64 KiB), maxHands how many hand-sent signals wait at once, maxRefusal how
	// much of a refusal is shown. Bytes.
	maxHandPayload = 256 << 10
	maxHands       = 100
	maxRefusal     = 1000
)
