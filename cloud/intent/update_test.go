package intent_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

func patch(t testing.TB, r *cloud.Resource, text string) intent.UpdateRequest {
	t.Helper()
	s, err := cloud.ParseSpec([]byte(text))
	require.NoError(t, err)
	return intent.UpdateRequest{TenantID: r.TenantID, ResourceID: r.ID, Spec: &s}
}

func describe(r *cloud.Resource, text string) intent.UpdateRequest {
	return intent.UpdateRequest{TenantID: r.TenantID, ResourceID: r.ID, Description: intent.Text{Given: true, Value: text}}
}

func update(t *testing.T, w *apitest.World, p intent.Principal, in intent.UpdateRequest) *cloud.Resource {
	t.Helper()
	r, err := w.Service.Update(context.Background(), p, in)
	require.NoError(t, err)
	return r
}

func TestUpdateMergesAndAsksTheWorkflow(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := w.Ready(create(t, w, apitest.Alice, cluster(spec("window", map[string]any{"day": "monday", "hour": json.Number("3")}))), "p-1")
	r = update(t, w, apitest.Alice, patch(t, r, `{"size":"large","window":{"hour":4},"nodes":9007199254740993}`))
	require.Equal(t, cloud.StateUpdating, r.State)
	require.EqualValues(t, 2, r.Version)
	require.EqualValues(t, 2, r.Generation)
	require.JSONEq(t, `{"region":"nyc3","size":"large","window":{"day":"monday","hour":4},"nodes":9007199254740993}`, string(r.Spec.JSON()))
	nodes, _ := r.Spec.Int("nodes")
	require.EqualValues(t, 9007199254740993, nodes, "64 bits")
	require.Equal(t, []string{"created", "ready", "updating"}, w.Events("acme", r.ID))

	r = w.Ready(r, "p-1")
	r = update(t, w, apitest.Alice, patch(t, r, `{"window":null}`))
	require.Nil(t, r.Spec["window"])
	_, err := w.Service.Update(context.Background(), apitest.Alice, patch(t, r, `{"size":null}`))
	apitest.Refused(t, err, cloud.CodeInvalidInput, "", "spec.size")
}

func TestEqualUpdateCountsAndDoesNothing(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := w.Ready(create(t, w, apitest.Alice, cluster(spec("nodes", json.Number("2")))), "p-1")
	for _, text := range []string{`{}`, `{"size":"small"}`, `{"nodes":2.0}`, `{"region":"NYC3"}`, `{"engine":null}`} {
		next := update(t, w, apitest.Alice, patch(t, r, text))
		require.Equal(t, r.Version+1, next.Version, text)
		require.Equal(t, r.Generation, next.Generation, text)
		require.Equal(t, cloud.StateReady, next.State, text)
		require.Equal(t, string(r.Spec.JSON()), string(next.Spec.JSON()), text)
		r = next
	}
	require.Equal(t, []string{"created", "ready"}, w.Events("acme", r.ID))
}

func TestUpdateOfTheDescription(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := create(t, w, apitest.Alice, cluster(func(in *intent.CreateRequest) { in.Description = "old" }))
	r = update(t, w, apitest.Alice, describe(r, "new"))
	require.Equal(t, "new", r.Description)
	require.EqualValues(t, 2, r.Version)
	require.EqualValues(t, 1, r.Generation, "the provider never sees it")
	both := patch(t, r, `{"size":"large"}`)
	both.Description = intent.Text{Given: true}
	r = update(t, w, apitest.Alice, both)
	require.Empty(t, r.Description)
	require.EqualValues(t, 3, r.Version, "one update, one version")
}

func TestUpdateThatNeedsAReplacement(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := w.Ready(create(t, w, apitest.Alice, cluster(spec("engine", "pg"))), "p-1")
	_, err := w.Service.Update(context.Background(), apitest.Alice, patch(t, r, `{"size":"large","engine":"mysql","region":"ams3"}`))
	apitest.Refused(t, err, cloud.CodeInvalidState, "replaceRequired", "spec.engine", "spec.region")
	_, err = w.Service.Update(context.Background(), apitest.Alice, patch(t, r, `{"engine":null}`))
	apitest.Refused(t, err, cloud.CodeInvalidState, "replaceRequired", "spec.engine")
	same, err := w.Resource(context.Background(), "acme", r.ID)
	require.NoError(t, err)
	require.Equal(t, r, same, "nothing is applied, not even the size")
}

