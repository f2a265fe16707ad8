package edge_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/edge"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

func name(s cloud.Spec, i int) cloud.Spec {
	return s.Merge(cloud.Spec{"name": fmt.Sprintf("host-%d", i)})
}

func TestRecord(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind:    "do.edge.record",
		Create:  "POST /v2/domains/*/records",
		Objects: "domain.record",
		Vary:    name,
		Updates: []cloud.Spec{{"name": "Web"}, {"data": "192.0.2.99", "ttl": 60}, {"ttl": nil}},
		NotUpdated: map[string]string{
			"priority": "by other types", "weight": "by other types", "port": "by other types", "flags": "by other types", "tag": "by other types",
		},
	})
}

// TestRecordsOfEachType runs the suite with the fields that only some types have.
func TestRecordsOfEachType(t *testing.T) {
	elsewhere := map[string]string{}
	for _, field := range edge.Record(nil).Manifest().Updatable() {
		elsewhere[field] = "by the other types"
	}
	for kind, c := range map[string]struct {
		spec    cloud.Spec
		updates []cloud.Spec
	}{
		"AAAA":  {cloud.Spec{"name": "www", "data": "2001:DB8:0::1"}, []cloud.Spec{{"data": "2001:db8::2"}}},
		"CNAME": {cloud.Spec{"name": "www", "data": "Host.Example.net."}, []cloud.Spec{{"data": "@"}, {"data": "other.example.net"}}},
		"MX":    {cloud.Spec{"name": "@", "data": "mail.example.net", "priority": 10}, []cloud.Spec{{"priority": 0}}},
		"NS":    {cloud.Spec{"name": "sub", "data": "ns1.example.net"}, []cloud.Spec{{"ttl": 3600}}},
		"SRV": {cloud.Spec{"name": "_sip._tcp", "data": "sip.example.net", "priority": 1, "weight": 5, "port": 5060},
			[]cloud.Spec{{"priority": 0, "weight": 0, "port": 0}}},
		"CAA": {cloud.Spec{"name": "@", "data": "letsencrypt.org", "flags": 128, "tag": "issue"},
			[]cloud.Spec{{"flags": 0}, {"tag": "iodef", "data": "mailto:ops@example.com"}}},
		"TXT": {cloud.Spec{"name": "*.dev", "data": `Case "and quotes" matter.`}, []cloud.Spec{{"data": "case matters."}}},
	} {
		t.Run(kind, func(t *testing.T) {
			c.spec["type"] = kind
			kindtest.Run(t, kindtest.Case{
				Kind: "do.edge.record", Create: "POST /v2/domains/*/records", Objects: "domain.record",
				Spec: c.spec, Vary: name, Many: -1, // paging is the same for all
				Updates: c.updates, NotUpdated: elsewhere,
			})
		})
	}
}

// A create whose answer was lost is found although other values are wanted by
// now, so that there are not two records in the end.
func TestRecordIsFoundAfterTheSpecMovedOn(t *testing.T) {
	ctx := context.Background()
	account, sim := kindtest.Open(t)
	domains, _ := account.Kind("do.edge.domain")
	_, err := domains.Create(ctx, cloud.Request{Spec: cloud.Spec{"name": "example.com"}})
	require.NoError(t, err)
	kind, _ := account.Kind("do.edge.record")
	once := 1
	_, err = sim.AddFault(ctx, simulator.Fault{Method: "POST", Path: "/**", Times: &once, Effect: simulator.Effect{Accept: true, Then: &simulator.Then{Drop: true}}})
	require.NoError(t, err)
	r := cloud.Request{
		Parent: &cloud.ParentRef{ProviderID: "example.com"}, Memo: map[string]string{},
		Spec: cloud.Spec{"type": "A", "name": "www.example.com", "data": "192.0.2.1"},
	}
	_, err = kind.Create(ctx, r)
	require.Equal(t, cloud.ClassUnknown, cloud.ClassOf(err))
	r.Spec = r.Spec.Merge(cloud.Spec{"data": "192.0.2.2"})
	o, err := kind.Find(ctx, r)
	require.NoError(t, err)
	require.Equal(t, "www.example.com", o.Outputs["fqdn"])
	require.Equal(t, []string{"data"}, kind.Diff(r, o))
	all, err := kind.List(ctx, cloud.Scope{Parent: r.Parent})
	require.NoError(t, err)
	for _, o := range all {
		require.NotEqual(t, "SOA", o.Spec["type"], "the zone's own")
	}
}

func TestRecordRules(t *testing.T) {
	check := edge.Record(nil).(cloud.SpecChecker).CheckSpec
	for field, specs := range map[string][]cloud.Spec{
		"spec.data": {
			{"type": "A", "name": "a", "data": "2001:db8::1"}, {"type": "AAAA", "name": "a", "data": "192.0.2.1"},
			{"type": "AAAA", "name": "a", "data": "fe80::1%eth0"}, {"type": "CNAME", "name": "a", "data": "host"},
			{"type": "NS", "name": "a", "data": "https://host.example.net"}, {"type": "CAA", "name": "a", "data": "a..b", "flags": 0, "tag": "issue"},
		},
		"spec.name":     {{"type": "CNAME", "name": "@", "data": "host.example.net"}},
		"spec.priority": {{"type": "MX", "name": "a", "data": "host.example.net"}, {"type": "A", "name": "a", "data": "192.0.2.1", "priority": 1}},
		"spec.weight":   {{"type": "SRV", "name": "a", "data": "host.example.net", "priority": 0, "port": 1}},
		"spec.port":     {{"type": "MX", "name": "a", "data": "host.example.net", "priority": 0, "port": 1}},
		"spec.flags":    {{"type": "CAA", "name": "a", "data": "ca.example.net", "tag": "issue"}},
		"spec.tag":      {{"type": "CAA", "name": "a", "data": "ca.example.net", "flags": 0}, {"type": "TXT", "name": "a", "data": "x", "tag": "issue"}},
	} {
		for _, spec := range specs {
			require.Equal(t, []string{field}, cloud.AsError(check(spec)).Details["fields"], "%s", spec.JSON())
		}
	}
}

func TestRecordMeaning(t *testing.T) {
	kind := edge.Record(nil)
	r := cloud.Request{Parent: &cloud.ParentRef{ProviderID: "example.com"}}
	for _, pair := range [][2]cloud.Spec{
		{{"type": "CNAME", "name": "WWW.Example.com.", "data": "example.com."}, {"type": "CNAME", "name": "www", "data": "@"}},
		{{"type": "MX", "name": "example.com", "data": "@", "priority": 0}, {"type": "MX", "name": "@", "data": "example.com", "priority": int64(0), "ttl": int64(60)}},
		{{"type": "AAAA", "name": "a", "data": "2001:DB8:0:0::1"}, {"type": "AAAA", "name": "a", "data": "2001:db8::1"}},
	} {
		r.Spec = pair[0]
		require.Empty(t, kind.Diff(r, &cloud.Observed{Spec: pair[1]}), "%s and %s", pair[0].JSON(), pair[1].JSON())
	}
	r.Spec = cloud.Spec{"type": "TXT", "name": "a", "data": "Text."}
	require.Equal(t, []string{"data"}, kind.Diff(r, &cloud.Observed{Spec: cloud.Spec{"type": "TXT", "name": "a", "data": "text"}}))
}
