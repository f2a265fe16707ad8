package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	ce "github.com/cloudevents/sdk-go/v2/event"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

const subscriberSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// subscriber is an endpoint that remembers what it got.
type subscriber struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(r *http.Request, e ce.Event) int
	got    []ce.Event
	heads  []http.Header
}

// subscribe declares an endpoint for acme's events. answer may be nil.
func subscribe(w *world, id string, answer func(r *http.Request, e ce.Event) int) *subscriber {
	s := &subscriber{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		hook, err := standardwebhooks.NewWebhook(subscriberSecret)
		if err == nil {
			err = hook.VerifyIgnoringTimestamp(body, r.Header)
		}
		var e ce.Event
		if err = errors.Join(err, json.Unmarshal(body, &e), e.Validate()); err != nil {
			http.Error(rw, err.Error(), http.StatusTeapot)
			return
		}
		status := http.StatusNoContent
		if s.answer != nil {
			status = s.answer(r, e)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if status < 300 {
			s.got = append(s.got, e)
		}
		s.heads = append(s.heads, r.Header)
		rw.WriteHeader(status)
	}))
	w.t.Cleanup(s.Close)
	file := filepath.Join(w.t.TempDir(), "secret")
	require.NoError(w.t, os.WriteFile(file, []byte(subscriberSecret), 0o600))
	source, err := json.Marshal(map[string]string{"file": file})
	require.NoError(w.t, err)
	w.db.Exec("INSERT INTO subscribers (id, tenant_id, url, secret_source) VALUES ($1, $2, $3, $4)", id, pgtest.Acme, s.URL, string(source))
	return s
}

// received lists what arrived, as "subject type".
func (s *subscriber) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []string{}
	for _, e := range s.got {
		list = append(list, e.Subject()+" "+e.Type())
	}
	return list
}

func (w *world) deliver(id string) activities.DeliverResult {
	w.t.Helper()
	hooks := &activities.WebhookActivities{Store: w.db.Store, Deployment: w.db.Store.Deployment, Now: w.clock.Now, Log: slog.New(slog.DiscardHandler)}
	result, err := hooks.DeliverWebhooks(context.Background(), activities.DeliverInput{Subscriber: id})
	require.NoError(w.t, err)
	return result
}

func TestWebhooksArriveInOrderAndSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := subscribe(w, "audit", nil)
	r := readyCluster(w, "one")
	w.change(r.ID, (*cloud.Resource).WantDelete)
	w.settle(r.ID)
	result := w.deliver("audit")
	require.Equal(t, activities.DeliverResult{Delivered: 4}, result)
	require.Equal(t, []string{r.ID + " cloud.resource.created", r.ID + " cloud.resource.ready", r.ID + " cloud.resource.deleting", r.ID + " cloud.resource.deleted"}, s.received())
	e := s.got[0]
	require.Equal(t, "/cloud-resources/test", e.Source())
	require.Equal(t, pgtest.Acme, e.Extensions()["tenantid"])
	require.Equal(t, e.ID(), s.heads[0].Get("webhook-id"))
	var data map[string]any
	require.NoError(t, e.DataAs(&data))
	require.Equal(t, "acme/alice", data["actor"])
	require.Equal(t, activities.DeliverResult{}, w.deliver("audit"), "each arrives once")
}

func TestWebhooksOfOneResourceWaitForEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := readyCluster(w, "before"), "" // news of before the subscriber is not its
	s := subscribe(w, "audit", func(_ *http.Request, e ce.Event) int {
		if e.Subject() == b {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	b = newCluster(w, "stuck").ID
	c := readyCluster(w, "going")
	w.settle(b)
	result := w.deliver("audit")
	require.Equal(t, 2, result.Delivered)
	require.Equal(t, 1, result.Deferred, "the second event of a resource is not tried before its first")
	require.Equal(t, []string{c.ID + " cloud.resource.created", c.ID + " cloud.resource.ready"}, s.received())
	require.WithinRange(t, result.NextAt, w.clock.Now().Add(4*time.Second), w.clock.Now().Add(6*time.Second))
	require.Equal(t, "the subscriber answered HTTP 503", result.Message)
	require.NotEqual(t, a.ID, b)
	stuck := b
	b = ""
	w.clock.Advance(10 * time.Second)
	require.Equal(t, 2, w.deliver("audit").Delivered)
	require.Equal(t, []string{stuck + " cloud.resource.created", stuck + " cloud.resource.ready"}, s.received()[2:])
}

func TestWebhooksBackOffForDaysThenDie(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tries := 0
	s := subscribe(w, "audit", func(*http.Request, ce.Event) int { tries++; return http.StatusInternalServerError })
	r := newCluster(w, "one")
	start := w.clock.Now()
	for {
		result := w.deliver("audit")
		if result.Dead == 1 {
			break
		}
		require.Equal(t, 1, result.Deferred)
		require.True(t, result.NextAt.After(w.clock.Now()))
		require.LessOrEqual(t, result.NextAt.Sub(w.clock.Now()), 7*time.Hour)
		w.clock.Advance(result.NextAt.Sub(w.clock.Now()))
	}
	require.Greater(t, w.clock.Now().Sub(start), 60*time.Hour)
	require.Less(t, tries, 40)
	dead, err := w.db.DeadDeliveries(context.Background(), "audit", 10)
	require.NoError(t, err)
	require.Len(t, dead, 1)
	require.Equal(t, r.ID, dead[0].Subject)
	require.Equal(t, tries, dead[0].Attempts)
	s.answer = nil
	n, err := w.db.ReplayDeliveries(context.Background(), "audit", dead[0].EventID)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1, w.deliver("audit").Delivered)
}

func TestWebhooksStopWhenAskedTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := subscribe(w, "audit", func(*http.Request, ce.Event) int { return http.StatusGone })
	newCluster(w, "one")
	require.True(t, w.deliver("audit").Gone)
	newCluster(w, "two")
	require.True(t, w.deliver("audit").Gone)
	require.Len(t, s.heads, 1, "nothing is sent to an inactive subscriber")
	s.answer = nil
	n, err := w.db.ReplayDeliveries(context.Background(), "audit", "")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1, w.deliver("audit").Delivered)
	require.True(t, w.deliver("nobody").Gone)
}

func TestWebhooksFollowNoRedirectAndTellNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	subscribe(w, "moved", nil).Config.Handler = http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect)
	subscribe(w, "dead", nil).Close()
	subscribe(w, "later", nil).Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "120")
		http.Error(rw, "canary-body", http.StatusTooManyRequests)
	})
	subscribe(w, "metadata", nil)
	w.db.Exec("UPDATE subscribers SET url = 'http://169.254.169.254/latest' WHERE id = 'metadata'")
	newCluster(w, "one")
	require.Equal(t, "the subscriber answered HTTP 307; redirects are not followed", w.deliver("moved").Message)
	require.Equal(t, "the subscriber refused the connection", w.deliver("dead").Message)
	later := w.deliver("later")
	require.GreaterOrEqual(t, later.NextAt.Sub(w.clock.Now()), 100*time.Second, "the subscriber's own wish counts")
	require.Equal(t, "link-local addresses are not posted to", w.deliver("metadata").Message)
	require.NotContains(t, w.db.Dump(), "canary-body")
}

func TestWebhooksOfASlowSubscriberRunSideBySide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	now, most := 0, 0
	full := make(chan struct{})
	subscribe(w, "slow", func(r *http.Request, _ ce.Event) int {
		mu.Lock()
		now++
		if most = max(most, now); now == 8 {
			close(full)
		}
		mu.Unlock()
		select {
		case <-full: // all eight are on their way at once
		case <-r.Context().Done():
		}
		mu.Lock()
		defer mu.Unlock()
		now--
		return http.StatusOK
	})
	for i := range 8 {
		newCluster(w, fmt.Sprintf("c%d", i))
	}
	w.clock.Advance(time.Second)
	require.Equal(t, activities.DeliverResult{Delivered: 8}, w.deliver("slow"))
	require.Equal(t, 8, most)
}
