package network_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/network"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

func vpc(region string) string { return simulator.VPCID(kindtest.Token, region) }

var (
	networks = map[string]cloud.NetworkRef{
		"net_0000000000000000000000acme": {"nyc3": vpc("nyc3"), "ams3": vpc("ams3")},
		"net_other":                      {"nyc1": vpc("nyc1"), "nyc2": vpc("nyc2")},
	}
	secrets = map[string]cloud.Secret{
		"secret://acme/bgp": cloud.NewSecret("bgp-CANARY-one"), "secret://acme/bgp2": cloud.NewSecret("bgp-CANARY-two"),
	}
)

func bgp(ref string, asn int) map[string]any {
	return map[string]any{"local_router_ip": "169.254.0.9/29", "peer_router_ip": "169.254.0.14/29", "peer_router_asn": asn, "auth_key": ref}
}

func TestAttachment(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind:     "do.network.partner-attachment",
		Create:   "POST /v2/partner_network_connect/attachments",
		Objects:  "attachment",
		Networks: networks, Secrets: secrets,
		Updates: []cloud.Spec{
			{"networks": []any{"net_other", "net_0000000000000000000000acme"}},
			{"bgp": bgp("secret://acme/bgp", 64999)},
			{"bgp": bgp("secret://acme/bgp2", 64999)},
			{"networks": []any{"net_0000000000000000000000acme"}, "bgp": bgp("secret://acme/bgp", 65000)},
		},
	})
}

func TestAttachmentWithoutBGP(t *testing.T) {
	spec, err := cloud.ParseSpec(network.Attachment(nil).Manifest().Examples[1])
	require.NoError(t, err)
	kindtest.Run(t, kindtest.Case{
		Kind:     "do.network.partner-attachment",
		Create:   "POST /v2/partner_network_connect/attachments",
		Objects:  "attachment",
		Spec:     spec,
		Networks: networks, Secrets: secrets, Many: -1, // paging is the same as above
		Updates:    []cloud.Spec{{"bgp": bgp("secret://acme/bgp", 64999)}},
		NotUpdated: map[string]string{"networks": "above"},
	})
}

func open(t *testing.T) (cloud.Kind, simulator.Control, cloud.Request) {
	t.Helper()
	account, sim := kindtest.Open(t)
	kind, _ := account.Kind("do.network.partner-attachment")
	spec, err := cloud.ParseSpec(kind.Manifest().Examples[0])
	require.NoError(t, err)
	id := cloud.ResourceID("acme", "tester", "one")
	digest := func(v string) string { s := sha256.Sum256([]byte(v)); return hex.EncodeToString(s[:8]) }
	versions := map[string]string{}
	for ref, v := range secrets {
		versions[ref] = digest(v.Reveal())
	}
	return kind, sim, cloud.Request{
		ResourceID: id, ProviderName: cloud.ProviderName(id), Spec: spec, Networks: networks, Secrets: secrets,
		Digest: digest, SecretVersions: versions, Memo: map[string]string{}, Now: time.Now(),
	}
}

// The attachment stands before its service key does; it is ready with it.
func TestReadyWaitsForTheServiceKey(t *testing.T) {
	ctx := context.Background()
	kind, _, r := open(t)
	made, err := kind.Create(ctx, r)
	require.NoError(t, err)
	r.ProviderID = made.ProviderID
	waited := false
	require.Eventually(t, func() bool {
		o, err := kind.Observe(ctx, r)
		require.NoError(t, err)
		waited = waited || o.Phase == cloud.PhaseBusy && o.Outputs["state"] == "CREATED"
		if o.Phase != cloud.PhaseReady {
			return false
		}
		require.NotEmpty(t, o.Secrets["service_key"].Reveal())
		require.Equal(t, "bgp-CANARY-one", o.Secrets["bgp_auth_key"].Reveal())
		return true
	}, 10*time.Second, time.Millisecond)
	require.True(t, waited, "it was never seen to wait")
}

