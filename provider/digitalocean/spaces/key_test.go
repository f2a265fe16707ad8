package spaces_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/provider/digitalocean/spaces"
)

func TestKey(t *testing.T) {
	kindtest.Run(t, kindtest.Case{Kind: "do.spaces.key", Create: "POST /v2/spaces/keys", Objects: "spaces.key"})
}

// TestSecretIsHadAgainByANewKey: the lost half is worthless, so the old key is
// gone before there is another.
func TestSecretIsHadAgainByANewKey(t *testing.T) {
	opened, control := kindtest.Open(t)
	kind, _ := opened.Kind("do.spaces.key")
	ctx := context.Background()
	id := cloud.ResourceID("acme", "tester", "k")
	r := cloud.Request{ResourceID: id, ProviderName: cloud.ProviderName(id), Spec: cloud.Spec{"grants": []any{map[string]any{"permission": "fullaccess"}}}}
	made, err := kind.Create(ctx, r)
	require.NoError(t, err)
	r.ProviderID = made.ProviderID
	seen, err := kind.Observe(ctx, r)
	require.NoError(t, err)
	require.Empty(t, seen.Secrets, "shown once")

	once := 1
	_, err = control.AddFault(ctx, simulator.Fault{Method: "DELETE", Path: "/v2/spaces/keys/*", Times: &once, Effect: simulator.Effect{Status: 500}})
	require.NoError(t, err)
	recoverer := kind.(cloud.SecretRecoverer)
	_, err = recoverer.RecoverSecrets(ctx, r, seen)
	require.Equal(t, cloud.ClassUnknown, cloud.ClassOf(err), "a revocation that failed is told")
	for range 2 { // the second time it is gone already
		gone, err := recoverer.RecoverSecrets(ctx, r, seen)
		require.NoError(t, err)
		require.Equal(t, cloud.PhaseGone, gone.Phase)
	}
	_, err = kind.Observe(ctx, r)
	require.True(t, cloud.IsNotFound(err))
}

func TestCheckSpec(t *testing.T) {
	checker := spaces.Key(nil).(cloud.SpecChecker)
	grants := func(pairs ...string) cloud.Spec {
		list := []any{}
		for i := 0; i < len(pairs); i += 2 {
			g := map[string]any{"permission": pairs[i+1]}
			if pairs[i] != "" {
				g["bucket"] = pairs[i]
			}
			list = append(list, g)
		}
		return cloud.Spec{"grants": list}
	}
	require.NoError(t, checker.CheckSpec(grants("a", "read", "b", "readwrite")))
	for field, spec := range map[string]cloud.Spec{
		"spec.grants[1].permission": grants("a", "read", "", "fullaccess"),
		"spec.grants[0].bucket":     grants("a", "fullaccess"),
		"spec.grants[1].bucket":     grants("a", "read", "a", "readwrite"),
	} {
		require.Contains(t, cloud.AsError(checker.CheckSpec(spec)).Details["fields"], field)
	}
	require.Error(t, checker.CheckSpec(grants("", "read")))
	refs := spaces.Key(nil).Manifest().Refs(grants("a", "read", "", "fullaccess"))
	require.Equal(t, []string{"spec.grants[0].bucket", "spec.grants[1].permission"}, refs.AccountWide)
}
