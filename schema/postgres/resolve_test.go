package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	ref, err := db.PutSecret(ctx, pgtest.Acme, "token", cloud.NewSecret("canary"), "acme/alice")
	require.NoError(t, err)
	ins, net := pgtest.InstanceID("acme"), pgtest.NetworkID("acme")
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg", pgtest.With("instances", []any{ins}), pgtest.With("network", net), pgtest.With("token", string(ref))))

	look, err := db.Resolve(ctx, r, pgtest.KindCluster, false)
	require.NoError(t, err)
	require.Equal(t, map[string]string{ins: "at-provider-" + ins}, look.Instances)
	require.Equal(t, cloud.NetworkRef{"nyc3": "vpc-nyc3", "atl1": "vpc-atl1"}, look.Networks[net])
	require.Equal(t, map[string]string{string(ref): db.SecretDigest("canary")}, look.SecretVersions)
	require.Nil(t, look.Secrets)
	require.Nil(t, look.Parent)
	call, err := db.Resolve(ctx, r, pgtest.KindCluster, true)
	require.NoError(t, err)
	require.Equal(t, "canary", call.Secrets[string(ref)].Reveal())

	// What is gone since refuses a call; a look goes without it.
	for _, c := range []struct{ sql, reason string }{
		{"UPDATE instances SET live = false", cloud.ReasonInstance},
		{"UPDATE networks SET live = false", cloud.ReasonNetwork},
		{"DELETE FROM secrets", cloud.ReasonSecretRef},
	} {
		db.Exec("UPDATE instances SET live = id <> $1", pgtest.InstanceID("dead"))
		db.Exec("UPDATE networks SET live = true")
		db.Exec(c.sql)
		_, err = db.Resolve(ctx, r, pgtest.KindCluster, true)
		refused(t, err, cloud.CodeInvalidInput, c.reason)
		_, err = db.Resolve(ctx, r, pgtest.KindCluster, false)
		require.NoError(t, err)
	}
	db.Exec("UPDATE networks SET live = true, vpcs = '{\"atl1\": \"v\"}'")
	_, err = db.Resolve(ctx, r, pgtest.KindCluster, true)
	refused(t, err, cloud.CodeInvalidInput, cloud.ReasonNetwork)
}

func TestResolveTellsOfTheParent(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	cluster := db.Create(pgtest.Request(pgtest.KindCluster, "pg", pgtest.With("size", "s")))
	user := db.Create(pgtest.Request(pgtest.KindUser, "u", pgtest.In(cluster), pgtest.With("name", "a")))
	ask(t, db, cluster.ID, func(r *cloud.Resource) *cloud.Change {
		return r.Accept(&cloud.Observed{ProviderID: "p-1", Outputs: map[string]any{"host": "h"}}, time.Now())
	})
	res, err := db.Resolve(ctx, user, pgtest.KindUser, true)
	require.NoError(t, err)
	require.Equal(t, &cloud.ParentRef{ResourceID: cluster.ID, Kind: "test.cluster", ProviderID: "p-1",
		Spec: cloud.Spec{"size": "s", "region": "nyc3"}, Outputs: map[string]any{"host": "h"}}, res.Parent)
	require.NoError(t, deleteTree(db, cluster.ID))
	res, err = db.Resolve(ctx, user, pgtest.KindUser, false)
	require.NoError(t, err)
	require.True(t, res.Parent.Deleting)
}
