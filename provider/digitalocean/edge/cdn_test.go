package edge_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/edge"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
)

const certificate = "892071a0-bb95-49bc-8021-3afd67a210bf"

func TestCDN(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind:    "do.edge.cdn",
		Create:  "POST /v2/cdn/endpoints",
		Objects: "cdn",
		// The suite asks more than the provider allows.
		Settings: map[string]any{"cdnPerTenSeconds": 1_000_000},
		Vary: func(s cloud.Spec, i int) cloud.Spec {
			return s.Merge(cloud.Spec{"origin": fmt.Sprintf("space-%d.nyc3.digitaloceanspaces.com", i)})
		},
		Updates: []cloud.Spec{
			{"ttl": 86400}, {"custom_domain": "Static.Example.com", "certificate_id": certificate},
			{"ttl": nil}, {"custom_domain": nil, "certificate_id": nil},
		},
	})
}

// A life within the provider's own limit: creating and changing takes so few
// requests that none is refused, and the refusal that comes then says for how long.
func TestCDNStaysWithinItsLimit(t *testing.T) {
	ctx := context.Background()
	account, _ := kindtest.Open(t)
	kind, _ := account.Kind("do.edge.cdn")
	r := cloud.Request{Spec: cloud.Spec{"origin": "static.nyc3.digitaloceanspaces.com"}}
	_, err := kind.Find(ctx, r)
	require.True(t, cloud.IsNotFound(err))
	o, err := kind.Create(ctx, r)
	require.NoError(t, err)
	require.Equal(t, cloud.PhaseReady, o.Phase, "no look is needed after it")
	r.ProviderID = o.ProviderID
	r.Spec["ttl"], r.Spec["custom_domain"], r.Spec["certificate_id"] = 60, "static.example.com", certificate
	fields := kind.Diff(r, o)
	require.Equal(t, []string{"ttl", "custom_domain", "certificate_id"}, fields)
	u, err := kind.Update(ctx, r, o, fields)
	require.NoError(t, err)
	require.Empty(t, kind.Diff(r, u.Observed), "all in one request")
	for range 2 {
		_, err = kind.List(ctx, cloud.Scope{})
		require.NoError(t, err)
	}
	_, err = kind.List(ctx, cloud.Scope{})
	require.Equal(t, cloud.ClassThrottled, cloud.ClassOf(err))
	var p *cloud.ProviderError
	require.ErrorAs(t, err, &p)
	require.Positive(t, p.RetryAfter)
	require.LessOrEqual(t, p.RetryAfter, 10*time.Second)
}

func TestCDNSpec(t *testing.T) {
	check := edge.CDN(nil).(cloud.SpecChecker).CheckSpec
	require.NoError(t, check(cloud.Spec{"origin": "a"}))
	require.Equal(t, []string{"spec.certificate_id"}, cloud.AsError(check(cloud.Spec{"custom_domain": "a.example.com"})).Details["fields"])
	require.Equal(t, []string{"spec.custom_domain"}, cloud.AsError(check(cloud.Spec{"certificate_id": certificate})).Details["fields"])
	refs := edge.CDN(nil).Manifest().Refs(cloud.Spec{"origin": "a", "certificate_id": certificate})
	require.Equal(t, []string{"spec.certificate_id", "spec.origin"}, refs.AccountWide)
}
