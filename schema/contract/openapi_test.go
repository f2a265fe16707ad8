package contract_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/schema/contract"
)

var update = flag.Bool("update", false, "write the golden OpenAPI document")

const golden = "testdata/openapi.json"

// The committed document shows each change of the contract in a review.
func TestOpenAPIIsAsCommitted(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile(golden, contract.OpenAPI(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(contract.OpenAPI()), "run: go test ./schema/contract -update, and raise contract.Version")
}

func TestOpenAPIIsValid(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(contract.OpenAPI())
	require.NoError(t, err)
	require.NoError(t, document.Validate(context.Background()))
	for _, m := range contract.New().Methods() {
		item := document.Paths.Value(m.Path())
		if m.Internal {
			require.Nil(t, item, m.Name)
			continue
		}
		require.NotNil(t, item, m.Name)
		require.NotEmpty(t, item.Post.Summary, m.Name)
	}
}
