package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

func wantRefresh(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
	return r.WantRefresh(time.Now()), nil
}

// Every combination of what a record can be: exactly those that Decide would
// work on now, and that have not moved for a while, are nudged.
func TestNudgeStalledAgreesWithDecide(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	db.Exec("INSERT INTO quotas (tenant_id, kind, max_count) VALUES ('acme', 'test.cluster', 1000)")
	db.Exec("UPDATE provider_accounts SET swept_at = now()")
	now := time.Now().UTC()
	quiet := 10 * time.Minute
	long, soon := now.Add(-time.Hour), now.Add(time.Hour)
	i := 0
	want := map[string]bool{}
	for _, state := range []cloud.State{cloud.StatePending, cloud.StateProvisioning, cloud.StateReady, cloud.StateUpdating, cloud.StateDeleting, cloud.StateError} {
		for _, in := range []cloud.Intent{cloud.IntentPresent, cloud.IntentRelease, cloud.IntentDelete} {
			if state == cloud.StateDeleting && in != cloud.IntentDelete {
				continue
			}
			for name, edit := range map[string]func(r *cloud.Resource){
				"plain":       func(*cloud.Resource) {},
				"pending":     func(r *cloud.Resource) { r.Generation++ },
				"drift":       func(r *cloud.Resource) { r.Drift = []string{"size"} },
				"missing":     func(r *cloud.Resource) { r.MissingSince = long },
				"suspected":   func(r *cloud.Resource) { r.ErrorClass = cloud.ClassNotManaged },
				"unreachable": func(r *cloud.Resource) { r.ErrorClass = cloud.ClassUnreachable },
				"refresh":     func(r *cloud.Resource) { r.RefreshWanted = true },
				"held":        func(r *cloud.Resource) { r.HeldBy = "cmb_1" },
				"retry later": func(r *cloud.Resource) { r.RetryAt = soon },
			} {
				i++
				r := db.Create(pgtest.Request(pgtest.KindCluster, fmt.Sprintf("c%d", i)))
				r, err := db.Change(ctx, pgtest.Acme, r.ID, "t", "", func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
					r.State, r.Intent, r.ProviderID, r.Message, r.Applied, r.RetryAt, r.UpdatedAt = state, in, r.ID, "m", r.Generation, long, long
					edit(r)
					return &cloud.Change{}, nil
				})
				require.NoError(t, err)
				switch cloud.Decide(r, 0, now).Step {
				case cloud.StepRest, cloud.StepRetry, cloud.StepEnd:
				default:
					want[fmt.Sprintf("%s %s %s", state, in, name)] = true
				}
				db.Exec("UPDATE resources SET description = $2 WHERE id = $1", r.ID, fmt.Sprintf("%s %s %s", state, in, name))
			}
		}
	}
	db.Exec("DELETE FROM outbox")
	n, err := db.NudgeStalled(ctx, quiet, 1000)
	require.NoError(t, err)
	got := map[string]bool{}
	for _, d := range pgtest.Value[[]string](db, "SELECT array_agg(description) FROM resources r JOIN outbox o ON o.workflow_id = r.id WHERE o.signal = 'refresh'") {
		got[d] = true
	}
	require.Equal(t, want, got)
	require.Equal(t, len(want), n)
	n, err = db.NudgeStalled(ctx, quiet, 1000)
	require.NoError(t, err)
	require.Zero(t, n, "what has an open row is left to the relay")
	db.Exec("DELETE FROM outbox")
	n, err = db.NudgeStalled(ctx, quiet, 1000)
	require.NoError(t, err)
	require.Zero(t, n, "asked, or a worker came by, a moment ago")
	db.Exec("UPDATE resources SET stepped_at = $1", long)
	n, err = db.NudgeStalled(ctx, quiet, 1000)
	require.NoError(t, err)
	require.Equal(t, len(want), n, "nothing came of it for as long a time")
}

func TestNudgeStalledLeavesAParentThatWaits(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	cluster := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	user := db.Create(pgtest.Request(pgtest.KindUser, "u", pgtest.In(cluster), pgtest.With("name", "a")))
	require.NoError(t, deleteTree(db, cluster.ID))
	db.Exec("DELETE FROM outbox")
	db.Exec("UPDATE provider_accounts SET swept_at = now()")
	db.Exec("UPDATE resources SET updated_at = now() - interval '1 hour'")
	n, err := db.NudgeStalled(context.Background(), time.Minute, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, user.ID, pgtest.Value[string](db, "SELECT workflow_id FROM outbox"))
}

func TestNudgeStalledStartsSweepsAndDeliveries(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	db.Exec("INSERT INTO subscribers (id, tenant_id, url, secret_sealed) VALUES ('s', 'acme', 'https://x', '')")
	db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	db.Exec("DELETE FROM outbox")
	db.Exec("UPDATE deliveries SET due_at = now() - interval '1 hour'")
	_, err := db.NudgeStalled(ctx, time.Minute, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"account/acct_acme AccountSweep sweep", "webhook/s WebhookDelivery deliver"},
		pgtest.Value[[]string](db, "SELECT array_agg(workflow_id || ' ' || workflow_type || ' ' || signal ORDER BY 1) FROM outbox"))
	db.Exec("DELETE FROM outbox")
	db.Exec("UPDATE deliveries SET due_at = now()")
	_, err = db.SweepKinds(ctx, pgtest.AccountAcme) // a sweep begins
	require.NoError(t, err)
	n, err := db.NudgeStalled(ctx, time.Minute, 10)
	require.NoError(t, err)
	require.Zero(t, n)
}
