package doapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

const token = "dop_v1_0123456789abcdef"

// serve opens an account whose provider answers everything by handle.
func serve(t *testing.T, handle http.HandlerFunc) *doapi.Account {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	a, err := doapi.Open(cloud.AccountAccess{ID: "acct", Provider: "digitalocean", Token: cloud.NewSecret(token), APIURL: server.URL, Deployment: "dep"}, nil)
	require.NoError(t, err)
	return a
}

func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// failure is what Fail makes of an answer.
func failure(t *testing.T, handle http.HandlerFunc, v doapi.Verb, how ...doapi.Meaning) *cloud.ProviderError {
	t.Helper()
	a := serve(t, handle)
	err := a.Fail("verb do.kind", v, a.Get(context.Background(), "v2/x", &struct{}{}), how...)
	var p *cloud.ProviderError
	require.ErrorAs(t, err, &p)
	return p
}

func message(text string) string {
	return `{"id":"some_id","message":"` + text + `","request_id":"req-1"}`
}

func TestClasses(t *testing.T) {
	busy := doapi.Means(http.StatusForbidden, cloud.ClassBusy)
	for name, c := range map[string]struct {
		status int
		body   string
		verb   doapi.Verb
		how    []doapi.Meaning
		class  cloud.Class
	}{
		"bad request":                      {400, message("no"), doapi.Create, nil, cloud.ClassRefused},
		"token refused":                    {401, `Unable to authenticate`, doapi.Look, nil, cloud.ClassUnreachable},
		"payment required":                 {402, message("pay"), doapi.Create, nil, cloud.ClassUnreachable},
		"no right to read":                 {403, message("forbidden"), doapi.Look, nil, cloud.ClassUnreachable},
		"no right to change":               {403, message("missing scope database:update"), doapi.Change, nil, cloud.ClassUnreachable},
		"busy by 403":                      {403, message("not accepting updates"), doapi.Change, []doapi.Meaning{busy}, cloud.ClassBusy},
		"locked although 403 means busy":   {403, message("your account is locked"), doapi.Change, []doapi.Meaning{busy}, cloud.ClassUnreachable},
		"the release is refused":           {403, message("no"), doapi.Unlabel, nil, cloud.ClassRefused},
		"absent":                           {404, message("not found"), doapi.Look, nil, cloud.ClassNotFound},
		"gone before its delete":           {404, message("not found"), doapi.Delete, nil, cloud.ClassNotFound},
		"404 on a create":                  {404, `{"id":"bad_request","message":"x"}`, doapi.Create, nil, cloud.ClassRefused},
		"name taken by 409":                {409, message("App name already exists"), doapi.Create, nil, cloud.ClassExists},
		"unexplained 409 on a create":      {409, message("conflict"), doapi.Create, nil, cloud.ClassExists},
		"a create while another runs":      {409, message("another operation is in progress"), doapi.Create, nil, cloud.ClassBusy},
		"already being deleted":            {409, message("the cluster is already being deleted"), doapi.Delete, nil, cloud.ClassBusy},
		"a change meets another":           {409, message("conflict"), doapi.Change, nil, cloud.ClassBusy},
		"endpoint retired":                 {410, message("gone"), doapi.Create, nil, cloud.ClassUnsupported},
		"precondition":                     {412, message("no backup yet"), doapi.Create, nil, cloud.ClassBusy},
		"name taken by 422":                {422, message("pool name is not available"), doapi.Create, nil, cloud.ClassExists},
		"size not to be had":               {422, message(`invalid size: 'x' is not available with 1 nodes`), doapi.Create, nil, cloud.ClassRefused},
		"region closed":                    {422, message("region is not available"), doapi.Create, nil, cloud.ClassRefused},
		"limit reached":                    {422, message("you have reached the limit of 5"), doapi.Create, nil, cloud.ClassRefused},
		"bad window":                       {422, message("invalid maintenance_window day"), doapi.Change, nil, cloud.ClassRefused},
		"pending by 422":                   {422, message("there is a pending action on the volume"), doapi.Change, nil, cloud.ClassBusy},
		"same size again":                  {422, message("same configuration"), doapi.Change, nil, cloud.ClassRefused},
		"locked object":                    {423, message("locked"), doapi.Change, nil, cloud.ClassBusy},
		"rate":                             {429, message("slow down"), doapi.Create, nil, cloud.ClassThrottled},
		"timed out at the provider":        {408, message("late"), doapi.Create, nil, cloud.ClassUnknown},
		"broken":                           {500, message("oops"), doapi.Create, nil, cloud.ClassUnknown},
		"a proxy's page":                   {502, `<html>secret page</html>`, doapi.Create, nil, cloud.ClassUnknown},
		"moved":                            {302, ``, doapi.Look, nil, cloud.ClassUnknown},
		"cut in the middle":                {200, `{"a":`, doapi.Create, nil, cloud.ClassUnknown},
		"not JSON":                         {200, `all is well`, doapi.Look, nil, cloud.ClassUnknown},
		"a teapot":                         {418, message("short and stout"), doapi.Change, nil, cloud.ClassRefused},
		"a child's cluster not to be seen": {404, message("x"), doapi.Create, []doapi.Meaning{doapi.Means(404, cloud.ClassBusy)}, cloud.ClassBusy},
	} {
		t.Run(name, func(t *testing.T) {
			p := failure(t, answer(c.status, c.body), c.verb, c.how...)
			require.Equal(t, c.class, p.Class, p.Error())
			require.NotContains(t, p.Error(), "page")
		})
	}
	require.NoError(t, serve(t, answer(200, `{}`)).Fail("x", doapi.Look, nil))
}

