package transport

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// MaxBody is how much of an answer is read, in bytes. A page of 200 apps of
// 60 KiB fits.
const MaxBody = 32 << 20

// Timeout bounds one request with its answer.
const Timeout = 30 * time.Second

// ErrBodyTooLarge is the error of reading an answer beyond MaxBody.
var ErrBodyTooLarge = errors.New("the provider's answer is too large")

// Options say what a client's transport needs.
type Options struct {
	Access cloud.AccountAccess
	// Hosts are where the token may be sent: exact names, or ".example.com"
	// for every name below it.
	Hosts []string
	// Quota reads an answer's headers for the budget; nil reads none.
	Quota func(h http.Header, now time.Time) Quota
	// Rewrite may replace the answer before the client sees it (an error body
	// in another shape); nil leaves all.
	Rewrite func(r *http.Response)
	// Base sends; nil is http.DefaultTransport.
	Base http.RoundTripper
}

// Quota is what an answer said about the account's allowance.
type Quota struct {
	Limit, Remaining int
	Reset            time.Time
	// Pause is how long the provider asked to wait, zero if it did not.
	Pause time.Duration
}

// Client makes the HTTP client of one account.
func Client(o Options) *http.Client {
	base := o.Base
	if base == nil {
		base = http.DefaultTransport
	}
	return &http.Client{
		Timeout: Timeout,
		Transport: &budget{
			options: o,
			next:    measured{o.Access.Provider, bounded{o, &authorized{o, base}}},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// budget spends one request before it is sent, and reports what the answer said.
type budget struct {
	options Options
	next    http.RoundTripper
}

func (b *budget) RoundTrip(r *http.Request) (*http.Response, error) {
	access := b.options.Access
	if access.Budget != nil {
		if err := access.Budget.Take(r.Context(), access.ID); err != nil {
			return nil, err
		}
	}
	answer, err := b.next.RoundTrip(r)
	if err != nil || access.Budget == nil || b.options.Quota == nil {
		return answer, err
	}
	if q := b.options.Quota(answer.Header, time.Now()); q != (Quota{}) {
		access.Budget.Report(r.Context(), access.ID, q.Limit, q.Remaining, q.Reset, q.Pause)
	}
	return answer, nil
}

// bounded limits the answer's body and lets the client's cloud rewrite it.
type bounded struct {
	options Options
	next    http.RoundTripper
}

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &limitedBody{body: answer.Body, left: MaxBody}
	if b.options.Rewrite != nil {
		b.options.Rewrite(answer)
	}
	return answer, nil
}

type limitedBody struct {
	body io.ReadCloser
	left int64
}

func (l *limitedBody) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, ErrBodyTooLarge
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.body.Read(p)
	l.left -= int64(n)
	return n, err
}

func (l *limitedBody) Close() error { return l.body.Close() }

// authorized adds the token, to the account's own hosts only.
type authorized struct {
	options Options
	next    http.RoundTripper
}

func (a *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.allowed(r.URL.Hostname()) {
		r = r.Clone(r.Context()) // a RoundTripper must not change the caller's request
		r.Header.Set("Authorization", "Bearer "+a.options.Access.Token.Reveal())
	}
	return a.next.RoundTrip(r)
}

func (a *authorized) allowed(host string) bool {
	return slices.ContainsFunc(a.options.Hosts, func(h string) bool {
		return host == h || strings.HasPrefix(h, ".") && strings.HasSuffix(host, h)
	})
}
