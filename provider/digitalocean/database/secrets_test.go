package database_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/database"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// A credential is taken whole or not at all, whatever shape its answer has.
func TestClusterSecrets(t *testing.T) {
	const own = "postgresql://doadmin:pw1@h1:25060/defaultdb?sslmode=require&extra=1"
	for name, c := range map[string]struct {
		engine  database.Engine
		answer  string
		secrets map[string]string
	}{
		"no host yet":      {answer: `"connection":{"user":"doadmin","password":"pw1","host":"","uri":""}`, secrets: map[string]string{"password": "pw1"}},
		"no password":      {answer: `"connection":{"user":"doadmin","password":"","host":"h1","uri":"postgresql://doadmin@h1:25060/defaultdb"}`},
		"null connections": {answer: `"connection":null,"private_connection":null`},
		"the provider's own URI": {answer: `"connection":{"user":"doadmin","password":"pw1","host":"h1","port":25060,"database":"defaultdb","uri":"` + own + `"}`,
			secrets: map[string]string{"password": "pw1", "uri": own}},
		"a URI without its password": {answer: `"connection":{"user":"doadmin","password":"p w/1","host":"h1","port":25060,"database":"defaultdb","uri":"postgresql://doadmin@h1:25060/defaultdb"},"private_connection":{"host":"h2","port":25060,"database":"defaultdb"}`,
			secrets: map[string]string{"password": "p w/1", "uri": "postgresql://doadmin:p%20w%2F1@h1:25060/defaultdb?sslmode=require",
				"private_uri": "postgresql://doadmin:p%20w%2F1@h2:25060/defaultdb?sslmode=require"}},
		"mongodb": {engine: database.MongoDB, answer: `"connection":{"user":"doadmin","password":"pw1","host":"h1","port":27017,"database":"admin"}`,
			secrets: map[string]string{"password": "pw1", "uri": "mongodb+srv://doadmin:pw1@h1/admin?tls=true&authSource=admin"}},
		"kafka has no URI": {engine: database.Kafka, answer: `"connection":{"user":"doadmin","password":"pw1","host":"h1","port":25073,"uri":"h1:25073"}`,
			secrets: map[string]string{"password": "pw1"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(`{"database":{"id":"u-1","status":"creating",` + c.answer + `}}`))
			}))
			defer server.Close()
			a, err := doapi.Open(cloud.AccountAccess{APIURL: server.URL}, nil)
			require.NoError(t, err)
			engine := c.engine
			if engine == "" {
				engine = database.PG
			}
			o, err := database.Cluster(a, engine).Observe(context.Background(), cloud.Request{ProviderID: "u-1"})
			require.NoError(t, err)
			got := map[string]string{}
			for name, s := range o.Secrets {
				got[name] = s.Reveal()
			}
			if c.secrets == nil {
				c.secrets = map[string]string{}
			}
			require.Equal(t, c.secrets, got)
		})
	}
}
