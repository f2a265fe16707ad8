package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

const alice = "acme/alice"

func TestSecretLife(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := pgtest.New(t).World()
	ref, err := db.PutSecret(ctx, "acme", "app/token", cloud.NewSecret("CANARY-1"), alice)
	require.NoError(t, err)
	require.Equal(t, cloud.SecretRef("secret://acme/app/token"), ref)
	same, err := db.PutSecret(ctx, "acme", "app/token", cloud.NewSecret("CANARY-2"), alice)
	require.NoError(t, err)
	require.Equal(t, ref, same, "a new value keeps the reference")
	_, err = db.PutSecret(ctx, "acme", "zz", cloud.NewSecret("CANARY-3"), alice)
	require.NoError(t, err)

	list, err := db.ListSecrets(ctx, "acme", "", 10)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "app/token", list[0].Name)
	require.Equal(t, ref, list[0].Ref)
	list, err = db.ListSecrets(ctx, "acme", "app/token", 10)
	require.NoError(t, err)
	require.Len(t, list, 1)

	value, err := db.RevealSecret(ctx, "acme", ref, alice)
	require.NoError(t, err)
	require.Equal(t, "CANARY-2", value.Reveal())
	require.NotContains(t, db.Dump(), "CANARY")

	require.NoError(t, db.DeleteSecret(ctx, "acme", "app/token", alice))
	_, err = db.RevealSecret(ctx, "acme", ref, alice)
	require.Equal(t, cloud.CodeNotFound, cloud.AsError(err).Code)
	require.Equal(t, cloud.CodeNotFound, cloud.AsError(db.DeleteSecret(ctx, "acme", "app/token", alice)).Code)

	trail, err := db.AuditTrail(ctx, postgres.AuditFilter{Subject: string(ref)}, 0, 10)
	require.NoError(t, err)
	actions := []string{}
	for _, e := range trail {
		require.Equal(t, alice, e.Actor)
		require.Equal(t, "acme", e.Tenant)
		actions = append(actions, e.Action)
	}
	require.Equal(t, []string{"compute:secrets:write", "compute:secrets:write", "compute:secrets:reveal", "compute:secrets:write"}, actions)
}

func TestAForeignSecretIsLikeNone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := pgtest.New(t).World()
	ref, err := db.PutSecret(ctx, "globex", "a", cloud.NewSecret("v"), "globex/bob")
	require.NoError(t, err)
	_, foreign := db.RevealSecret(ctx, "acme", ref, alice)
	_, absent := db.RevealSecret(ctx, "acme", "secret://acme/a", alice)
	_, broken := db.RevealSecret(ctx, "acme", "nonsense", alice)
	require.Equal(t, cloud.AsError(absent), cloud.AsError(foreign))
	require.Equal(t, cloud.AsError(absent), cloud.AsError(broken))
	require.Equal(t, cloud.CodeNotFound, cloud.AsError(absent).Code)
	list, err := db.ListSecrets(ctx, "acme", "", 10)
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestSecretInput(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t).World().Store
	big := strings.Repeat("x", postgres.MaxSecretBytes)
	for name, c := range map[string]struct{ name, value, field string }{
		"empty name":  {"", "v", "name"},
		"bad name":    {"a b", "v", "name"},
		"long name":   {strings.Repeat("a", 257), "v", "name"},
		"output name": {"resources/crs_x/password", "v", "name"},
		"empty value": {"a", "", "value"},
		"long value":  {"a", big + "x", "value"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.PutSecret(context.Background(), "acme", c.name, cloud.NewSecret(c.value), alice)
			require.Equal(t, cloud.CodeInvalidInput, cloud.AsError(err).Code)
			require.Equal(t, []string{c.field}, cloud.AsError(err).Details["fields"])
		})
	}
	_, err := s.PutSecret(context.Background(), "acme", strings.Repeat("a", 256), cloud.NewSecret(big), alice)
	require.NoError(t, err)
}

func TestASecretInUseIsNotDeleted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := pgtest.New(t).World()
	ref, err := db.PutSecret(ctx, "acme", "token", cloud.NewSecret("v"), alice)
	require.NoError(t, err)
	_, err = db.PutSecret(ctx, "acme", "token2", cloud.NewSecret("v"), alice)
	require.NoError(t, err)
	r := db.Create(pgtest.Request(pgtest.KindCluster, "main", pgtest.With("token", string(ref))))
	err = db.DeleteSecret(ctx, "acme", "token", alice)
	require.Equal(t, cloud.CodeInvalidState, cloud.AsError(err).Code)
	require.Equal(t, 1, cloud.AsError(err).Details["count"])
	require.NoError(t, db.DeleteSecret(ctx, "acme", "token2", alice), "a longer name is another secret")

	db.Exec("UPDATE resources SET state = 'deleted', intent = 'delete', ended_at = now() WHERE id = $1", r.ID)
	require.NoError(t, db.DeleteSecret(ctx, "acme", "token", alice))
}

func TestASealedOutputEndsWithItsResource(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := pgtest.New(t).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "main"))
	_, err := db.Change(ctx, "acme", r.ID, alice, "", sealing("password", "CANARY"))
	require.NoError(t, err)
	list, err := db.ListSecrets(ctx, "acme", "", 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, r.ID, list[0].ResourceID)
	value, err := db.RevealSecret(ctx, "acme", list[0].Ref, alice)
	require.NoError(t, err)
	require.Equal(t, "CANARY", value.Reveal())
	err = db.DeleteSecret(ctx, "acme", list[0].Name, alice)
	require.Equal(t, cloud.CodeInvalidState, cloud.AsError(err).Code)
}

// sealing is a change that received a secret output.
func sealing(name, value string) func(context.Context, intent.Tx, *cloud.Resource) (*cloud.Change, error) {
	return func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
		return r.Accept(&cloud.Observed{ProviderID: "p-1", Secrets: map[string]cloud.Secret{name: cloud.NewSecret(value)}}, time.Now()), nil
	}
}

func TestNoSecretStore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := pgtest.New(t).World()
	s, err := postgres.Open(ctx, db.URL)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	_, err = s.PutSecret(ctx, "acme", "a", cloud.NewSecret("v"), alice)
	require.Equal(t, cloud.CodeUnsupported, cloud.AsError(err).Code)
	require.Equal(t, cloud.ReasonSecretStore, cloud.AsError(err).Reason())
	require.True(t, db.HasSecretStore())
}
