package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// Each of the eleven is served under its path, reads its input, and asks who is
// there before that.
func TestElevenMethodsAreServed(t *testing.T) {
	t.Parallel()
	s := apitest.New(t).Serve()
	methods := []string{"kinds", "catalog", "signals", "create", "list", "get", "update", "delete", "discover", "adopt", "release"}
	require.Len(t, methods, 11)
	for _, method := range methods {
		refused(t, s, "", "cloudResources/"+method, `{"surprise":`, 401, "UNAUTHENTICATED", "")
		a := refused(t, s, "dev-acme", "cloudResources/"+method, `{"surprise":1}`, 400, "INVALID_INPUT", "")
		require.Contains(t, string(a.Raw), "surprise", method)
	}
}

// Who is there comes first, then what the input looks like, then whose pool it
// is (D21).
func TestTheFirstChecksOfACreate(t *testing.T) {
	t.Parallel()
	s := apitest.New(t).Serve()
	in := newCluster("a", fields{"poolId": "pool_" + strings.Repeat("9", 26), "kind": "test.nothing", "name": "A"})
	refused(t, s, "guess", "cloudResources/create", in, 401, "UNAUTHENTICATED", "")
	a := refused(t, s, "dev-acme-reader", "cloudResources/create", in, 400, "INVALID_INPUT", "")
	require.Contains(t, string(a.Raw), `"fields":["name"]`)
	in["name"] = "a"
	refused(t, s, "dev-acme-reader", "cloudResources/create", in, 404, "NOT_FOUND", "")
	in["poolId"] = apitest.PoolAcme
	refused(t, s, "dev-acme-reader", "cloudResources/create", in, 422, "UNSUPPORTED", "")
	in["kind"] = apitest.Cluster
	refused(t, s, "dev-acme-reader", "cloudResources/create", in, 403, "ACCESS_DENIED", "")
}

// A list of more than 500 says so, and goes on where it was cut (D25).
func TestListsBeyondFiveHundred(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	s := w.Serve()
	first := done(t, s, "dev-acme", "cloudResources/create", newCluster("first")).Text("id")
	w.Exec(`INSERT INTO resources SELECT (jsonb_populate_record(r, jsonb_build_object(
		'id', left(r.id, 52) || lpad(n::text, 4, '0'), 'name', r.name || n, 'created_at', r.created_at + n * interval '1 second'))).*
		FROM resources r, generate_series(1, 500) n`)
	page := done(t, s, "dev-acme", "cloudResources/list", fields{"tenantId": "acme"})
	require.Len(t, page.Items(), 500)
	require.Equal(t, true, page.Body["truncated"])
	require.Equal(t, first, page.Items()[0]["id"], "the oldest")
	require.Equal(t, page.Items()[499]["id"], page.Body["next"])
	rest := done(t, s, "dev-acme", "cloudResources/list", fields{"tenantId": "acme", "after": page.Body["next"]})
	require.Len(t, rest.Items(), 1)
	require.NotContains(t, rest.Body, "truncated")
	require.NotContains(t, rest.Body, "next")
	refused(t, s, "dev-acme", "cloudResources/list", fields{"tenantId": "acme", "after": "crs_" + strings.Repeat("9", 52)}, 400, "INVALID_INPUT", "")
}

// What the events of a life say: names, never values, and who asked.
func TestWhatEventsSay(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	s := w.Serve()
	id := done(t, s, "dev-acme", "cloudResources/create", newCluster("a")).Text("id")
	record, err := w.Resource(context.Background(), "acme", id)
	require.NoError(t, err)
	w.Step(w.Ready(record, "p-1"), func(r *cloud.Resource) []*cloud.Change {
		return []*cloud.Change{r.Fail(nil, cloud.ClassRefused, "no such size", r.Generation, cloud.Settings{Refresh: time.Hour}, time.Now())}
	})
	done(t, s, "dev-acme", "cloudResources/delete", fields{"tenantId": "acme", "resourceId": id})
	var said []string
	for _, e := range done(t, s, "dev-acme", "events/list", fields{"tenantId": "acme"}).Items() {
		data, _ := e["data"].(map[string]any)
		switch e["type"] {
		case "cloud.resource.created":
			require.Equal(t, "a", data["name"])
			require.Equal(t, apitest.Cluster, data["kind"])
		case "cloud.resource.ready":
			require.Equal(t, []any{"host"}, data["outputs"])
			require.Equal(t, []any{"password"}, data["secretOutputs"])
			require.NotContains(t, fmt.Sprint(data), "db.example.com", "names of outputs, not what they hold")
		case "cloud.resource.failed":
			require.Equal(t, "no such size", data["message"])
		}
		said = append(said, fmt.Sprint(e["type"], " by ", data["actor"]))
	}
	require.Equal(t, []string{
		"cloud.resource.created by acme/alice", "cloud.resource.ready by reconciler",
		"cloud.resource.failed by reconciler", "cloud.resource.deleting by acme/alice",
	}, said)
}

