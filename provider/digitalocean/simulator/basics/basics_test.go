package basics_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

// TestEveryOperation sees each operation succeed once, so that every kind of
// answer is held against the OpenAPI document.
func TestEveryOperation(t *testing.T) {
	t.Parallel()
	f := spectest.Start(t, basics.Area())
	for _, call := range []struct {
		method, path string
		body         any
		status       int
	}{
		{"GET", "v2/account", nil, 200},
		{"GET", "v2/regions", nil, 200},
		{"GET", "v2/sizes", nil, 200},
		{"GET", "v2/1-clicks", nil, 200},
		{"GET", "v2/1-clicks?type=kubernetes", nil, 200},
		{"GET", "v2/1-clicks?type=toaster", nil, 400},
		{"POST", "v2/projects", core.Map{"name": "p", "purpose": "IoT", "environment": "Staging"}, 201},
		{"GET", "v2/projects", nil, 200},
		{"GET", "v2/projects/default", nil, 200},
		{"PATCH", "v2/projects/default", core.Map{"description": "d"}, 200},
		{"PUT", "v2/projects/default", core.Map{"name": "first", "description": "d", "purpose": "IoT", "environment": "Staging", "is_default": true}, 200},
		{"GET", "v2/projects/default/resources", nil, 200},
		{"POST", "v2/tags", core.Map{"name": "Some:tag"}, 201},
		{"POST", "v2/tags", core.Map{"name": "not ok"}, 400},
		{"GET", "v2/tags", nil, 200},
		{"GET", "v2/tags/Some:tag", nil, 200},
		{"GET", "v2/tags/some:tag", nil, 404},
		{"DELETE", "v2/tags/Some:tag", nil, 204},
		{"GET", "v2/vpcs", nil, 200},
		{"GET", "v2/droplets", nil, 200},
	} {
		status, answer := f.Do(call.method, call.path, call.body)
		require.Equal(t, call.status, status, "%s %s: %v", call.method, call.path, answer)
	}
	droplet := fmt.Sprint(core.DropletID(spectest.Token, "gx"))
	vpc := core.VPCID(spectest.Token, "nyc3")
	project := core.ProjectID(spectest.Token)
	_, made := f.Do("POST", "v2/vpcs", core.Map{"name": "extra", "region": "nyc3"})
	_, other := f.Do("POST", "v2/projects", core.Map{"name": "q", "purpose": "IoT"})
	urn := core.Map{"resources": []string{"do:droplet:" + droplet}}
	_, tag := f.Do("POST", "v2/tags", core.Map{"name": "t"})
	require.NotNil(t, tag["tag"])
	tagged := core.Map{"resources": []core.Map{{"resource_id": droplet, "resource_type": "droplet"}}}
	extra := "v2/vpcs/" + made["vpc"].(core.Map)["id"].(string)
	second := "v2/projects/" + other["project"].(core.Map)["id"].(string)
	for _, call := range []struct {
		method, path string
		body         any
		status       int
	}{
		{"GET", "v2/droplets/" + droplet, nil, 200},
		{"POST", "v2/tags/t/resources", tagged, 204},
		{"DELETE", "v2/tags/t/resources", tagged, 204},
		{"GET", "v2/vpcs/" + vpc, nil, 200},
		{"GET", "v2/vpcs/" + vpc + "/members", nil, 200},
		{"DELETE", "v2/vpcs/" + vpc, nil, 403},
		{"PATCH", extra, core.Map{"description": "d"}, 200},
		{"PUT", extra, core.Map{"name": "renamed"}, 200},
		{"DELETE", extra, nil, 204},
		{"POST", second + "/resources", urn, 200},
		{"GET", second + "/resources", nil, 200},
		{"DELETE", second, nil, 412},
		{"POST", "v2/projects/default/resources", urn, 200},
		{"GET", "v2/projects/" + project, nil, 200},
		{"PATCH", second, core.Map{"name": "r"}, 200},
		{"PUT", second, core.Map{"name": "r", "purpose": "IoT"}, 200},
		{"DELETE", second, nil, 204},
		{"DELETE", "v2/droplets/" + droplet, nil, 204},
	} {
		status, answer := f.Do(call.method, call.path, call.body)
		require.Equal(t, call.status, status, "%s %s: %v", call.method, call.path, answer)
	}
	f.RequireCovered()
}

func TestSeedsAreKnownBeforehand(t *testing.T) {
	t.Parallel()
	f := spectest.Start(t, basics.Area())
	for _, region := range basics.RegionSlugs() {
		status, answer := f.Do("GET", "v2/vpcs/"+core.VPCID(spectest.Token, region), nil)
		require.Equal(t, 200, status)
		require.Equal(t, region, answer["vpc"].(core.Map)["region"])
	}
	for _, name := range core.DefaultDroplets {
		status, answer := f.Do("GET", fmt.Sprintf("v2/droplets/%d", core.DropletID(spectest.Token, name)), nil)
		require.Equal(t, 200, status)
		require.Equal(t, name, answer["droplet"].(core.Map)["name"])
	}
	require.NotEqual(t, core.VPCID("dop_v1_a", "nyc3"), core.VPCID("dop_v1_b", "nyc3"))
}

// TestAnotherProjectBecomesTheDefault leaves what was in the old one where it is.
func TestAnotherProjectBecomesTheDefault(t *testing.T) {
	t.Parallel()
	f := spectest.Start(t, basics.Area())
	_, made := f.Do("POST", "v2/projects", core.Map{"name": "p", "purpose": "IoT", "environment": "production"})
	project := made["project"].(core.Map)
	require.Equal(t, "Production", project["environment"], "spelled as the provider does")
	path := "v2/projects/" + project["id"].(string)
	_, before := f.Do("GET", "v2/projects/default/resources", nil)
	status, _ := f.Do("PATCH", "v2/projects/default", core.Map{"is_default": false})
	require.Equal(t, 422, status, "an account has a default project")
	status, changed := f.Do("PATCH", path, core.Map{"is_default": true})
	require.Equal(t, 200, status)
	require.Equal(t, true, changed["project"].(core.Map)["is_default"])
	_, now := f.Do("GET", "v2/projects/default", nil)
	require.Equal(t, project["id"], now["project"].(core.Map)["id"])
	_, after := f.Do("GET", "v2/projects/"+core.ProjectID(spectest.Token)+"/resources", nil)
	require.Len(t, after["resources"], len(before["resources"].([]any)))
	_, empty := f.Do("GET", path+"/resources", nil)
	require.Empty(t, empty["resources"])
}

func TestVPCRules(t *testing.T) {
	t.Parallel()
	f := spectest.Start(t, basics.Area())
	for name, body := range map[string]core.Map{
		"name":     {"name": "no spaces", "region": "nyc3"},
		"taken":    {"name": "default-nyc3", "region": "nyc3"},
		"region":   {"name": "n", "region": "mars1"},
		"public":   {"name": "n", "region": "nyc3", "ip_range": "8.8.8.0/24"},
		"too wide": {"name": "n", "region": "nyc3", "ip_range": "10.0.0.0/8"},
		"overlap":  {"name": "n", "region": "nyc3", "ip_range": "10.10.0.0/24"},
	} {
		status, _ := f.Do("POST", "v2/vpcs", body)
		require.Equal(t, 422, status, name)
	}
	status, _ := f.Do("DELETE", "v2/vpcs/"+core.NewUUID(), nil)
	require.Equal(t, 404, status)
}
