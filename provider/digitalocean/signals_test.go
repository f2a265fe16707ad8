package digitalocean_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
)

func TestSignalsArePreview(t *testing.T) {
	opened := openAt(t, false, func(http.ResponseWriter, *http.Request) { t.Error("a call was made") })
	_, err := opened.Signals(context.Background())
	require.Equal(t, cloud.ClassUnsupported, cloud.ClassOf(err))
}

// Harness Runtime is not there for every account.
func TestSignalsWithoutTheProduct(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusForbidden} {
		opened := openAt(t, true, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		_, err := opened.Signals(context.Background())
		require.Equal(t, cloud.ClassUnsupported, cloud.ClassOf(err), status)
	}
	opened := openAt(t, true, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	_, err := opened.Signals(context.Background())
	require.Equal(t, cloud.ClassUnreachable, cloud.ClassOf(err))
}

func TestSignals(t *testing.T) {
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	stamp := func(minutes int) string { return at.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339) }
	answers := map[string]string{
		"/v2/harness-runtime/regions":                `{"regions":[{"slug":"ric1","is_default":true},{"slug":"mem1"}]}`,
		"/v2/harness-runtime/configs":                `{"configs":[{"id":"env-1"},{"id":"env-2"},{"id":"env-silent"},{}]}`,
		"/v2/harness-runtime/configs/env-1/sessions": `{"sessions":[{"session_id":"broken","name":"nightly","status":"SESSION_STATUS_FAILED","last_event_at":"` + stamp(3) + `"},{"session_id":"fine","status":"SESSION_STATUS_READY","created_at":"` + stamp(3) + `"}]}`,
		"/v2/harness-runtime/configs/env-2/sessions": `{"sessions":[]}`,
		"/v1/signals/agents/env-1/sessions":          `{"edges":[{"node":{"session_id":"s-1","signal_count":2,"started_at":"` + stamp(0) + `"}},{"node":{"session_id":"s-0","signal_count":0}}],"page_info":{"has_next_page":false}}`,
		"/v1/signals/agents/env-2/sessions":          `{"edges":null}`,
		"/v1/signals/sessions/s-1/dialogues": `{"edges":[
			{"node":{"run_id":"r-1","created_at":"` + stamp(1) + `","run_status":"completed","signals":[
				{"signal_type":"DisengagementEscalation","label":"Asked for a human","run_uuid":"r-1","step_index":4,"snippet":"please\n\tget me ` + strings.Repeat("someone ", 100) + `"},
				{"signal_type":"SatisfactionGratitude","step_index":0},
				{"label":"no type"}]}},
			{"node":{"run_id":"r-2","created_at":"` + stamp(2) + `","run_status":"failed","failure_code":"out_of_memory","signals":[{"signal_type":"ExecutionLoopsRetry","run_uuid":"r-2","step_index":1}]}},
			{"node":{"run_id":"r-3","created_at":"yesterday","run_status":"failed"}}]}`,
	}
	opened := openAt(t, true, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s: asking for signals changes nothing", r.Method, r.URL)
		}
		body, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusForbidden) // not consented to
			return
		}
		_, _ = fmt.Fprint(w, body)
	})
	got, err := opened.Signals(context.Background())
	require.NoError(t, err)
	type short struct {
		ID, Title string
		Severity  cloud.Severity
	}
	var seen []short
	for i, s := range got {
		require.Equal(t, "do.harness.environment", s.Kind)
		require.Equal(t, "env-1", s.ProviderID)
		require.NotContains(t, s.Detail, "\n")
		require.LessOrEqual(t, len([]rune(s.Detail)), 500)
		if i > 0 {
			require.LessOrEqual(t, s.At, got[i-1].At, "newest first")
		}
		seen = append(seen, short{s.ID, s.Title, s.Severity})
	}
	require.ElementsMatch(t, []short{
		{"broken::SessionFailed", "A session failed", cloud.SeverityCritical},
		{"r-2:1:ExecutionLoopsRetry", "ExecutionLoopsRetry", cloud.SeverityWarning},
		{"r-2::RunFailed", "A run failed", cloud.SeverityCritical},
		{"r-1:4:DisengagementEscalation", "Asked for a human", cloud.SeverityCritical},
		{"r-1:0:SatisfactionGratitude", "SatisfactionGratitude", cloud.SeverityInfo},
	}, seen)
	require.Equal(t, at.Add(3*time.Minute).UnixMilli(), got[0].At)
}

// Whatever comes, nothing panics.
func TestSignalsOfBadAnswers(t *testing.T) {
	for _, body := range []string{`{}`, `null`, `[]`, `7`, ``, `{"regions":null}`, `{"regions":[{}],"configs":[{"id":"e"}],"edges":[{}],"sessions":[{}]}`} {
		for _, status := range []int{http.StatusOK, http.StatusNoContent, http.StatusBadGateway} {
			opened := openAt(t, true, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = fmt.Fprint(w, body)
			})
			got, err := opened.Signals(context.Background())
			require.True(t, err != nil || len(got) == 0, body)
		}
	}
}