func TestDeleteWaitsWhereTheProviderForbidsIt(t *testing.T) {
	ctx := context.Background()
	kind, sim, r := open(t)
	made, err := kind.Create(ctx, r)
	require.NoError(t, err)
	r.ProviderID = made.ProviderID
	require.Equal(t, cloud.ClassBusy, cloud.ClassOf(kind.Delete(ctx, r)), "while it is being created")
	_, err = sim.AddFault(ctx, simulator.Fault{Method: "DELETE", Path: "/**", Effect: simulator.Effect{Status: 403, Body: map[string]any{"message": "the account is locked"}}})
	require.NoError(t, err)
	require.Equal(t, cloud.ClassUnreachable, cloud.ClassOf(kind.Delete(ctx, r)), "a locked account stays one")
}

// Nothing, null and an empty object are the same: no BGP.
func TestAbsentBGP(t *testing.T) {
	ctx := context.Background()
	kind, sim, r := open(t)
	r.ProviderID = "a-1"
	for _, bgp := range []string{``, `,"bgp":null`, `,"bgp":{}`} {
		require.NoError(t, sim.ClearFaults(ctx))
		_, err := sim.AddFault(ctx, simulator.Fault{Method: "GET", Path: "/v2/partner_network_connect/attachments/a-1",
			Effect: simulator.Effect{Status: 200, Body: `{"partner_attachment":{"id":"a-1","state":"CREATING","vpc_ids":null` + bgp + `}}`}})
		require.NoError(t, err)
		o, err := kind.Observe(ctx, r)
		require.NoError(t, err)
		require.NotContains(t, o.Spec, "bgp")
		require.Equal(t, []string{"bgp"}, kind.Diff(r, o), "the wanted one is not there")
	}
}

func TestMeaning(t *testing.T) {
	kind, _, r := open(t)
	seen := func(local string, key string, ids ...any) *cloud.Observed {
		b := map[string]any{"local_router_ip": local, "peer_router_ip": "169.254.0.6", "peer_router_asn": int64(64533)}
		if key != "" {
			b["auth_key"] = key
		}
		return &cloud.Observed{Spec: cloud.Spec{"bgp": b}, Outputs: map[string]any{"vpc_ids": ids}}
	}
	require.Empty(t, kind.Diff(r, seen("169.254.0.1/29", "", vpc("nyc3"))))
	require.Empty(t, kind.Diff(r, seen("169.254.0.1", r.SecretVersions["secret://acme/bgp"])))
	require.Equal(t, []string{"networks"}, kind.Diff(r, seen("169.254.0.1", "", vpc("nyc3"), "foreign")))
	require.Equal(t, []string{"bgp"}, kind.Diff(r, seen("169.254.0.2/29", "", vpc("nyc3"))))
	require.Equal(t, []string{"bgp"}, kind.Diff(r, seen("169.254.0.1/29", "another", vpc("nyc3"))))
	r.Networks = nil
	require.Empty(t, kind.Diff(r, seen("169.254.0.1/29", "", vpc("ams3"))), "networks that are not known are no difference")
	_, err := kind.Create(context.Background(), r)
	require.Equal(t, cloud.ClassRefused, cloud.ClassOf(err))
}

func TestRoutersStandInOneSubnet(t *testing.T) {
	check := network.Attachment(nil).(cloud.SpecChecker).CheckSpec
	require.NoError(t, check(cloud.Spec{"bgp": bgp("secret://acme/bgp", 1)}))
	for local, fields := range map[string][]string{
		"169.254.0.300/29": {"spec.bgp.local_router_ip"},
		"169.254.1.1/29":   {"spec.bgp.local_router_ip", "spec.bgp.peer_router_ip"},
	} {
		b := bgp("secret://acme/bgp", 1)
		b["local_router_ip"] = local
		require.Equal(t, fields, cloud.AsError(check(cloud.Spec{"bgp": b})).Details["fields"], local)
	}
}

func TestRegionsStandForDatacenters(t *testing.T) {
	m := network.Attachment(nil).Manifest()
	require.True(t, m.RegionAllowed("nyc", []string{"nyc2"}))
	require.False(t, m.RegionAllowed("nyc", []string{"ams3"}))
	require.False(t, m.RegionAllowed("nyc3", []string{"nyc3"}))
}
