package apps_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/apps"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/database"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

func start(t *testing.T) *spectest.Sim {
	t.Helper()
	return spectest.Start(t, basics.Area(), database.Area(), apps.Area())
}

// web is a spec with one service.
func web(name string, more core.Map) core.Map {
	spec := core.Map{"name": name, "services": []core.Map{{"name": "web", "image": image}}}
	for k, v := range more {
		spec[k] = v
	}
	return spec
}

var image = core.Map{"registry_type": "DOCKER_HUB", "registry": "library", "repository": "nginx", "tag": "1"}

// made creates an app and returns it.
func made(t *testing.T, s *spectest.Sim, spec core.Map) core.Map {
	t.Helper()
	status, answer := s.Do("POST", "v2/apps", core.Map{"spec": spec})
	require.Equal(t, 200, status, "%v", answer)
	return answer["app"].(core.Map)
}

func read(t *testing.T, s *spectest.Sim, id any) core.Map {
	t.Helper()
	status, answer := s.Do("GET", "v2/apps/"+id.(string), nil)
	require.Equal(t, 200, status)
	return answer["app"].(core.Map)
}

func at(v any, path ...any) any {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			m, _ := v.(core.Map)
			v = m[key]
		case int:
			list, _ := v.([]any)
			if key >= len(list) {
				return nil
			}
			v = list[key]
		}
	}
	return v
}

func TestEveryOperation(t *testing.T) {
	t.Parallel()
	s := start(t)
	app := made(t, s, web("walk", core.Map{"alerts": []core.Map{{"rule": "DEPLOYMENT_FAILED"}}}))
	path := "v2/apps/" + app["id"].(string)
	pending := "/deployments/" + at(app, "pending_deployment", "id").(string)
	for _, call := range []struct {
		method, path string
		body         any
		status       int
	}{
		{"GET", "v2/apps", nil, 200},
		{"GET", "v2/apps/regions", nil, 200},
		{"GET", "v2/apps/tiers/instance_sizes", nil, 200},
		{"GET", "v2/apps/tiers/instance_sizes/apps-s-1vcpu-1gb", nil, 200},
		{"GET", "v2/apps/tiers/instance_sizes/huge", nil, 404},
		{"POST", "v2/apps/propose", core.Map{"spec": web("other", nil)}, 200},
		{"GET", path, nil, 200},
		{"GET", path + "/health", nil, 200},
		{"GET", path + "/alerts", nil, 200},
		{"GET", path + "/deployments", nil, 200},
		{"GET", path + pending, nil, 200},
		{"POST", path + pending + "/cancel", nil, 200},
		{"POST", path + pending + "/cancel", nil, 400},
		{"POST", path + "/deployments", core.Map{"force_build": true}, 200},
		{"POST", path + "/restart", core.Map{}, 200},
		{"PUT", path, core.Map{"spec": web("walk", core.Map{"region": "ams"})}, 200},
		{"DELETE", path, nil, 200},
		{"DELETE", path, nil, 404},
		{"GET", path, nil, 404},
	} {
		if call.path == path+"/restart" {
			_, alerts := s.Do("GET", path+"/alerts", nil)
			id := at(alerts, "alerts", 0, "id").(string)
			status, answer := s.Do("POST", path+"/alerts/"+id+"/destinations", core.Map{"emails": []string{"a@example.com"}, "slack_webhooks": []core.Map{}})
			require.Equal(t, 200, status, "%v", answer)
		}
		status, answer := s.Do(call.method, call.path, call.body)
		require.Equal(t, call.status, status, "%s %s: %v", call.method, call.path, answer)
	}
	s.RequireCovered(apps.Area())
}

