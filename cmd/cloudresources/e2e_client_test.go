//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
)

// party is a caller of the API in its own tenant.
type party struct {
	*system
	tenant, token string
}

// refused is an error of the API.
type refused struct {
	Status  int
	Code    cloud.Code
	Message string
	Details map[string]any
}

func (r refused) reason() string { text, _ := r.Details["reason"].(string); return text }

func (r refused) fields() []string {
	var out []string
	list, _ := r.Details["fields"].([]any)
	for _, f := range list {
		text, _ := f.(string)
		out = append(out, text)
	}
	return out
}

// send posts a body as it is and returns the status and the answer.
func (p party) send(t testing.TB, method, body string) (int, []byte) {
	t.Helper()
	return p.sendTo(t, p.base, method, body)
}

func (p party) sendTo(t testing.TB, base, method, body string) (int, []byte) {
	t.Helper()
	status, raw, err := p.post(base, method, body)
	require.NoError(t, err)
	return status, raw
}

func (p party) post(base, method, body string) (status int, raw []byte, err error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, base+"/api/compute/"+method, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	raw, err = io.ReadAll(res.Body)
	if method != "secrets/reveal" {
		p.answers.add(raw)
	}
	return res.StatusCode, raw, err
}

// call makes a call that must succeed.
func call[T any](t testing.TB, p party, method string, in object) T {
	t.Helper()
	return callAt[T](t, p, p.base, method, in)
}

func callAt[T any](t testing.TB, p party, base, method string, in object) T {
	t.Helper()
	body, err := json.Marshal(in)
	require.NoError(t, err)
	status, raw := p.sendTo(t, base, method, string(body))
	require.Equal(t, http.StatusOK, status, "%s %s: %s", method, body, raw)
	var out T
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&out), "%s: %s", method, raw)
	return out
}

// refused makes a call that must be refused.
func (p party) refused(t testing.TB, method string, in object) refused {
	t.Helper()
	body, err := json.Marshal(in)
	require.NoError(t, err)
	return p.refusedRaw(t, method, string(body))
}

func (p party) refusedRaw(t testing.TB, method, body string) refused {
	t.Helper()
	status, raw := p.send(t, method, body)
	var out struct {
		Error struct {
			Code    cloud.Code
			Message string
			Details map[string]any
		}
	}
	if len(body) > 300 {
		body = body[:300] + "..."
	}
	require.NoError(t, json.Unmarshal(raw, &out), "%s %s: %d %s", method, body, status, raw)
	require.GreaterOrEqual(t, status, 400, "%s %s was not refused: %s", method, body, raw)
	require.NotEmpty(t, out.Error.Message)
	require.NotNil(t, out.Error.Details)
	return refused{status, out.Error.Code, out.Error.Message, out.Error.Details}
}

// wish is the input of a create by the party.
func (p party) wish(pool, kind, name string, spec object, more ...object) object {
	in := object{"tenantId": p.tenant, "poolId": pool, "kind": kind, "name": name, "spec": spec, "idempotencyKey": kind + ":" + name}
	for _, m := range more {
		for k, v := range m {
			in[k] = v
		}
	}
	return in
}

func (p party) create(t testing.TB, pool, kind, name string, spec object, more ...object) cloud.View {
	t.Helper()
	return call[cloud.View](t, p, "cloudResources/create", p.wish(pool, kind, name, spec, more...))
}

func (p party) get(t testing.TB, id string) cloud.View {
	t.Helper()
	return call[cloud.View](t, p, "cloudResources/get", object{"tenantId": p.tenant, "resourceId": id})
}

func (p party) update(t testing.TB, id string, spec object, more ...object) cloud.View {
	t.Helper()
	in := object{"tenantId": p.tenant, "resourceId": id}
	if spec != nil {
		in["spec"] = spec
	}
	for _, m := range more {
		for k, v := range m {
			in[k] = v
		}
	}
	return call[cloud.View](t, p, "cloudResources/update", in)
}

func (p party) delete(t testing.TB, id string) cloud.View {
	t.Helper()
	return call[cloud.View](t, p, "cloudResources/delete", object{"tenantId": p.tenant, "resourceId": id})
}

