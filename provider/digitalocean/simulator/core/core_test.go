package core_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

func TestTokens(t *testing.T) {
	s := start(t, core.Options{})
	for _, bad := range []string{"", "dev-root", "doo_v1_x"} {
		r, err := s.try(bad, "GET", "/v2/widgets", nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, r.status)
		require.Equal(t, "unauthorized", r.body["id"])
		require.Equal(t, "Unable to authenticate you", r.body["message"])
	}
	require.Equal(t, http.StatusCreated, s.create("one").status)
	other, err := s.try("dop_v1_other", "GET", "/v2/widgets/one", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, other.status)
}

func TestRoutes(t *testing.T) {
	s := start(t, core.Options{})
	require.Equal(t, true, s.do("GET", "/v2/widgets/special", nil).body["special"])
	require.Equal(t, http.StatusCreated, s.create("a b/c").status)
	require.Equal(t, "a b/c", s.do("GET", "/v2/widgets/a%20b%2Fc", nil).body["name"])
	require.Equal(t, http.StatusNotFound, s.do("GET", "/v2/nothing", nil).status)
	require.Equal(t, http.StatusMethodNotAllowed, s.do("PATCH", "/v2/widgets", nil).status)
	r := s.do("POST", "/v2/widgets", "no object")
	require.Equal(t, http.StatusBadRequest, r.status)
	require.Equal(t, r.header.Get("x-request-id"), r.body["request_id"])
	require.Equal(t, http.StatusInternalServerError, s.do("POST", "/v2/panic", nil).status)
	require.Equal(t, http.StatusOK, s.do("GET", "/v2/widgets", nil).status)
}

func TestRoutesAreServedOnce(t *testing.T) {
	_, err := core.New(core.Options{}, widgetArea(), widgetArea())
	require.ErrorContains(t, err, "served twice")
}

func TestLifecycle(t *testing.T) {
	s := start(t, core.Options{})
	require.Equal(t, "creating", s.create("one").body["state"])
	s.advance(4 * time.Second)
	require.Equal(t, "creating", s.do("GET", "/v2/widgets/one", nil).body["state"])
	s.advance(time.Second)
	require.Equal(t, "active", s.do("GET", "/v2/widgets/one", nil).body["state"])

	require.Equal(t, http.StatusAccepted, s.do("PUT", "/v2/widgets/one", core.Map{"size": 5}).status)
	require.EqualValues(t, 1, s.do("GET", "/v2/widgets/one", nil).body["size"])
	s.advance(3 * time.Second)
	require.EqualValues(t, 5, s.do("GET", "/v2/widgets/one", nil).body["size"])

	require.Equal(t, http.StatusNoContent, s.do("DELETE", "/v2/widgets/one", nil).status)
	require.Equal(t, "deleting", s.do("GET", "/v2/widgets/one", nil).body["state"])
	require.Equal(t, http.StatusConflict, s.create("one").status)
	s.advance(2 * time.Second)
	require.Equal(t, http.StatusNotFound, s.do("GET", "/v2/widgets/one", nil).status)
	require.Equal(t, http.StatusCreated, s.create("one").status)
}

func TestPaging(t *testing.T) {
	s := start(t, core.Options{})
	for i := range 44 {
		s.create(fmt.Sprintf("w%02d", i))
	}
	// 45 with the seeded one.
	first := s.do("GET", "/v2/widgets?x=y", nil).body
	require.Len(t, first["widgets"], 20)
	require.EqualValues(t, 45, first["meta"].(core.Map)["total"])
	pages := first["links"].(core.Map)["pages"].(core.Map)
	require.NotContains(t, pages, "prev")
	require.Contains(t, pages["next"], "page=2")
	require.Contains(t, pages["next"], "x=y")
	require.Contains(t, pages["last"], "page=3")

	last := s.do("GET", "/v2/widgets?page=3&per_page=20", nil).body
	require.Len(t, last["widgets"], 5)
	require.NotContains(t, last["links"].(core.Map)["pages"], "next")
	require.Empty(t, s.do("GET", "/v2/widgets?page=9", nil).body["widgets"])
	whole := s.do("GET", "/v2/widgets?per_page=500", nil).body
	require.Len(t, whole["widgets"], 45)
	require.Empty(t, whole["links"])
	require.Len(t, s.do("GET", "/v2/widgets?page=0&per_page=-1", nil).body["widgets"], 20)
}