func TestDeploymentsFollowEachOther(t *testing.T) {
	t.Parallel()
	s := start(t)
	app := made(t, s, web("one", nil))
	require.NotNil(t, app["pending_deployment"])
	require.Nil(t, app["active_deployment"])
	require.Nil(t, app["live_url"])
	s.Clock.Advance(3 * time.Second)
	require.Equal(t, "BUILDING", at(read(t, s, app["id"]), "in_progress_deployment", "phase"))
	s.Clock.Advance(3 * time.Second)
	app = read(t, s, app["id"])
	require.Equal(t, "ACTIVE", at(app, "active_deployment", "phase"))
	require.NotEmpty(t, app["live_url"])

	s.AddFault(core.Fault{Method: "PUT", Path: "/v2/apps/*", Times: new(1), Effect: core.Effect{Fail: "exit status 2"}})
	status, answer := s.Do("PUT", "v2/apps/"+app["id"].(string), core.Map{"spec": web("one", core.Map{"region": "ams"})})
	require.Equal(t, 200, status)
	second := at(answer, "app", "pending_deployment", "id").(string)
	s.Clock.Advance(time.Hour)
	now := read(t, s, app["id"])
	require.Equal(t, at(app, "active_deployment", "id"), at(now, "active_deployment", "id"), "the old one serves on")
	require.Equal(t, "ams", at(now, "spec", "region"), "the wish stays")
	_, answer = s.Do("GET", "v2/apps/"+app["id"].(string)+"/deployments/"+second, nil)
	require.Equal(t, "ERROR", at(answer, "deployment", "phase"))
	require.Equal(t, "exit status 2", at(answer, "deployment", "progress", "steps", 0, "steps", 0, "reason", "message"))

	s.Do("POST", "v2/apps/"+app["id"].(string)+"/deployments", core.Map{})
	s.Clock.Advance(time.Hour)
	_, answer = s.Do("GET", "v2/apps/"+app["id"].(string)+"/deployments", nil)
	var phases []string
	for i := range 3 {
		phases = append(phases, at(answer, "deployments", i, "phase").(string))
	}
	require.Equal(t, []string{"ACTIVE", "ERROR", "SUPERSEDED"}, phases)
}

func TestSecretsComeBackEncrypted(t *testing.T) {
	t.Parallel()
	s := start(t)
	env := func(value string) core.Map {
		return web("sealed", core.Map{"envs": []core.Map{{"key": "K", "type": "SECRET", "value": value}, {"key": "P", "type": "GENERAL", "value": "p"}}})
	}
	app := made(t, s, env("plain"))
	sealed := at(app, "spec", "envs", 0, "value").(string)
	require.True(t, strings.HasPrefix(sealed, "EV[1:"))
	require.Nil(t, at(app, "spec", "envs", 1, "type"))
	require.Equal(t, "p", at(app, "spec", "envs", 1, "value"))
	path := "v2/apps/" + app["id"].(string)
	status, answer := s.Do("PUT", path, core.Map{"spec": env(sealed)})
	require.Equal(t, 200, status)
	require.Equal(t, sealed, at(answer, "app", "spec", "envs", 0, "value"))
	_, answer = s.Do("PUT", path, core.Map{"spec": env("plain")})
	require.NotEqual(t, sealed, at(answer, "app", "spec", "envs", 0, "value"), "encrypted anew")
	status, _ = s.Do("PUT", path, core.Map{"spec": env("EV[1:stranger:value]")})
	require.Equal(t, 400, status)
}