type listing[T any] struct {
	Items     []T
	Truncated bool
	Next      any
}

func (p party) list(t testing.TB, filter object) []cloud.View {
	t.Helper()
	in := object{"tenantId": p.tenant}
	for k, v := range filter {
		in[k] = v
	}
	return call[listing[cloud.View]](t, p, "cloudResources/list", in).Items
}

// until waits for a resource to be as wanted.
func (p party) until(t testing.TB, id, what string, ok func(cloud.View) bool) cloud.View {
	t.Helper()
	var v cloud.View
	if !eventually(func() bool { v = p.get(t, id); return ok(v) }) {
		require.FailNow(t, "waited in vain for "+what, "%s %s %s is %s: %q, drift %v\n%s", v.Kind, v.Name, v.ID, v.State, v.Message, v.Drift, p.workflow(v.ID))
	}
	return v
}

func (p party) reaches(t testing.TB, id string, state cloud.State) cloud.View {
	t.Helper()
	return p.until(t, id, string(state), func(v cloud.View) bool { return v.State == state })
}

// settled waits until a resource is ready at a version with its spec applied.
func (p party) ready(t testing.TB, id string) cloud.View {
	t.Helper()
	return p.reaches(t, id, cloud.StateReady)
}

// news is an event as webhooks and events/list show it.
type news struct {
	Type, Subject, Sequence string
	Data                    map[string]any
}

// events are those about a resource, oldest first; "" is all of the tenant.
func (p party) events(t testing.TB, id string) []news {
	t.Helper()
	var out []news
	after := "0"
	for {
		page := call[listing[news]](t, p, "events/list", object{"tenantId": p.tenant, "after": after, "limit": 200})
		if len(page.Items) == 0 {
			return out
		}
		for _, e := range page.Items {
			after = e.Sequence
			if id == "" || e.Subject == id {
				out = append(out, e)
			}
		}
	}
}

// told are the types of the events about a resource, without their prefix.
func (p party) told(t testing.TB, id string) []string {
	t.Helper()
	var out []string
	for _, e := range p.events(t, id) {
		out = append(out, strings.TrimPrefix(e.Type, "cloud.resource."))
	}
	return out
}

func (p party) reveal(t testing.TB, ref cloud.SecretRef) string {
	t.Helper()
	return call[struct{ Value string }](t, p, "secrets/reveal", object{"tenantId": p.tenant, "ref": ref}).Value
}

// The kinds that most tests use, and a small spec of each.
const (
	pg     = "do.database.pg"
	pgUser = "do.database.pg.user"
	pgWall = "do.database.pg.firewall"
	volume = "do.volume"
	app    = "do.app"
)

func pgSpec(more ...object) object {
	return merged(object{"region": "nyc3", "version": "16", "size": "db-s-1vcpu-1gb", "num_nodes": 1}, more)
}

func volumeSpec(more ...object) object {
	return merged(object{"region": "nyc3", "size_gigabytes": 10}, more)
}

func appSpec(more ...object) object {
	return merged(object{"region": "nyc", "services": []object{{
		"name": "web", "image": object{"registry_type": "DOCKER_HUB", "registry": "library", "repository": "nginx", "tag": "1.27"},
		"instance_size_slug": "apps-s-1vcpu-0.5gb", "http_port": 80,
	}}}, more)
}

func merged(spec object, more []object) object {
	for _, m := range more {
		for k, v := range m {
			spec[k] = v
		}
	}
	return spec
}

func numberOf(t testing.TB, v any) int64 {
	t.Helper()
	switch n := v.(type) {
	case json.Number:
		i, err := n.Int64()
		require.NoError(t, err)
		return i
	case float64:
		return int64(n)
	}
	require.FailNow(t, "not a number", "%v", v)
	return 0
}

// sequenceNumber reads an event's sequence, text with leading zeros.
func sequenceNumber(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}

func (s *system) answersSoFar() string {
	s.answers.mu.Lock()
	defer s.answers.mu.Unlock()
	return s.answers.text.String()
}
