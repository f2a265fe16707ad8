package ports

import (
	"encoding/json"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// What the API reads of the store beside records. Declared here, they are the
// same types on both sides, and neither knows the other.

// Secret is a secret without its value.
type Secret struct {
	Name string
	Ref  cloud.SecretRef
	// ResourceID is set for a resource's sealed output.
	ResourceID string
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Event is one stored event: what a CloudEvent needs, apart from its source.
type Event struct {
	// ID is unique for ever: the subject and the sequence.
	ID       string
	TenantID string
	// Sequence counts a tenant's events from 1 without a gap.
	Sequence int64
	Type     string
	// Subject is the id of the resource that it is about.
	Subject string
	At      time.Time
	Actor   string
	// Data is a JSON object with at least actor, kind, name and resourceId for
	// a resource's event. Never a secret.
	Data json.RawMessage
}

// UsageHour is one hour of one meter: an hour of UTC in which the resource ran.
type UsageHour struct {
	ResourceID string
	Meter      string
	// Hour is the start of the hour, UTC.
	Hour time.Time
	// Quantity is 1 on every meter there is.
	Quantity json.Number
}

// CertificateFilter narrows a list of certificates. Empty fields do not.
type CertificateFilter struct {
	Tenant         string
	Pool           string
	Project        string
	IncludeDeleted bool
}

// BatchDetail is a batch with all that belongs to it.
type BatchDetail struct {
	Batch     *cloud.Batch
	File      quorum.Batch
	Approvals []quorum.Approval
	Commands  []cloud.BatchCommand
	// Audit is its trail, oldest first; AuditTruncated: more lines follow.
	Audit          []AuditLine
	AuditTruncated bool
}

// AuditLine is one line of the audit trail.
type AuditLine struct {
	At     time.Time
	Actor  string
	Action string
	Detail map[string]any
}
