package api_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api"
	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/contract"
	"github.com/better-compute/cloud-resources/schema/platform"
)

type fields = map[string]any

func newCluster(name string, edits ...fields) fields {
	in := fields{
		"tenantId": "acme", "poolId": apitest.PoolAcme, "kind": apitest.Cluster, "name": name, "idempotencyKey": "key-" + name,
		"spec": fields{"region": "nyc3", "size": "small"},
	}
	for _, e := range edits {
		for k, v := range e {
			in[k] = v
		}
	}
	return in
}

// done makes a call that must succeed and fit the contract.
func done(t testing.TB, s *apitest.Server, token, method string, input any) apitest.Answer {
	t.Helper()
	a := s.Call(token, method, input)
	require.Equal(t, http.StatusOK, a.Status, string(a.Raw))
	require.NoError(t, contract.New().ValidateOutput(strings.Replace(method, "/", ".", 1), a.Raw), string(a.Raw))
	return a
}

// refused makes a call that must be refused.
func refused(t testing.TB, s *apitest.Server, token, method string, input any, status int, code, reason string) apitest.Answer {
	t.Helper()
	a := s.Call(token, method, input)
	gotCode, gotReason := a.Error()
	require.Equal(t, []any{status, code, reason}, []any{a.Status, gotCode, gotReason}, string(a.Raw))
	return a
}

func TestALifeOverHTTP(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	s := w.Serve()
	require.Len(t, done(t, s, "dev-acme", "cloudResources/kinds", fields{"tenantId": "acme", "poolId": apitest.PoolAcme}).Items(), 7)
	r := done(t, s, "dev-acme", "cloudResources/create", newCluster("orders", fields{"description": "d", "projectId": apitest.ProjectWebs}))
	id := r.Text("id")
	require.Equal(t, "pending", r.Text("state"))
	require.Equal(t, cloud.ProviderName(id), r.Text("providerName"))
	require.Equal(t, fields{}, r.Body["outputs"])
	one := fields{"tenantId": "acme", "resourceId": id}

	record, err := w.Resource(context.Background(), "acme", id)
	require.NoError(t, err)
	w.Ready(record, "p-1")
	r = done(t, s, "dev-acme-reader", "cloudResources/get", one)
	require.Equal(t, "ready", r.Text("state"))
	require.Equal(t, fields{"password": "secret://acme/resources/" + id + "/password"}, r.Body["secretOutputs"])

	r = done(t, s, "dev-acme", "cloudResources/update", `{"tenantId":"acme","resourceId":"`+id+`","spec":{"nodes":9223372036854775807},"description":null}`)
	require.Equal(t, "updating", r.Text("state"))
	require.Contains(t, string(r.Raw), `"nodes":9223372036854775807`)
	require.NotContains(t, r.Body, "description")

	list := done(t, s, "dev-acme-data", "cloudResources/list", fields{"tenantId": "acme"})
	require.Len(t, list.Items(), 1)
	require.NotContains(t, list.Body, "truncated")
	require.Equal(t, "deleting", done(t, s, "dev-acme", "cloudResources/delete", one).Text("state"))

	w.Provider.Put(apitest.AccountAcme, apitest.Object{Kind: apitest.Cluster, Observed: cloud.Observed{ProviderID: "free", Name: "n", Region: "nyc3"}})
	found := done(t, s, "dev-acme", "cloudResources/discover", fields{"tenantId": "acme", "poolId": apitest.PoolAcme, "kind": apitest.Cluster})
	require.Equal(t, []map[string]any{{"providerId": "free", "name": "n", "region": "nyc3", "spec": fields{}}}, found.Items())
	adopted := done(t, s, "dev-acme", "cloudResources/adopt", fields{
		"tenantId": "acme", "poolId": apitest.PoolAcme, "kind": apitest.Cluster, "providerId": "free", "name": "taken", "idempotencyKey": "a"})
	require.Equal(t, true, adopted.Body["adopted"])
	require.Equal(t, fields{}, adopted.Body["spec"])
	released := done(t, s, "dev-acme", "cloudResources/release", fields{"tenantId": "acme", "resourceId": adopted.Text("id")})
	require.Equal(t, true, released.Body["releasing"])

	w.Provider.Offer(cloud.CatalogItem{Slug: "wordpress", InstallsOn: "instance"})
	require.Equal(t, []map[string]any{{"slug": "wordpress", "installsOn": "instance"}},
		done(t, s, "dev-acme", "cloudResources/catalog", fields{"tenantId": "acme", "poolId": apitest.PoolAcme}).Items())
	w.Provider.Raise(apitest.AccountAcme, cloud.Signal{ID: "s", Severity: cloud.SeverityInfo, Title: "t", At: 5, Kind: apitest.Agent, ProviderID: "x"})
	require.Len(t, done(t, s, "dev-acme", "cloudResources/signals", fields{"tenantId": "acme", "poolId": apitest.PoolAcme}).Items(), 1)
}

