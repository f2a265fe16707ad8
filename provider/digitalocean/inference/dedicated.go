package inference

import (
	"context"
	_ "embed"
	"net/http"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed dedicated.json
var dedicatedJSON []byte

var dedicatedManifest = cloud.MustManifest(dedicatedJSON)

type dedicated struct{ doapi.Base }

// Dedicated is the kind do.ai.dedicated-inference. a is nil when only the
// manifest is asked for.
func Dedicated(a *doapi.Account) cloud.Kind { return &dedicated{doapi.NewBase(a, dedicatedManifest)} }

var (
	_ cloud.Booker          = (*dedicated)(nil)
	_ cloud.SecretRecoverer = (*dedicated)(nil)
	_ cloud.SpecChecker     = (*dedicated)(nil)
)

// The field and the note of the token for gated models.
const hfToken = "hugging_face_token"

// CheckSpec: what is booked covers what runs.
func (k *dedicated) CheckSpec(s cloud.Spec) error {
	replicas, _ := s.Int("replicas")
	if most, set := s.Int("maxReplicas"); set && most < replicas {
		return cloud.InvalidField("maxReplicas is less than replicas", "spec.maxReplicas")
	}
	return nil
}

// Find looks for the name in the whole list, since the provider's document
// knows no filter by it, and then at the object: lists may tell less.
func (k *dedicated) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	all, err := k.all(ctx, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	for i := range all {
		if all[i].name() == r.ProviderName && all[i].ID != "" {
			r.ProviderID = all[i].ID
			return k.Observe(ctx, r)
		}
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

func (k *dedicated) all(ctx context.Context, limit int) ([]wireEndpoint, error) {
	return doapi.Pages[wireEndpoint](ctx, k.Account, path, "dedicated_inferences", nil, limit)
}

// Create makes the endpoint; its answer is the only one with the first token.
func (k *dedicated) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	region := r.Spec.String("region")
	vpc := r.Networks[r.Spec.String("network")][region]
	if vpc == "" {
		return nil, cloud.Refuse(k.Op(doapi.Create), "the network reaches no VPC in region "+region, "spec.network")
	}
	public, _ := r.Spec.Bool("enable_public_endpoint")
	in := body{
		Spec: wireSpec{
			Version: 1, Name: r.ProviderName, Region: region, VPC: &wireVPC{vpc}, Public: &public,
			Deployments: scaled(deployments(r.Spec), r.Spec),
		},
		Secrets: k.secrets(r),
	}
	k.remember(r)
	var made answer
	if err := k.Call(ctx, http.MethodPost, path, in, &made); err != nil {
		return nil, k.Fail(doapi.Create, r, err)
	}
	if made.Endpoint == nil || made.Endpoint.ID == "" {
		return nil, k.Missing(doapi.Create)
	}
	o := seen(made.Endpoint)
	if t := made.Token; t != nil && t.Value != "" {
		o.Secrets = map[string]cloud.Secret{"token": cloud.NewSecret(t.Value)}
	}
	return o, nil
}

func (k *dedicated) secrets(r cloud.Request) map[string]string {
	if ref := r.Spec.String(hfToken); ref != "" {
		return map[string]string{hfToken: r.Resolve(ref)}
	}
	return nil
}

// remember notes which token was sent, since nothing shows it again.
func (k *dedicated) remember(r cloud.Request) {
	if ref := r.Spec.String(hfToken); ref != "" && r.Memo != nil && r.Digest != nil {
		r.Memo[hfToken] = r.Digest(r.Resolve(ref))
	}
}

func (k *dedicated) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	e, err := k.read(ctx, doapi.Look, r)
	if err != nil {
		return nil, err
	}
	o := seen(e)
	if o.Phase != cloud.PhaseReady {
		return o, nil
	}
	var authority struct {
		Cert string `json:"cert"`
	}
	err = k.Fail(doapi.Look, r, k.Get(ctx, doapi.Path("v2", "dedicated-inferences", e.ID, "ca"), &authority))
	if err != nil && !cloud.IsNotFound(err) {
		return nil, err
	}
	if authority.Cert != "" {
		o.Outputs["ca_certificate"] = authority.Cert
	}
	return o, nil
}

func (k *dedicated) read(ctx context.Context, v doapi.Verb, r cloud.Request) (*wireEndpoint, error) {
	var got answer
	if err := k.Get(ctx, doapi.Path("v2", "dedicated-inferences", r.ProviderID), &got); err != nil {
		return nil, k.Fail(v, r, err)
	}
	if got.Endpoint == nil || got.Endpoint.ID == "" {
		return nil, k.Missing(v)
	}
	return got.Endpoint, nil
}

func seen(e *wireEndpoint) *cloud.Observed {
	o := &cloud.Observed{
		ProviderID: e.ID, Name: e.name(), Region: e.Region, Phase: e.phase(), CreatedAt: parseTime(e.CreatedAt),
		Owner:   cloud.Owner{ResourceKey: cloud.KeyFromProviderName(e.name())},
		Spec:    cloud.Spec{},
		Outputs: map[string]any{"id": e.ID},
	}
	if o.Phase == cloud.PhaseBusy {
		o.Message = "the provider is working on the endpoint"
	}
	for name, text := range map[string]string{
		"status": e.Status, "vpc_uuid": e.VPCUUID,
		"public_endpoint_fqdn": e.Hosts.Public, "private_endpoint_fqdn": e.Hosts.Private,
	} {
		if text != "" {
			o.Outputs[name] = text
		}
	}
	if e.Region != "" {
		o.Spec["region"] = e.Region
	}
	if e.Spec == nil {
		return o
	}
	o.Outputs["version"] = e.Spec.Version
	if e.Spec.Public != nil {
		o.Spec["enable_public_endpoint"] = *e.Spec.Public
	}
	if len(e.Spec.Deployments) > 0 {
		o.Spec["model_deployments"] = told(e.Spec.Deployments)
		if n := scaleOf(e.Spec.Deployments); n > 0 {
			o.Spec["replicas"] = n
		}
	}
	return o
}

func (k *dedicated) Delete(ctx context.Context, r cloud.Request) error {
	return k.Fail(doapi.Delete, r, k.Call(ctx, http.MethodDelete, doapi.Path("v2", "dedicated-inferences", r.ProviderID), nil, nil))
}

func (k *dedicated) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	all, err := k.all(ctx, s.Limit)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := make([]*cloud.Observed, len(all))
	for i := range all {
		out[i] = seen(&all[i])
	}
	return out, nil
}
