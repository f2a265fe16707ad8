package cloud

// State is where a resource is; the contract knows exactly these eight (D9).
type State string

// The eight states.
const (
	StatePending      State = "pending"
	StateProvisioning State = "provisioning"
	StateReady        State = "ready"
	StateUpdating     State = "updating"
	StateDeleting     State = "deleting"
	StateDeleted      State = "deleted"
	StateReleased     State = "released"
	StateError        State = "error"
)

// Final reports whether the resource has ended and never changes again.
func (s State) Final() bool { return s == StateDeleted || s == StateReleased }

// Intent is what shall become of a resource.
type Intent string

// The intents. IntentDelete overrides IntentRelease, nothing overrides IntentDelete.
const (
	IntentPresent Intent = "present"
	IntentRelease Intent = "release"
	IntentDelete  Intent = "delete"
)

// EventType is the type of a CloudEvent about a resource.
type EventType string

// The event types of a resource.
const (
	EventCreated   EventType = "cloud.resource.created"
	EventAdopted   EventType = "cloud.resource.adopted"
	EventReady     EventType = "cloud.resource.ready"
	EventFailed    EventType = "cloud.resource.failed"
	EventUpdating  EventType = "cloud.resource.updating"
	EventUpdated   EventType = "cloud.resource.updated"
	EventDeleting  EventType = "cloud.resource.deleting"
	EventDeleted   EventType = "cloud.resource.deleted"
	EventReleasing EventType = "cloud.resource.releasing"
	EventReleased  EventType = "cloud.resource.released"
)

// MeterHours is the meter of the platform's own fee: one per hour and resource.
const MeterHours = "cloud.resource.hours"

// Billing is how a pool is charged.
type Billing string

// The billing modes of a pool.
const (
	BillingMetered     Billing = "metered"
	BillingPlatformFee Billing = "platform-fee"
	BillingNone        Billing = "none"
)

// ActorOperator is recorded as the actor of a hand-sent signal (D23), and
// ActorReconciler of what the system does by itself.
const (
	ActorOperator   = "operator"
	ActorReconciler = "reconciler"
)