func TestRefusalsOverHTTP(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	s := w.Serve()
	refused(t, s, "", "cloudResources/get", `nonsense`, 401, "UNAUTHENTICATED", "")
	a := refused(t, s, "dev-acme", "cloudResources/create", `{"tenantId":"acme","surprise":1}`, 400, "INVALID_INPUT", "")
	require.Contains(t, string(a.Raw), `"fields":["idempotencyKey","kind","name","poolId","spec","surprise"]`)
	refused(t, s, "dev-acme", "cloudResources/get", `nonsense`, 400, "INVALID_INPUT", "")
	refused(t, s, "dev-acme", "cloudResources/get", strings.Repeat(" ", contract.MaxBody+1), 400, "INVALID_INPUT", "")
	refused(t, s, "dev-acme", "cloudResources/list", fields{"tenantId": "globex"}, 403, "ACCESS_DENIED", "")
	refused(t, s, "dev-acme", "cloudResources/create", newCluster("a", fields{"poolId": "pool_" + strings.Repeat("9", 26)}), 404, "NOT_FOUND", "")
	refused(t, s, "dev-acme", "cloudResources/create", newCluster("a", fields{"poolId": apitest.PoolOther}), 422, "UNSUPPORTED", "")
	a = refused(t, s, "dev-acme", "cloudResources/create", newCluster("a", fields{"poolId": apitest.PoolShared, "spec": fields{"region": "nyc3", "size": "small", "vpc": "v"}}), 400, "INVALID_INPUT", "accountWide")
	require.Contains(t, string(a.Raw), `"fields":["spec.vpc"]`)
	done(t, s, "dev-acme", "cloudResources/create", newCluster("a"))
	refused(t, s, "dev-acme", "cloudResources/create", newCluster("a", fields{"idempotencyKey": "other"}), 409, "CONFLICT", "name")
	a = refused(t, s, "dev-acme", "cloudResources/create", newCluster("g", fields{"kind": apitest.GPU, "spec": fields{"replicas": 5}}), 403, "QUOTA_EXCEEDED", "")
	require.Contains(t, string(a.Raw), `"limit":8`)
	a = refused(t, s, "dev-initech", "cloudResources/create", newCluster("a", fields{"tenantId": "initech", "poolId": apitest.PoolShared}), 403, "BUDGET_EXCEEDED", "")
	require.Contains(t, string(a.Raw), `"limit":100`)
	gpu := done(t, s, "dev-acme", "cloudResources/create", newCluster("gpu", fields{"kind": apitest.GPU, "spec": fields{"replicas": 1}})).Text("id")
	refused(t, s, "dev-acme", "cloudResources/release", fields{"tenantId": "acme", "resourceId": gpu}, 409, "INVALID_STATE", "notAccepted")

	discover := fields{"tenantId": "acme", "poolId": apitest.PoolAcme, "kind": apitest.Cluster}
	w.Provider.Fail(&cloud.ProviderError{Class: cloud.ClassThrottled, RetryAfter: 1500 * time.Millisecond})
	require.Equal(t, "2", refused(t, s, "dev-acme", "cloudResources/discover", discover, 429, "THROTTLED", "").Header.Get("Retry-After"))
	w.Provider.Fail(&cloud.ProviderError{Class: cloud.ClassUnknown, Message: "HTTP 500", RequestID: "theirs"})
	a = refused(t, s, "dev-acme", "cloudResources/discover", discover, 502, "PROVIDER_ERROR", "")
	require.Contains(t, string(a.Raw), `"providerRequestId":"theirs"`)
}

