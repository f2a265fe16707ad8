package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/better-compute/cloud-resources/cloud/intent"
)

// silentKey marks where, in the context of a verification, it is noted that the
// keys could not be had.
type silentKey struct{}

// issuerKeys are an issuer's keys: those in memory, fetched again when a token
// names one that is not there.
type issuerKeys struct {
	remote *oidc.RemoteKeySet
	fetch  *keyFetcher
}

// VerifySignature tells a signature that is wrong from one that cannot be judged
// because the issuer does not answer.
func (k *issuerKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.remote.VerifySignature(ctx, token)
	if silent, ok := ctx.Value(silentKey{}).(*bool); ok {
		*silent = err != nil && k.fetch.failing.Load()
	}
	return payload, err
}

const (
	// keysAge is for how long an answer of the issuer is given again, so that
	// tokens with made-up keys do not become requests to the issuer.
	keysAge = 10 * time.Second
	// maxKeys bounds an answer, in bytes.
	maxKeys = 1 << 20
)

// keyFetcher gets documents of an issuer.
type keyFetcher struct {
	base    http.RoundTripper
	now     intent.Clock
	failing atomic.Bool
	mu      sync.Mutex
	answers map[string]keyAnswer
}

type keyAnswer struct {
	at     time.Time
	header http.Header
	body   []byte
}

// RoundTrip implements http.RoundTripper.
func (f *keyFetcher) RoundTrip(req *http.Request) (*http.Response, error) {
	address := req.URL.String()
	f.mu.Lock()
	answer, ok := f.answers[address]
	f.mu.Unlock()
	if ok && f.now().Sub(answer.at) < keysAge {
		return answer.response(req), nil
	}
	resp, err := f.base.RoundTrip(req)
	if err != nil {
		f.failing.Store(true)
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		f.failing.Store(true)
		return resp, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKeys))
	f.failing.Store(err != nil)
	if err != nil {
		return nil, err
	}
	answer = keyAnswer{at: f.now(), header: resp.Header.Clone(), body: body}
	f.mu.Lock()
	f.answers[address] = answer
	f.mu.Unlock()
	return answer.response(req), nil
}

func (a keyAnswer) response(req *http.Request) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header.Clone(), Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: req,
	}
}