func TestUpdateRefusals(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	r := w.Ready(create(t, w, apitest.Alice, cluster(spec("instances", []any{apitest.Instance("acme")}))), "p-1")
	shared := create(t, w, apitest.Alice, cluster(on(apitest.PoolShared), named("shared")))
	theirs := create(t, w, apitest.Bob, cluster(by("globex"), on(apitest.PoolShared)))
	cases := []struct {
		name   string
		by     intent.Principal
		in     intent.UpdateRequest
		code   cloud.Code
		reason string
		fields []string
	}{
		{"neither field", apitest.Alice, intent.UpdateRequest{TenantID: "acme", ResourceID: r.ID}, cloud.CodeInvalidInput, "", []string{"spec", "description"}},
		{"another tenant", apitest.Alice, patch(t, theirs, `{}`), cloud.CodeAccessDenied, "", nil},
		{"foreign id", apitest.Alice, intent.UpdateRequest{TenantID: "acme", ResourceID: theirs.ID, Spec: &cloud.Spec{}}, cloud.CodeNotFound, "", nil},
		{"no such id", apitest.Alice, intent.UpdateRequest{TenantID: "acme", ResourceID: "crs_" + strings.Repeat("0", 52), Spec: &cloud.Spec{}}, cloud.CodeNotFound, "", nil},
		{"reader", apitest.Rita, patch(t, r, `{}`), cloud.CodeAccessDenied, "", nil},
		{"schema", apitest.Alice, patch(t, r, `{"nodes":0}`), cloud.CodeInvalidInput, "", []string{"spec.nodes"}},
		{"unknown field", apitest.Alice, patch(t, r, `{"colour":"red"}`), cloud.CodeInvalidInput, "", []string{"spec.colour"}},
		{"account-wide", apitest.Alice, patch(t, shared, `{"vpc":"v"}`), cloud.CodeInvalidInput, "accountWide", []string{"spec.vpc"}},
		{"new instance", apitest.Alice, patch(t, r, `{"instances":["`+apitest.Instance("acme")+`","`+apitest.Instance("dead")+`"]}`), cloud.CodeInvalidInput, "instance", nil},
		{"new network", apitest.Alice, patch(t, r, `{"network":"`+apitest.Network("gx")+`"}`), cloud.CodeInvalidInput, "network", nil},
		{"secret", apitest.Alice, patch(t, r, `{"token":"secret://acme/none"}`), cloud.CodeInvalidInput, "secretRef", []string{"spec.token"}},
		{"too large", apitest.Alice, patch(t, r, `{"notes":[{"name":"`+strings.Repeat("x", cloud.MaxSpecBytes-100)+`"}]}`), cloud.CodeInvalidInput, "", []string{"spec"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Service.Update(ctx, c.by, c.in)
			apitest.Refused(t, err, c.code, c.reason, c.fields...)
		})
	}
	same, err := w.Resource(ctx, "acme", r.ID)
	require.NoError(t, err)
	require.Equal(t, r, same)
}

func TestUpdateChecksOnlyWhatItNewlyNames(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := create(t, w, apitest.Alice, cluster(spec("instances", []any{apitest.Instance("acme")}), spec("network", apitest.Network("acme"))))
	w.Exec("UPDATE instances SET live = false; UPDATE networks SET live = false")
	update(t, w, apitest.Alice, patch(t, r, `{"size":"large"}`))
	_, err := w.Service.Update(context.Background(), apitest.Alice, patch(t, r, `{"instances":["`+apitest.Instance("shared")+`"]}`))
	apitest.Refused(t, err, cloud.CodeInvalidInput, "instance")
}