func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := apitest.New(t).Serve()
	for path, status := range map[string]int{"/api/compute/cloudResources/nothing": 404, "/api/compute/operator/update": 404, "/": 404} {
		req, err := http.NewRequest(http.MethodPost, s.URL+path, strings.NewReader("{}"))
		require.NoError(t, err)
		a := s.Do(req)
		code, _ := a.Error()
		require.Equal(t, []any{status, "NOT_FOUND"}, []any{a.Status, code})
	}
	req, err := http.NewRequest(http.MethodGet, s.URL+"/api/compute/cloudResources/get", nil)
	require.NoError(t, err)
	a := s.Do(req)
	code, _ := a.Error()
	require.Equal(t, []any{http.StatusMethodNotAllowed, "UNSUPPORTED"}, []any{a.Status, code})
}

func get(t testing.TB, s *apitest.Server, path string) apitest.Answer {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
	require.NoError(t, err)
	return s.Do(req)
}

func TestServicePages(t *testing.T) {
	t.Parallel()
	var trouble error
	var mu sync.Mutex
	s := apitest.New(t).Serve(func(d *api.Deps) {
		d.Health = []api.Check{{Name: "postgres", Run: func(context.Context) error { return nil }}, {Name: "temporal", Run: func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			return trouble
		}}}
	})
	a := get(t, s, "/healthz")
	require.Equal(t, http.StatusOK, a.Status)
	mu.Lock()
	trouble = errors.New("dial tcp 10.0.0.1: refused")
	mu.Unlock()
	a = get(t, s, "/healthz")
	require.Equal(t, http.StatusServiceUnavailable, a.Status)
	require.Equal(t, fields{"status": "failing", "checks": fields{"postgres": "ok", "temporal": "failing"}}, a.Body)

	require.Equal(t, "3.1.0", get(t, s, "/openapi.json").Text("openapi"))
	docs := string(get(t, s, "/docs").Raw)
	require.Contains(t, docs, "/openapi.json")
	for _, place := range []string{`src="http`, `href="http`, `src="//`, `href="//`} {
		require.NotContains(t, docs, place, "nothing is loaded from elsewhere")
	}
	script := get(t, s, "/docs/swagger-ui-bundle.js")
	require.Equal(t, http.StatusOK, script.Status)

	s.Call("dev-acme", "cloudResources/list", fields{"tenantId": "acme"})
	s.Call("dev-acme", "cloudResources/list", fields{"tenantId": "globex"})
	metrics := string(get(t, s, "/metrics").Raw)
	require.Contains(t, metrics, `cloudresources_http_requests_total{code="",path="/api/compute/cloudResources/list",status="200"} 1`)
	require.Contains(t, metrics, `cloudresources_http_requests_total{code="ACCESS_DENIED",path="/api/compute/cloudResources/list",status="403"} 1`)
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	s := w.Serve()
	for given, same := range map[string]bool{"abc-1.2_3": true, "": false, "bad id": false, strings.Repeat("x", 65): false} {
		req, err := http.NewRequest(http.MethodPost, s.URL+"/api/compute/cloudResources/get", strings.NewReader("{}"))
		require.NoError(t, err)
		req.Header.Set("X-Request-Id", given)
		id := s.Do(req).Header.Get("X-Request-Id")
		require.NotEmpty(t, id)
		require.Equal(t, same, id == given)
		require.Contains(t, s.Log.String(), `"request":"`+id+`"`)
	}
}

// panicky answers reads in ways that no caller must see.
type panicky struct{ intent.Authorizer }

func (panicky) Reach(context.Context, intent.Principal, string) error { panic("canary-internal") }

type broken struct{ intent.Authorizer }

func (broken) Reach(context.Context, intent.Principal, string) error {
	return &cloud.Error{Code: cloud.CodeInternal, Message: "canary-internal", Details: map[string]any{"x": "canary-internal"}, Err: errors.New("canary-internal")}
}

func TestInternalTroubleStaysInside(t *testing.T) {
	t.Parallel()
	for name, authorizer := range map[string]intent.Authorizer{"panic": panicky{}, "error": broken{}} {
		w := apitest.New(t)
		w.Service.Authorizer = authorizer
		s := w.Serve()
		a := refused(t, s, "dev-acme", "cloudResources/list", fields{"tenantId": "acme"}, 500, "INTERNAL", "")
		require.NotContains(t, string(a.Raw), "canary", name)
		id := a.Header.Get("X-Request-Id")
		require.Contains(t, string(a.Raw), id)
		require.Contains(t, s.Log.String(), "canary-internal")
		require.Contains(t, s.Log.String(), id)
	}
}

