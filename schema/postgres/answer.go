package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
)

const (
	// answerTime is how long one question to a provider may take; claimTime, a
	// little longer, is when others stop waiting for a process that died asking.
	answerTime = 50 * time.Second
	claimTime  = 60 * time.Second
	// Who waits for another's answer looks again after these.
	firstLook = 20 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// Answer returns the account's answer to a question when it is younger than
// maxAge, and asks by fetch otherwise. However many callers in however many
// processes want it at once, one fetches and the others wait for its answer; no
// transaction or connection is held meanwhile. An error of fetch is returned to
// the one who asked, and the next in line asks again. The answer must be the
// same for every caller: what a tenant may see of it is cut out afterwards.
func (s *Store) Answer(ctx context.Context, account, question string, maxAge time.Duration,
	fetch func(ctx context.Context) (any, error)) (json.RawMessage, error) {
	for look := firstLook; ; look = min(2*look, lastLook) {
		answer, err := s.recentAnswer(ctx, account, question, maxAge)
		if answer != nil || err != nil {
			return answer, mapError(err)
		}
		claim, err := s.claimQuestion(ctx, account, question)
		if err != nil {
			return nil, mapError(err)
		}
		if claim != "" {
			return s.ask(ctx, account, question, claim, maxAge, fetch)
		}
		select {
		case <-ctx.Done():
			return nil, mapError(ctx.Err())
		case <-time.After(look):
		}
	}
}

// recentAnswer is nil when there is none that is young enough.
func (s *Store) recentAnswer(ctx context.Context, account, question string, maxAge time.Duration) (json.RawMessage, error) {
	var answer []byte
	err := s.pool.QueryRow(ctx, "SELECT answer FROM provider_answers WHERE account_id = $1 AND question = $2 AND at > $3",
		account, question, s.now().Add(-maxAge)).Scan(&answer)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return answer, err
}

// claimQuestion returns the claim under which this caller asks, or "" while
// another does.
func (s *Store) claimQuestion(ctx context.Context, account, question string) (string, error) {
	claim := uuid.NewString()
	tag, err := s.pool.Exec(ctx, `INSERT INTO provider_questions AS q (account_id, question, claim, until) VALUES ($1, $2, $3, now() + $4::interval)
		ON CONFLICT (account_id, question) DO UPDATE SET claim = excluded.claim, until = excluded.until WHERE q.until < now()`,
		account, question, claim, claimTime)
	if err != nil || tag.RowsAffected() == 0 {
		return "", err
	}
	return claim, nil
}

func (s *Store) ask(ctx context.Context, account, question, claim string, maxAge time.Duration,
	fetch func(ctx context.Context) (any, error)) (answer json.RawMessage, err error) {
	defer func() {
		// The claim ends whatever happened, also when the caller went away.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
		defer cancel()
		_, _ = s.pool.Exec(ctx, "DELETE FROM provider_questions WHERE account_id = $1 AND question = $2 AND claim = $3", account, question, claim)
	}()
	// Another may have finished between the look and the claim.
	if answer, err := s.recentAnswer(ctx, account, question, maxAge); answer != nil || err != nil {
		return answer, mapError(err)
	}
	asking, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	value, err := fetch(asking)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, &cloud.Error{Code: cloud.CodeInternal, Message: "internal error", Err: err}
	}
	_, err = s.pool.Exec(ctx, `INSERT INTO provider_answers (account_id, question, answer, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (account_id, question) DO UPDATE SET answer = excluded.answer, at = excluded.at`, account, question, raw, s.now())
	return raw, mapError(err)
}
