package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The tenant and pool of the development platform that are measured.
const (
	benchTenant = "acme"
	benchToken  = "dev-acme"
	benchPool   = "pool_0000000000000000000000acme"
)

type benchResource struct {
	ID         string `json:"id"`
	State      string `json:"state"`
	Message    string `json:"message"`
	ProviderID string `json:"providerId"`
}

// call is one call of the API. An answer that is no 200 is an error.
func (b *bench) call(ctx context.Context, method string, in map[string]any, out any) error {
	in["tenantId"] = benchTenant
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return post(ctx, b.url+"/api/compute/"+method, body, out)
}

func post(ctx context.Context, url string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+benchToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := benchClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %d %s", url, resp.StatusCode, answer)
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer, out)
}

var benchClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}

func (b *bench) create(ctx context.Context, kind, name string, spec map[string]any) (benchResource, error) {
	in := map[string]any{"poolId": benchPool, "kind": kind, "name": name, "idempotencyKey": name, "spec": spec}
	var r benchResource
	return r, b.call(ctx, "cloudResources/create", in, &r)
}

// wait asks until a resource is in a state.
func (b *bench) wait(ctx context.Context, id, state string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		var r benchResource
		if err := b.call(ctx, "cloudResources/get", map[string]any{"resourceId": id}, &r); err != nil {
			return err
		}
		switch r.State {
		case state:
			return nil
		case "error":
			return fmt.Errorf("%s: %s", id, r.Message)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is %s, not %s: %w", id, r.State, state, ctx.Err())
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// measured is how long each of many calls took, and all of them together.
type measured struct {
	each  []time.Duration
	total time.Duration
}

func (m measured) rate() float64 { return float64(len(m.each)) / m.total.Seconds() }

func (m measured) percentile(p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(m.each))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// measure runs fn n times, so many at once.
func measure(ctx context.Context, n, atOnce int, fn func(ctx context.Context, i int) error) (measured, error) {
	m := measured{each: make([]time.Duration, n)}
	var next atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	var failed error
	start := time.Now()
	for range atOnce {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				began := time.Now()
				if err := fn(ctx, i); err != nil {
					once.Do(func() { failed = err })
					return
				}
				m.each[i] = time.Since(began)
			}
		})
	}
	wg.Wait()
	m.total = time.Since(start)
	return m, failed
}
