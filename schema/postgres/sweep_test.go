package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/cloud/ports"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// ready makes a resource ready as p-<name>.
func ready(t *testing.T, db *pgtest.DB, r *cloud.Resource) *cloud.Resource {
	t.Helper()
	got, err := db.Change(context.Background(), r.TenantID, r.ID, "t", "", func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
		return r.Ready(&cloud.Observed{ProviderID: "p-" + r.Name, Phase: cloud.PhaseReady,
			Secrets: map[string]cloud.Secret{"password": cloud.NewSecret("of " + r.Name)}}, r.Generation, time.Now()), nil
	})
	require.NoError(t, err)
	return got
}

func TestSweepKinds(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	a := ready(t, db, db.Create(pgtest.Request(pgtest.KindCluster, "a")))
	b := db.Create(pgtest.Request(pgtest.KindCluster, "b"))
	for _, parent := range []*cloud.Resource{a, b} {
		db.Create(pgtest.Request(pgtest.KindUser, "in-"+parent.Name, pgtest.In(parent), pgtest.With("name", "x")))
	}
	end(t, db, db.Create(pgtest.Request(pgtest.KindInference, "gone")).ID)
	kinds, err := db.SweepKinds(ctx, pgtest.AccountAcme)
	require.NoError(t, err)
	require.Equal(t, []ports.SweepKind{
		{Kind: "test.cluster"},
		{Kind: "test.cluster.user", Parents: []cloud.ParentRef{{ResourceID: a.ID, Kind: "test.cluster", ProviderID: "p-a", Spec: a.Spec, Outputs: nil}}},
	}, kinds)
	kinds, err = db.SweepKinds(ctx, pgtest.AccountShared)
	require.NoError(t, err)
	require.Empty(t, kinds)
	_, err = db.SweepKinds(ctx, "acct_none")
	refused(t, err, cloud.CodeNotFound, "")
	accounts, err := db.SweepAccounts(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{pgtest.AccountAcme, pgtest.AccountShared}, accounts)
}

func TestSweepRecordsPages(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	cluster := ready(t, db, db.Create(pgtest.Request(pgtest.KindCluster, "pg")))
	moving := db.Create(pgtest.Request(pgtest.KindCluster, "moving"))
	want := map[string]bool{}
	for i := range 7 {
		r := ready(t, db, db.Create(pgtest.Request(pgtest.KindUser, fmt.Sprintf("u%d", i), pgtest.In(cluster), pgtest.With("name", fmt.Sprint(i)))))
		want[r.ID] = true
	}
	db.Create(pgtest.Request(pgtest.KindUser, "other", pgtest.In(moving), pgtest.With("name", "x")))
	got := map[string]bool{}
	after := ""
	for {
		page, err := db.SweepRecords(context.Background(), pgtest.AccountAcme, "test.cluster.user", cluster.ID, after, 3)
		require.NoError(t, err)
		for _, r := range page {
			got[r.ID], after = true, r.ID
		}
		if len(page) < 3 {
			break
		}
	}
	require.Equal(t, want, got)
	clusters, err := db.SweepRecords(context.Background(), pgtest.AccountAcme, "test.cluster", "", "", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"pg"}, names(clusters))
	digests, err := db.SweepDigests(context.Background(), []string{cluster.ID, moving.ID})
	require.NoError(t, err)
	require.Equal(t, map[string]map[string]string{cluster.ID: {"password": db.SecretDigest("of pg")}}, digests)
}