func TestRateLimits(t *testing.T) {
	settings := core.DefaultSettings()
	settings.PerHour, settings.PerMinute = 5, 3
	s := start(t, core.Options{Settings: &settings})
	start := s.time()
	for left := 4; left >= 2; left-- {
		r := s.do("GET", "/v2/widgets", nil)
		require.Equal(t, "5", r.header.Get("ratelimit-limit"))
		require.Equal(t, fmt.Sprint(left), r.header.Get("ratelimit-remaining"))
		require.Equal(t, fmt.Sprint(start.Add(time.Hour).Unix()), r.header.Get("ratelimit-reset"))
		s.advance(time.Second)
	}
	burst := s.do("GET", "/v2/widgets", nil)
	require.Equal(t, http.StatusTooManyRequests, burst.status)
	require.Equal(t, "too_many_requests", burst.body["id"])
	require.Equal(t, "0", burst.header.Get("ratelimit-remaining"))
	require.Equal(t, "57", burst.header.Get("retry-after"))
	other, err := s.try("dop_v1_other", "GET", "/v2/widgets", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, other.status)

	s.advance(time.Minute)
	s.do("GET", "/v2/widgets", nil)
	require.Equal(t, "0", s.do("GET", "/v2/widgets", nil).header.Get("ratelimit-remaining"))
	hour := s.do("GET", "/v2/widgets", nil)
	require.Equal(t, http.StatusTooManyRequests, hour.status)
	require.Empty(t, hour.header.Get("retry-after"))
	s.advance(time.Hour - time.Minute)
	require.Equal(t, http.StatusOK, s.do("GET", "/v2/widgets", nil).status)
	require.Equal(t, http.StatusOK, s.do("GET", "/_simulator/settings", nil).status)
}

func TestFaultAnswersInstead(t *testing.T) {
	s := start(t, core.Options{})
	s.fault(core.Map{"method": "POST", "path": "/v2/widgets", "times": 1, "skip": 1,
		"effect": core.Map{"status": 503, "headers": core.Map{"retry-after": "7"}}})
	require.Equal(t, http.StatusCreated, s.create("one").status)
	r := s.create("two")
	require.Equal(t, 503, r.status)
	require.Equal(t, "7", r.header.Get("retry-after"))
	require.NotEmpty(t, r.body["message"])
	require.Equal(t, http.StatusNotFound, s.do("GET", "/v2/widgets/two", nil).status)
	require.Equal(t, http.StatusCreated, s.create("two").status)

	s.fault(core.Map{"method": "*", "path": "/v2/**", "effect": core.Map{"status": 502, "body": "<html>bad gateway</html>"}})
	r = s.do("GET", "/v2/widgets/one?page=2", nil)
	require.Equal(t, 502, r.status)
	require.Equal(t, "<html>bad gateway</html>", r.text)
	require.Equal(t, http.StatusNoContent, s.do("DELETE", "/_simulator/faults", nil).status)
	require.Equal(t, http.StatusOK, s.do("GET", "/v2/widgets/one", nil).status)
}

func TestFirstFaultWins(t *testing.T) {
	s := start(t, core.Options{})
	first := s.fault(core.Map{"method": "GET", "path": "/v2/widgets/*", "account": token, "effect": core.Map{"busy": 412}})
	s.fault(core.Map{"method": "GET", "path": "/v2/**", "effect": core.Map{"status": 500}})
	r := s.do("GET", "/v2/widgets/seed", nil)
	require.Equal(t, http.StatusPreconditionFailed, r.status)
	require.Contains(t, r.body["message"], "operation is in progress")
	require.Equal(t, 500, s.do("GET", "/v2/widgets", nil).status)
	other, err := s.try("dop_v1_other", "GET", "/v2/widgets/seed", nil)
	require.NoError(t, err)
	require.Equal(t, 500, other.status)
	require.Equal(t, http.StatusNoContent, s.do("DELETE", "/_simulator/faults/"+first, nil).status)
	require.Equal(t, http.StatusNotFound, s.do("DELETE", "/_simulator/faults/"+first, nil).status)
	require.Equal(t, 500, s.do("GET", "/v2/widgets/seed", nil).status)
}

func TestLostAnswers(t *testing.T) {
	s := start(t, core.Options{})
	s.fault(core.Map{"method": "POST", "path": "/v2/widgets", "times": 1, "effect": core.Map{"accept": true, "then": "drop"}})
	_, err := s.try(token, "POST", "/v2/widgets", core.Map{"name": "dropped"})
	require.Error(t, err)
	require.Equal(t, http.StatusOK, s.do("GET", "/v2/widgets/dropped", nil).status)

	s.fault(core.Map{"method": "POST", "path": "/v2/widgets", "times": 1, "effect": core.Map{"accept": true, "then": 502}})
	require.Equal(t, 502, s.create("lost").status)
	require.Equal(t, http.StatusConflict, s.create("lost").status)
	ledger := s.list("/_simulator/requests?account=" + token)
	require.Equal(t, true, ledger[0]["dropped"])
	require.EqualValues(t, http.StatusCreated, ledger[0]["status"])
	require.EqualValues(t, 502, ledger[2]["status"])
}

