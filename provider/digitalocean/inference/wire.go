package inference

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

const (
	path = "v2/dedicated-inferences"
	// What the provider takes a deployment for that does not say.
	defaultProvider = "hugging_face"
	defaultType     = "prefill_decode"
)

type accelerator struct {
	Slug  string `json:"accelerator_slug"`
	Scale int64  `json:"scale,omitempty"`
	Type  string `json:"type,omitempty"`
}

// deployment is a model, as the API and as the manifest write it; ids and
// scales are the API's only.
type deployment struct {
	ModelID         string          `json:"model_id,omitempty"`
	ModelSlug       string          `json:"model_slug"`
	ModelProvider   string          `json:"model_provider,omitempty"`
	ProviderModelID string          `json:"provider_model_id,omitempty"`
	WorkloadConfig  json.RawMessage `json:"workload_config,omitempty"`
	Accelerators    []accelerator   `json:"accelerators"`
}

type wireVPC struct {
	UUID string `json:"uuid"`
}

// wireSpec is the spec that is sent, and the live one in answers.
type wireSpec struct {
	Version     int64        `json:"version"`
	Name        string       `json:"name"`
	Region      string       `json:"region"`
	VPC         *wireVPC     `json:"vpc"`
	Public      *bool        `json:"enable_public_endpoint"`
	Deployments []deployment `json:"model_deployments"`
}

// wireEndpoint is an endpoint in an answer. Its name stands on top, in its
// spec, or in both.
type wireEndpoint struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Region  string          `json:"region"`
	Status  string          `json:"status"`
	VPCUUID string          `json:"vpc_uuid"`
	Spec    *wireSpec       `json:"spec"`
	Pending json.RawMessage `json:"pending_deployment_spec"`
	Hosts   struct {
		Public  string `json:"public_endpoint_fqdn"`
		Private string `json:"private_endpoint_fqdn"`
	} `json:"endpoints"`
	CreatedAt string `json:"created_at"`
}

type wireToken struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Value     string `json:"value"`
	IsManaged bool   `json:"is_managed"`
	CreatedAt string `json:"created_at"`
}

// answer is every answer that holds one object.
type answer struct {
	Endpoint *wireEndpoint `json:"dedicated_inference"`
	Token    *wireToken    `json:"token"`
}

// body is what a create and a change send. The provider's document calls the
// second part access_tokens; its own client sends secrets, and so do we.
type body struct {
	Spec    wireSpec          `json:"spec"`
	Secrets map[string]string `json:"secrets,omitempty"`
}

func (e *wireEndpoint) name() string {
	if e.Name == "" && e.Spec != nil {
		return e.Spec.Name
	}
	return e.Name
}

// changing: a spec that is not live yet is on its way.
func (e *wireEndpoint) changing() bool {
	return len(e.Pending) > 0 && string(e.Pending) != "null" && string(e.Pending) != "{}"
}

var phases = map[string]cloud.Phase{
	"active": cloud.PhaseReady, "running": cloud.PhaseReady,
	"error": cloud.PhaseFailed, "failed": cloud.PhaseFailed,
	"deleting": cloud.PhaseDeleting, "deleted": cloud.PhaseGone,
}

// phase: an unknown word is busy, and so is an active one with a change on its way.
func (e *wireEndpoint) phase() cloud.Phase {
	p, known := phases[strings.ToLower(e.Status)]
	if !known || p == cloud.PhaseReady && e.changing() {
		return cloud.PhaseBusy
	}
	return p
}

func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{} // not told
	}
	return t
}
