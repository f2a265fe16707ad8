package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider"
)

func TestClouds(t *testing.T) {
	names := map[string]bool{}
	kinds := map[string]string{}
	for _, c := range provider.Clouds() {
		require.False(t, names[c.Name()], "two clouds are called %s", c.Name())
		names[c.Name()] = true
		for _, m := range c.Manifests() {
			require.Empty(t, kinds[m.Kind], "%s and %s both serve %s", kinds[m.Kind], c.Name(), m.Kind)
			kinds[m.Kind] = c.Name()
		}
		found, ok := provider.Find(c.Name())
		require.True(t, ok)
		require.Equal(t, c.Name(), found.Name())
	}
	_, ok := provider.Find("unknown")
	require.False(t, ok)
	require.NotEmpty(t, provider.Collectors())
}