func TestSpecComesBackInAnotherShape(t *testing.T) {
	t.Parallel()
	s := start(t)
	app := made(t, s, core.Map{"name": "shape", "envs": []any{}, "services": []core.Map{{
		"name": "web", "image": image, "routes": []core.Map{{"path": "/api"}},
		"cors": core.Map{"allow_origins": []core.Map{{"prefix": "https://a."}}, "allow_methods": []string{}},
	}}})
	spec := at(app, "spec")
	require.Nil(t, at(spec, "services", 0, "routes"))
	require.Equal(t, "/api", at(spec, "ingress", "rules", 0, "match", "path", "prefix"))
	require.Equal(t, "https://a.", at(spec, "ingress", "rules", 0, "cors", "allow_origins", 0, "exact"))
	require.Nil(t, at(spec, "ingress", "rules", 0, "cors", "allow_methods"))
	require.Nil(t, at(spec, "envs"))
	require.Equal(t, "nyc", at(spec, "region"))
	require.Equal(t, "buildpack-stack=ubuntu-22", at(spec, "features", 0))
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := start(t)
	made(t, s, web("taken", nil))
	part := func(field string, value any) core.Map {
		return core.Map{"services": []core.Map{{"name": "web", "image": image, field: value}}}
	}
	for name, c := range map[string]struct {
		status int
		spec   core.Map
	}{
		"name taken":       {409, web("taken", nil)},
		"name":             {400, web("Bad_Name", nil)},
		"no component":     {400, core.Map{"name": "none"}},
		"region":           {400, web("a1", core.Map{"region": "nyc3"})},
		"two sources":      {400, web("a2", part("git", core.Map{"repo_clone_url": "u", "branch": "b"}))},
		"size":             {400, web("a3", part("instance_size_slug", "huge"))},
		"autoscaling":      {400, web("a4", core.Map{"services": []core.Map{{"name": "web", "image": image, "instance_count": 2, "autoscaling": core.Map{"min_instance_count": 1}}}})},
		"same name twice":  {400, web("a5", core.Map{"workers": []core.Map{{"name": "web", "image": image}}})},
		"env twice":        {400, web("a6", core.Map{"envs": []core.Map{{"key": "A"}, {"key": "A"}}})},
		"both forms":       {400, web("a7", core.Map{"services": []core.Map{{"name": "web", "image": image, "routes": []core.Map{{"path": "/"}}}}, "ingress": core.Map{"rules": []core.Map{{"component": core.Map{"name": "web"}}}}})},
		"rule to nowhere":  {400, web("a8", core.Map{"ingress": core.Map{"rules": []core.Map{{"component": core.Map{"name": "ghost"}}}}})},
		"VPC":              {400, web("a9", core.Map{"vpc": core.Map{"id": core.NewUUID()}})},
		"VPC far away":     {400, web("b1", core.Map{"region": "ams", "vpc": core.Map{"id": core.VPCID(spectest.Token, "nyc3")}})},
		"cluster":          {400, web("b2", core.Map{"databases": []core.Map{{"name": "db", "production": true, "cluster_name": "none"}}})},
		"no schedule":      {400, web("b3", core.Map{"jobs": []core.Map{{"name": "j", "kind": "SCHEDULED", "image": image}}})},
		"domain twice":     {400, web("b4", core.Map{"domains": []core.Map{{"domain": "a.example.com"}, {"domain": "a.example.com"}}})},
		"image incomplete": {400, web("b5", part("image", core.Map{"registry_type": "GHCR"}))},
	} {
		status, answer := s.Do("POST", "v2/apps", core.Map{"spec": c.spec})
		require.Equal(t, c.status, status, "%s: %v", name, answer)
	}
	status, _ := s.Do("POST", "v2/apps", core.Map{})
	require.Equal(t, 400, status)
}

// TestTheClientReadsIt holds the answers against the provider's own client.
func TestTheClientReadsIt(t *testing.T) {
	t.Parallel()
	s := start(t)
	app, _, err := s.Client.Apps.Create(context.Background(), &godo.AppCreateRequest{Spec: &godo.AppSpec{
		Name: "typed", Egress: &godo.AppEgressSpec{Type: "DEDICATED_IP"}, Vpc: &godo.AppVpcSpec{ID: core.VPCID(spectest.Token, "nyc3")},
		Domains:  []*godo.AppDomainSpec{{Domain: "www.example.com"}},
		Services: []*godo.AppServiceSpec{{Name: "web", Image: &godo.ImageSourceSpec{RegistryType: "DOCKER_HUB", Repository: "nginx"}}},
	}})
	require.NoError(t, err)
	require.Len(t, app.DedicatedIps, 2)
	require.Equal(t, core.VPCID(spectest.Token, "nyc3"), app.VPC.ID)
	require.Equal(t, core.ProjectID(spectest.Token), app.ProjectID)
	list, _, err := s.Client.Apps.List(context.Background(), &godo.ListOptions{WithProjects: true})
	require.NoError(t, err)
	require.Len(t, list, 1)
	status, answer := s.Do("GET", "v2/apps/x?name=typed", nil)
	require.Equal(t, 200, status)
	require.Equal(t, app.ID, at(answer, "app", "id"))
}
