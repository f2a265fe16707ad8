package inference_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/inference"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
)

func TestToken(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind:     "do.ai.inference-token",
		Create:   "POST /v2/dedicated-inferences/*/tokens",
		Objects:  "inference.token",
		Networks: networks,
	})
}

// Tokens of the provider's own are not seen, so nothing can be done to them.
func TestManagedTokensAreLeftAlone(t *testing.T) {
	ctx := context.Background()
	account, _ := kindtest.Open(t)
	endpoints, _ := account.Kind("do.ai.dedicated-inference")
	made, err := endpoints.Create(ctx, request(endpoints, nil))
	require.NoError(t, err)
	kind, _ := account.Kind("do.ai.inference-token")
	parent := &cloud.ParentRef{ProviderID: made.ProviderID}
	all, err := kind.List(ctx, cloud.Scope{Parent: parent})
	require.NoError(t, err)
	require.Len(t, all, 1, "the one that came with the endpoint")
	require.Equal(t, "default", all[0].Name)
	_, err = kind.Find(ctx, cloud.Request{Parent: parent, Spec: cloud.Spec{"name": "monitoring"}})
	require.True(t, cloud.IsNotFound(err), "one that the provider manages")
}

func TestTokenNamesOfEndpointsAreKept(t *testing.T) {
	check := inference.Token(nil).(cloud.SpecChecker).CheckSpec
	require.NoError(t, check(cloud.Spec{"name": "bc-frontend"}))
	require.Equal(t, []string{"spec.name"}, cloud.AsError(check(cloud.Spec{"name": "BC-R-x"})).Details["fields"])
}
