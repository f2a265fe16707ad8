package worker_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities/fakecloud"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
	"github.com/better-compute/cloud-resources/workflows"
)

// subscribe declares an endpoint for acme's events and gives what it received,
// as "type" in order.
func (s *site) subscribe(id string, handle http.HandlerFunc) (received func() []string) {
	s.t.Helper()
	var mu sync.Mutex
	got := []string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handle != nil {
			handle(w, r)
			return
		}
		var e struct{ Type, Subject string }
		if json.NewDecoder(r.Body).Decode(&e) == nil {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, e.Type)
		}
	}))
	s.t.Cleanup(server.Close)
	file := filepath.Join(s.t.TempDir(), "secret")
	require.NoError(s.t, os.WriteFile(file, []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 0o600))
	source, err := json.Marshal(map[string]string{"file": file})
	require.NoError(s.t, err)
	s.db.Exec("INSERT INTO subscribers (id, tenant_id, url, secret_source) VALUES ($1, $2, $3, $4)", id, pgtest.Acme, server.URL, string(source))
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, got...)
	}
}

func TestEventsReachSubscribersThoughOthersHang(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	hang := make(chan struct{})
	s.subscribe("hanging", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(hang) })
	received := s.subscribe("audit", nil)
	s.start()
	r := s.create(fakecloud.KindCluster, "one", cloud.Spec{"size": "s1"})
	s.becomes(r.ID, cloud.StateReady)
	s.change(r.ID, "delete", (*cloud.Resource).WantDelete)
	s.becomes(r.ID, cloud.StateDeleted)
	s.until("all news arrived", func() bool { return len(received()) == 4 })
	require.Equal(t, []string{"cloud.resource.created", "cloud.resource.ready", "cloud.resource.deleting", "cloud.resource.deleted"}, received())
	audit := workflows.WebhookWorkflowID("audit")
	s.rests(audit)
	s.keep(audit, "webhook")
	s.noCanary(audit)
}
