package apps_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/apps"
)

func jsonBody(text string) io.Reader { return strings.NewReader(text) }

// TestWhatTheTenantNeverSetStays: the body of a PUT carries what the provider
// holds, known to us or not.
func TestWhatTheTenantNeverSetStays(t *testing.T) {
	x := newRecord(t, web(cloud.Spec{"domains": one(object{"domain": "example.com"})})).create()
	x.until(cloud.PhaseReady)
	x.put(func(spec object) {
		spec["x_new"] = object{"deep": []any{1}}
		spec["alerts"] = []any{object{"rule": "DOMAIN_FAILED"}}
		spec["services"].([]any)[0].(object)["x_more"] = true
		spec["ingress"] = object{"rules": []any{object{"match": object{"path": object{"prefix": "/special"}}, "component": object{"name": "web"}}}}
	})
	x.until(cloud.PhaseReady)
	require.Empty(t, x.diff(), "what the tenant did not set is no drift")
	x.r.Spec = x.r.Spec.Merge(cloud.Spec{"envs": one(object{"key": "A", "value": "1"})})
	require.Equal(t, []string{"envs"}, x.diff())
	x.update("envs")
	x.until(cloud.PhaseReady)
	_, body := x.sent()
	spec := body["spec"].(object)
	require.Equal(t, object{"deep": []any{1.0}}, spec["x_new"])
	require.Equal(t, []any{object{"rule": "DOMAIN_FAILED"}}, spec["alerts"])
	require.Equal(t, true, spec["services"].([]any)[0].(object)["x_more"])
	require.Equal(t, "nginx", spec["services"].([]any)[0].(object)["image"].(object)["repository"])
	require.Equal(t, "example.com", spec["domains"].([]any)[0].(object)["domain"])
	require.Contains(t, x.app()["spec"].(object)["ingress"].(object)["rules"].([]any)[0].(object)["match"], "path")
	require.Empty(t, x.diff())
}

// TestFalseZeroAndEmptyArrive: three states are kept to the wire.
func TestFalseZeroAndEmptyArrive(t *testing.T) {
	x := newRecord(t, web(cloud.Spec{"disable_edge_cache": false, "envs": one(object{"key": "EMPTY", "value": ""}), "jobs": one()})).create()
	_, body := x.sent()
	spec := body["spec"].(object)
	require.Equal(t, false, spec["disable_edge_cache"])
	require.Empty(t, spec["envs"].([]any)[0].(object)["value"])
	require.Equal(t, []any{}, spec["jobs"])
	require.NotContains(t, spec, "disable_email_obfuscation")
	x.until(cloud.PhaseReady)
	require.Empty(t, x.diff())
}

// TestOtherShapesAreNoDifference: what an API may answer for what was sent.
func TestOtherShapesAreNoDifference(t *testing.T) {
	kind := apps.App(nil)
	for name, c := range map[string]struct {
		want, have cloud.Spec
		diff       []string
	}{
		"routes become rules": {
			cloud.Spec{"services": one(object{"name": "web", "routes": one(object{"path": "/api"}), "cors": object{"allow_origins": one(object{"prefix": "https://a."})}})},
			cloud.Spec{"services": one(object{"name": "web"}), "ingress": object{"rules": one(object{"match": object{"path": object{"prefix": "/api"}}, "component": object{"name": "web"}, "cors": object{"allow_origins": one(object{"exact": "https://a."})}})}}, nil,
		},
		"another route": {
			cloud.Spec{"services": one(object{"name": "web", "routes": one(object{"path": "/api"})})},
			cloud.Spec{"services": one(object{"name": "web"}), "ingress": object{"rules": one(object{"match": object{"path": object{"prefix": "/"}}, "component": object{"name": "web"}})}}, []string{"services"},
		},
		"a rule without origins": {
			cloud.Spec{"ingress": object{"rules": one(object{"component": object{"name": "web"}, "cors": object{"allow_credentials": true}})}},
			cloud.Spec{"ingress": object{"rules": one(object{"match": object{"path": object{"prefix": "/"}}, "component": object{"name": "web"}, "cors": object{"allow_credentials": true, "allow_origins": nil}})}}, nil,
		},
		"order of components, variables and words": {
			cloud.Spec{"services": one(object{"name": "a"}, object{"name": "b", "envs": one(object{"key": "X", "value": "1"}, object{"key": "Y", "value": "2"}), "internal_ports": one(1, 2)})},
			cloud.Spec{"services": one(object{"name": "b", "envs": one(object{"key": "Y", "value": "2"}, object{"key": "X", "value": "1"}), "internal_ports": one(2, 1)}, object{"name": "a"})}, nil,
		},
		"defaults": {
			cloud.Spec{"envs": one(object{"key": "X", "value": "1", "type": "GENERAL", "scope": "UNSET"}), "egress": object{"type": "AUTOASSIGN"}, "jobs": one(object{"name": "j", "kind": "UNSPECIFIED"}), "workers": one(), "disable_edge_cache": false},
			cloud.Spec{"envs": one(object{"key": "X", "value": "1", "scope": "RUN_AND_BUILD_TIME"}), "jobs": one(object{"name": "j", "kind": "POST_DEPLOY", "instance_count": 1})}, nil,
		},
		"features of the provider": {
			cloud.Spec{"features": one("mine")}, cloud.Spec{"features": one("buildpack-stack=ubuntu-22", "mine")}, nil,
		},
		"its own domain": {
			cloud.Spec{"domains": one(object{"domain": "Example.com."})},
			cloud.Spec{"domains": one(object{"domain": "example.com", "type": "PRIMARY"}, object{"domain": "x.ondigitalocean.app", "type": "DEFAULT"})}, nil,
		},
		"a domain too many": {
			cloud.Spec{"domains": one(object{"domain": "example.com"})},
			cloud.Spec{"domains": one(object{"domain": "example.com"}, object{"domain": "other.com"})}, []string{"domains"},
		},
		"a list that shall be empty": {
			cloud.Spec{"envs": one()}, cloud.Spec{"envs": one(object{"key": "X"})}, []string{"envs"},
		},
		"a threshold that is another's default": {
			cloud.Spec{"services": one(object{"name": "a", "health_check": object{"failure_threshold": 9}})},
			cloud.Spec{"services": one(object{"name": "a", "health_check": object{"failure_threshold": 18}})}, []string{"services"},
		},
		"nothing wanted": {cloud.Spec{}, cloud.Spec{"services": one(object{"name": "a"}), "region": "nyc"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.diff, kind.Diff(cloud.Request{Spec: c.want}, &cloud.Observed{Spec: c.have}))
		})
	}
}

