package digitalocean_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean"
)

// Every family of the contract has kinds here.
func TestEveryFamilyIsServed(t *testing.T) {
	served := map[cloud.Family]bool{}
	for _, m := range digitalocean.New().Manifests() {
		served[m.Family] = true
	}
	for _, f := range cloud.Families {
		require.True(t, served[f], "no kind of family %s", f)
	}
}