func TestUpdateOfWhatIsOnItsWayOut(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	refused := func(r *cloud.Resource, reason string) {
		t.Helper()
		for _, in := range []intent.UpdateRequest{patch(t, r, `{"size":"large"}`), describe(r, "x")} {
			_, err := w.Service.Update(ctx, apitest.Alice, in)
			apitest.Refused(t, err, cloud.CodeInvalidState, reason)
		}
	}
	deleting := create(t, w, apitest.Alice, cluster(named("deleting")))
	_, err := w.Service.Delete(ctx, apitest.Alice, intent.DeleteRequest{TenantID: "acme", ResourceID: deleting.ID})
	require.NoError(t, err)
	refused(deleting, "deleting")
	refused(w.Ended(deleting), "ended")

	releasing := w.Ready(create(t, w, apitest.Alice, cluster(named("releasing"))), "p-2")
	_, err = w.Service.Release(ctx, apitest.Alice, intent.ResourceRequest{TenantID: "acme", ResourceID: releasing.ID})
	require.NoError(t, err)
	refused(releasing, "releasing")
}

func TestUpdateOfWhatIsBeingAdopted(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := adopt(t, w, "p-1", "taken")
	_, err := w.Service.Update(context.Background(), apitest.Alice, patch(t, r, `{"size":"large"}`))
	apitest.Refused(t, err, cloud.CodeInvalidState, "adopting")
	r = update(t, w, apitest.Alice, describe(r, "fine"))
	require.Equal(t, "fine", r.Description)
	r = update(t, w, apitest.Alice, patch(t, r, `{}`))
	require.True(t, r.Adopting())
	r = w.Ready(r, "p-1")
	require.True(t, r.ObservedOnly)
	r = update(t, w, apitest.Alice, patch(t, r, `{"size":"large"}`))
	require.False(t, r.ObservedOnly, "managed like any other from now on")
	require.Equal(t, cloud.StateUpdating, r.State)
}

func TestExpectedVersion(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	r := create(t, w, apitest.Alice, cluster())
	in := patch(t, r, `{"size":"large"}`)
	in.ExpectedVersion = ptr(int64(1))
	update(t, w, apitest.Alice, in)
	_, err := w.Service.Update(ctx, apitest.Alice, in)
	require.EqualValues(t, 2, apitest.Refused(t, err, cloud.CodeConflict, "version").Details["version"])
	del := intent.DeleteRequest{TenantID: "acme", ResourceID: r.ID, ExpectedVersion: ptr(int64(1))}
	_, err = w.Service.Delete(ctx, apitest.Alice, del)
	apitest.Refused(t, err, cloud.CodeConflict, "version")
	del.ExpectedVersion = ptr(int64(2))
	for range 2 { // a repeat finds it deleting
		_, err = w.Service.Delete(ctx, apitest.Alice, del)
		require.NoError(t, err)
	}
	del.ExpectedVersion = ptr(int64(1))
	r, err = w.Service.Delete(ctx, apitest.Alice, del)
	require.NoError(t, err, "what is being deleted is returned unchanged, whoever asks")
	require.Equal(t, cloud.StateDeleting, r.State)
}

