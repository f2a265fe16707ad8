package edge_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/edge"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
)

func TestDomain(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind:    "do.edge.domain",
		Create:  "POST /v2/domains",
		Objects: "domain",
		Spec:    cloud.Spec{"name": "Shop.Example.COM.", "ip_address": "2001:db8::1"},
		Vary: func(s cloud.Spec, i int) cloud.Spec {
			return s.Merge(cloud.Spec{"name": fmt.Sprintf("zone-%d.example.com", i)})
		},
	})
}

// A zone that is taken says so; whose it is, the caller judges.
func TestDomainThatIsTaken(t *testing.T) {
	ctx := context.Background()
	account, _ := kindtest.Open(t)
	kind, _ := account.Kind("do.edge.domain")
	r := cloud.Request{Spec: cloud.Spec{"name": "example.com"}}
	_, err := kind.Create(ctx, r)
	require.NoError(t, err)
	_, err = kind.Create(ctx, r)
	require.Equal(t, cloud.ClassExists, cloud.ClassOf(err))
	o, err := kind.Find(ctx, r)
	require.NoError(t, err)
	require.Len(t, o.Outputs["name_servers"], 3)
}

func TestDomainSpec(t *testing.T) {
	kind := edge.Domain(nil)
	require.Equal(t, "example.com", kind.(cloud.SpecNormaliser).NormaliseSpec(cloud.Spec{"name": "EXAMPLE.com."}).String("name"))
	check := kind.(cloud.SpecChecker).CheckSpec
	require.NoError(t, check(cloud.Spec{"name": "example.com", "ip_address": "192.0.2.1"}))
	for _, ip := range []string{"192.0.2.300", "fe80::1%eth0", "example.com"} {
		require.Equal(t, []string{"spec.ip_address"}, cloud.AsError(check(cloud.Spec{"ip_address": ip})).Details["fields"], ip)
	}
}
