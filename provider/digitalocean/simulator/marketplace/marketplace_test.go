package marketplace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/marketplace"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

const root = "v2/add-ons/saas"

func wanted(change core.Map) core.Map {
	in := core.Map{
		"name": "bc-r-one", "app_slug": "beacon_logs", "plan_slug": "team",
		"metadata": []core.Map{{"name": "retention", "value": "30"}, {"name": "alerts", "value": true}, {"name": "owner_email", "value": "ops@example.com"}},
	}
	for k, v := range change {
		in[k] = v
	}
	return in
}

func TestLife(t *testing.T) {
	t.Parallel()
	s := spectest.Start(t, basics.Area(), marketplace.Area())
	do := func(want int, method, path string, body any) core.Map {
		t.Helper()
		status, answer := s.Do(method, path, body)
		require.Equal(t, want, status, "%s %s: %v", method, path, answer)
		resource, _ := answer["resource"].(core.Map)
		return resource
	}
	do(200, "GET", "v2/add-ons/apps", nil)
	do(200, "GET", "v2/add-ons/apps/beacon_logs/metadata", nil)
	do(404, "GET", "v2/add-ons/apps/none/metadata", nil)
	made := do(200, "POST", root, wanted(core.Map{"linked_droplet_id": core.DropletID(spectest.Token, "acme")}))
	require.Equal(t, "pending", made["state"])
	path := root + "/" + made["uuid"].(string)
	do(422, "PATCH", path+"/plan", core.Map{"plan_slug": "business"})
	s.Clock.Advance(2 * time.Second)
	require.Equal(t, "provisioning", do(200, "GET", path, nil)["state"])
	s.Clock.Advance(5 * time.Second)
	got := do(200, "GET", path, nil)
	require.Equal(t, "provisioned", got["state"])
	require.NotEmpty(t, got["sso_url"])
	do(200, "POST", root, wanted(nil)) // names are not unique
	do(200, "PATCH", path, core.Map{"name": "renamed"})
	do(422, "PATCH", path, core.Map{})
	do(422, "PATCH", path+"/plan", core.Map{"plan_slug": "none"})
	require.Equal(t, "team", do(200, "PATCH", path+"/plan", core.Map{"plan_slug": "business"})["plan_slug"])
	s.Clock.Advance(5 * time.Second)
	require.EqualValues(t, 149, do(200, "GET", path, nil)["plan_price_per_month"])
	_, answer := s.Do("GET", root, nil)
	require.Len(t, answer["resources"], 2)

	do(200, "DELETE", path, nil)
	require.Equal(t, "deprovisioning", do(200, "GET", path, nil)["state"])
	s.Clock.Advance(time.Second)
	require.Equal(t, "deprovisioned", do(200, "GET", path, nil)["state"])
	do(200, "DELETE", path, nil)
	s.Clock.Advance(5 * time.Second)
	do(404, "GET", path, nil)
	do(404, "DELETE", path, nil)
	s.RequireCovered(marketplace.Area())
}

func TestVendorsFail(t *testing.T) {
	t.Parallel()
	s := spectest.Start(t, basics.Area(), marketplace.Area())
	s.AddFault(core.Fault{Method: "*", Path: "/**", Effect: core.Effect{Fail: "the vendor is down"}})
	_, answer := s.Do("POST", root, wanted(nil))
	path := root + "/" + answer["resource"].(core.Map)["uuid"].(string)
	s.Clock.Advance(10 * time.Second)
	_, answer = s.Do("GET", path, nil)
	require.Equal(t, "provisioning-failed", answer["resource"].(core.Map)["state"])
	require.Equal(t, "the vendor is down", answer["resource"].(core.Map)["message"])
	s.Do("DELETE", path, nil)
	s.Clock.Advance(10 * time.Second)
	_, answer = s.Do("GET", path, nil)
	require.Equal(t, "deprovisioning-failed", answer["resource"].(core.Map)["state"])
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := spectest.Start(t, basics.Area(), marketplace.Area())
	for name, change := range map[string]core.Map{
		"name": {"name": ""}, "app": {"app_slug": "none"}, "plan": {"plan_slug": "none"}, "droplet": {"linked_droplet_id": 7},
		"no metadata": {"metadata": nil}, "missing metadata": {"metadata": []core.Map{}},
		"unknown metadata": {"metadata": []core.Map{{"name": "colour", "value": "red"}}},
		"type":             {"metadata": []core.Map{{"name": "alerts", "value": "yes"}}},
		"option":           {"metadata": []core.Map{{"name": "retention", "value": "31"}}},
	} {
		status, answer := s.Do("POST", root, wanted(change))
		require.Equal(t, 422, status, "%s: %v", name, answer)
	}
}