// Errors come in many shapes; the words and the request id are found in each.
func TestErrorShapes(t *testing.T) {
	for body, words := range map[string]string{
		`{"id":"x","message":"plain"}`:                                     "plain",
		`{"error":"top","messages":["one","two"],"root_causes":["three"]}`: "top: one: two: three",
		`{"code":"nfs","message":"share"}`:                                 "share",
		`{"error":{"code":7,"message":"nested"}}`:                          "nested",
		`{"id":5,"message":"odd id"}`:                                      "odd id",
		`{"message":["not a text"]}`:                                       "Unprocessable Entity",
		`<html>page</html>`:                                                "Unprocessable Entity",
		``:                                                                 "Unprocessable Entity",
		`null`:                                                             "Unprocessable Entity",
		`["a"]`:                                                            "Unprocessable Entity",
	} {
		p := failure(t, answer(422, body, "x-request-id", "from-header"), doapi.Change, doapi.Fields("size"))
		require.Equal(t, words, p.Message, body)
		require.Equal(t, "from-header", p.RequestID)
		require.Equal(t, []string{"spec.size"}, p.Fields)
		require.Equal(t, 422, p.Status)
	}
	require.Equal(t, "req-1", failure(t, answer(400, message("x"), "x-request-id", "h"), doapi.Look).RequestID)
}

func TestMessagesHoldNoSecrets(t *testing.T) {
	for name, text := range map[string]string{
		"the token":          "bad token " + token,
		"another token":      "bad dop_v1_ffffffffffffffff there",
		"a bearer":           "header Authorization: Bearer abc.def-ghi",
		"a resolved secret":  "value hunter2hunter is too short",
		"a provider's key":   "password AVNS_abcDEF-123 refused",
		"a URI":              "cannot reach postgresql://doadmin:s3cretpass@host:25060/db",
		"an encrypted value": "value EV[1:AAAA:BBBB] refused",
		"a long key":         "key aGVsbG8gd29ybGQxMjM0NTY3ODkw refused",
		"a private key":      `-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQ\n-----END RSA PRIVATE KEY----- refused`,
	} {
		p := failure(t, answer(400, message(text)), doapi.Create, doapi.Hide(map[string]cloud.Secret{"ref": cloud.NewSecret("hunter2hunter")}), doapi.HideText("other"))
		for _, secret := range []string{token, "ffffffffffffffff", "abc.def", "hunter2", "AVNS_", "s3cret", "AAAA", "aGVsbG8", "MIIE"} {
			require.NotContains(t, p.Error(), secret, name)
		}
		require.Contains(t, p.Message, "[hidden]", name)
	}
	kept := "cluster bc-r-6cg1jqyfzezwhg52yn2cc56r of size db-s-2vcpu-4gb, id 4e7d17ea-6246-52c0-aa31-33f34af4ba71"
	require.Equal(t, kept, failure(t, answer(400, message(kept)), doapi.Create).Message, "ids and slugs are no secrets")
}

func TestMessagesAreShortAndClean(t *testing.T) {
	long := failure(t, answer(400, message(strings.Repeat("ö ", 600))), doapi.Create)
	require.Len(t, []rune(long.Message), 500)
	dirty := failure(t, answer(400, `{"message":"a\u0000b\u001b[31mc\n\nd\u202ee"}`), doapi.Create)
	require.Equal(t, "a b [31mc d e", dirty.Message)
}

func TestThrottled(t *testing.T) {
	p := failure(t, answer(429, message("x"), "retry-after", "29", "ratelimit-reset", "1"), doapi.Create)
	require.Equal(t, 29*time.Second, p.RetryAfter, "the burst limit says how long")
	reset := time.Now().Add(15 * time.Minute)
	p = failure(t, answer(429, message("x"), "ratelimit-remaining", "0", "ratelimit-reset", itoa(reset.Unix())), doapi.Create)
	require.InDelta(t, 15*time.Minute, p.RetryAfter, float64(3*time.Second), "else until the oldest request expires")
	p = failure(t, answer(429, message("x"), "retry-after", "soon", "ratelimit-reset", "999999999999999"), doapi.Create)
	require.LessOrEqual(t, p.RetryAfter, time.Hour, "an absurd header does not stop us for ever")
	p = failure(t, answer(429, ``), doapi.Create)
	require.Positive(t, p.RetryAfter)
}

// No answer is an unknown outcome, also when the request was sent.
func TestNoAnswer(t *testing.T) {
	p := failure(t, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = c.Close()
		}
	}, doapi.Create)
	require.Equal(t, cloud.ClassUnknown, p.Class)
	require.Zero(t, p.Status)
	require.NotContains(t, p.Error(), "127.0.0.1")

	release := make(chan struct{})
	a := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err := a.Fail("create do.kind", doapi.Create, a.Call(ctx, http.MethodPost, "v2/x", map[string]any{}, nil))
	require.Equal(t, cloud.ClassUnknown, cloud.ClassOf(err))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Contains(t, err.Error(), "in time")

	closed, err := doapi.Open(cloud.AccountAccess{APIURL: "http://127.0.0.1:1", Token: cloud.NewSecret(token)}, nil)
	require.NoError(t, err)
	err = closed.Fail("observe do.kind", doapi.Look, closed.Get(context.Background(), "v2/x", nil))
	require.Equal(t, cloud.ClassUnknown, cloud.ClassOf(err))
}
