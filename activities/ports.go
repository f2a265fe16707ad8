package activities

import "github.com/better-compute/cloud-resources/cloud/ports"

// What the activities need of others stands in cloud/ports, so that the store
// can implement it without knowing the activities.
//
//nolint:revive // aliases: each is described where it is declared
type (
	Records            = ports.Records
	Hold               = ports.Hold
	Resolved           = ports.Resolved
	Intents            = ports.Intents
	Accounts           = ports.Accounts
	Sweep              = ports.Sweep
	SweepKind          = ports.SweepKind
	SweepItem          = ports.SweepItem
	Billing            = ports.Billing
	Outbox             = ports.Outbox
	Message            = ports.Message
	Webhooks           = ports.Webhooks
	Subscriber         = ports.Subscriber
	Delivery           = ports.Delivery
	DeliveryStatus     = ports.DeliveryStatus
	DeliveryAttempt    = ports.DeliveryAttempt
	DeadDelivery       = ports.DeadDelivery
	DeadLetters        = ports.DeadLetters
	CertificateRecords = ports.CertificateRecords
	CertificateHold    = ports.CertificateHold
	CertificateIntents = ports.CertificateIntents
	CertificateSweep   = ports.CertificateSweep
	CertificateItem    = ports.CertificateItem
	Expiry             = ports.Expiry
	BatchRecords       = ports.BatchRecords
	BatchIntents       = ports.BatchIntents
)

// ErrHeld is returned by Hold while another attempt works under the same parent.
var ErrHeld = ports.ErrHeld

// The statuses of a delivery.
const (
	DeliveryWaiting   = ports.DeliveryWaiting
	DeliveryDelivered = ports.DeliveryDelivered
	DeliveryDead      = ports.DeliveryDead
)
