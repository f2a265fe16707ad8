package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

func serve(t *testing.T, r *rig, token string) *httptest.Server {
	t.Helper()
	var hash *[sha256.Size]byte
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		hash = &sum
	}
	server := httptest.NewServer(r.Handler(hash))
	t.Cleanup(server.Close)
	return server
}

func call(t *testing.T, method, url string, body []byte, token string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	require.NoError(t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, data
}

func TestCommandsOverHTTP(t *testing.T) {
	r := newRig(t)
	server := serve(t, r, "t0ken")
	client := quorum.Client{Token: "t0ken"}
	all := r.batch(t, 3)
	a, err := client.Send(t.Context(), server.URL, all[0])
	require.NoError(t, err)
	require.Equal(t, quorum.OutcomeSucceeded, a.Outcome)
	a, err = client.Send(t.Context(), server.URL, all[0])
	require.NoError(t, err)
	require.True(t, a.Replayed)

	tampered := all[1]
	tampered.Payload = []byte("x")
	_, err = client.Send(t.Context(), server.URL, tampered)
	require.Equal(t, quorum.ReasonPayloadMismatch, quorum.ReasonOf(err))
	_, err = quorum.Client{Token: "wrong"}.Send(t.Context(), server.URL, all[1])
	require.ErrorIs(t, err, quorum.ErrNotDelivered)
	_, err = quorum.Client{}.Send(t.Context(), server.URL, all[1])
	require.ErrorIs(t, err, quorum.ErrNotDelivered)
	require.Zero(t, r.exec.times("crs_1"))
}

func TestStatuses(t *testing.T) {
	r := newRig(t)
	server := serve(t, r, "")
	all := r.batch(t, 3)
	encode := func(c quorum.Command) []byte {
		data, err := json.Marshal(c)
		require.NoError(t, err)
		return data
	}
	refused, reused := all[0], all[2]
	refused.Approvals = nil
	reused.Payload = []byte("another")
	for name, tc := range map[string]struct {
		body   []byte
		status int
		reason quorum.Reason
	}{
		"not JSON":      {[]byte("{"), 400, quorum.ReasonMalformed},
		"unknown field": {[]byte(`{"batch":1}`), 400, quorum.ReasonMalformed},
		"empty object":  {[]byte(`{}`), 400, quorum.ReasonMalformed},
		"two objects":   {append(encode(all[0]), "{}"...), 400, quorum.ReasonMalformed},
		"refused":       {encode(refused), 403, quorum.ReasonTooFewApprovers},
		"too large":     {bytes.Repeat([]byte(" "), maxBodyBytes+1), 413, quorum.ReasonTooLarge},
	} {
		status, data := call(t, http.MethodPost, server.URL+"/v1/commands", tc.body, "")
		require.Equal(t, tc.status, status, name)
		var body quorum.ErrorBody
		require.NoError(t, json.Unmarshal(data, &body), name)
		require.Equal(t, tc.reason, body.Error.Reason, name)
		require.NotEmpty(t, body.Error.Message, name)
	}
	status, _ := call(t, http.MethodPost, server.URL+"/v1/commands", encode(all[2]), "")
	require.Equal(t, 200, status)
	status, _ = call(t, http.MethodPost, server.URL+"/v1/commands", encode(reused), "")
	require.Equal(t, 409, status)
	status, _ = call(t, http.MethodGet, server.URL+"/v1/commands", nil, "")
	require.Equal(t, 405, status)
	stop(r.Daemon)
	status, _ = call(t, http.MethodPost, server.URL+"/v1/commands", encode(all[0]), "")
	require.Equal(t, 503, status)
}

func TestLargestCommandFits(t *testing.T) {
	r := newRig(t)
	leaf := quorum.Leaf{Subject: "crs_0", Kind: testKind}.Bind(make([]byte, quorum.MaxPayloadBytes))
	tree, err := quorum.NewTree([]quorum.Leaf{leaf})
	require.NoError(t, err)
	st := quorum.Statement{TrustDomain: testDomain, BatchID: "cmb_1", Root: tree.Root(), LeafCount: 1, ExpiresAt: r.clock.now().UnixMilli() + 1}
	c, err := tree.Command(st, []quorum.Approval{approve(t, st, "alice", 1), approve(t, st, "bob", 2)}, 0, make([]byte, quorum.MaxPayloadBytes))
	require.NoError(t, err)
	_, err = quorum.Client{}.Send(t.Context(), serve(t, r, "").URL, c)
	require.NoError(t, err)
}

func TestJournalOverHTTP(t *testing.T) {
	r := newRig(t)
	server := serve(t, r, "t0ken")
	for _, c := range r.batch(t, 3) {
		_, err := r.Do(t.Context(), c)
		require.NoError(t, err)
	}
	status, _ := call(t, http.MethodGet, server.URL+"/v1/journal", nil, "")
	require.Equal(t, 401, status)
	var records []Record
	for after := "0"; ; {
		status, data := call(t, http.MethodGet, server.URL+"/v1/journal?limit=4&after="+after, nil, "t0ken")
		require.Equal(t, 200, status)
		var page JournalPage
		require.NoError(t, json.Unmarshal(data, &page))
		if len(page.Records) == 0 {
			break
		}
		records = append(records, page.Records...)
		after = json.Number(strings.TrimSpace(string(mustJSON(t, page.Next)))).String()
	}
	require.Len(t, records, 6)
	require.Equal(t, r.journal.Records(0, 10), records)
	status, _ = call(t, http.MethodGet, server.URL+"/v1/journal?after=-1", nil, "t0ken")
	require.Equal(t, 400, status)
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

func TestHealth(t *testing.T) {
	r := newRig(t)
	server := serve(t, r, "t0ken")
	status, data := call(t, http.MethodGet, server.URL+"/healthz", nil, "")
	require.Equal(t, 200, status)
	var h Health
	require.NoError(t, json.Unmarshal(data, &h))
	require.Equal(t, Health{Status: "ok", TrustDomain: testDomain, Threshold: 2}, h)
	require.NoError(t, r.journal.Close())
	status, _ = call(t, http.MethodGet, server.URL+"/healthz", nil, "")
	require.Equal(t, 503, status)
}

// TestLongCommandOutlastsTheReadTimeout: the time a client has to send its
// request is not the time a command may take.
func TestLongCommandOutlastsTheReadTimeout(t *testing.T) {
	r := newRig(t)
	const limit = 100 * time.Millisecond
	r.exec.do = func(ctx context.Context, _ Job) (string, error) {
		select {
		case <-time.After(4 * limit):
			return "long", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	server := httptest.NewUnstartedServer(r.Handler(nil))
	server.Config.ReadTimeout = limit
	server.Start()
	defer server.Close()
	a, err := quorum.Client{}.Send(t.Context(), server.URL, r.batch(t, 2)[0])
	require.NoError(t, err)
	require.Equal(t, "long", a.Output)
}