func TestSaveSweepSkipsWhatMoved(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	var items []ports.SweepItem
	ids := map[string]string{}
	for _, name := range []string{"same", "drifted", "generation", "intent", "error", "quiet"} {
		r := ready(t, db, db.Create(pgtest.Request(pgtest.KindCluster, name)))
		ids[name] = r.ID
		item := ports.SweepItem{ID: r.ID, Generation: r.Generation, Nudge: name != "same" && name != "quiet",
			Apply: func(r *cloud.Resource) *cloud.Change {
				return r.Refreshed(&cloud.Observed{Outputs: map[string]any{"port": 1}}, []string{"size"}, nil, time.Now())
			}}
		if name == "quiet" {
			item.Apply = func(*cloud.Resource) *cloud.Change { return nil }
		}
		items = append(items, item)
	}
	ask(t, db, ids["generation"], func(r *cloud.Resource) *cloud.Change { return r.WantSpec(cloud.Spec{"size": "b"}, time.Now()) })
	ask(t, db, ids["intent"], func(r *cloud.Resource) *cloud.Change { return r.WantDelete(time.Now()) })
	ask(t, db, ids["error"], func(r *cloud.Resource) *cloud.Change {
		return r.Fail(nil, cloud.ClassRefused, "m", r.Generation, cloud.DefaultSettings, time.Now())
	})
	db.Exec("DELETE FROM outbox")
	saved, err := db.SaveSweep(context.Background(), append(items, ports.SweepItem{ID: "crs_none", Nudge: true}))
	require.NoError(t, err)
	require.Equal(t, 2, saved)
	require.ElementsMatch(t, []string{ids["same"], ids["drifted"]}, pgtest.Value[[]string](db, "SELECT array_agg(id) FROM resources WHERE drift = '{size}'"))
	require.Equal(t, ids["drifted"], pgtest.Value[string](db, "SELECT string_agg(workflow_id, ',') FROM outbox"))
	saved, err = db.SaveSweep(context.Background(), items)
	require.NoError(t, err)
	require.Zero(t, saved, "the same again is no change")
}

// A sweep of an account that several tenants share writes each one's events.
func TestSaveSweepOfSeveralTenants(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	var items []ports.SweepItem
	for _, tenant := range []string{pgtest.Acme, pgtest.Globex} {
		r := ready(t, db, db.Create(pgtest.Request(pgtest.KindCluster, "pg", pgtest.On(tenant, pgtest.PoolShared, pgtest.AccountShared),
			func(n *intent.NewResource) { n.Resource.Name = "pg-" + tenant })))
		items = append(items, ports.SweepItem{ID: r.ID, Generation: r.Generation, Apply: func(r *cloud.Resource) *cloud.Change {
			return r.Refreshed(&cloud.Observed{Secrets: map[string]cloud.Secret{"password": cloud.NewSecret("new")}}, nil, []string{"password"}, time.Now())
		}})
	}
	saved, err := db.SaveSweep(context.Background(), items)
	require.NoError(t, err)
	require.Equal(t, 2, saved)
	for _, tenant := range []string{pgtest.Acme, pgtest.Globex} {
		events, err := db.ListEvents(context.Background(), tenant, 0, 10)
		require.NoError(t, err)
		last := events[len(events)-1]
		require.Equal(t, "cloud.resource.updated", last.Type)
		require.Contains(t, string(last.Data), `"reason": "secrets"`)
	}
	digests, err := db.SweepDigests(context.Background(), []string{items[0].ID})
	require.NoError(t, err)
	require.Equal(t, db.SecretDigest("new"), digests[items[0].ID]["password"])
}

func TestAccountMessageAndNudge(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	r := ready(t, db, db.Create(pgtest.Request(pgtest.KindCluster, "pg")))
	waiting := db.Create(pgtest.Request(pgtest.KindCluster, "waiting"))
	ask(t, db, waiting.ID, func(r *cloud.Resource) *cloud.Change {
		return r.Troubled(cloud.ClassUnreachable, "no answer", cloud.DefaultSettings, time.Now())
	})
	db.Create(pgtest.Request(pgtest.KindCluster, "working"))
	db.Exec("DELETE FROM outbox")
	for _, message := range []string{"does not answer", ""} {
		require.NoError(t, db.AccountMessage(ctx, pgtest.AccountAcme, message))
		require.Equal(t, message, pgtest.Value[string](db, "SELECT message FROM resources WHERE id = $1", r.ID))
		require.Equal(t, "no answer", pgtest.Value[string](db, "SELECT message FROM resources WHERE id = $1", waiting.ID))
	}
	n, err := db.NudgeAccount(ctx, pgtest.AccountAcme)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, waiting.ID+" refresh", pgtest.Value[string](db, "SELECT workflow_id || ' ' || signal FROM outbox"))
}
