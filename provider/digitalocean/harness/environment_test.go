package harness_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/harness"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

const (
	key   = "secret://Acme.Corp/keys/openai"
	other = "secret://acme/other"
)

func TestEnvironment(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind: "do.harness.environment", Create: "POST /v2/harness-runtime/configs", Objects: "harness.environment",
		Spec:    cloud.Spec{"region": "nyc3", "manifest_yaml": "agent: codex\nsecrets:\n  KEY: " + key + "\n"},
		Secrets: map[string]cloud.Secret{key: cloud.NewSecret("sk-the-value-of-the-key")},
	})
}

func TestRefusals(t *testing.T) {
	opened, control := kindtest.Open(t)
	kind, _ := opened.Kind("do.harness.environment")
	ctx := context.Background()
	create := func(name string, spec cloud.Spec) error {
		id := cloud.ResourceID("acme", "tester", name)
		_, err := kind.Create(ctx, cloud.Request{ResourceID: id, ProviderName: cloud.ProviderName(id), Spec: spec})
		return err
	}
	good := cloud.Spec{"manifest_yaml": "agent: codex\n"}
	require.NoError(t, create("one", good))
	require.Equal(t, cloud.ClassExists, cloud.ClassOf(create("one", good)), "the name is taken")

	err := create("two", good.Merge(cloud.Spec{"region": "mars1"}))
	var refused *cloud.ProviderError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, []string{"spec.region"}, refused.Fields)
	require.ErrorContains(t, err, "ric1")

	err = create("two", cloud.Spec{"manifest_yaml": "agent: codex\nfield: unknown\n"})
	require.ErrorAs(t, err, &refused)
	require.Equal(t, cloud.ClassRefused, refused.Class)
	require.Contains(t, refused.Message, `unknown field "field"`, "the nested error's words")

	for status, class := range map[int]cloud.Class{http.StatusForbidden: cloud.ClassRefused, http.StatusUnauthorized: cloud.ClassUnreachable} {
		once := 1
		_, err = control.AddFault(ctx, simulator.Fault{Method: "GET", Path: "/v2/harness-runtime/configs", Times: &once,
			Effect: simulator.Effect{Status: status, Body: map[string]any{"error": map[string]any{"code": 7, "message": "harness runtime is not enabled for this team"}}}})
		require.NoError(t, err)
		_, err = kind.List(ctx, cloud.Scope{})
		require.Equal(t, class, cloud.ClassOf(err), "%v", err)
	}
}

// TestSecretsInTheManifest: values arrive as they are, whatever is in them, and
// nowhere else.
func TestSecretsInTheManifest(t *testing.T) {
	opened, control := kindtest.Open(t)
	kind, _ := opened.Kind("do.harness.environment")
	ctx := context.Background()
	nasty := "a: b # \"c\"\n- {d}\n'e' &f *g !h"
	id := cloud.ResourceID("acme", "tester", "nasty")
	o, err := kind.Create(ctx, cloud.Request{
		ResourceID: id, ProviderName: cloud.ProviderName(id),
		Spec:    cloud.Spec{"manifest_yaml": "# comment\nagent: codex\nenv: {MODEL: \"1\"}\nsecrets:\n  KEY: " + key + "\n  OTHER: '" + other + "'\n"},
		Secrets: map[string]cloud.Secret{key: cloud.NewSecret(nasty), other: cloud.NewSecret("true")},
	})
	require.NoError(t, err)
	require.NotEmpty(t, o.Outputs["content_hash"])
	all, err := control.Objects(ctx, kindtest.Token)
	require.NoError(t, err)
	for _, object := range all {
		if object.Text("id") == o.ProviderID {
			require.Equal(t, map[string]any{"KEY": nasty, "OTHER": "true"}, object["values"])
			require.Equal(t, map[string]any{"MODEL": "1"}, object["manifest"].(map[string]any)["env"])
		}
	}
}

func TestCheckSpec(t *testing.T) {
	checker := harness.Environment(nil).(cloud.SpecChecker)
	for name, c := range map[string]struct {
		yaml string
		ok   bool
	}{
		"plain":                 {"agent: codex\n", true},
		"secrets as mapping":    {"agent: codex\nsecrets:\n  A: " + key + "\n", true},
		"secrets as list":       {"spec:\n  credentials:\n    - name: A\n      source: tenantSecret\n      value: " + key + "\n", true},
		"declared only":         {"agent: codex\nsecrets:\n  A: {source: oauth, provider: github}\n", true},
		"plain text":            {"agent: codex\nsecrets:\n  A: sk-plain\n", false},
		"plain text as value":   {"spec:\n  credentials:\n    - name: A\n      value: sk-plain\n", false},
		"reference in the open": {"agent: codex\nenv:\n  A: " + key + "\n", false},
		"a list":                {"- a\n", false},
		"no YAML":               {"a: b: c\n", false},
		"two documents":         {"agent: codex\n---\nagent: codex\n", false},
		"nothing":               {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			err := checker.CheckSpec(cloud.Spec{"manifest_yaml": c.yaml})
			require.Equal(t, c.ok, err == nil, "%v", err)
			if err != nil {
				require.Equal(t, []string{"spec.manifest_yaml"}, cloud.AsError(err).Details["fields"])
				require.NotContains(t, err.Error(), "sk-plain")
			}
		})
	}
}

func TestReferencesAreFound(t *testing.T) {
	m := harness.Environment(nil).Manifest()
	refs := m.Refs(cloud.Spec{"manifest_yaml": "secrets:\n  A: " + key + "\n  B: \"" + other + "\"\n  C: " + key})
	require.Equal(t, []cloud.PathValue{{Path: "spec.manifest_yaml", Value: key}, {Path: "spec.manifest_yaml", Value: other}}, refs.Secrets)
	require.True(t, m.Preview)
}
