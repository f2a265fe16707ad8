package providertest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
)

// badAnswers are answers that no provider should give, and some do.
var badAnswers = map[string]Fault{
	"empty object":  {Refuse: 200, Body: `{}`},
	"null":          {Refuse: 200, Body: `null`},
	"list":          {Refuse: 200, Body: `[]`},
	"number":        {Refuse: 200, Body: `7`},
	"text":          {Refuse: 200, Body: `all is well`},
	"nothing":       {Refuse: 200, Body: ``},
	"cut":           {Refuse: 200, Body: `{"database":{"id":"u-1","na`},
	"broken off":    {Refuse: 200, Body: `{"id":`, Headers: map[string]string{"Content-Length": "4000"}},
	"no content":    {Refuse: 204},
	"accepted":      {Refuse: 202, Body: `{"id":"accepted"}`},
	"moved":         {Refuse: 302, Headers: map[string]string{"Location": "http://127.0.0.1:1/"}},
	"page":          {Refuse: 502, Body: `<html>Bad gateway token=CANARY-IN-A-PAGE</html>`},
	"plain text":    {Refuse: 401, Body: `Unable to authenticate`},
	"locked":        {Refuse: 403, Body: `{"id":"forbidden","message":"the account is locked"}`},
	"error string":  {Refuse: 500, Body: `{"error":"server broke","messages":null}`},
	"error nested":  {Refuse: 503, Body: `{"error":{"code":13,"message":"no"}}`},
	"burst":         {Refuse: 429, Headers: map[string]string{"retry-after": "29"}, Body: `{"id":"too_many_requests","message":"slow down"}`},
	"refused":       {Refuse: 422, Body: `{"id":"unprocessable_entity","message":"no"}`},
	"wrong message": {Refuse: 400, Body: `{"id":7,"message":["a"],"error":["x"]}`},
}

// checkBadAnswers: whatever comes, no method panics, takes it for good, takes
// it for absence, or repeats an HTML page.
func checkBadAnswers(s *stage) {
	x := s.subject("victim").ready()
	good, err := x.look()
	require.NoError(s, err)
	for name, f := range badAnswers {
		f.On = Everything
		s.b.Plan(s.T, f)
		for call, err := range x.everyCall(good) {
			if f.Refuse < 300 && s.silent(call) || f.Refuse == 202 && call == "create" && s.h.Async {
				continue
			}
			require.Error(s, err, "%s answered by %q passes", call, name)
			require.False(s, cloud.IsNotFound(err), "%s answered by %q counts as absence: %v", call, name, err)
			require.NotContains(s, err.Error(), "CANARY", "%s repeats a page", call)
			x.noLeak(err.Error())
			checkClass(s, name, call, err)
		}
		s.b.Clear(s.T)
	}
	require.Equal(s, 1, s.objects())
	x.quiet(1)
}

// silent: a good answer to the call need not hold anything.
func (s *stage) silent(call string) bool {
	return slices.Contains([]string{"delete", "label", "unlabel", "update"}, call) || call == "create" && s.m.IdempotentCreate
}

func checkClass(s *stage, name, call string, err error) {
	class := cloud.ClassOf(err)
	switch name {
	case "burst":
		require.Equal(s, cloud.ClassThrottled, class, "%s: %v", call, err)
		var p *cloud.ProviderError
		require.ErrorAs(s, err, &p)
		require.Equal(s, 29*time.Second, p.RetryAfter)
	case "plain text", "locked":
		if call != "unlabel" {
			require.Equal(s, cloud.ClassUnreachable, class, "%s by %q: %v", call, name, err)
		}
	case "page", "error string", "error nested":
		require.Equal(s, cloud.ClassUnknown, class, "%s by %q: %v", call, name, err)
	case "refused", "wrong message":
		require.Equal(s, cloud.ClassRefused, class, "%s by %q: %v", call, name, err)
	default:
		require.Equal(s, cloud.ClassUnknown, class, "%s by %q: %v", call, name, err)
	}
}

// everyCall makes each call of the kind once.
func (s *subject) everyCall(o *cloud.Observed) map[string]error {
	ctx := context.Background()
	got := map[string]error{}
	q := s.request(true)
	_, got["observe"] = s.kind.Observe(ctx, q)
	if fields := s.m.Updatable(); len(fields) > 0 {
		_, got["update"] = s.kind.Update(ctx, q, o, fields)
	}
	got["delete"] = s.kind.Delete(ctx, q)
	delete(q.Memo, "deleting")
	if l, ok := s.kind.(cloud.Labeler); ok {
		got["label"] = l.Label(ctx, q)
		got["unlabel"] = l.Unlabel(ctx, q)
	}
	q.ProviderID = ""
	_, got["find"] = s.kind.Find(ctx, q)
	_, got["create"] = s.kind.Create(ctx, q)
	_, got["list"] = s.kind.List(ctx, cloud.Scope{Parent: s.parent})
	return got
}

// checkEcho: a refusal that repeats a secret that was sent, or the token.
func checkEcho(s *stage) {
	words := []string{s.b.Access().Token.Reveal()}
	for _, v := range s.h.Secrets {
		words = append(words, v.Reveal())
	}
	s.b.Plan(s.T, Fault{On: Everything, Refuse: http.StatusUnprocessableEntity, Body: s.b.Refusal("bad value " + strings.Join(words, " and "))})
	x := s.subject("echo")
	_, err := s.kind.Create(context.Background(), x.request(true))
	require.Error(s, err)
	require.Contains(s, err.Error(), "bad value")
	x.noLeak(err.Error())
}

// noBudget has nothing left.
type noBudget struct{}

func (noBudget) Take(context.Context, string) error {
	return &cloud.ProviderError{Class: cloud.ClassThrottled, Message: "no allowance left", RetryAfter: 7 * time.Second}
}

func (noBudget) Report(context.Context, string, int, int, time.Time, time.Duration) {}

// checkAllowance: without allowance no request is sent, and the budget's own
// answer arrives.
func checkAllowance(s *stage) {
	x := s.subject("allowance").ready()
	good, err := x.look()
	require.NoError(s, err)
	access := s.b.Access()
	access.Budget = noBudget{}
	opened, err := s.b.Provider().Open(access)
	require.NoError(s, err)
	x.kind, _ = opened.Kind(s.h.Kind)
	writes := s.b.Writes(s.T)
	for call, err := range x.everyCall(good) {
		require.Equal(s, cloud.ClassThrottled, cloud.ClassOf(err), "%s: %v", call, err)
		var p *cloud.ProviderError
		require.ErrorAs(s, err, &p)
		require.Equal(s, 7*time.Second, p.RetryAfter)
	}
	require.Equal(s, writes, s.b.Writes(s.T), "a request was sent")
}
