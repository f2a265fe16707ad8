package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/schema/platform"
)

const canary = "canary-5f1d"

func names(a apitest.Answer, field string) []string {
	out := []string{}
	for _, item := range a.Items() {
		v, _ := item[field].(string)
		out = append(out, v)
	}
	return out
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	s := w.Serve()
	secret := func(name string) fields { return fields{"tenantId": "acme", "name": name} }
	put := done(t, s, "dev-acme", "secrets/put", fields{"tenantId": "acme", "name": "app/db", "value": canary + `"<>é`})
	require.Equal(t, "secret://acme/app/db", put.Text("ref"))
	done(t, s, "dev-acme", "secrets/put", fields{"tenantId": "acme", "name": "other", "value": canary})
	list := done(t, s, "dev-acme", "secrets/list", fields{"tenantId": "acme"})
	require.Equal(t, []string{"app/db", "other"}, names(list, "name"))
	require.NotContains(t, string(list.Raw), canary)
	require.Equal(t, []string{"other"}, names(done(t, s, "dev-acme", "secrets/list", fields{"tenantId": "acme", "after": "app/db"}), "name"))
	reveal := fields{"tenantId": "acme", "ref": "secret://acme/app/db"}
	require.Equal(t, canary+`"<>é`, done(t, s, "dev-acme", "secrets/reveal", reveal).Text("value"))
	require.Equal(t, 1, w.Count("audit WHERE action = 'compute:secrets:reveal' AND actor = 'acme/alice'"))

	refused(t, s, "dev-acme-reader", "secrets/reveal", reveal, 403, "ACCESS_DENIED", "")
	refused(t, s, "dev-acme-reader", "secrets/put", fields{"tenantId": "acme", "name": "x", "value": "y"}, 403, "ACCESS_DENIED", "")
	refused(t, s, "dev-acme-reader", "secrets/delete", secret("other"), 403, "ACCESS_DENIED", "")
	refused(t, s, "dev-globex", "secrets/reveal", reveal, 403, "ACCESS_DENIED", "")
	foreign := refused(t, s, "dev-globex", "secrets/reveal", fields{"tenantId": "globex", "ref": "secret://acme/app/db"}, 404, "NOT_FOUND", "")
	nothing := refused(t, s, "dev-globex", "secrets/reveal", fields{"tenantId": "globex", "ref": "secret://globex/none"}, 404, "NOT_FOUND", "")
	require.Equal(t, string(nothing.Raw), string(foreign.Raw))
	refused(t, s, "dev-acme", "secrets/put", fields{"tenantId": "acme", "name": "resources/x", "value": "y"}, 400, "INVALID_INPUT", "")
	refused(t, s, "dev-acme", "secrets/put", fields{"tenantId": "acme", "name": "x", "value": ""}, 400, "INVALID_INPUT", "")
	a := refused(t, s, "dev-acme", "secrets/put", fields{"tenantId": "acme", "name": "x", "value": fields{"k": canary}}, 400, "INVALID_INPUT", "")
	require.NotContains(t, string(a.Raw), canary)

	done(t, s, "dev-acme", "cloudResources/create", newCluster("user", fields{"spec": fields{"region": "nyc3", "size": "small", "token": "secret://acme/app/db"}}))
	refused(t, s, "dev-acme", "secrets/delete", secret("app/db"), 409, "INVALID_STATE", "")
	done(t, s, "dev-acme", "secrets/delete", secret("other"))
	refused(t, s, "dev-acme", "secrets/delete", secret("other"), 404, "NOT_FOUND", "")

	require.NotContains(t, s.Log.String(), canary, "no secret is logged")
	require.NotContains(t, w.Dump(), canary, "nor is one kept in clear")
}

// Who is allowed a family of resources is allowed what they output.
func TestSealedOutputsFollowTheirResource(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, func(f *platform.File) {
		f.Policies = append(f.Policies, platform.Policy{ID: "sue", Principals: []string{"acme/sue"}, Statements: []platform.Statement{
			{Effect: platform.Allow, Actions: []string{"compute:secrets:*"}, Resources: []string{"compute-secret/app/*"}},
		}})
		f.Principals = append(f.Principals, platform.Principal{Tenant: "acme", User: "sue", TokenSHA256: []string{sum("dev-sue")}})
	})
	s := w.Serve()
	id := done(t, s, "dev-acme", "cloudResources/create", newCluster("orders")).Text("id")
	record, err := w.Resource(context.Background(), "acme", id)
	require.NoError(t, err)
	w.Ready(record, "p-1")
	done(t, s, "dev-acme", "secrets/put", fields{"tenantId": "acme", "name": "app/db", "value": "v"})
	ref := "secret://acme/resources/" + id + "/password"

	require.Equal(t, "canary-"+id, done(t, s, "dev-acme-data", "secrets/reveal", fields{"tenantId": "acme", "ref": ref}).Text("value"))
	refused(t, s, "dev-acme-data", "secrets/reveal", fields{"tenantId": "acme", "ref": "secret://acme/app/db"}, 403, "ACCESS_DENIED", "")
	require.Equal(t, []string{ref}, names(done(t, s, "dev-acme-data", "secrets/list", fields{"tenantId": "acme"}), "ref"))
	require.Equal(t, []string{"secret://acme/app/db"}, names(done(t, s, "dev-sue", "secrets/list", fields{"tenantId": "acme"}), "ref"))
	require.Equal(t, []string{"", id}, names(done(t, s, "dev-acme", "secrets/list", fields{"tenantId": "acme"}), "resourceId"))
	a := refused(t, s, "dev-acme", "secrets/delete", fields{"tenantId": "acme", "name": strings.TrimPrefix(ref, "secret://acme/")}, 409, "INVALID_STATE", "")
	require.Contains(t, string(a.Raw), id)
}
