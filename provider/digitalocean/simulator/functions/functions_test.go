package functions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/functions"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

func TestNamespaces(t *testing.T) {
	t.Parallel()
	s := spectest.Start(t, functions.Area())
	status, answer := s.Do("POST", "v2/functions/namespaces", core.Map{"label": "one", "region": "nyc1"})
	require.Equal(t, 200, status)
	made := answer["namespace"].(core.Map)
	require.NotEmpty(t, made["key"])
	path := "v2/functions/namespaces/" + made["namespace"].(string)
	for _, call := range []struct {
		method, path string
		body         any
		status       int
	}{
		{"POST", "v2/functions/namespaces", core.Map{"label": "one", "region": "nyc1"}, 422},
		{"POST", "v2/functions/namespaces", core.Map{"label": "two", "region": "moon1"}, 404},
		{"POST", "v2/functions/namespaces", core.Map{"region": "nyc1"}, 404},
		{"GET", "v2/functions/namespaces", nil, 200},
		{"GET", path, nil, 200},
		{"DELETE", path, nil, 204},
		{"DELETE", path, nil, 404},
		{"GET", path, nil, 404},
	} {
		status, answer := s.Do(call.method, call.path, call.body)
		require.Equal(t, call.status, status, "%s %s: %v", call.method, call.path, answer)
	}
	s.RequireCovered()
}

func TestKeyInEveryAnswer(t *testing.T) {
	t.Parallel()
	s := spectest.Start(t, functions.Area())
	_, answer := s.Do("POST", "v2/functions/namespaces", core.Map{"label": "one", "region": "ams3"})
	key := answer["namespace"].(core.Map)["key"]
	_, answer = s.Do("GET", "v2/functions/namespaces", nil)
	require.Equal(t, key, answer["namespaces"].([]any)[0].(core.Map)["key"])
	s.SetAccount(core.Map{"hideCredentials": true})
	_, answer = s.Do("GET", "v2/functions/namespaces", nil)
	require.NotContains(t, answer["namespaces"].([]any)[0], "key")
}