func TestDelayComesBeforeActing(t *testing.T) {
	s := start(t, core.Options{})
	s.fault(core.Map{"method": "POST", "path": "/v2/widgets", "effect": core.Map{"delay": "30ms"}})
	begun := time.Now()
	require.Equal(t, http.StatusCreated, s.create("slow").status)
	require.GreaterOrEqual(t, time.Since(begun), 30*time.Millisecond)
}

func TestLateVisibility(t *testing.T) {
	s := start(t, core.Options{})
	s.fault(core.Map{"method": "POST", "path": "/v2/widgets", "times": 1, "effect": core.Map{"invisibleFor": "60s"}})
	require.Equal(t, http.StatusCreated, s.create("late").status)
	require.Equal(t, http.StatusNotFound, s.do("GET", "/v2/widgets/late", nil).status)
	require.Len(t, s.do("GET", "/v2/widgets", nil).body["widgets"], 1)
	require.Equal(t, http.StatusConflict, s.create("late").status)
	objects := s.list("/_simulator/objects?account=" + token)
	require.Equal(t, false, objects[len(objects)-1]["visible"])
	s.advance(time.Minute)
	require.Equal(t, "active", s.do("GET", "/v2/widgets/late", nil).body["state"])

	s.do("PUT", "/_simulator/settings", core.Map{"visibleAfter": "10s"})
	s.create("later")
	require.Equal(t, http.StatusNotFound, s.do("GET", "/v2/widgets/later", nil).status)
	s.advance(10 * time.Second)
	require.Equal(t, http.StatusOK, s.do("GET", "/v2/widgets/later", nil).status)
}

func TestFailedState(t *testing.T) {
	s := start(t, core.Options{})
	s.fault(core.Map{"method": "*", "path": "/v2/widgets**", "effect": core.Map{"fail": "no capacity"}})
	require.Equal(t, "creating", s.create("poor").body["state"])
	s.advance(time.Minute)
	got := s.do("GET", "/v2/widgets/poor", nil).body
	require.Equal(t, "errored", got["state"])
	require.Equal(t, "no capacity", got["note"])
}

func TestOverlapIsAServerError(t *testing.T) {
	settings := core.DefaultSettings()
	settings.OverlapTime = core.Duration(200 * time.Millisecond)
	s := start(t, core.Options{Settings: &settings})
	statuses := make([]int, 5)
	var group sync.WaitGroup
	for i := range statuses {
		group.Go(func() {
			r, err := s.try(token, "POST", "/v2/alone", nil)
			if err == nil {
				statuses[i] = r.status
			}
		})
	}
	group.Wait()
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	require.Positive(t, count[http.StatusOK])
	require.Positive(t, count[http.StatusInternalServerError])
	require.Equal(t, 5, count[http.StatusOK]+count[http.StatusInternalServerError])
	require.Equal(t, http.StatusOK, s.do("POST", "/v2/alone", nil).status)
}

func TestLedgerMasksSecrets(t *testing.T) {
	s := start(t, core.Options{})
	s.do("POST", "/v2/widgets", core.Map{"name": "one", "size": 9007199254740993, "password": "CANARY1", "empty_token": "",
		"envs":    []core.Map{{"key": "K", "type": "SECRET", "value": "CANARY2"}, {"key": "P", "type": "GENERAL", "value": "plain"}},
		"secrets": core.Map{"hugging_face_token": "CANARY3"}, "url": "https://u:CANARY4@example.com/x",
		"pem": "-----BEGIN PRIVATE KEY-----\nCANARY5"})
	_, err := s.try("nobody", "GET", "/v2/widgets", nil)
	require.NoError(t, err)
	text := s.do("GET", "/_simulator/requests", nil).text
	require.NotContains(t, text, "CANARY")
	for _, kept := range []string{`"plain"`, "9007199254740993", `"empty_token":""`, "https://u:***@example.com/x"} {
		require.Contains(t, text, kept)
	}
	ledger := s.list("/_simulator/requests")
	require.Len(t, ledger, 2)
	require.EqualValues(t, http.StatusUnauthorized, ledger[1]["status"])
	require.Equal(t, "/v2/widgets", ledger[1]["path"])
	require.Len(t, s.list("/_simulator/requests?since=1"), 1)
	require.Empty(t, s.list("/_simulator/requests?since="+s.time().Add(time.Hour).Format(time.RFC3339)))
	require.Equal(t, http.StatusNoContent, s.do("DELETE", "/_simulator/requests", nil).status)
	require.Empty(t, s.list("/_simulator/requests"))
}

