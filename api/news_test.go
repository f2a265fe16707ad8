package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	ce "github.com/cloudevents/sdk-go/v2/event"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api"
	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	s := w.Serve()
	id := done(t, s, "dev-acme", "cloudResources/create", newCluster("a")).Text("id")
	record, err := w.Resource(context.Background(), "acme", id)
	require.NoError(t, err)
	w.Ready(record, "p-1")
	done(t, s, "dev-acme", "cloudResources/update", fields{"tenantId": "acme", "resourceId": id, "spec": fields{"size": "large"}})
	done(t, s, "dev-globex", "cloudResources/create", newCluster("theirs", fields{"tenantId": "globex", "poolId": apitest.PoolShared}))

	all := done(t, s, "dev-acme-reader", "events/list", fields{"tenantId": "acme"})
	require.Equal(t, []string{"cloud.resource.created", "cloud.resource.ready", "cloud.resource.updating"}, names(all, "type"))
	require.Equal(t, json.Number("3"), all.Body["next"])
	for i, item := range all.Items() {
		require.Equal(t, fmt.Sprintf("%020d", i+1), item["sequence"], "without a gap")
		raw, err := json.Marshal(item)
		require.NoError(t, err)
		var e ce.Event
		require.NoError(t, json.Unmarshal(raw, &e))
		require.NoError(t, e.Validate())
		require.Equal(t, id, e.Subject())
		require.Equal(t, "/cloud-resources/dev", e.Source())
	}
	ready, _ := all.Items()[1]["data"].(map[string]any)
	require.Equal(t, []any{"password"}, ready["secretOutputs"], "names, never values")
	require.Equal(t, "reconciler", ready["actor"])
	require.NotContains(t, string(all.Raw), "canary")

	first := done(t, s, "dev-acme", "events/list", fields{"tenantId": "acme", "limit": 1})
	rest := done(t, s, "dev-acme", "events/list", fields{"tenantId": "acme", "after": first.Body["next"]})
	require.Len(t, rest.Items(), 2)
	require.Equal(t, rest.Raw, done(t, s, "dev-acme", "events/list", fields{"tenantId": "acme", "after": first.Items()[0]["sequence"]}).Raw, "a sequence is a cursor too")
	end := done(t, s, "dev-acme", "events/list", fields{"tenantId": "acme", "after": 3})
	require.Empty(t, end.Items())
	require.Equal(t, json.Number("3"), end.Body["next"])
	require.Empty(t, done(t, s, "dev-acme", "events/list", fields{"tenantId": "acme", "after": "99999999999999999999"}).Items())
	for _, after := range []any{-1, "x", 1.5, "1.0", []int{}} {
		refused(t, s, "dev-acme", "events/list", fields{"tenantId": "acme", "after": after}, 400, "INVALID_INPUT", "")
	}
	refused(t, s, "dev-acme", "events/list", `{"tenantId":"acme","after":1.0}`, 400, "INVALID_INPUT", "")
	refused(t, s, "dev-acme", "events/list", fields{"tenantId": "acme", "limit": 501}, 400, "INVALID_INPUT", "")
	refused(t, s, "dev-acme", "events/list", fields{"tenantId": "globex"}, 403, "ACCESS_DENIED", "")
	refused(t, s, "dev-acme-data", "events/list", fields{"tenantId": "acme"}, 403, "ACCESS_DENIED", "")
	require.Len(t, done(t, s, "dev-root", "events/list", fields{"tenantId": "globex"}).Items(), 1)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	s := w.Serve()
	id := done(t, s, "dev-acme", "cloudResources/create", newCluster("a")).Text("id")
	record, err := w.Resource(context.Background(), "acme", id)
	require.NoError(t, err)
	w.Ready(record, "p-1")
	_, err = w.BillHours(context.Background())
	require.NoError(t, err)
	items := done(t, s, "dev-acme", "usage/list", fields{"tenantId": "acme"}).Items()
	require.Len(t, items, 1)
	hour := time.Now().UTC().Truncate(time.Hour).UnixMilli()
	require.Equal(t, cloud.MeterHours, items[0]["meter"])
	require.Equal(t, id, items[0]["resourceId"])
	require.Equal(t, json.Number("1"), items[0]["quantity"])
	at, err := items[0]["hour"].(json.Number).Int64()
	require.NoError(t, err)
	require.InDelta(t, hour, at, float64(time.Hour.Milliseconds()))
	require.Empty(t, done(t, s, "dev-acme", "usage/list", fields{"tenantId": "acme", "from": at + 1}).Items())
	require.Empty(t, done(t, s, "dev-acme", "usage/list", fields{"tenantId": "acme", "to": at}).Items())
	require.Len(t, done(t, s, "dev-acme", "usage/list", fields{"tenantId": "acme", "from": at, "to": int64(1) << 62}).Items(), 1)
	refused(t, s, "dev-acme", "usage/list", fields{"tenantId": "acme", "from": -1}, 400, "INVALID_INPUT", "")
	refused(t, s, "dev-globex", "usage/list", fields{"tenantId": "acme"}, 403, "ACCESS_DENIED", "")
}

func TestRoutesWithoutTheirPort(t *testing.T) {
	t.Parallel()
	s := apitest.New(t).Serve(func(d *api.Deps) {
		d.Secrets, d.Events, d.Usage, d.Certificates, d.Batches = nil, nil, nil, nil, nil
	})
	batch := fields{"tenantId": "acme", "batchId": "cmb_00000000000000000000000000"}
	certificate := fields{"tenantId": "acme", "certificateId": "crt_00000000000000000000000000"}
	for method, in := range map[string]fields{
		"secrets/put": {"tenantId": "acme", "name": "a", "value": "b"}, "secrets/list": {"tenantId": "acme"},
		"secrets/reveal": {"tenantId": "acme", "ref": "secret://acme/a"}, "secrets/delete": {"tenantId": "acme", "name": "a"},
		"events/list": {"tenantId": "acme"}, "usage/list": {"tenantId": "acme"},
		"certificates/create": newCertificate("c"), "certificates/list": {"tenantId": "acme"}, "certificates/get": certificate,
		"certificates/update": certificate, "certificates/delete": certificate,
		"commandBatches/create": newBatch("b"), "commandBatches/list": {"tenantId": "acme"}, "commandBatches/get": batch,
		"commandBatches/approve": {"tenantId": "acme", "batchId": batch["batchId"], "approval": fields{}}, "commandBatches/cancel": batch,
	} {
		refused(t, s, "dev-acme", method, in, 422, "UNSUPPORTED", "")
	}
}
