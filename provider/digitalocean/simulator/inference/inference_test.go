package inference_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/inference"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

func wanted(name string, scale uint64) *godo.DedicatedInferenceSpecRequest {
	return &godo.DedicatedInferenceSpecRequest{
		Version: 1, Name: name, Region: "atl1", EnablePublicEndpoint: true,
		VPC: &godo.DedicatedInferenceVPCRequest{UUID: core.VPCID(spectest.Token, "atl1")},
		ModelDeployments: []*godo.DedicatedInferenceModelRequest{{
			ModelSlug: "mistral/mistral-7b-instruct-v3", ModelProvider: "hugging_face",
			Accelerators: []*godo.DedicatedInferenceAcceleratorRequest{{AcceleratorSlug: "gpu-mi300x1-192gb", Scale: scale, Type: "prefill_decode"}},
		}},
	}
}

func start(t *testing.T) (context.Context, *spectest.Sim, godo.DedicatedInferenceService) {
	t.Parallel()
	s := spectest.Start(t, basics.Area(), inference.Area())
	return context.Background(), s, s.Client.DedicatedInference
}

func status(t *testing.T, want int, r *godo.Response, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, r.StatusCode, err.Error())
}

func TestLife(t *testing.T) {
	ctx, s, api := start(t)
	sizes, _, err := api.GetSizes(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 8, sizes.Sizes[1].GPU.Count)
	_, _, err = api.GetGPUModelConfig(ctx)
	require.NoError(t, err)

	made, token, _, err := api.Create(ctx, &godo.DedicatedInferenceCreateRequest{Spec: wanted("one", 1)})
	require.NoError(t, err)
	require.NotEmpty(t, token.Value)
	require.False(t, token.IsManaged)
	_, _, r, err := api.Create(ctx, &godo.DedicatedInferenceCreateRequest{Spec: wanted("one", 1)})
	status(t, http.StatusConflict, r, err)
	code, _ := s.Do("GET", "v2/dedicated-inferences/"+made.ID+"/ca", nil)
	require.Equal(t, http.StatusNotFound, code)
	change := wanted("one", 2)
	change.ModelDeployments[0].ModelID = made.DeploymentSpec.ModelDeployments[0].ModelID
	_, r, err = api.Update(ctx, made.ID, &godo.DedicatedInferenceUpdateRequest{Spec: change})
	status(t, http.StatusForbidden, r, err)

	s.Clock.Advance(10 * time.Second)
	code, answer := s.Do("GET", "v2/dedicated-inferences/"+made.ID+"/ca", nil)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, answer["cert"], "CERTIFICATE")
	change.Version = 7
	_, r, err = api.Update(ctx, made.ID, &godo.DedicatedInferenceUpdateRequest{Spec: change})
	status(t, http.StatusPreconditionFailed, r, err)
	change.Version = 1
	updating, _, err := api.Update(ctx, made.ID, &godo.DedicatedInferenceUpdateRequest{Spec: change})
	require.NoError(t, err)
	require.EqualValues(t, 1, updating.DeploymentSpec.ModelDeployments[0].Accelerators[0].Scale, "the live spec stays meanwhile")
	require.EqualValues(t, 2, updating.PendingDeploymentSpec.ModelDeployments[0].Accelerators[0].Scale)
	s.Clock.Advance(10 * time.Second)
	after, _, err := api.Get(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, "active", after.Status)
	require.EqualValues(t, 2, after.DeploymentSpec.Version)
	require.Nil(t, after.PendingDeploymentSpec)
	require.EqualValues(t, 2, after.DeploymentSpec.ModelDeployments[0].Accelerators[0].Scale)
	require.NotEmpty(t, after.Endpoints.PublicEndpointFQDN)

	machines, _, err := api.ListAccelerators(ctx, made.ID, nil)
	require.NoError(t, err)
	require.Len(t, machines, 2)
	code, _ = s.Do("GET", "v2/dedicated-inferences/"+made.ID+"/accelerators/"+machines[1].ID, nil)
	require.Equal(t, http.StatusOK, code)
	all, _, err := api.List(ctx, &godo.DedicatedInferenceListOptions{Region: "atl1", Name: "one"})
	require.NoError(t, err)
	require.Len(t, all, 1)

	tokens(t, api, made.ID)
	_, err = api.Delete(ctx, made.ID)
	require.NoError(t, err)
	going, _, err := api.Get(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, "deleting", going.Status)
	_, _, r, err = api.Create(ctx, &godo.DedicatedInferenceCreateRequest{Spec: wanted("one", 1)})
	status(t, http.StatusConflict, r, err)
	s.Clock.Advance(10 * time.Second)
	_, r, err = api.Get(ctx, made.ID)
	status(t, http.StatusNotFound, r, err)
	s.RequireCovered(inference.Area())
}

