package quorum

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
)

// What Send returns besides an Answer and a *Refusal. Sending the same command
// again is right after both: the daemon runs a leaf at most once.
var (
	// ErrNotDelivered: the daemon did not take this attempt; it was not
	// reached, or it turned the request away before looking at the command.
	ErrNotDelivered = errors.New("the command was not delivered")
	// ErrUnknownOutcome: the request was sent, and whether the command ran is
	// known only to the daemon's journal.
	ErrUnknownOutcome = errors.New("the command was sent and its outcome is unknown")
)

const maxAnswerBytes = 1 << 20

// Client sends commands to daemons, for gateways.
type Client struct {
	// HTTP is used as it is but never follows a redirect, which could hand a
	// command to somebody else; http.DefaultClient when nil. Deadlines come
	// from the context.
	HTTP *http.Client
	// Token is sent as bearer token when not empty.
	Token string
}

// Send posts the command to the daemon at base, as in http://host:port, and
// waits for the answer. Errors are
//   - *Refusal: the daemon examined the command and said no; it did not run
//     and never will in this form;
//   - ErrNotDelivered or ErrUnknownOutcome, wrapped: send it again.
func (c Client) Send(ctx context.Context, base string, cmd Command) (Answer, error) {
	body, err := json.Marshal(cmd)
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrNotDelivered, err)
	}
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(base, "/")+"/v1/commands", bytes.NewReader(body))
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrNotDelivered, err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := c.http().Do(req)
	if err != nil {
		// Without a connection no byte of the request has left.
		if !connected.Load() {
			return Answer{}, fmt.Errorf("%w: %w", ErrNotDelivered, err)
		}
		return Answer{}, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return readAnswer(resp.StatusCode, data, cmd)
}

func (c Client) http() *http.Client {
	client := http.Client{}
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// readAnswer sorts a daemon's reply. Only statuses that the daemon gives after
// examining the command, and in its own error form, are refusals: a proxy's
// page in between decides nothing.
func readAnswer(status int, data []byte, cmd Command) (Answer, error) {
	if status == http.StatusOK {
		var a Answer
		if err := json.Unmarshal(data, &a); err != nil {
			return Answer{}, fmt.Errorf("%w: the answer is not JSON", ErrUnknownOutcome)
		}
		if a.BatchID != cmd.Statement.BatchID || a.LeafHash != cmd.Leaf.Hash() || !a.Outcome.valid() {
			return Answer{}, fmt.Errorf("%w: the answer is about another command", ErrUnknownOutcome)
		}
		return a, nil
	}
	var body ErrorBody
	known := json.Unmarshal(data, &body) == nil && body.Error.Reason != ""
	switch status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge:
		if known {
			return Answer{}, &body.Error
		}
	}
	switch {
	case status/100 == 3, status == http.StatusUnauthorized, status == http.StatusNotFound,
		status == http.StatusMethodNotAllowed, status == http.StatusTooManyRequests:
		return Answer{}, fmt.Errorf("%w: status %d: %+q", ErrNotDelivered, status, body.Error.Message)
	}
	return Answer{}, fmt.Errorf("%w: status %d: %+q", ErrUnknownOutcome, status, body.Error.Message)
}

func (o Outcome) valid() bool {
	return o == OutcomeSucceeded || o == OutcomeFailed || o == OutcomeInterrupted
}
