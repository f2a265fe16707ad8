package postgres_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

func TestOneAnswerForAllProcesses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := noon()
	db := pgtest.New(t, postgres.WithClock(c.now))
	stores := []*postgres.Store{db.Store, db.Another(postgres.WithClock(c.now))}
	var asked atomic.Int64
	release := make(chan struct{})
	fetch := func(ctx context.Context) (any, error) {
		select {
		case <-release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return map[string]int64{"n": asked.Add(1)}, nil
	}
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			answer, err := stores[i%2].Answer(ctx, "a", "signals", 30*time.Second, fetch)
			if err != nil || string(answer) != `{"n": 1}` && string(answer) != `{"n":1}` {
				t.Errorf("answer %s, error %v", answer, err)
			}
		})
	}
	require.Eventually(t, func() bool {
		return pgtest.Value[int](db, "SELECT count(*)::int FROM provider_questions") == 1
	}, 5*time.Second, 5*time.Millisecond)
	require.Zero(t, pgtest.Value[int](db, `SELECT count(*)::int FROM pg_stat_activity
		WHERE datname = current_database() AND state = 'idle in transaction'`), "no transaction is open while the provider is asked")
	close(release)
	wg.Wait()
	require.EqualValues(t, 1, asked.Load())
	require.Zero(t, pgtest.Value[int](db, "SELECT count(*)::int FROM provider_questions"))

	move(c, 29*time.Second)
	_, err := db.Answer(ctx, "a", "signals", 30*time.Second, fetch)
	require.NoError(t, err)
	require.EqualValues(t, 1, asked.Load())
	move(c, 2*time.Second)
	_, err = db.Answer(ctx, "a", "signals", 30*time.Second, fetch)
	require.NoError(t, err)
	require.EqualValues(t, 2, asked.Load(), "an old answer is asked for again")
	_, err = db.Answer(ctx, "b", "signals", 30*time.Second, fetch)
	require.NoError(t, err)
	require.EqualValues(t, 3, asked.Load(), "another account is another question")
}

func TestAFailedQuestionIsAskedAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := pgtest.Open(t)
	broken := &cloud.ProviderError{Class: cloud.ClassUnreachable, Op: "signals"}
	_, err := s.Answer(ctx, "a", "q", time.Minute, func(context.Context) (any, error) { return nil, broken })
	require.ErrorIs(t, err, broken)
	answer, err := s.Answer(ctx, "a", "q", time.Minute, func(context.Context) (any, error) { return []int{1}, nil })
	require.NoError(t, err)
	require.JSONEq(t, "[1]", string(answer))
}

func TestWhoDiedAskingHoldsNobodyForEver(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	db.Exec(`INSERT INTO provider_questions (account_id, question, claim, until)
		VALUES ('a', 'q', gen_random_uuid(), now() + interval '300 milliseconds')`)
	answer, err := db.Answer(context.Background(), "a", "q", time.Minute, func(context.Context) (any, error) { return "x", nil })
	require.NoError(t, err)
	require.JSONEq(t, `"x"`, string(answer))
}

func TestWaitingForAnAnswerEndsWithTheCaller(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	db.Exec(`INSERT INTO provider_questions (account_id, question, claim, until) VALUES ('a', 'q', gen_random_uuid(), now() + interval '1 hour')`)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := db.Answer(ctx, "a", "q", time.Minute, func(context.Context) (any, error) { return nil, errors.New("not asked") })
	require.Equal(t, cloud.CodeUnavailable, cloud.AsError(err).Code)
}
