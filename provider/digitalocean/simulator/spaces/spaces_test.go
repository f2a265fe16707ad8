package spaces_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spaces"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

func grants(pairs ...string) []core.Map {
	list := []core.Map{}
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, core.Map{"bucket": pairs[i], "permission": pairs[i+1]})
	}
	return list
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := spectest.Start(t, spaces.Area())
	status, answer := s.Do("POST", "v2/spaces/keys", core.Map{"name": "one", "grants": grants("b", "read")})
	require.Equal(t, 201, status)
	made := answer["key"].(core.Map)
	require.NotEmpty(t, made["secret_key"])
	path := "v2/spaces/keys/" + made["access_key"].(string)
	for _, call := range []struct {
		method, path string
		body         any
		status       int
	}{
		{"POST", "v2/spaces/keys", core.Map{"name": "one", "grants": grants("", "fullaccess")}, 201},
		{"POST", "v2/spaces/keys", core.Map{"name": "two", "grants": grants("b", "own")}, 400},
		{"POST", "v2/spaces/keys", core.Map{"name": "two", "grants": grants("", "read")}, 400},
		{"POST", "v2/spaces/keys", core.Map{"name": "two", "grants": grants("b", "read", "", "fullaccess")}, 400},
		{"POST", "v2/spaces/keys", core.Map{}, 400},
		{"GET", "v2/spaces/keys", nil, 200},
		{"GET", path, nil, 200},
		{"PUT", path, core.Map{"name": "renamed", "grants": grants("b", "read")}, 200},
		{"PATCH", path, core.Map{"name": "again"}, 200},
		{"PUT", path, core.Map{"grants": grants("", "fullaccess")}, 400},
	} {
		status, answer := s.Do(call.method, call.path, call.body)
		require.Equal(t, call.status, status, "%s %s: %v", call.method, call.path, answer)
	}
	_, answer = s.Do("GET", "v2/spaces/keys?name=again&bucket=b", nil)
	require.Len(t, answer["keys"], 1)
	require.NotContains(t, answer["keys"].([]any)[0], "secret_key", "shown once only")
	_, answer = s.Do("GET", path, nil)
	require.NotContains(t, answer["key"], "secret_key")
	status, _ = s.Do("DELETE", path, nil)
	require.Equal(t, 204, status)
	status, _ = s.Do("DELETE", path, nil)
	require.Equal(t, 404, status)
	s.RequireCovered()
}
