package spectest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// served is an area with one operation of the document.
func served(answer core.Answer) core.Area {
	return core.Area{Name: "test", Routes: []core.Route{{Method: http.MethodGet, Pattern: "/v2/account",
		Handle: func(*core.Call) (core.Answer, error) { return answer, nil }}}}
}

// verdict is what the validation says of an answer to GET /v2/account.
func verdict(t *testing.T, answer core.Answer) error {
	t.Helper()
	sim := Start(t, served(answer))
	request := httptest.NewRequest(http.MethodGet, "/v2/account", nil)
	request.Header.Set("Authorization", "Bearer "+Token)
	recorder := httptest.NewRecorder()
	sim.Server.ServeHTTP(recorder, request)
	return sim.validate(request, recorder)
}

func TestValidation(t *testing.T) {
	good := core.Map{"droplet_limit": 1, "floating_ip_limit": 1, "email": "a@example.com", "uuid": "u",
		"email_verified": true, "status": "active", "status_message": ""}
	require.NoError(t, verdict(t, core.Answer{Status: 200, Body: core.Map{"account": good}}))
	require.NoError(t, verdict(t, core.Answer{Status: 404, Body: core.Map{"id": "not_found", "message": "m"}}))

	bad := core.Map{"droplet_limit": "many"}
	require.Error(t, verdict(t, core.Answer{Status: 200, Body: core.Map{"account": bad}}))
	require.Error(t, verdict(t, core.Answer{Status: 404, Body: core.Map{"reason": "none"}}))
	require.Error(t, verdict(t, core.Answer{Status: 200}))
}

func TestLiteralSegmentsWin(t *testing.T) {
	doc := load(t)
	route, params := doc.find(httptest.NewRequest(http.MethodGet, "/v2/databases/options", nil))
	require.Equal(t, "databases_list_options", route.Operation.OperationID)
	require.Empty(t, params)
	route, params = doc.find(httptest.NewRequest(http.MethodGet, "/v2/databases/u-1", nil))
	require.Equal(t, "databases_get_cluster", route.Operation.OperationID)
	require.Equal(t, map[string]string{"database_cluster_uuid": "u-1"}, params)
	route, _ = doc.find(httptest.NewRequest(http.MethodGet, "/v2/nothing", nil))
	require.Nil(t, route)
}