func TestControlRefusesNonsense(t *testing.T) {
	s := start(t, core.Options{})
	for path, body := range map[string]core.Map{
		"POST /faults":    {"method": "GET", "path": "/v2/x", "effect": core.Map{"stauts": 500}},
		"POST /faults?2":  {"method": "GET", "path": "/v2/x", "effect": core.Map{}},
		"POST /faults?3":  {"path": "/v2/x", "effect": core.Map{"status": 500}},
		"POST /faults?4":  {"method": "GET", "path": "/v2/x", "effect": core.Map{"accept": true}},
		"POST /faults?5":  {"method": "GET", "path": "/v2/x", "effect": core.Map{"delay": "soon"}},
		"PUT /settings":   {"provisionTime": 3},
		"PUT /settings?2": {"perHour": 0},
		"POST /signals":   {"account": token, "environment": "e", "type": "t"},
		"PUT /accounts":   {"status": "locked"},
	} {
		method, rest, _ := strings.Cut(path, " ")
		r := s.do(method, "/_simulator"+rest, body)
		require.Equal(t, http.StatusBadRequest, r.status, path)
		require.NotEmpty(t, r.body["message"], path)
	}
	require.Equal(t, http.StatusNotFound, s.do("GET", "/_simulator/nothing", nil).status)
}

func TestSettingsChangeInPart(t *testing.T) {
	s := start(t, core.Options{})
	r := s.do("PUT", "/_simulator/settings", core.Map{"provisionTime": "1m30s"})
	require.Equal(t, "1m30s", r.body["provisionTime"])
	require.Equal(t, "3s", r.body["updateTime"])
	require.Equal(t, http.StatusNoContent, s.do("POST", "/_simulator/reset", nil).status)
	require.Equal(t, "5s", s.do("GET", "/_simulator/settings", nil).body["provisionTime"])
}

func TestLockedAccount(t *testing.T) {
	s := start(t, core.Options{})
	s.do("PUT", "/_simulator/accounts", core.Map{"account": token, "status": "locked"})
	require.Equal(t, http.StatusForbidden, s.create("one").status)
	require.Equal(t, http.StatusOK, s.do("GET", "/v2/widgets", nil).status)
	require.Equal(t, "locked", s.list("/_simulator/accounts")[0]["status"])
}

func TestObjectsAndReset(t *testing.T) {
	s := start(t, core.Options{})
	s.do("POST", "/v2/widgets", core.Map{"name": "one", "size": 4, "tags": []string{"a"}})
	objects := s.list("/_simulator/objects")
	require.Len(t, objects, 3)
	require.Equal(t, "seed", objects[0]["id"])
	require.Equal(t, true, objects[0]["seeded"])
	one := objects[2]
	require.Equal(t, "widget", one["type"])
	require.Equal(t, []any{"a"}, one["tags"])
	require.EqualValues(t, 4, one["size"])
	require.Equal(t, s.time().Format(time.RFC3339), one["created"])
	require.Empty(t, s.list("/_simulator/objects?account=dop_v1_other"))
	s.do("POST", "/_simulator/reset", nil)
	require.Empty(t, s.list("/_simulator/objects"))
}

func TestTagsAreCaseStable(t *testing.T) {
	s := start(t, core.Options{})
	s.do("POST", "/v2/widgets", core.Map{"name": "one", "tags": []string{"PROD"}})
	r := s.do("POST", "/v2/widgets", core.Map{"name": "two", "tags": []string{"prod", "Prod", "x:y_z-1"}})
	require.Equal(t, []any{"PROD", "x:y_z-1"}, r.body["tags"])
	r = s.do("POST", "/v2/widgets", core.Map{"name": "three", "tags": []string{"a.b"}})
	require.Equal(t, http.StatusUnprocessableEntity, r.status)
}

func TestStateSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := start(t, core.Options{StatePath: path})
	s.create("one")
	s.do("DELETE", "/v2/widgets/seed", nil)
	require.NoError(t, s.server.Close())

	again := start(t, core.Options{StatePath: path})
	require.Equal(t, "creating", again.do("GET", "/v2/widgets/one", nil).body["state"])
	again.advance(time.Minute)
	require.Equal(t, "active", again.do("GET", "/v2/widgets/one", nil).body["state"])
	require.Equal(t, http.StatusNotFound, again.do("GET", "/v2/widgets/seed", nil).status)
	again.create("two")
	again.do("POST", "/_simulator/reset", nil)
	require.NoError(t, again.server.Close())

	empty := start(t, core.Options{StatePath: path})
	require.Empty(t, empty.list("/_simulator/objects"))
}

func TestStateIsWrittenWithoutClosing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := start(t, core.Options{StatePath: path})
	s.create("one")
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(data), `"name":"one"`)
	}, 5*time.Second, 20*time.Millisecond)
}

func TestDamagedStateIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err := core.New(core.Options{StatePath: path}, widgetArea())
	require.ErrorContains(t, err, path)
}