// A resource of another tenant: refused before it is looked for under that
// tenant's id, and like none under the own (D28).
func TestAResourceOfAnotherTenant(t *testing.T) {
	t.Parallel()
	s := apitest.New(t).Serve()
	theirs := done(t, s, "dev-globex", "cloudResources/create", newCluster("a", fields{"tenantId": "globex", "poolId": apitest.PoolShared})).Text("id")
	nobodys := "crs_" + strings.Repeat("7", 52)
	for _, method := range []string{"get", "update", "delete", "release"} {
		ask := func(tenant, id string) fields {
			in := fields{"tenantId": tenant, "resourceId": id}
			if method == "update" {
				in["description"] = "x"
			}
			return in
		}
		refused(t, s, "dev-acme", "cloudResources/"+method, ask("globex", theirs), 403, "ACCESS_DENIED", "")
		refused(t, s, "dev-acme", "cloudResources/"+method, ask("globex", nobodys), 403, "ACCESS_DENIED", "")
		foreign := refused(t, s, "dev-acme", "cloudResources/"+method, ask("acme", theirs), 404, "NOT_FOUND", "")
		none := refused(t, s, "dev-acme", "cloudResources/"+method, ask("acme", nobodys), 404, "NOT_FOUND", "")
		require.Equal(t, string(none.Raw), string(foreign.Raw), "not a byte tells them apart")
	}
}

// Certificates neither book nor bill, and their two actions are all there is.
func TestCertificatesAreFree(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, func(f *platform.File) {
		for user, action := range map[string]string{"cert-read": "compute:certificates:read", "cert-manage": "compute:certificates:manage"} {
			f.Principals = append(f.Principals, platform.Principal{Tenant: "acme", User: user, TokenSHA256: []string{sum(user)}})
			f.Policies = append(f.Policies, platform.Policy{ID: user, Principals: []string{"acme/" + user}, Statements: []platform.Statement{
				{Effect: platform.Allow, Actions: []string{action}, Resources: []string{"provider-certificate/*"}},
			}})
		}
	})
	s := w.Serve()
	c := done(t, s, "cert-manage", "certificates/create", newCertificate("web"))
	one := fields{"tenantId": "acme", "certificateId": c.Text("id")}
	refused(t, s, "cert-read", "certificates/create", newCertificate("other"), 403, "ACCESS_DENIED", "")
	done(t, s, "cert-read", "certificates/get", one)
	require.Len(t, done(t, s, "cert-read", "certificates/list", fields{"tenantId": "acme"}).Items(), 1)
	refused(t, s, "cert-manage", "certificates/get", one, 403, "ACCESS_DENIED", "")
	described := fields{"tenantId": "acme", "certificateId": c.Text("id"), "description": "x"}
	refused(t, s, "cert-read", "certificates/update", described, 403, "ACCESS_DENIED", "")
	done(t, s, "cert-manage", "certificates/update", described)

	_, err := w.BillHours(context.Background())
	require.NoError(t, err)
	require.Empty(t, done(t, s, "dev-acme", "usage/list", fields{"tenantId": "acme"}).Items())
	require.Zero(t, w.Count("quota_bookings"))
	done(t, s, "cert-manage", "certificates/delete", one)
}

// How much a tenant may still spend or have is told with its refusal (D16).
func TestRefusalsNameTheLimit(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, func(f *platform.File) {
		f.Quotas = append(f.Quotas, platform.Quota{Tenant: "acme", Kind: apitest.Cluster, Max: 0})
	})
	s := w.Serve()
	limit := func(a apitest.Answer) any {
		e, _ := a.Body["error"].(map[string]any)
		details, _ := e["details"].(map[string]any)
		return details["limit"]
	}
	require.Equal(t, json.Number("0"), limit(refused(t, s, "dev-acme", "cloudResources/create", newCluster("a"), 403, "QUOTA_EXCEEDED", "")))
	shared := fields{"tenantId": "initech", "poolId": apitest.PoolShared}
	require.Equal(t, json.Number("100"), limit(refused(t, s, "dev-initech", "cloudResources/create", newCluster("a", shared), 403, "BUDGET_EXCEEDED", "")))
	shared["spec"] = fields{"region": "ams3", "size": "small"}
	refused(t, s, "dev-initech", "cloudResources/create", newCluster("a", shared), 403, "ACCESS_DENIED", "regionExcluded")
	refused(t, s, "dev-hooli", "cloudResources/create", newCluster("a", fields{"tenantId": "hooli", "poolId": apitest.PoolShared}), 403, "ACCESS_DENIED", "offerSuspended")
}
