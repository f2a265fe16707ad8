package intent

import (
	"encoding/json"

	"github.com/better-compute/cloud-resources/cloud"
)

// What callers send, as decoded from JSON that fits the contract's schemas.

// CreateRequest asks for a new resource.
type CreateRequest struct {
	TenantID       string     `json:"tenantId"`
	ProjectID      string     `json:"projectId"`
	PoolID         string     `json:"poolId"`
	Kind           string     `json:"kind"`
	Name           string     `json:"name"`
	Description    string     `json:"description"`
	ParentID       string     `json:"parentId"`
	Spec           cloud.Spec `json:"spec"`
	IdempotencyKey string     `json:"idempotencyKey"`
}

// AdoptRequest asks to take over an object that exists at the provider.
type AdoptRequest struct {
	TenantID       string `json:"tenantId"`
	ProjectID      string `json:"projectId"`
	PoolID         string `json:"poolId"`
	Kind           string `json:"kind"`
	ProviderID     string `json:"providerId"`
	Name           string `json:"name"`
	Description    string `json:"description"`
	IdempotencyKey string `json:"idempotencyKey"`
}

// UpdateRequest asks for a change. A nil Spec is absent.
type UpdateRequest struct {
	TenantID        string      `json:"tenantId"`
	ResourceID      string      `json:"resourceId"`
	Spec            *cloud.Spec `json:"spec"`
	Description     Text        `json:"description"`
	ExpectedVersion *int64      `json:"expectedVersion"`
}

// DeleteRequest asks for a resource's end.
type DeleteRequest struct {
	TenantID        string `json:"tenantId"`
	ResourceID      string `json:"resourceId"`
	ExpectedVersion *int64 `json:"expectedVersion"`
}

// ResourceRequest names one resource, to get or release it.
type ResourceRequest struct {
	TenantID   string `json:"tenantId"`
	ResourceID string `json:"resourceId"`
}

// PoolRequest asks about a pool. Kind is for discover, InstallsOn for catalog,
// ResourceID for signals.
type PoolRequest struct {
	TenantID   string `json:"tenantId"`
	PoolID     string `json:"poolId"`
	Kind       string `json:"kind"`
	InstallsOn string `json:"installsOn"`
	ResourceID string `json:"resourceId"`
}

// ListRequest narrows a list; empty fields do not.
type ListRequest struct {
	TenantID       string       `json:"tenantId"`
	PoolID         string       `json:"poolId"`
	ProjectID      string       `json:"projectId"`
	Kind           string       `json:"kind"`
	Family         cloud.Family `json:"family"`
	IncludeDeleted bool         `json:"includeDeleted"`
	// After continues a list where Next of an earlier one ended (D25).
	After string `json:"after"`
}

// Text is an optional string that tells absent from null.
type Text struct {
	// Given: the field was there; Value "" when it was null.
	Given bool
	Value string
}

// UnmarshalJSON is called only for a field that is there.
func (t *Text) UnmarshalJSON(raw []byte) error {
	t.Given = true
	return json.Unmarshal(raw, &t.Value)
}
