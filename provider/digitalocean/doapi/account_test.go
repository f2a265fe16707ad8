package doapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func TestOpenRefusesWhatIsNoAddress(t *testing.T) {
	for _, address := range []string{"ftp://x", "http://", "://", "/v2", "not a url\x7f"} {
		_, err := doapi.Open(cloud.AccountAccess{ID: "a", APIURL: address}, nil)
		require.Error(t, err, address)
	}
}

// The client never sends a create twice, whatever the answer.
func TestNothingIsRetried(t *testing.T) {
	for _, status := range []int{429, 500, 502, 503} {
		var sent atomic.Int32
		a := serve(t, func(w http.ResponseWriter, r *http.Request) {
			sent.Add(1)
			assert.Equal(t, "Bearer "+token, r.Header.Get("Authorization"))
			assert.Contains(t, r.Header.Get("User-Agent"), "better-compute")
			w.WriteHeader(status)
		})
		require.Error(t, a.Call(context.Background(), http.MethodPost, "v2/x", map[string]any{"a": 1}, nil))
		require.EqualValues(t, 1, sent.Load())
	}
}

// pages serves n items, size a page; shape says what stands for links.
func pages(t *testing.T, n int, shape func(page, pages int) string, ignorePaging bool) ([]int, error) {
	t.Helper()
	var asked atomic.Int32
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		assert.Equal(t, 200, size)
		from, to := (page-1)*size, min(page*size, n)
		if ignorePaging {
			from, to = 0, n
		}
		items := []int{}
		for i := from; i < to; i++ {
			items = append(items, i)
		}
		raw, err := json.Marshal(items)
		assert.NoError(t, err)
		_, _ = fmt.Fprintf(w, `{"things":%s%s}`, raw, shape(page, (n+size-1)/size))
	})
	found, err := doapi.Pages[int](context.Background(), a, "v2/things", "things", url.Values{"q": {"x"}}, 0)
	require.LessOrEqual(t, int(asked.Load()), n/200+2)
	return found, err
}

func TestPagesReadsToTheEnd(t *testing.T) {
	proper := func(page, pages int) string {
		if page < pages {
			return `,"links":{"pages":{"next":"https://x/?page=2","last":"https://x/?page=9"}}`
		}
		return `,"links":{"pages":{"prev":"https://x/?page=1"}}`
	}
	shapes := map[string]func(page, pages int) string{
		"links":        proper,
		"absent":       func(int, int) string { return "" },
		"empty":        func(int, int) string { return `,"links":{}` },
		"empty pages":  func(int, int) string { return `,"links":{"pages":{}}` },
		"null":         func(int, int) string { return `,"links":null,"meta":null` },
		"wrong shapes": func(int, int) string { return `,"links":"x","meta":[1]` },
	}
	for name, shape := range shapes {
		for _, n := range []int{0, 1, 199, 200, 201, 400, 450} {
			found, err := pages(t, n, shape, false)
			require.NoError(t, err, "%s, %d", name, n)
			require.Len(t, found, n, "%s, %d", name, n)
			if name != "links" {
				found, err = pages(t, n, shape, true)
				require.NoError(t, err, "%s, %d, unpaged", name, n)
				require.Len(t, found, n, "%s, %d, unpaged", name, n)
			}
		}
	}
	found, err := pages(t, 450, func(int, int) string { return `,"meta":{"total":450}` }, false)
	require.NoError(t, err)
	require.Len(t, found, 450)
}

