package quorum_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// reply serves one fixed answer.
func reply(t *testing.T, status int, body any) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestClientSortsAnswers(t *testing.T) {
	c := approved(t, 3, 0)
	good := quorum.Answer{BatchID: c.Statement.BatchID, LeafHash: c.Leaf.Hash(), Outcome: quorum.OutcomeFailed, Message: "exit status 1"}
	got, err := quorum.Client{}.Send(t.Context(), reply(t, 200, good)+"/", c)
	require.NoError(t, err)
	require.Equal(t, good, got)

	other := good
	other.LeafHash[0] ^= 1
	odd := good
	odd.Outcome = "done"
	refusal := quorum.ErrorBody{Error: quorum.Refusal{Reason: quorum.ReasonExpired, Message: "expired"}}
	for name, tc := range map[string]struct {
		status int
		body   any
		want   error
		reason quorum.Reason
	}{
		"refused":                     {403, refusal, nil, quorum.ReasonExpired},
		"malformed":                   {400, refusal, nil, quorum.ReasonExpired},
		"replayed":                    {409, refusal, nil, quorum.ReasonExpired},
		"403 of a proxy":              {403, "no", quorum.ErrUnknownOutcome, ""},
		"wrong token":                 {401, refusal, quorum.ErrNotDelivered, ""},
		"wrong path":                  {404, "no", quorum.ErrNotDelivered, ""},
		"redirect":                    {307, "", quorum.ErrNotDelivered, ""},
		"unavailable":                 {503, refusal, quorum.ErrUnknownOutcome, ""},
		"internal":                    {500, "no", quorum.ErrUnknownOutcome, ""},
		"answer to another command":   {200, other, quorum.ErrUnknownOutcome, ""},
		"outcome that does not exist": {200, odd, quorum.ErrUnknownOutcome, ""},
		"not an answer":               {200, "hello", quorum.ErrUnknownOutcome, ""},
	} {
		_, err := quorum.Client{}.Send(t.Context(), reply(t, tc.status, tc.body), c)
		require.Equal(t, tc.reason, quorum.ReasonOf(err), name)
		if tc.want != nil {
			require.ErrorIs(t, err, tc.want, name)
		}
	}
}

func TestClientKnowsWhatWasSent(t *testing.T) {
	c := approved(t, 3, 0)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	_, err = quorum.Client{}.Send(t.Context(), nobody, c)
	require.ErrorIs(t, err, quorum.ErrNotDelivered)
	_, err = quorum.Client{}.Send(t.Context(), "://", c)
	require.ErrorIs(t, err, quorum.ErrNotDelivered)

	hangUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer hangUp.Close()
	_, err = quorum.Client{}.Send(t.Context(), hangUp.URL, c)
	require.ErrorIs(t, err, quorum.ErrUnknownOutcome)

	ctx, cancel := context.WithCancel(t.Context())
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		// A server notices that the client has gone only once the body is read.
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	defer slow.Close()
	_, err = quorum.Client{}.Send(ctx, slow.URL, c)
	require.ErrorIs(t, err, quorum.ErrUnknownOutcome)
	require.ErrorIs(t, err, context.Canceled)
}

func TestClientSendsTokenAndCommand(t *testing.T) {
	c := approved(t, 3, 0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got quorum.Command
		_ = json.NewDecoder(r.Body).Decode(&got)
		if r.Method != http.MethodPost || r.URL.Path != "/v1/commands" || r.Header.Get("Authorization") != "Bearer t0ken" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_ = json.NewEncoder(w).Encode(quorum.Answer{BatchID: got.Statement.BatchID, LeafHash: got.Leaf.Hash(), Outcome: quorum.OutcomeSucceeded})
	}))
	defer server.Close()
	answer, err := quorum.Client{HTTP: server.Client(), Token: "t0ken"}.Send(t.Context(), server.URL, c)
	require.NoError(t, err)
	require.Equal(t, quorum.OutcomeSucceeded, answer.Outcome)
}
