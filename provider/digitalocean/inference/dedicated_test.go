package inference_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/inference"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

const hfRef = "secret://acme/hugging-face"

var (
	networks = map[string]cloud.NetworkRef{"net_0000000000000000000000acme": {
		"atl1": simulator.VPCID(kindtest.Token, "atl1"), "nyc2": simulator.VPCID(kindtest.Token, "nyc2"),
	}}
	secrets = map[string]cloud.Secret{hfRef: cloud.NewSecret("hf_CANARY-of-a-person")}
)

func models(slugs ...string) []any {
	list := []any{}
	for i := 0; i < len(slugs); i += 2 {
		list = append(list, map[string]any{"model_slug": slugs[i], "accelerators": []any{map[string]any{"accelerator_slug": slugs[i+1]}}})
	}
	return list
}

func TestDedicated(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind:     "do.ai.dedicated-inference",
		Create:   "POST /v2/dedicated-inferences",
		Objects:  "inference",
		Networks: networks, Secrets: secrets,
		Updates: []cloud.Spec{
			{"replicas": 3, "maxReplicas": 4},
			{"hugging_face_token": hfRef, "model_deployments": models("meta/llama-3.3-70b-instruct", "gpu-mi300x1-192gb", "mistral/mistral-7b-instruct-v3", "gpu-h100x1-80gb")},
			{"replicas": 1},
			{"model_deployments": models("mistral/mistral-7b-instruct-v3", "gpu-h100x1-80gb"), "hugging_face_token": nil},
		},
	})
}

func TestDedicatedWithTokenForGatedModels(t *testing.T) {
	spec, err := cloud.ParseSpec(inference.Dedicated(nil).Manifest().Examples[1])
	require.NoError(t, err)
	kindtest.Run(t, kindtest.Case{
		Kind:     "do.ai.dedicated-inference",
		Create:   "POST /v2/dedicated-inferences",
		Objects:  "inference",
		Spec:     spec,
		Networks: networks, Secrets: secrets, Many: -1, // paging is the same as above
		Updates:    []cloud.Spec{{"replicas": 3}},
		NotUpdated: map[string]string{"model_deployments": "above", "maxReplicas": "ours alone", "hugging_face_token": "above"},
	})
}

// request is one for the kind's first example, with changes.
func request(k cloud.Kind, patch cloud.Spec) cloud.Request {
	spec, _ := cloud.ParseSpec(k.Manifest().Examples[0])
	id := cloud.ResourceID("acme", "tester", "one")
	digest := func(v string) string { s := sha256.Sum256([]byte(v)); return hex.EncodeToString(s[:8]) }
	return cloud.Request{
		ResourceID: id, ProviderName: cloud.ProviderName(id), Spec: spec.Merge(patch), Networks: networks, Secrets: secrets,
		Digest: digest, SecretVersions: map[string]string{hfRef: digest(secrets[hfRef].Reveal())}, Memo: map[string]string{}, Now: time.Now(),
	}
}

// ready makes an endpoint and waits for it.
func ready(t *testing.T, k cloud.Kind, r *cloud.Request) *cloud.Observed {
	t.Helper()
	made, err := k.Create(context.Background(), *r)
	require.NoError(t, err)
	require.NotEmpty(t, made.Secrets["token"].Reveal())
	r.ProviderID = made.ProviderID
	return until(t, k, *r, cloud.PhaseReady)
}

func until(t *testing.T, k cloud.Kind, r cloud.Request, phase cloud.Phase) (o *cloud.Observed) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		o, err = k.Observe(context.Background(), r)
		return err == nil && o.Phase == phase
	}, 10*time.Second, 5*time.Millisecond)
	return o
}

func TestBookingIsGPUsTimesTheLargerNumberOfReplicas(t *testing.T) {
	account, _ := kindtest.Open(t)
	kind, _ := account.Kind("do.ai.dedicated-inference")
	booker := kind.(cloud.Booker)
	for name, c := range map[string]struct {
		patch cloud.Spec
		gpus  int64
	}{
		"as it stands":         {nil, 1},
		"replicas":             {cloud.Spec{"replicas": 3}, 3},
		"larger maxReplicas":   {cloud.Spec{"replicas": 3, "maxReplicas": 5}, 5},
		"GPUs of a replica":    {cloud.Spec{"replicas": 2, "model_deployments": models("m", "gpu-mi300x8-1536gb")}, 16},
		"over all deployments": {cloud.Spec{"replicas": 2, "model_deployments": models("m", "gpu-mi300x8-1536gb", "n", "gpu-h100x1-80gb")}, 18},
	} {
		got, err := booker.Booking(context.Background(), request(kind, c.patch).Spec)
		require.NoError(t, err, name)
		require.Equal(t, map[string]int64{"gpu": c.gpus}, got, name)
	}
	_, err := booker.Booking(context.Background(), request(kind, cloud.Spec{"model_deployments": models("m", "gpu-none")}).Spec)
	require.Equal(t, []string{"spec.model_deployments[0].accelerators[0].accelerator_slug"}, cloud.AsError(err).Details["fields"])
}