func TestCheckSpec(t *testing.T) {
	checker := apps.App(nil).(cloud.SpecChecker)
	env := func(fields object) cloud.Spec { return web(cloud.Spec{"envs": one(fields)}) }
	for name, c := range map[string]struct {
		spec  cloud.Spec
		field string
	}{
		"no component":      {cloud.Spec{"region": "nyc", "services": one()}, "spec.services"},
		"no source":         {cloud.Spec{"services": one(object{"name": "web"})}, "spec.services[0]"},
		"two sources":       {cloud.Spec{"services": one(part("web", object{"git": object{}}))}, "spec.services[0]"},
		"one name twice":    {web(cloud.Spec{"workers": one(part("web", nil))}), "spec.workers[0].name"},
		"both forms":        {cloud.Spec{"services": one(part("web", object{"routes": one(object{"path": "/"})})), "ingress": object{"rules": one(object{"component": object{"name": "web"}})}}, "spec.ingress.rules"},
		"rule to nowhere":   {web(cloud.Spec{"ingress": object{"rules": one(object{"component": object{"name": "ghost"}})}}), "spec.ingress.rules[0].component.name"},
		"rule without end":  {web(cloud.Spec{"ingress": object{"rules": one(object{"match": object{}})}}), "spec.ingress.rules[0]"},
		"plain secret":      {env(object{"key": "A", "type": "SECRET", "value": "plain"}), "spec.envs[0].value"},
		"secret shown":      {env(object{"key": "A", "value": secretRef}), "spec.envs[0].value"},
		"variable twice":    {web(cloud.Spec{"envs": one(object{"key": "A"}, object{"key": "A"})}), "spec.envs[1]"},
		"network and vpc":   {web(cloud.Spec{"network": "net_a", "vpc": object{"id": "x"}}), "spec.network"},
		"network, nowhere":  {web(cloud.Spec{"network": "net_a", "region": nil}), "spec.region"},
		"tag and digest":    {cloud.Spec{"services": one(object{"name": "web", "image": object{"tag": "1", "digest": "sha256:0"}})}, "spec.services[0].image.digest"},
		"count and scaling": {cloud.Spec{"services": one(part("web", object{"instance_count": 1, "autoscaling": object{}}))}, "spec.services[0].instance_count"},
		"no schedule":       {web(cloud.Spec{"jobs": one(part("j", object{"kind": "SCHEDULED"}))}), "spec.jobs[0].schedule"},
		"no cluster":        {web(cloud.Spec{"databases": one(object{"name": "db", "production": true})}), "spec.databases[0].cluster_name"},
	} {
		t.Run(name, func(t *testing.T) {
			err := cloud.AsError(checker.CheckSpec(c.spec))
			require.NotNil(t, err)
			require.Equal(t, cloud.CodeInvalidInput, err.Code)
			require.Contains(t, err.Details["fields"], c.field)
		})
	}
	require.NoError(t, checker.CheckSpec(web(nil)))
}

// TestManifest: what a shared account refuses, what is a secret, which regions.
func TestManifest(t *testing.T) {
	m := apps.App(nil).Manifest()
	require.NotContains(t, string(m.Spec), "$use")
	refs := m.Refs(cloud.Spec{
		"vpc": object{"id": "x"}, "project_id": "p",
		"services": one(
			object{"github": object{"repo": "a/b"}},
			object{"image": object{"registry_type": "DOCR", "registry_credentials": "plain"}},
			object{"image": object{"registry_type": "GHCR"}, "envs": one(object{"value": secretRef}, object{"value": "plain"})},
			object{"log_destinations": one(object{"open_search": object{"cluster_name": "c", "basic_auth": object{"password": "plain"}}})},
		),
		"databases": one(object{"cluster_name": "c"}), "domains": one(object{"zone": "z"}),
	})
	require.Equal(t, []string{
		"spec.databases[0].cluster_name", "spec.domains[0].zone", "spec.project_id", "spec.services[0].github",
		"spec.services[1].image.registry_type", "spec.services[3].log_destinations[0].open_search.cluster_name", "spec.vpc.id",
	}, refs.AccountWide)
	require.Equal(t, []string{"spec.services[1].image.registry_credentials", "spec.services[3].log_destinations[0].open_search.basic_auth.password"}, refs.BadSecrets)
	require.Equal(t, []cloud.PathValue{{Path: "spec.services[2].envs[0].value", Value: secretRef}}, refs.Secrets)
	for word, allowed := range map[string]bool{"nyc": true, "ams": false, "nyc3": false, "NYC": false, "": false} {
		require.Equal(t, allowed, m.RegionAllowed(word, []string{"nyc3"}), word)
	}
}
