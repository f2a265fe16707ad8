package intent_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

func remove(t *testing.T, w *apitest.World, p intent.Principal, r *cloud.Resource) *cloud.Resource {
	t.Helper()
	out, err := w.Service.Delete(context.Background(), p, intent.DeleteRequest{TenantID: r.TenantID, ResourceID: r.ID})
	require.NoError(t, err)
	return out
}

func release(w *apitest.World, p intent.Principal, r *cloud.Resource) (*cloud.Resource, error) {
	return w.Service.Release(context.Background(), p, intent.ResourceRequest{TenantID: r.TenantID, ResourceID: r.ID})
}

func TestDeleteTakesWhatLivesInIt(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	r := w.Ready(create(t, w, apitest.Alice, cluster()), "p-1")
	user := create(t, w, apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "app"}), in(r), named("user")))
	r = remove(t, w, apitest.Alice, r)
	require.Equal(t, cloud.StateDeleting, r.State)
	user, err := w.Resource(ctx, "acme", user.ID)
	require.NoError(t, err)
	require.Equal(t, cloud.StateDeleting, user.State)
	require.Equal(t, []string{"created", "deleting"}, w.Events("acme", user.ID))
	require.Equal(t, []string{"created", "ready", "deleting"}, w.Events("acme", r.ID))

	_, err = w.Service.Create(ctx, apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "late"}), in(r), named("late")))
	apitest.Refused(t, err, cloud.CodeInvalidInput, "parent", "parentId")

	again := remove(t, w, apitest.Alice, r)
	require.Equal(t, r, again, "unchanged")
	require.Equal(t, []string{"created", "ready", "deleting"}, w.Events("acme", r.ID))

	w.Ended(user)
	ended := w.Ended(r)
	require.Equal(t, ended, remove(t, w, apitest.Alice, r), "what has ended too")
}

func TestDeleteRefusals(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	theirs := create(t, w, apitest.Bob, cluster(by("globex"), on(apitest.PoolShared)))
	mine := create(t, w, apitest.Alice, cluster())
	site := create(t, w, apitest.Alice, cluster(of(apitest.Site, cloud.Spec{"region": "nyc"}), named("site")))
	cases := []struct {
		name string
		by   intent.Principal
		in   intent.DeleteRequest
		code cloud.Code
	}{
		{"another tenant", apitest.Alice, intent.DeleteRequest{TenantID: "globex", ResourceID: theirs.ID}, cloud.CodeAccessDenied},
		{"foreign id", apitest.Alice, intent.DeleteRequest{TenantID: "acme", ResourceID: theirs.ID}, cloud.CodeNotFound},
		{"reader", apitest.Rita, intent.DeleteRequest{TenantID: "acme", ResourceID: mine.ID}, cloud.CodeAccessDenied},
		{"another family", apitest.Dora, intent.DeleteRequest{TenantID: "acme", ResourceID: site.ID}, cloud.CodeAccessDenied},
	}
	for _, c := range cases {
		_, err := w.Service.Delete(ctx, c.by, c.in)
		apitest.Refused(t, err, c.code, "")
		_, err = w.Service.Release(ctx, c.by, intent.ResourceRequest{TenantID: c.in.TenantID, ResourceID: c.in.ResourceID})
		apitest.Refused(t, err, c.code, "")
	}
	remove(t, w, apitest.Dora, mine)
}

func TestDeleteOverridesARelease(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := w.Ready(create(t, w, apitest.Alice, cluster()), "p-1")
	r, err := release(w, apitest.Alice, r)
	require.NoError(t, err)
	require.True(t, r.Releasing())
	require.Equal(t, cloud.StateReady, r.State, "it keeps its state until it is released")
	r = remove(t, w, apitest.Alice, r)
	require.False(t, r.Releasing())
	require.Equal(t, cloud.StateDeleting, r.State)
	require.Equal(t, []string{"created", "ready", "releasing", "deleting"}, w.Events("acme", r.ID))
}

func TestDeleteOnAPoolThatDemandsAQuorum(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	r := w.Ready(create(t, w, apitest.Alice, cluster(on(apitest.PoolQuorum))), "p-1")
	user := create(t, w, apitest.Alice, cluster(on(apitest.PoolQuorum), of(apitest.User, cloud.Spec{"name": "app"}), in(r), named("user")))
	w.Service.Batches = nil
	_, err := w.Service.Delete(ctx, apitest.Alice, intent.DeleteRequest{TenantID: "acme", ResourceID: r.ID})
	apitest.Refused(t, err, cloud.CodeUnsupported, "")

	w.Service.Batches = &intent.BatchService{Store: w.Store, Now: time.Now}
	r = remove(t, w, apitest.Alice, r)
	require.Equal(t, cloud.StateDeleting, r.State)
	require.NotEmpty(t, r.HeldBy)
	require.Contains(t, r.Message, r.HeldBy)
	require.Equal(t, 1, w.Count("command_batches"))
	require.Equal(t, 2, w.Count("batch_commands"), "the resource and what lives in it")
	require.Equal(t, r, remove(t, w, apitest.Alice, r), "asking again makes no other batch")
	require.Equal(t, 1, w.Count("command_batches"))
	user, err = w.Resource(ctx, "acme", user.ID)
	require.NoError(t, err)
	require.Equal(t, r.HeldBy, user.HeldBy)
}

func TestReleaseRefusals(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	pending := create(t, w, apitest.Alice, cluster(named("pending")))
	_, err := release(w, apitest.Alice, pending)
	apitest.Refused(t, err, cloud.CodeInvalidState, "notAccepted")

	parent := w.Ready(create(t, w, apitest.Alice, cluster(named("parent"))), "p-1")
	user := w.Ready(create(t, w, apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "app"}), in(parent), named("user"))), "app")
	_, err = release(w, apitest.Alice, user)
	apitest.Refused(t, err, cloud.CodeInvalidState, "parent")
	_, err = release(w, apitest.Alice, parent)
	require.EqualValues(t, 1, apitest.Refused(t, err, cloud.CodeInvalidState, "children").Details["count"])

	site := w.Ready(create(t, w, apitest.Alice, cluster(of(apitest.Site, cloud.Spec{"region": "nyc"}), named("site"))), "s-1")
	_, err = release(w, apitest.Alice, site)
	apitest.Refused(t, err, cloud.CodeUnsupported, "release")
	require.NotContains(t, w.Events("acme", site.ID), "releasing", "nothing is recorded")

	remove(t, w, apitest.Alice, parent)
	_, err = release(w, apitest.Alice, parent)
	apitest.Refused(t, err, cloud.CodeInvalidState, "deleting")
	w.Ended(user)
	w.Ended(parent)
	_, err = release(w, apitest.Alice, parent)
	apitest.Refused(t, err, cloud.CodeInvalidState, "ended")
}

func TestReleaseAgainChangesNothing(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := w.Ready(create(t, w, apitest.Alice, cluster()), "p-1")
	r, err := release(w, apitest.Alice, r)
	require.NoError(t, err)
	again, err := release(w, apitest.Alice, r)
	require.NoError(t, err)
	require.Equal(t, r, again)
	released := w.Step(r, func(r *cloud.Resource) []*cloud.Change { return []*cloud.Change{r.Released(time.Now())} })
	again, err = release(w, apitest.Alice, r)
	require.NoError(t, err)
	require.Equal(t, released, again)
	require.Equal(t, []string{"created", "ready", "releasing", "released"}, w.Events("acme", r.ID))
}
