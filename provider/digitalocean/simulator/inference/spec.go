package inference

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

type accelerator struct {
	Slug  string `json:"accelerator_slug"`
	Scale int    `json:"scale"`
	Type  string `json:"type"`
}

type deployment struct {
	ModelID         string          `json:"model_id"`
	ModelSlug       string          `json:"model_slug"`
	ModelProvider   string          `json:"model_provider"`
	ProviderModelID string          `json:"provider_model_id,omitempty"`
	WorkloadConfig  json.RawMessage `json:"workload_config,omitempty"`
	Accelerators    []accelerator   `json:"accelerators"`
}

// input is the body of a create and of a change. The token of the model's
// provider is documented as access_tokens, and clients send it as secrets.
type input struct {
	Spec struct {
		Version int    `json:"version"`
		Name    string `json:"name"`
		Region  string `json:"region"`
		VPC     struct {
			UUID string `json:"uuid"`
		} `json:"vpc"`
		Public      *bool        `json:"enable_public_endpoint"`
		Deployments []deployment `json:"model_deployments"`
	} `json:"spec"`
	Tokens  map[string]string `json:"access_tokens"`
	Secrets map[string]string `json:"secrets"`
}

func (in input) huggingFace() string {
	if t := in.Tokens["hugging_face_token"]; t != "" {
		return t
	}
	return in.Secrets["hugging_face_token"]
}

var goodName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,255}$`)

// check refuses what no endpoint can be. hasToken tells whether one for gated
// models is there already.
func (in input) check(c *core.Call, hasToken bool) error {
	s := in.Spec
	switch {
	case !goodName.MatchString(s.Name):
		return core.Unprocessable("spec.name must match %s", goodName.String())
	case !slices.Contains(regions, s.Region):
		return core.Unprocessable("spec.region %q is not one of %v", s.Region, regions)
	case s.VPC.UUID == "":
		return core.Unprocessable("spec.vpc.uuid is required")
	case s.Public == nil:
		return core.Unprocessable("spec.enable_public_endpoint is required")
	case len(s.Deployments) == 0:
		return core.Unprocessable("spec.model_deployments must hold at least one deployment")
	}
	if _, err := basics.VPCIn(c, s.VPC.UUID, s.Region); err != nil {
		return err
	}
	for _, d := range s.Deployments {
		if err := d.check(s.Region, hasToken || in.huggingFace() != ""); err != nil {
			return err
		}
	}
	return nil
}

func (d deployment) check(region string, hasToken bool) error {
	switch {
	case d.ModelSlug == "":
		return core.Unprocessable("model_slug is required")
	case !slices.Contains([]string{"hugging_face", "modelcatalog", "digitalocean"}, d.ModelProvider):
		return core.Unprocessable("model_provider %q is invalid", d.ModelProvider)
	case len(d.Accelerators) == 0:
		return core.Unprocessable("accelerators are required")
	case gated(d.ModelSlug) && !hasToken:
		return core.Unprocessable("model %s is gated: hugging_face_token is required", d.ModelSlug)
	}
	for _, a := range d.Accelerators {
		switch {
		case !sizeIn(a.Slug, region):
			return core.Unprocessable("accelerator_slug %q is not offered in %s", a.Slug, region)
		case a.Scale < 1:
			return core.Unprocessable("scale must be at least 1")
		case a.Type == "":
			return core.Unprocessable("accelerator type is required")
		}
	}
	return nil
}

// settled gives every deployment an id: its own if it names one of the present,
// else a new one. An unknown id is refused.
func settled(present, wanted []deployment) ([]deployment, error) {
	out := slices.Clone(wanted)
	for i := range out {
		id := out[i].ModelID
		switch {
		case id == "":
			out[i].ModelID = core.NewUUID()
		case !slices.ContainsFunc(present, func(d deployment) bool { return d.ModelID == id }):
			return nil, core.Unprocessable("model_id %q is not a deployment of this endpoint", id)
		}
	}
	return out, nil
}