func TestPostgresIsDown(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	s := w.Serve()
	done(t, s, "dev-acme", "cloudResources/create", newCluster("a"))
	w.Close()
	for method, in := range map[string]fields{"create": newCluster("b"), "list": {"tenantId": "acme"}} {
		a := refused(t, s, "dev-acme", "cloudResources/"+method, in, 503, "UNAVAILABLE", "")
		require.NotContains(t, string(a.Raw), "pool", "nothing of what is underneath")
	}
	require.Equal(t, 1, w.Count("resources"), "nothing half-done")
}

func TestNudgesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	told, release := make(chan string, 10), make(chan struct{})
	s := apitest.New(t).Serve(func(d *api.Deps) {
		d.Nudge = func(ctx context.Context, id string) {
			told <- id
			select { // Temporal hangs
			case <-ctx.Done():
			case <-release:
			}
		}
	})
	defer close(release)
	id := done(t, s, "dev-acme", "cloudResources/create", newCluster("a")).Text("id")
	require.Equal(t, id, <-told)
	done(t, s, "dev-acme", "cloudResources/update", fields{"tenantId": "acme", "resourceId": id, "spec": fields{"size": "large"}})
	require.Equal(t, id, <-told)
	done(t, s, "dev-acme", "cloudResources/get", fields{"tenantId": "acme", "resourceId": id})
	done(t, s, "dev-acme", "cloudResources/delete", fields{"tenantId": "acme", "resourceId": id})
	require.Equal(t, id, <-told)
	require.Empty(t, told, "reads tell nobody")
}

// slow lets a test act between the reading of the input and the work.
type slow struct {
	intent.Authorizer
	reached, proceed chan struct{}
}

func (s slow) Reach(ctx context.Context, p intent.Principal, tenant string) error {
	s.reached <- struct{}{}
	<-s.proceed
	return s.Authorizer.Reach(ctx, p, tenant)
}

func TestACallerThatGoesAwayLosesNothing(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	gate := slow{w.Service.Authorizer, make(chan struct{}), make(chan struct{})}
	w.Service.Authorizer = gate
	s := w.Serve()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	body := `{"tenantId":"acme","poolId":"` + apitest.PoolAcme + `","kind":"test.cluster","name":"gone","idempotencyKey":"k","spec":{"region":"nyc3","size":"small"}}`
	_, err = io.WriteString(conn, "POST /api/compute/cloudResources/create HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer dev-acme\r\nContent-Length: "+
		itoa(len(body))+"\r\n\r\n"+body)
	require.NoError(t, err)
	<-gate.reached
	require.NoError(t, conn.Close())
	gate.proceed <- struct{}{}
	require.Eventually(t, func() bool { return w.Count("resources") == 1 }, 10*time.Second, 10*time.Millisecond)
}

func TestPlatformChangesShowAtTheNextCall(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	s := w.Serve()
	done(t, s, "dev-acme", "cloudResources/list", fields{"tenantId": "acme"})
	w.Apply(func(f *platform.File) {
		for i := range f.Offers {
			if f.Offers[i].Tenant == "acme" {
				f.Offers[i].Status = platform.OfferSuspended
			}
		}
	})
	refused(t, s, "dev-acme", "cloudResources/create", newCluster("a", fields{"poolId": apitest.PoolShared}), 403, "ACCESS_DENIED", "offerSuspended")
	w.Apply(func(f *platform.File) { f.Policies = f.Policies[:1] })
	refused(t, s, "dev-acme", "cloudResources/list", fields{"tenantId": "acme"}, 403, "ACCESS_DENIED", "")
	w.Apply(func(f *platform.File) {
		for i := range f.Principals {
			if f.Principals[i].User == "alice" {
				f.Principals[i].TokenSHA256 = []string{strings.Repeat("0", 64)}
			}
		}
	})
	refused(t, s, "dev-acme", "cloudResources/list", fields{"tenantId": "acme"}, 401, "UNAUTHENTICATED", "")
}

func TestADescriptionOfNullIsAsGoodAsNone(t *testing.T) {
	t.Parallel()
	s := apitest.New(t).Serve()
	first := done(t, s, "dev-acme", "cloudResources/create", newCluster("orders", fields{}))
	again := done(t, s, "dev-acme", "cloudResources/create", newCluster("orders", fields{"description": nil}))
	require.Equal(t, first.Text("id"), again.Text("id"), "a repeat of the same request")
}
