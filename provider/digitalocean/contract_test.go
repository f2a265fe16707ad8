package digitalocean_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
)

func manifestsByKind() map[string]*cloud.Manifest {
	all := map[string]*cloud.Manifest{}
	for _, m := range digitalocean.New().Manifests() {
		all[m.Kind] = m
	}
	return all
}

// D12: where the provider has neither tags nor labels, nothing can be let go or
// taken over; what it can list may still be looked at.
func TestKindsOwnedByTheirNameAreNeitherReleasedNorAdopted(t *testing.T) {
	account, _ := kindtest.Open(t)
	byName := []string{
		"do.app", "do.functions.namespace", "do.spaces.key", "do.marketplace.addon", "do.network.partner-attachment",
		"do.ai.dedicated-inference", "do.harness.environment",
	}
	for kind, m := range manifestsByKind() {
		k, ok := account.Kind(kind)
		require.True(t, ok, kind)
		_, labels := k.(cloud.Labeler)
		switch {
		case slices.Contains(byName, kind):
			require.Equal(t, cloud.OwnedByName, m.Ownership, kind)
			require.False(t, m.NoDiscover, "%s can be listed", kind)
			fallthrough
		case m.Ownership != cloud.OwnedByLabels:
			require.False(t, m.Releasable(), kind)
			require.False(t, m.Adoptable(), kind)
			require.False(t, labels, "%s removes labels that it has not", kind)
		case m.Parent == "":
			require.True(t, m.Releasable(), kind)
			require.Equal(t, m.Books == "", m.Adoptable(), kind)
			require.True(t, labels, kind)
		}
	}
	for _, kind := range []string{"do.database.pg", "do.volume"} {
		require.True(t, manifestsByKind()[kind].Releasable(), kind)
	}
}

// D13: what lives in a cluster is a kind of its engine's own.
func TestKindsOfAClusterAreTheirEngines(t *testing.T) {
	all := manifestsByKind()
	for engine, children := range map[string][]string{
		"pg": {"user", "db", "pool", "replica", "firewall"}, "mysql": {"user", "db", "replica", "firewall"}, "valkey": {"firewall"},
		"mongodb": {"user", "db", "firewall"}, "kafka": {"user", "topic", "firewall"}, "opensearch": {"user", "firewall"},
	} {
		cluster := "do.database." + engine
		require.Equal(t, cloud.FamilyData, all[cluster].Family)
		require.Empty(t, all[cluster].Parent)
		for _, child := range children {
			m := all[cluster+"."+child]
			require.NotNil(t, m, "%s.%s", cluster, child)
			require.Equal(t, cluster, m.Parent)
			require.NotNil(t, m.Identity, "%s allows one of it within its cluster", m.Kind)
		}
	}
	for kind, m := range all {
		if strings.HasPrefix(kind, "do.database.") && m.Parent == "" {
			require.Len(t, strings.Split(kind, "."), 3, kind)
		}
	}
}

// D14: who reads the manifest knows that the list is the whole list, and what a
// deletion restores.
func TestFirewallsSayWhatTheirDeletionDoes(t *testing.T) {
	for kind, m := range manifestsByKind() {
		if strings.HasSuffix(kind, ".firewall") {
			require.Contains(t, m.Description, "the whole list", kind)
			require.Contains(t, m.Description, "an empty list", kind)
			require.True(t, m.Identity.Single, "%s: one for a cluster", kind)
		}
	}
}

// Fields that reach what belongs to the whole account, by product.
func TestSpecsThatReachTheAccount(t *testing.T) {
	all := manifestsByKind()
	for name, c := range map[string]struct {
		kind   string
		spec   string
		fields []string
	}{
		"a VPC":                   {"do.database.pg", `{"private_network_uuid":"u"}`, []string{"spec.private_network_uuid"}},
		"a container registry":    {"do.app", `{"services":[{"image":{"registry_type":"DOCR"}}]}`, []string{"spec.services[0].image.registry_type"}},
		"a public image":          {"do.app", `{"services":[{"image":{"registry_type":"DOCKER_HUB"}}]}`, nil},
		"a linked repository":     {"do.app", `{"services":[{"github":{"repo":"a/b"}}]}`, []string{"spec.services[0].github"}},
		"another linked one":      {"do.app", `{"jobs":[{"gitlab":{"repo":"a/b"}}]}`, []string{"spec.jobs[0].gitlab"}},
		"a cluster by its name":   {"do.app", `{"databases":[{"cluster_name":"c"}]}`, []string{"spec.databases[0].cluster_name"}},
		"Droplets by their tag":   {"do.database.pg.firewall", `{"rules":[{"type":"tag","value":"web"}]}`, []string{"spec.rules[0].type"}},
		"Droplets by their id":    {"do.database.kafka.firewall", `{"rules":[{"type":"ip_addr","value":"192.0.2.1"},{"type":"droplet","value":"1"}]}`, []string{"spec.rules[1].type"}},
		"an address":              {"do.database.pg.firewall", `{"rules":[{"type":"ip_addr","value":"192.0.2.1"}]}`, nil},
		"all buckets":             {"do.spaces.key", `{"grants":[{"permission":"fullaccess"}]}`, []string{"spec.grants[0].permission"}},
		"another's snapshot":      {"do.volume", `{"snapshot_id":"s"}`, []string{"spec.snapshot_id"}},
		"tags":                    {"do.volume", `{"tags":["web"]}`, []string{"spec.tags"}},
		"the tenant's own things": {"do.database.pg.firewall", `{"rules":[],"instances":["ins_1"]}`, nil},
		"the tenant's network":    {"do.database.pg", `{"network":"net_1"}`, nil},
	} {
		s, err := cloud.ParseSpec([]byte(c.spec))
		require.NoError(t, err)
		require.Equal(t, c.fields, all[c.kind].Refs(s).AccountWide, name)
	}
}
