package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

func names(rs []*cloud.Resource) []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Name)
	}
	return out
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	cluster := db.Create(pgtest.Request(pgtest.KindCluster, "pg", func(n *intent.NewResource) { n.Resource.ProjectID = pgtest.ProjectWebs }))
	db.Create(pgtest.Request(pgtest.KindUser, "user", pgtest.In(cluster), pgtest.With("name", "a")))
	db.Create(pgtest.Request(pgtest.KindInference, "ai", func(n *intent.NewResource) { n.Resource.PoolID = pgtest.PoolFree }))
	gone := db.Create(pgtest.Request(pgtest.KindCluster, "gone"))
	end(t, db, gone.ID)
	db.Create(pgtest.Request(pgtest.KindCluster, "theirs", pgtest.On(pgtest.Globex, pgtest.PoolShared, pgtest.AccountShared)))
	for want, f := range map[*[]string]intent.Filter{
		{"pg", "user", "ai"}:         {},
		{"pg", "user", "ai", "gone"}: {IncludeDeleted: true},
		{"pg"}:                       {Project: pgtest.ProjectWebs},
		{"ai"}:                       {Pool: pgtest.PoolFree},
		{"user"}:                     {Kind: "test.cluster.user"},
		{"pg", "user"}:               {Family: cloud.FamilyData},
		nil:                          {Kind: "test.none"},
	} {
		f.Tenant = pgtest.Acme
		got, err := db.List(context.Background(), f, "", 10)
		require.NoError(t, err)
		if want == nil {
			require.Empty(t, got)
			continue
		}
		require.Equal(t, *want, names(got))
	}
}

// Pages join without gap or repeat, although clocks of several processes
// differ and rows end meanwhile.
func TestListPages(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Exec("INSERT INTO quotas (tenant_id, kind, max_count) VALUES ('acme', 'test.cluster', 100)")
	behind := db.Another(postgres.WithClock(func() time.Time { return time.Now().Add(-time.Hour) }))
	var want []string
	for i := range 23 {
		s := db.Store
		if i%3 == 1 {
			s = behind
		}
		r, err := s.Insert(context.Background(), pgtest.Request(pgtest.KindCluster, fmt.Sprintf("c%d", i)))
		require.NoError(t, err)
		want = append(want, r.Name)
	}
	var got []string
	after := ""
	for {
		page, err := db.List(context.Background(), intent.Filter{Tenant: pgtest.Acme}, after, 5)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		got = append(got, names(page)...)
		after = page[len(page)-1].ID
		end(t, db, after) // a cursor that ended still tells the place
	}
	require.Equal(t, want, got)
	require.Len(t, slices.Compact(got), 23)
	_, err := db.List(context.Background(), intent.Filter{Tenant: pgtest.Globex}, after, 5)
	refused(t, err, cloud.CodeInvalidInput, "")
}