// tokens: a value is shown once, and the provider's own stay.
func tokens(t *testing.T, api godo.DedicatedInferenceService, id string) {
	ctx := context.Background()
	made, _, err := api.CreateToken(ctx, id, &godo.DedicatedInferenceTokenCreateRequest{Name: "ci"})
	require.NoError(t, err)
	require.NotEmpty(t, made.Value)
	_, r, err := api.CreateToken(ctx, id, &godo.DedicatedInferenceTokenCreateRequest{Name: "not a name"})
	status(t, http.StatusUnprocessableEntity, r, err)
	all, _, err := api.ListTokens(ctx, id, nil)
	require.NoError(t, err)
	require.Len(t, all, 3)
	for _, token := range all {
		require.Empty(t, token.Value)
		r, err := api.RevokeToken(ctx, id, token.ID)
		if token.IsManaged {
			status(t, http.StatusUnprocessableEntity, r, err)
			continue
		}
		require.NoError(t, err)
	}
}

func TestRefusals(t *testing.T) {
	ctx, s, api := start(t)
	for name, change := range map[string]func(*godo.DedicatedInferenceSpecRequest){
		"name":     func(r *godo.DedicatedInferenceSpecRequest) { r.Name = "a name" },
		"region":   func(r *godo.DedicatedInferenceSpecRequest) { r.Region = "nyc3" },
		"vpc":      func(r *godo.DedicatedInferenceSpecRequest) { r.VPC.UUID = core.VPCID(spectest.Token, "nyc2") },
		"no vpc":   func(r *godo.DedicatedInferenceSpecRequest) { r.VPC = nil },
		"no model": func(r *godo.DedicatedInferenceSpecRequest) { r.ModelDeployments = nil },
		"slug":     func(r *godo.DedicatedInferenceSpecRequest) { r.ModelDeployments[0].ModelSlug = "" },
		"gated": func(r *godo.DedicatedInferenceSpecRequest) {
			r.ModelDeployments[0].ModelSlug = "meta/llama-3.3-70b-instruct"
		},
		"provider":   func(r *godo.DedicatedInferenceSpecRequest) { r.ModelDeployments[0].ModelProvider = "mine" },
		"no machine": func(r *godo.DedicatedInferenceSpecRequest) { r.ModelDeployments[0].Accelerators = nil },
		"machine": func(r *godo.DedicatedInferenceSpecRequest) {
			r.ModelDeployments[0].Accelerators[0].AcceleratorSlug = "gpu-l40sx1-48gb"
		},
		"scale":      func(r *godo.DedicatedInferenceSpecRequest) { r.ModelDeployments[0].Accelerators[0].Scale = 0 },
		"type":       func(r *godo.DedicatedInferenceSpecRequest) { r.ModelDeployments[0].Accelerators[0].Type = "" },
		"foreign id": func(r *godo.DedicatedInferenceSpecRequest) { r.ModelDeployments[0].ModelID = "other" },
	} {
		spec := wanted("bad", 1)
		change(spec)
		_, _, r, err := api.Create(ctx, &godo.DedicatedInferenceCreateRequest{Spec: spec})
		require.Error(t, err, name)
		require.Equal(t, http.StatusUnprocessableEntity, r.StatusCode, "%s: %v", name, err)
	}
	spec := wanted("gated", 1)
	spec.ModelDeployments[0].ModelSlug = "meta/llama-3.3-70b-instruct"
	_, _, _, err := api.Create(ctx, &godo.DedicatedInferenceCreateRequest{Spec: spec, Secrets: &godo.DedicatedInferenceSecrets{HuggingFaceToken: "hf_x"}})
	require.NoError(t, err)

	s.AddFault(core.Fault{Method: "POST", Path: "/v2/dedicated-inferences", Effect: core.Effect{Fail: "no capacity"}})
	made, _, _, err := api.Create(ctx, &godo.DedicatedInferenceCreateRequest{Spec: wanted("unlucky", 1)})
	require.NoError(t, err)
	s.Clock.Advance(10 * time.Second)
	got, _, err := api.Get(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, "error", got.Status)
}
