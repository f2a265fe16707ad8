package marketplace_test

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/marketplace"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

var secrets = map[string]cloud.Secret{"secret://acme/sender": cloud.NewSecret("CANARY.example.com")}

// exists: an add-on that is gone is still shown for a while.
func exists(o simulator.Object) bool { return o.Text("state") != "deprovisioned" }

func TestAddon(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind:    "do.marketplace.addon",
		Create:  "POST /v2/add-ons/saas",
		Objects: "addon", Filter: exists,
		Updates: []cloud.Spec{{"plan_slug": "business"}, {"plan_slug": "starter"}},
	})
}

// TestAddonWithSecretMetadata: what comes back in plain text is not passed on.
func TestAddonWithSecretMetadata(t *testing.T) {
	spec, err := cloud.ParseSpec(marketplace.Addon(nil).Manifest().Examples[1])
	require.NoError(t, err)
	kindtest.Run(t, kindtest.Case{
		Kind:    "do.marketplace.addon",
		Create:  "POST /v2/add-ons/saas",
		Objects: "addon", Filter: exists,
		Spec: spec, Secrets: secrets, Many: -1, // paging is the same as above
		Updates: []cloud.Spec{{"plan_slug": "100k"}},
	})
}

func open(t *testing.T, patch cloud.Spec) (cloud.Kind, simulator.Control, cloud.Request) {
	t.Helper()
	account, sim := kindtest.Open(t)
	kind, _ := account.Kind("do.marketplace.addon")
	spec, err := cloud.ParseSpec(kind.Manifest().Examples[0])
	require.NoError(t, err)
	id := cloud.ResourceID("acme", "tester", "one")
	return kind, sim, cloud.Request{
		ResourceID: id, ProviderName: cloud.ProviderName(id), Spec: spec.Merge(patch), Memo: map[string]string{},
		Instances: map[string]string{"inst_1": strconv.Itoa(simulator.DropletID(kindtest.Token, "acme")), "inst_2": "not a number"},
	}
}

// A look at the one add-on tells where to log in, a list never does.
func TestLoginAddress(t *testing.T) {
	ctx := context.Background()
	kind, _, r := open(t, nil)
	made, err := kind.Create(ctx, r)
	require.NoError(t, err)
	r.ProviderID = made.ProviderID
	require.Eventually(t, func() bool {
		o, err := kind.Observe(ctx, r)
		return err == nil && o.Phase == cloud.PhaseReady && !o.Secrets["sso_url"].Empty()
	}, 5*time.Second, 5*time.Millisecond)
	all, err := kind.List(ctx, cloud.Scope{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Empty(t, all[0].Secrets)
	require.EqualValues(t, 29, all[0].Outputs["plan_price_per_month"])
}

func TestStates(t *testing.T) {
	ctx := context.Background()
	kind, sim, r := open(t, nil)
	r.ProviderID = "a-1"
	for state, phase := range map[string]cloud.Phase{
		"pending": cloud.PhaseBusy, "provisioning": cloud.PhaseBusy, "something new": cloud.PhaseBusy,
		"provisioned": cloud.PhaseReady, "suspended": cloud.PhaseFailed, "provisioning-failed": cloud.PhaseFailed,
		"deprovisioning-failed": cloud.PhaseFailed, "deprovisioning": cloud.PhaseDeleting, "deprovisioned": cloud.PhaseGone,
	} {
		require.NoError(t, sim.ClearFaults(ctx))
		_, err := sim.AddFault(ctx, simulator.Fault{Method: "GET", Path: "/v2/add-ons/saas/*", Effect: simulator.Effect{Status: 200,
			Body: map[string]any{"resource": map[string]any{"uuid": "a-1", "state": state, "message": "says the\nvendor"}}}})
		require.NoError(t, err)
		o, err := kind.Observe(ctx, r)
		require.NoError(t, err)
		require.Equal(t, phase, o.Phase, state)
		require.Equal(t, "says the vendor", o.Outputs["message"])
		if phase == cloud.PhaseFailed {
			require.Equal(t, state+": says the vendor", o.Message)
		}
	}
	u, err := kind.Update(ctx, r, nil, nil)
	require.NoError(t, err)
	require.Equal(t, &cloud.Updated{}, u, "there is no starting it again")
}

// One that is gone and still shown neither is found nor listed.
func TestDeprovisionedIsGone(t *testing.T) {
	ctx := context.Background()
	kind, sim, r := open(t, nil)
	_, err := sim.AddFault(ctx, simulator.Fault{Method: "GET", Path: "/v2/add-ons/saas", Effect: simulator.Effect{Status: 200,
		Body: map[string]any{"resources": []any{map[string]any{"uuid": "a-1", "name": r.ProviderName, "state": "deprovisioned"}}}}})
	require.NoError(t, err)
	_, err = kind.Find(ctx, r)
	require.True(t, cloud.IsNotFound(err))
	all, err := kind.List(ctx, cloud.Scope{})
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestLinkToAnInstance(t *testing.T) {
	ctx := context.Background()
	kind, sim, r := open(t, cloud.Spec{"instance": "inst_1", "fleet_uuid": "f1234567-89ab-4def-8123-456789abcdef"})
	_, err := kind.Create(ctx, r)
	require.NoError(t, err)
	sent, err := sim.Requests(ctx, "", 0)
	require.NoError(t, err)
	var body map[string]any
	require.NoError(t, json.Unmarshal(sent[len(sent)-1].Body, &body))
	require.EqualValues(t, simulator.DropletID(kindtest.Token, "acme"), body["linked_droplet_id"])
	require.NotEmpty(t, body["fleet_uuid"])
	r.Spec = r.Spec.Merge(cloud.Spec{"instance": "inst_2"})
	_, err = kind.Create(ctx, r)
	require.Equal(t, cloud.ClassRefused, cloud.ClassOf(err))
}

func TestMetadataHasOneValueEach(t *testing.T) {
	check := marketplace.Addon(nil).(cloud.SpecChecker).CheckSpec
	one := map[string]any{"name": "a", "value": true}
	require.NoError(t, check(cloud.Spec{"metadata": []any{one, map[string]any{"name": "b", "value": "x"}}}))
	require.Equal(t, []string{"spec.metadata[1].name"}, cloud.AsError(check(cloud.Spec{"metadata": []any{one, one}})).Details["fields"])
}
