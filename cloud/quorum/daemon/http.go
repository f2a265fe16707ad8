package daemon

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// Request sizes: a full payload in base64 with a full set of approvals fits.
const (
	maxBodyBytes    = 2 << 20
	maxJournalItems = 1000
)

// Handler serves the daemon's HTTP surface. tokenHash is the SHA-256 of the
// bearer token that /v1 asks for, or nil for none.
//
//	POST /v1/commands   quorum.Command -> 200 quorum.Answer, or quorum.ErrorBody with
//	                    400 malformed, 401, 403 refused, 409 replayed, 413, 503 not now
//	GET  /v1/journal    ?after=<seq>&limit=<n> -> {"records": [...], "next": <seq>}
//	GET  /healthz       200, or 503 when the journal cannot be written; never asks for a token
func (d *Daemon) Handler(tokenHash *[sha256.Size]byte) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/commands", authorised(tokenHash, d.serveCommand))
	mux.Handle("GET /v1/journal", authorised(tokenHash, d.serveJournal))
	mux.HandleFunc("GET /healthz", d.serveHealth)
	return mux
}

func authorised(tokenHash *[sha256.Size]byte, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tokenHash != nil {
			token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			// Hashing first makes the comparison blind to the token's length.
			sum := sha256.Sum256([]byte(token))
			if !ok || subtle.ConstantTimeCompare(sum[:], tokenHash[:]) != 1 {
				writeError(w, http.StatusUnauthorized, quorum.Refusal{Reason: quorum.ReasonUnauthenticated, Message: "a valid bearer token is needed"})
				return
			}
		}
		next(w, r)
	})
}

func (d *Daemon) serveCommand(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			writeError(w, http.StatusRequestEntityTooLarge, quorum.Refusal{Reason: quorum.ReasonTooLarge, Message: "the request is larger than 2 MiB"})
			return
		}
		writeError(w, http.StatusServiceUnavailable, quorum.Refusal{Reason: quorum.ReasonUnavailable, Message: "the request did not arrive whole"})
		return
	}
	var c quorum.Command
	if err = quorum.DecodeStrict(body, &c); err == nil {
		var answer quorum.Answer
		if answer, err = d.Do(r.Context(), c); err == nil {
			writeJSON(w, http.StatusOK, answer)
			return
		}
	}
	status, refusal := explain(err)
	d.log.Warn("command not run", "batch", quoted(c.Statement.BatchID), "subject", quoted(c.Leaf.Subject),
		"kind", quoted(c.Leaf.Kind), "index", c.Index, "status", status, "error", err)
	writeError(w, status, refusal)
}

// explain is the one place where errors become statuses.
func explain(err error) (int, quorum.Refusal) {
	var refusal *quorum.Refusal
	switch {
	case errors.As(err, &refusal):
		switch refusal.Reason {
		case quorum.ReasonMalformed:
			return http.StatusBadRequest, *refusal
		case quorum.ReasonReplayed:
			return http.StatusConflict, *refusal
		}
		return http.StatusForbidden, *refusal
	case errors.Is(err, ErrClosing):
		return http.StatusServiceUnavailable, quorum.Refusal{Reason: quorum.ReasonUnavailable, Message: ErrClosing.Error()}
	case errors.Is(err, ErrJournal):
		return http.StatusServiceUnavailable, quorum.Refusal{Reason: quorum.ReasonUnavailable, Message: ErrJournal.Error()}
	}
	return http.StatusInternalServerError, quorum.Refusal{Reason: quorum.ReasonUnavailable, Message: "the outcome is in the journal"}
}

func (d *Daemon) serveJournal(w http.ResponseWriter, r *http.Request) {
	after, err := number(r, "after", 0)
	limit, err2 := number(r, "limit", maxJournalItems)
	if err != nil || err2 != nil {
		writeError(w, http.StatusBadRequest, quorum.Refusal{Reason: quorum.ReasonMalformed, Message: "after and limit are numbers"})
		return
	}
	records := d.journal.Records(after, int(min(limit, maxJournalItems)))
	next := after
	if len(records) > 0 {
		next = records[len(records)-1].Seq
	}
	writeJSON(w, http.StatusOK, JournalPage{Records: records, Next: next})
}

// JournalPage is the answer of GET /v1/journal; Next is the value of after for
// the page behind it.
type JournalPage struct {
	Records []Record `json:"records"`
	Next    uint64   `json:"next"`
}

func number(r *http.Request, name string, otherwise uint64) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	return strconv.ParseUint(text, 10, 63)
}

// Health is the answer of GET /healthz. Head is the chain value of the last
// record: noting it elsewhere makes a later cut of the journal visible.
type Health struct {
	Status      string      `json:"status"`
	TrustDomain string      `json:"trustDomain"`
	Threshold   int         `json:"threshold"`
	Records     int         `json:"records"`
	Head        quorum.Hash `json:"head"`
}

func (d *Daemon) serveHealth(w http.ResponseWriter, _ *http.Request) {
	count, head, broken := d.journal.State()
	h := Health{Status: "ok", TrustDomain: d.policy.TrustDomain, Threshold: d.policy.Threshold, Records: count, Head: head}
	status := http.StatusOK
	if broken != nil {
		h.Status, status = ErrJournal.Error(), http.StatusServiceUnavailable
	}
	writeJSON(w, status, h)
}

func writeError(w http.ResponseWriter, status int, refusal quorum.Refusal) {
	writeJSON(w, status, quorum.ErrorBody{Error: refusal})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The status is out; a reader that has gone cannot be told anything more.
	_ = json.NewEncoder(w).Encode(value)
}

func quoted(text string) string { return strconv.QuoteToASCII(text) }
