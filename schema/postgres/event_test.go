package postgres_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// Many writers, some of whom roll back: every number from 1 on is there once,
// and a reader that follows the sequence misses none.
func TestSequenceHasNoGaps(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Exec("INSERT INTO quotas (tenant_id, kind, max_count) VALUES ('acme', 'test.inference', 30)")
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	other := db.Another()
	atOnce(60, func(i int) error {
		if i%3 == 0 {
			_, err := other.Insert(context.Background(), pgtest.Request(pgtest.KindInference, fmt.Sprintf("i%d", i)))
			return err
		}
		_, err := db.Change(context.Background(), pgtest.Acme, r.ID, "a", "update", func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
			c := &cloud.Change{Events: []cloud.Event{{Type: cloud.EventUpdating}, {Type: cloud.EventUpdated, Data: map[string]any{"n": i}}}}
			if i%3 == 1 {
				return c, cloud.Errorf(cloud.CodeInvalidState, "no")
			}
			return c, nil
		})
		return err
	})
	const want = 1 + 20 + 2*20
	var got []int64
	after := int64(0)
	for {
		page, err := db.ListEvents(context.Background(), pgtest.Acme, after, 7)
		require.NoError(t, err)
		for _, e := range page {
			got = append(got, e.Sequence)
			require.Equal(t, fmt.Sprintf("%s-%d", e.Subject, e.Sequence), e.ID)
		}
		if len(page) < 7 {
			break
		}
		after = got[len(got)-1]
	}
	require.Len(t, got, want)
	for i, n := range got {
		require.Equal(t, int64(i+1), n)
	}
	require.Equal(t, int64(want), pgtest.Value[int64](db, "SELECT event_seq FROM tenants WHERE id = 'acme'"))
}

func TestTenantsHaveSequencesOfTheirOwn(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Create(pgtest.Request(pgtest.KindCluster, "a"))
	db.Create(pgtest.Request(pgtest.KindCluster, "b", pgtest.On(pgtest.Globex, pgtest.PoolShared, pgtest.AccountShared)))
	for _, tenant := range []string{pgtest.Acme, pgtest.Globex} {
		events, err := db.ListEvents(context.Background(), tenant, 0, 10)
		require.NoError(t, err)
		require.Len(t, events, 1)
		require.Equal(t, int64(1), events[0].Sequence)
	}
}

func TestEventsReachTheSubscribersThatWantThem(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Exec(`INSERT INTO subscribers (id, tenant_id, url, secret_sealed, types, active) VALUES
		('all', 'acme', 'https://x', '', '{}', true), ('ready', 'acme', 'https://x', '', '{cloud.resource.ready}', true),
		('off', 'acme', 'https://x', '', '{}', false), ('theirs', 'globex', 'https://x', '', '{}', true)`)
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	require.Equal(t, "all "+r.ID+" 1 waiting", pgtest.Value[string](db, "SELECT string_agg(subscriber_id || ' ' || subject || ' ' || sequence || ' ' || status, ',') FROM deliveries"))
	require.Equal(t, "webhook/all WebhookDelivery deliver", pgtest.Value[string](db, "SELECT string_agg(workflow_id || ' ' || workflow_type || ' ' || signal, ',') FROM outbox WHERE workflow_id LIKE 'webhook/%'"))
}
