package cloud

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const manifestJSON = `{
 "kind":"do.app","title":"App","description":"An app","family":"platform","regional":true,"ownership":"name",
 "regionMap":{"nyc":["nyc1","nyc3"]},"outputs":[{"name":"url","description":"u"}],"secretOutputs":[{"name":"key","description":"k"}],
 "identity":{"fields":["name"]},
 "spec":{"type":"object","properties":{
  "region":{"type":"string"},"name":{"type":"string"},
  "size":{"type":"string","x-updatable":true},
  "vpc":{"type":"object","x-account-wide":true},
  "engine":{"type":"string","x-account-wide-values":["shared"]},
  "instances":{"type":"array","x-instances":true},
  "network":{"type":"string","x-networks":true},
  "envs":{"type":"array","items":{"type":"object","properties":{"value":{"type":"string","x-secret-ref-allowed":true}}}},
  "token":{"type":"string","x-secret-ref":true},
  "labels":{"type":"object","additionalProperties":{"type":"string","x-secret-ref-allowed":true}}
 }},
 "examples":[{"region":"nyc"}]}`

func TestManifest(t *testing.T) {
	t.Parallel()
	m, err := ParseManifest([]byte(manifestJSON))
	require.NoError(t, err)
	require.Equal(t, []string{"size"}, m.Updatable())
	require.Equal(t, []string{"name", "unknown"}, m.NotUpdatable([]string{"name", "size", "unknown"}))
	require.False(t, m.Releasable())
	require.False(t, m.Adoptable())
	require.Equal(t, []string{"url"}, m.OutputNames())
	require.Equal(t, []string{"key"}, m.SecretNames())
	require.Equal(t, "web", m.IdentityOf(Spec{"name": "web"}))
	require.True(t, m.RegionAllowed("nyc", []string{"nyc3"}))
	require.False(t, m.RegionAllowed("nyc", []string{"ams3"}))
	require.False(t, m.RegionAllowed("nyc3", []string{"nyc3"}), "the product's own words count")
	require.False(t, m.RegionAllowed("NYC", []string{"nyc3"}))
}

func TestRefs(t *testing.T) {
	t.Parallel()
	m, err := ParseManifest([]byte(manifestJSON))
	require.NoError(t, err)
	spec, err := ParseSpec([]byte(`{"vpc":{"id":"v"},"engine":"shared","instances":["ins_1","ins_2"],"network":"net_1",
		"envs":[{"value":"plain"},{"value":"secret://acme/k"}],"token":"plain","labels":{"x":"secret://acme/l"}}`))
	require.NoError(t, err)
	refs := m.Refs(spec)
	require.Equal(t, []string{"spec.engine", "spec.vpc"}, refs.AccountWide)
	require.Equal(t, []string{"ins_1", "ins_2"}, refs.InstanceIDs())
	require.Equal(t, []string{"net_1"}, refs.NetworkIDs())
	require.Equal(t, []PathValue{{"spec.envs[1].value", "secret://acme/k"}, {"spec.labels.x", "secret://acme/l"}}, refs.Secrets)
	require.Equal(t, []string{"spec.token"}, refs.BadSecrets)
	require.Equal(t, Refs{}, m.Refs(Spec{}))
}

func TestManifestRefuses(t *testing.T) {
	t.Parallel()
	for what, edit := range map[string][2]string{
		"kind":     {`"do.app"`, `"Do App"`},
		"family":   {`"platform"`, `"toys"`},
		"title":    {`"App"`, `""`},
		"example":  {`[{"region":"nyc"}]`, `[]`},
		"identity": {`{"fields":["name"]}`, `{"fields":["nome"]}`},
		"parent":   {`"ownership":"name"`, `"ownership":"parent"`},
		"region":   {`"region":{"type":"string"},`, ``},
		"json":     {`{`, `[`},
	} {
		_, err := ParseManifest([]byte(strings.Replace(manifestJSON, edit[0], edit[1], 1)))
		require.Error(t, err, what)
	}
	require.Panics(t, func() { MustManifest([]byte(`{}`)) })
}

func TestAnAdoptedSpecKeepsWhatTheProviderChoseOnlyWhenAskedFor(t *testing.T) {
	m, err := ParseManifest([]byte(`{"kind":"do.x","title":"x","description":"x","family":"data","ownership":"labels",
		"spec":{"properties":{"size":{"x-updatable":true},"storage":{"x-updatable":true,"x-default-from-provider":true}}},"examples":[{}]}`))
	require.NoError(t, err)
	seen := Spec{"size": "a", "storage": 10}
	require.Equal(t, Spec{"size": "a"}, m.Chosen(seen, Spec{"size": "b"}))
	require.Equal(t, seen, m.Chosen(seen, Spec{"storage": 20}))
}