// A list that cannot be read is an error, never an empty list.
func TestPagesNeverTakesGarbageForNothing(t *testing.T) {
	for _, body := range []string{`{}`, `null`, `[]`, `"x"`, `{"other":[]}`, `{"things":5}`, `{"things":[`, ``} {
		a := serve(t, answer(200, body))
		_, err := doapi.Pages[int](context.Background(), a, "v2/things", "things", nil, 0)
		require.Equal(t, cloud.ClassUnknown, cloud.ClassOf(a.Fail("list", doapi.List, err)), body)
	}
	a := serve(t, answer(200, `{"things":null,"links":{},"meta":{"total":0}}`))
	found, err := doapi.Pages[int](context.Background(), a, "v2/things", "things", nil, 0)
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestPagesStopsAtTheLimit(t *testing.T) {
	var asked atomic.Int32
	a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"things":[` + strings.TrimSuffix(strings.Repeat(itoa(int64(asked.Load()))+",", 200), ",") + `],"links":{"pages":{"next":"x"}}}`))
	})
	found, err := doapi.Pages[int](context.Background(), a, "v2/things", "things", nil, 300)
	require.NoError(t, err)
	require.Len(t, found, 300)
	require.EqualValues(t, 2, asked.Load())
}

func TestOwner(t *testing.T) {
	a := serve(t, answer(200, `{}`))
	id := cloud.ResourceID("t", "c", "k")
	key := cloud.LabelKey(id)
	ours := a.Tags(cloud.Request{ResourceID: id, TenantID: "Acme.Corp:EU_" + strings.Repeat("x", 100)})
	for _, tag := range ours {
		require.LessOrEqual(t, len(tag), 255)
		require.Regexp(t, `^[A-Za-z0-9_:-]+$`, tag)
	}
	require.Contains(t, ours[len(ours)-1], key, "the deciding tag is the last one")
	upper := []string{}
	for _, tag := range ours {
		upper = append(upper, strings.ToUpper(tag))
	}
	for name, c := range map[string]struct {
		tags []string
		want cloud.Owner
	}{
		"ours":                    {ours, cloud.Owner{ResourceKey: key, Deployment: "dep"}},
		"in capitals":             {upper, cloud.Owner{ResourceKey: key, Deployment: "dep"}},
		"none":                    {[]string{"team:web", ""}, cloud.Owner{}},
		"another's":               {[]string{"better-compute-resource:abc", "better-compute-managed:else"}, cloud.Owner{ResourceKey: "abc", Deployment: "else"}},
		"contested, theirs after": {append([]string{ours[0], ours[2]}, "better-compute-resource:abc"), cloud.Owner{ResourceKey: "abc", Deployment: "dep"}},
		"contested, theirs first": {append([]string{"better-compute-resource:abc", "better-compute-managed:else"}, ours...), cloud.Owner{ResourceKey: "abc", Deployment: "else"}},
	} {
		require.Equal(t, c.want, a.Owner(c.tags, key), name)
	}
	require.Equal(t, []string{"team:web"}, doapi.Foreign(append([]string{"Team:web", "", "team:web"}, ours...)))
}

// A budget that has nothing left stops the request before it leaves; answers
// tell it what is left.
func TestBudget(t *testing.T) {
	var sent atomic.Int32
	a := serve(t, func(http.ResponseWriter, *http.Request) { sent.Add(1) })
	b := &ledger{}
	access := a.Access
	access.Budget = b
	counted, err := doapi.Open(access, nil)
	require.NoError(t, err)
	require.NoError(t, counted.Get(context.Background(), "v2/x", nil))
	require.Equal(t, []string{"acct"}, b.took)
	require.Empty(t, b.told, "no headers, nothing to tell")

	b.empty = true
	err = counted.Fail("observe do.kind", doapi.Look, counted.Get(context.Background(), "v2/x", nil))
	var p *cloud.ProviderError
	require.ErrorAs(t, err, &p)
	require.Equal(t, cloud.ClassThrottled, p.Class)
	require.Equal(t, 3*time.Second, p.RetryAfter)
	require.Equal(t, "observe do.kind", p.Op)
	require.EqualValues(t, 1, sent.Load(), "nothing was sent")

	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	a = serve(t, answer(429, message("x"), "ratelimit-limit", "5000", "ratelimit-remaining", "0", "ratelimit-reset", itoa(reset.Unix()), "retry-after", "12"))
	b = &ledger{}
	access = a.Access
	access.Budget = b
	counted, err = doapi.Open(access, nil)
	require.NoError(t, err)
	require.Error(t, counted.Get(context.Background(), "v2/x", nil))
	require.Equal(t, []told{{5000, 0, reset.Unix(), 12 * time.Second}}, b.told)
}

type told struct {
	limit, remaining int
	reset            int64
	pause            time.Duration
}

type ledger struct {
	empty bool
	took  []string
	told  []told
}

func (l *ledger) Take(_ context.Context, account string) error {
	if l.empty {
		return &cloud.ProviderError{Class: cloud.ClassThrottled, Message: "none left", RetryAfter: 3 * time.Second}
	}
	l.took = append(l.took, account)
	return nil
}

func (l *ledger) Report(_ context.Context, _ string, limit, remaining int, reset time.Time, pause time.Duration) {
	l.told = append(l.told, told{limit, remaining, reset.Unix(), pause})
}