func TestConcurrentUpdatesBothCount(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	gpu := create(t, w, apitest.Alice, cluster(of(apitest.GPU, cloud.Spec{"replicas": json.Number("1")}), named("gpu")))
	r := create(t, w, apitest.Alice, cluster())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			text := `{"nodes":2}`
			if i%2 == 0 {
				text = `{"size":"large"}`
			}
			if _, err := w.Service.Update(context.Background(), apitest.Alice, patch(t, r, text)); err != nil {
				t.Error(err)
			}
			if _, err := w.Service.Update(context.Background(), apitest.Alice, patch(t, gpu, `{"replicas":2}`)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r, err := w.Resource(context.Background(), "acme", r.ID)
	require.NoError(t, err)
	require.EqualValues(t, 9, r.Version)
	require.JSONEq(t, `{"region":"nyc3","size":"large","nodes":2}`, string(r.Spec.JSON()))
	gpu, err = w.Resource(context.Background(), "acme", gpu.ID)
	require.NoError(t, err)
	require.EqualValues(t, 9, gpu.Version)
	require.Equal(t, 4, world{w}.booked(gpu))
}

func TestUpdateFollowsTheBooking(t *testing.T) {
	t.Parallel()
	w := world{apitest.New(t)}
	ctx := context.Background()
	gpu := w.Ready(create(t, w.World, apitest.Alice, cluster(of(apitest.GPU, cloud.Spec{"replicas": json.Number("2")}))), "g-1")
	require.Equal(t, 4, w.booked(gpu))
	_, err := w.Service.Update(ctx, apitest.Alice, patch(t, gpu, `{"replicas":5}`))
	apitest.Refused(t, err, cloud.CodeQuotaExceeded, "")
	same, err := w.Resource(ctx, "acme", gpu.ID)
	require.NoError(t, err)
	require.Equal(t, gpu, same)

	gpu = update(t, w.World, apitest.Alice, patch(t, gpu, `{"replicas":4}`))
	require.Equal(t, 8, w.booked(gpu), "growth is charged at once")
	gpu = update(t, w.World, apitest.Alice, patch(t, w.Ready(gpu, "g-1"), `{"replicas":1}`))
	require.Equal(t, 8, w.booked(gpu), "a shrink only when the new spec runs")
	gpu = w.Ready(gpu, "g-1")
	require.Equal(t, 2, w.booked(gpu))

	_, err = w.Service.Update(ctx, apitest.Alice, patch(t, gpu, `{"model":"m","replicas":9}`))
	apitest.Refused(t, err, cloud.CodeInvalidState, "replaceRequired", "spec.model")

	w.Provider.Fail(&cloud.ProviderError{Class: cloud.ClassThrottled, Op: "sizes", RetryAfter: 7 * time.Second})
	_, err = w.Service.Update(ctx, apitest.Alice, patch(t, gpu, `{"replicas":2}`))
	require.Equal(t, 7*time.Second, apitest.Refused(t, err, cloud.CodeThrottled, "").RetryAfter)
	update(t, w.World, apitest.Alice, describe(gpu, "needs no provider"))
}

func TestUpdateThatMovesRespectsRegionsAndPolicy(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, func(f *platform.File) {
		for i := range f.Offers {
			if f.Offers[i].Tenant == "acme" {
				f.Offers[i].ExcludedRegions = []string{"ams3"}
			}
		}
		f.Policies = append(f.Policies, platform.Policy{ID: "nyc", Principals: []string{"acme/nina"}, Statements: []platform.Statement{{
			Effect: platform.Allow, Actions: []string{"*"}, Resources: []string{"*"},
			Condition: map[string]map[string]platform.Strings{"StringEquals": {"resource.region": {"nyc"}}},
		}}})
	})
	ctx := context.Background()
	nina := intent.Principal{Tenant: "acme", User: "nina", ID: "acme/nina"}
	r := create(t, w, nina, cluster(of(apitest.Site, cloud.Spec{"region": "nyc"})))
	_, err := w.Service.Update(ctx, nina, patch(t, r, `{"region":"ams"}`))
	apitest.Refused(t, err, cloud.CodeAccessDenied, "")
	_, err = w.Service.Update(ctx, apitest.Alice, patch(t, r, `{"region":"sfo"}`))
	apitest.Refused(t, err, cloud.CodeInvalidInput, "", "spec.region")
	r = update(t, w, apitest.Alice, patch(t, r, `{"region":"ams"}`))
	require.Equal(t, "ams", r.Region, "decisions follow the move")
	_, err = w.Service.Get(ctx, nina, intent.ResourceRequest{TenantID: "acme", ResourceID: r.ID})
	apitest.Refused(t, err, cloud.CodeAccessDenied, "")
	// A network of the region that it moves to, by the product's own word.
	_, err = w.Service.Update(ctx, apitest.Alice, patch(t, r, `{"network":"`+apitest.Network("acme")+`"}`))
	apitest.Refused(t, err, cloud.CodeInvalidInput, "network")
	update(t, w, apitest.Alice, patch(t, r, `{"region":"nyc","network":"`+apitest.Network("acme")+`"}`))

	hosted := create(t, w, apitest.Alice, cluster(of(apitest.Site, cloud.Spec{"region": "nyc"}), on(apitest.PoolShared), named("hosted")))
	_, err = w.Service.Update(ctx, apitest.Alice, patch(t, hosted, `{"region":"ams"}`))
	apitest.Refused(t, err, cloud.CodeAccessDenied, "regionExcluded")
}

// world adds what only these tests look at.
type world struct{ *apitest.World }

func (w world) booked(r *cloud.Resource) int {
	return w.Count("generate_series(1, (SELECT coalesce(sum(amount), 0)::int FROM quota_bookings WHERE resource_id = '" + r.ID + "'))")
}