// Sizes without a count, as the provider's document has them, still book what
// the slug says.
func TestBookingReadsTheSlugWhereNoCountIsTold(t *testing.T) {
	account, sim := kindtest.Open(t)
	kind, _ := account.Kind("do.ai.dedicated-inference")
	sizes := func(body string) {
		require.NoError(t, sim.ClearFaults(context.Background()))
		_, err := sim.AddFault(context.Background(), simulator.Fault{Method: "GET", Path: "/v2/dedicated-inferences/sizes", Effect: simulator.Effect{Status: 200, Body: body}})
		require.NoError(t, err)
	}
	spec := request(kind, cloud.Spec{"model_deployments": models("m", "gpu-h100x8-640gb")}).Spec
	sizes(`{"sizes":[{"gpu_slug":"gpu-h100x8-640gb"}]}`)
	got, err := kind.(cloud.Booker).Booking(context.Background(), spec)
	require.NoError(t, err)
	require.EqualValues(t, 8, got["gpu"])
	sizes(`{}`)
	_, err = kind.(cloud.Booker).Booking(context.Background(), spec)
	require.Equal(t, cloud.ClassUnknown, cloud.ClassOf(err), "no sizes at all is no answer")
}

func TestMoreReplicasThanBookedAreRefused(t *testing.T) {
	check := inference.Dedicated(nil).(cloud.SpecChecker).CheckSpec
	require.NoError(t, check(cloud.Spec{"replicas": 2, "maxReplicas": 2}))
	require.Equal(t, []string{"spec.maxReplicas"}, cloud.AsError(check(cloud.Spec{"replicas": 3, "maxReplicas": 2})).Details["fields"])
}

// A change starts from the live version, keeps the ids of what stays, and waits
// while another is under way.
func TestChangeOfTheLiveSpec(t *testing.T) {
	ctx := context.Background()
	account, sim := kindtest.Open(t)
	kind, _ := account.Kind("do.ai.dedicated-inference")
	r := request(kind, nil)
	o := ready(t, kind, &r)
	require.Contains(t, o.Outputs["ca_certificate"], "CERTIFICATE")
	require.Empty(t, kind.Diff(r, o))

	r.Spec = r.Spec.Merge(cloud.Spec{"replicas": 2})
	require.Equal(t, []string{"replicas"}, kind.Diff(r, o))
	once := 1
	_, err := sim.AddFault(ctx, simulator.Fault{Method: "PATCH", Path: "/**", Times: &once, Effect: simulator.Effect{Status: 403, Body: map[string]any{"id": "forbidden", "message": "not accepting"}}})
	require.NoError(t, err)
	_, err = kind.Update(ctx, r, o, []string{"replicas"})
	require.Equal(t, cloud.ClassBusy, cloud.ClassOf(err), "%v", err)
	u, err := kind.Update(ctx, r, o, []string{"replicas"})
	require.NoError(t, err)
	require.Equal(t, cloud.PhaseBusy, u.Observed.Phase)
	_, err = kind.Update(ctx, r, o, []string{"replicas"})
	require.Equal(t, cloud.ClassBusy, cloud.ClassOf(err), "%v", err)
	o = until(t, kind, r, cloud.PhaseReady)
	require.EqualValues(t, 2, o.Outputs["version"])
	require.Empty(t, kind.Diff(r, o))

	var sent []map[string]any
	all, err := sim.Requests(ctx, "", 0)
	require.NoError(t, err)
	for _, q := range all {
		if q.Method == http.MethodPatch && q.Status == http.StatusAccepted {
			var in struct {
				Spec struct {
					Deployments []map[string]any `json:"model_deployments"`
				} `json:"spec"`
			}
			require.NoError(t, json.Unmarshal(q.Body, &in))
			sent = append(sent, in.Spec.Deployments...)
		}
	}
	require.Len(t, sent, 1)
	require.NotEmpty(t, sent[0]["model_id"], "the deployment that stays is named")
}

// A failed endpoint is started again only when asked to, by its spec once more.
func TestFailedIsStartedAgain(t *testing.T) {
	ctx := context.Background()
	account, sim := kindtest.Open(t)
	kind, _ := account.Kind("do.ai.dedicated-inference")
	once := 1
	_, err := sim.AddFault(ctx, simulator.Fault{Method: "POST", Path: "/v2/dedicated-inferences", Times: &once, Effect: simulator.Effect{Fail: "no capacity"}})
	require.NoError(t, err)
	r := request(kind, nil)
	made, err := kind.Create(ctx, r)
	require.NoError(t, err)
	r.ProviderID = made.ProviderID
	o := until(t, kind, r, cloud.PhaseFailed)
	u, err := kind.Update(ctx, r, o, nil)
	require.NoError(t, err)
	require.NotEmpty(t, u.Settles)
	o = until(t, kind, r, cloud.PhaseReady)
	u, err = kind.Update(ctx, r, o, nil)
	require.NoError(t, err)
	require.Equal(t, &cloud.Updated{}, u, "one that runs is left alone")
}

