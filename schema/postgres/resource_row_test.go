package postgres_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// A record with every field set comes back equal, so that a field that has no
// column, or one in the wrong place, is noticed.
func TestEveryFieldOfARecordIsKept(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	parent := db.Create(pgtest.Request(pgtest.KindCluster, "parent"))
	made := db.Create(pgtest.Request(pgtest.KindUser, "full", pgtest.In(parent), pgtest.With("name", "app")))

	hour := func(n int) time.Time { return time.Date(2026, 3, 29, n, 4, 5, 678901000, time.UTC) }
	want := &cloud.Resource{
		ID: made.ID, TenantID: made.TenantID, ProjectID: pgtest.ProjectWebs, PoolID: made.PoolID, AccountID: made.AccountID,
		Provider: made.Provider, Kind: made.Kind, Family: made.Family, Name: "full", Description: "all of it", ParentID: parent.ID,
		Region: "nyc3", Identity: "app\x1f2", Owner: made.Owner, Billed: true,
		Spec:    cloud.Spec{"big": json.Number("9223372036854775807"), "nested": map[string]any{"list": []any{"a", nil, true, json.Number("1.50")}}},
		Version: 7, Generation: 5, Intent: cloud.IntentDelete, State: cloud.StateError, Message: "why", ProviderID: "p-1",
		Outputs: map[string]any{"port": json.Number("25060"), "hosts": []any{"a", "b"}}, SecretOutputs: map[string]cloud.SecretRef{"password": "secret://acme/x"},
		Adopted: true, ObservedOnly: true, Drift: []string{"size"}, Applied: 4, AppliedSpec: cloud.Spec{"size": "s"},
		AttemptedAt: hour(1), AcceptedAt: hour(2), BilledFrom: hour(3), TakenOverAt: hour(4), MissingSince: hour(5), RetryAt: hour(6),
		ErrorClass: cloud.ClassRefused, Failures: 3, FailedGeneration: 5, Sent: map[string]time.Time{"size": hour(7)},
		Repairs: map[string]int{"size": 2}, Memo: map[string]string{"k": "v"}, RefreshWanted: true, HeldBy: "cmb_1",
		Before:    &cloud.Before{State: cloud.StateReady, Intent: cloud.IntentPresent, Message: "m"},
		CreatedAt: hour(8), UpdatedAt: hour(9), ReadyAt: hour(10),
	}
	save := func() {
		_, err := db.Change(context.Background(), made.TenantID, made.ID, "t", "", func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
			*r = *want
			return &cloud.Change{}, nil
		})
		require.NoError(t, err)
		got, err := db.Resource(context.Background(), made.TenantID, made.ID)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	save()
	want.State, want.EndedAt = cloud.StateDeleted, hour(11) // an end needs a final state
	save()
	for i := range reflect.TypeFor[cloud.Resource]().NumField() {
		require.False(t, reflect.ValueOf(*want).Field(i).IsZero(), "the test leaves out field %s", reflect.TypeFor[cloud.Resource]().Field(i).Name)
	}
}

func TestZeroFieldsComeBackZero(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	made := db.Create(pgtest.Request(pgtest.KindInference, "bare"))
	got, err := db.Resource(context.Background(), made.TenantID, made.ID)
	require.NoError(t, err)
	require.Equal(t, made, got)
	require.True(t, got.ReadyAt.IsZero())
	require.Nil(t, got.AppliedSpec)
}

func TestProviderWordsThatPostgresCannotHoldAreCleaned(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	made := db.Create(pgtest.Request(pgtest.KindInference, "odd"))
	got, err := db.Change(context.Background(), made.TenantID, made.ID, "t", "", func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
		return r.Fail(nil, cloud.ClassRefused, "bad\x00 \xff word", r.Generation, cloud.DefaultSettings, time.Now()), nil
	})
	require.NoError(t, err)
	require.Equal(t, cloud.StateError, got.State)
	require.Equal(t, "bad � word", pgtest.Value[string](db, "SELECT message FROM resources WHERE id = $1", made.ID))
	require.Equal(t, "bad � word", pgtest.Value[string](db, "SELECT data->>'message' FROM events WHERE type = 'cloud.resource.failed'"))
}

func TestAFinalRecordNeverChanges(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	made := db.Create(pgtest.Request(pgtest.KindInference, "gone"))
	end := func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
		return r.Deleted(time.Now()), nil
	}
	ended, err := db.Change(context.Background(), made.TenantID, made.ID, "t", "", end)
	require.NoError(t, err)
	again, err := db.Change(context.Background(), made.TenantID, made.ID, "t", "delete", func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
		r.State, r.Name, r.EndedAt, r.Generation = cloud.StateReady, "other", time.Time{}, 99
		return &cloud.Change{Events: []cloud.Event{{Type: cloud.EventReady}}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, ended.Name, again.Name)
	require.Equal(t, cloud.StateDeleted, again.State)
	require.Equal(t, int64(2), pgtest.Value[int64](db, "SELECT count(*) FROM events"))
}
