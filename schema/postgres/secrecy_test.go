package postgres_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// Secret values go through every path that stores one; no column of any table
// holds one in clear, in hex or in base64.
func TestNoColumnHoldsASecretInClear(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	const own, output, rotated = "canary-own-5f1d2c", "canary-output-77aa01", "canary-rotated-0b9e4d"
	ref, err := db.PutSecret(ctx, pgtest.Acme, "token", cloud.NewSecret(own), "acme/alice")
	require.NoError(t, err)
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg", pgtest.With("token", string(ref))))
	look := func(value string) *cloud.Observed {
		return &cloud.Observed{ProviderID: "p", Phase: cloud.PhaseReady, Outputs: map[string]any{"host": "h"},
			Secrets: map[string]cloud.Secret{"password": cloud.NewSecret(value)}}
	}
	require.NoError(t, db.Hold(ctx, r.ID, func(ctx context.Context, h ports.Hold) error {
		if err := h.Commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Accept(look(output), time.Now()) }); err != nil {
			return err
		}
		return h.Commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Ready(look(output), r.Generation, time.Now()) })
	}))
	sealed, err := db.SealedDigests(ctx, r.ID)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"password": db.SecretDigest(output)}, sealed)
	_, err = db.SaveSweep(ctx, []ports.SweepItem{{ID: r.ID, Generation: r.Generation, Nudge: true, Apply: func(r *cloud.Resource) *cloud.Change {
		return r.Refreshed(look(rotated), nil, []string{"password"}, time.Now())
	}}})
	require.NoError(t, err)
	value, err := db.RevealSecret(ctx, pgtest.Acme, cloud.NewSecretRef(pgtest.Acme, cloud.OutputSecretName(r.ID, "password")), "acme/alice")
	require.NoError(t, err)
	require.Equal(t, rotated, value.Reveal())

	dump := db.Dump()
	require.Contains(t, dump, r.ID)
	for _, canary := range []string{own, output, rotated} {
		for _, form := range []string{canary, hex.EncodeToString([]byte(canary)), base64.RawStdEncoding.EncodeToString([]byte(canary))} {
			require.NotContains(t, dump, form, "a secret stands in a column")
		}
	}
}

// Without keys a run that received a secret saves nothing at all.
func TestASecretThatCannotBeSealedSavesNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	keyless := db.WithoutKeys()
	err := keyless.Hold(context.Background(), r.ID, func(ctx context.Context, h ports.Hold) error {
		return h.Commit(ctx, func(r *cloud.Resource) *cloud.Change {
			return r.Accept(&cloud.Observed{ProviderID: "p", Secrets: map[string]cloud.Secret{"password": cloud.NewSecret("v")}}, time.Now())
		})
	})
	refused(t, err, cloud.CodeUnsupported, cloud.ReasonSecretStore)
	require.Empty(t, pgtest.Value[string](db, "SELECT provider_id FROM resources"))
}