// A lost token is replaced by one under the endpoint's name; earlier ones of
// that name are revoked, all others stay.
func TestLostTokenIsReplaced(t *testing.T) {
	ctx := context.Background()
	account, sim := kindtest.Open(t)
	kind, _ := account.Kind("do.ai.dedicated-inference")
	r := request(kind, nil)
	o := ready(t, kind, &r)
	require.Empty(t, o.Secrets, "shown once")
	recoverer := kind.(cloud.SecretRecoverer)
	drop := 1
	_, err := sim.AddFault(ctx, simulator.Fault{Method: "POST", Path: "/v2/dedicated-inferences/*/tokens", Times: &drop, Effect: simulator.Effect{Accept: true, Then: &simulator.Then{Drop: true}}})
	require.NoError(t, err)
	_, err = recoverer.RecoverSecrets(ctx, r, o)
	require.Equal(t, cloud.ClassUnknown, cloud.ClassOf(err))
	values := map[string]bool{}
	for range 2 {
		again, err := recoverer.RecoverSecrets(ctx, r, o)
		require.NoError(t, err)
		require.Equal(t, cloud.PhaseReady, again.Phase)
		values[again.Secrets["token"].Reveal()] = true
	}
	require.Len(t, values, 2)
	objects, err := sim.Objects(ctx, kindtest.Token)
	require.NoError(t, err)
	names := []string{}
	for _, object := range objects {
		if object.Text("type") == "inference.token" {
			names = append(names, object.Text("name"))
		}
	}
	require.ElementsMatch(t, []string{"monitoring", "default", r.ProviderName}, names)
}

// The token for gated models is told by its digest, also after it changed.
func TestChangedTokenForGatedModels(t *testing.T) {
	account, _ := kindtest.Open(t)
	kind, _ := account.Kind("do.ai.dedicated-inference")
	r := request(kind, cloud.Spec{"hugging_face_token": hfRef})
	o := ready(t, kind, &r)
	require.Empty(t, kind.Diff(r, o))
	r.SecretVersions = map[string]string{hfRef: "another"}
	require.Equal(t, []string{"hugging_face_token"}, kind.Diff(r, o))
	r.SecretVersions = nil
	require.Empty(t, kind.Diff(r, o), "unknown is no difference")
}

// What the provider writes otherwise is the same.
func TestMeaning(t *testing.T) {
	kind := inference.Dedicated(nil)
	wanted := func(list ...any) cloud.Request {
		return cloud.Request{Spec: cloud.Spec{"replicas": 1, "model_deployments": list}}
	}
	one := func(slug, provider, machine string) any {
		m := map[string]any{"model_slug": slug, "accelerators": []any{map[string]any{"accelerator_slug": machine}}}
		if provider != "" {
			m["model_provider"] = provider
		}
		return m
	}
	seen := &cloud.Observed{Spec: cloud.Spec{"replicas": int64(1), "model_deployments": []any{
		map[string]any{"model_slug": "b", "model_provider": "hugging_face", "provider_model_id": "B/b", "accelerators": []any{map[string]any{"accelerator_slug": "x", "type": "prefill_decode"}}},
		map[string]any{"model_slug": "A", "model_provider": "HUGGING_FACE", "accelerators": []any{map[string]any{"accelerator_slug": "y", "type": "prefill_decode"}}},
	}}}
	require.Empty(t, kind.Diff(wanted(one("a", "", "y"), one("b", "hugging_face", "x")), seen))
	for name, r := range map[string]cloud.Request{
		"one less":         wanted(one("a", "", "y")),
		"twice the same":   wanted(one("a", "", "y"), one("a", "", "y")),
		"another provider": wanted(one("a", "modelcatalog", "y"), one("b", "", "x")),
		"another machine":  wanted(one("a", "", "x"), one("b", "", "x")),
	} {
		require.Equal(t, []string{"model_deployments"}, kind.Diff(r, seen), name)
	}
	delete(seen.Spec, "replicas") // they differ among themselves
	require.Equal(t, []string{"replicas"}, kind.Diff(wanted(one("a", "", "y"), one("b", "", "x")), seen))
	require.Empty(t, kind.Diff(wanted(one("a", "", "y")), &cloud.Observed{Spec: cloud.Spec{}}), "not told is no difference")
}
