package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/activities/fakecloud"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

func TestDeadWebhooksFromTheCommandLine(t *testing.T) {
	db := pgtest.New(t).World()
	t.Setenv("DATABASE_URL", db.URL)
	cli := func(args ...string) (int, string) {
		var out bytes.Buffer
		code := run(context.Background(), append([]string{"webhooks"}, args...), &out, &out)
		return code, out.String()
	}
	code, out := cli("dead")
	require.Zero(t, code, out)
	require.Equal(t, "nothing is dead\n", out)

	db.Exec("INSERT INTO subscribers (id, tenant_id, url, secret_source) VALUES ('audit', 'acme', 'http://127.0.0.1:1', '{}')")
	r := db.Create(pgtest.Request(fakecloud.Manifest(fakecloud.KindCluster), "one"))
	due, _, err := db.DueDeliveries(t.Context(), "audit", 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.NoError(t, db.SaveDelivery(t.Context(), "audit", activities.DeliveryAttempt{
		EventID: due[0].EventID, Status: activities.DeliveryDead, Attempts: 23, FirstAt: time.Now(), Error: "the subscriber answered HTTP 500",
	}))
	code, out = cli("dead")
	require.Zero(t, code, out)
	require.Contains(t, out, due[0].EventID)
	require.Contains(t, out, "HTTP 500")
	code, out = cli("dead", "--json", "--subscriber", "audit")
	require.Zero(t, code, out)
	require.Contains(t, out, `"subject":"`+r.ID+`"`)
	code, out = cli("dead", "--subscriber", "other")
	require.Zero(t, code, out)
	require.Equal(t, "nothing is dead\n", out)

	code, out = cli("replay", "audit", "--event", due[0].EventID)
	require.Zero(t, code, out)
	require.Equal(t, "1 to be sent again\n", out)
	code, out = cli("replay", "nobody")
	require.Equal(t, 1, code, out)
	code, out = cli("dead", "--limit", "0")
	require.Equal(t, 1, code, out)
}
