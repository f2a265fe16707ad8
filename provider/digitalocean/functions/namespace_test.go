package functions_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

func TestNamespace(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind: "do.functions.namespace", Create: "POST /v2/functions/namespaces", Objects: "functions.namespace",
	})
}

func request(t *testing.T) cloud.Request {
	id := cloud.ResourceID("acme", "tester", t.Name())
	return cloud.Request{ResourceID: id, TenantID: "acme", ProviderName: cloud.ProviderName(id), Spec: cloud.Spec{"region": "nyc1"}, Memo: map[string]string{}}
}

// TestOddCodes: what this product's statuses mean.
func TestOddCodes(t *testing.T) {
	opened, control := kindtest.Open(t)
	kind, _ := opened.Kind("do.functions.namespace")
	for name, c := range map[string]struct {
		status int
		body   string
		class  cloud.Class
	}{
		"bad request": {http.StatusNotFound, `{"id":"bad_request","message":"region is not valid"}`, cloud.ClassRefused},
		"limit":       {http.StatusUnprocessableEntity, `{"id":"unprocessable_entity","message":"namespace limit reached"}`, cloud.ClassRefused},
		"label taken": {http.StatusUnprocessableEntity, `{"id":"unprocessable_entity","message":"a namespace with that label already exists"}`, cloud.ClassExists},
	} {
		t.Run(name, func(t *testing.T) {
			once := 1
			_, err := control.AddFault(context.Background(), simulator.Fault{Method: "POST", Path: "/v2/functions/namespaces", Times: &once,
				Effect: simulator.Effect{Status: c.status, Body: c.body}})
			require.NoError(t, err)
			_, err = kind.Create(context.Background(), request(t))
			require.Equal(t, c.class, cloud.ClassOf(err), "%v", err)
		})
	}
}

// TestKeys: an answer without the key is no news, and a stranger's key is not
// taken along.
func TestKeys(t *testing.T) {
	opened, control := kindtest.Open(t)
	kind, _ := opened.Kind("do.functions.namespace")
	ctx, r := context.Background(), request(t)
	o, err := kind.Create(ctx, r)
	require.NoError(t, err)
	require.False(t, o.Secrets["key"].Empty())
	stranger := r
	stranger.ProviderName = "made-by-hand"
	theirs, err := kind.Create(ctx, stranger)
	require.NoError(t, err)
	list, err := kind.List(ctx, cloud.Scope{})
	require.NoError(t, err)
	for _, seen := range list {
		require.Equal(t, seen.ProviderID == theirs.ProviderID, seen.Secrets == nil, seen.Name)
	}
	require.NoError(t, control.SetAccount(ctx, kindtest.Token, map[string]any{"hideCredentials": true}))
	r.ProviderID = o.ProviderID
	o, err = kind.Observe(ctx, r)
	require.NoError(t, err)
	require.NotContains(t, o.Secrets, "key")
}
