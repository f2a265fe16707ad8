package postgres

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
)

// BudgetLimits are what a provider lets one account ask.
type BudgetLimits struct {
	// PerMinute and PerHour are requests in any window of that length. An account
	// whose answers tell another hourly limit has that one, and a minute's in
	// proportion.
	PerMinute int
	PerHour   int
	// InteractiveShare is the part of both that background work leaves to
	// callers' own requests: 0 to below 1.
	InteractiveShare float64
}

// DefaultBudgetLimits are DigitalOcean's published limits, a fifth of them
// kept for callers.
var DefaultBudgetLimits = BudgetLimits{PerMinute: 250, PerHour: 5000, InteractiveShare: 0.2}

// Budget spends the allowances of provider accounts. Each account is one row
// that every process takes from, so that together they stay below the limits
// and the provider never has to refuse.
//
//   - The minute is a bucket of 2/5 of PerMinute that grows by 3/5 of it in a
//     minute: no minute sees more than PerMinute.
//   - The hour is what the provider's last answer said is left, less what was
//     taken since. Nothing grows back before the reset that it named, when its
//     oldest request leaves the window; then it does by PerHour in an hour until
//     the next answer tells. Below a half the bucket grows slower, so that the
//     hour's second half still lasts for the rest of the hour.
//   - A pause that the provider asks for stops everybody on the account.
//
// Fairness: a refused request is told to come back one refill later than the
// one refused before it, so waiting work is served about in the order in which
// it came, whosever it is, and a tenant with much to do does not push others
// back. It is a spread, no promise: who comes just as a token grows gets it.
// Callers' own requests (cloud.Interactive) find InteractiveShare untouched by
// background work and do not queue behind it.
type Budget struct {
	s      *Store
	limits BudgetLimits
	now    func() time.Time
}

var _ cloud.Budget = (*Budget)(nil)

// Budget returns the allowances of this database's accounts. Time is the
// database's, one clock for all processes.
func (s *Store) Budget(limits BudgetLimits) *Budget { return &Budget{s: s, limits: limits} }

// WithNow replaces the clock, for tests.
func (b *Budget) WithNow(now func() time.Time) *Budget {
	b.now = now
	return b
}

// clock is nil for the database's own time.
func (b *Budget) clock() *time.Time {
	if b.now == nil {
		return nil
	}
	t := b.now()
	return &t
}

const (
	// budgetTrouble is when to come back when the bucket cannot be asked.
	budgetTrouble = 5 * time.Second
	// maxBudgetWait bounds what a refused request is told.
	maxBudgetWait = 10 * time.Minute
	reportTimeout = 2 * time.Second
)

// takeToken is one statement: account, now, PerMinute, PerHour, share kept. The
// row is locked as it is read, so that of two takers the second sees what the
// first left. wait is how long until one more request fits: by the tokens, by
// the hour, by the pause. The smallest bucket has two tokens, and a hundredth of
// the hour, at most ten, is left for requests that the provider's last answer
// did not count yet.
const takeToken = `
WITH locked AS (
	SELECT *, coalesce($2::timestamptz, clock_timestamp()) AS at, coalesce(hour_limit, $4)::float8 AS per_hour
	FROM account_budget WHERE account_id = $1 FOR UPDATE
), hour AS (
	SELECT *, $3 * per_hour / $4 AS per_minute,
		least(per_hour, hour_left + greatest(0, extract(epoch FROM at - hour_reset))::float8 * per_hour / 3600) AS hour_now,
		least($5 * per_hour, per_hour - 1) + least(10, per_hour / 100) AS hour_kept
	FROM locked
), paced AS (
	SELECT *, greatest(per_minute * 0.4, 2) AS size,
		CASE WHEN hour_now > per_hour / 2 THEN per_minute / 100 ELSE least(per_minute / 100, per_hour / 4800) END AS rate
	FROM hour
), grown AS (
	SELECT *, greatest(0, extract(epoch FROM at - refilled_at))::float8 * rate AS growth, least($5 * size, size - 1) AS kept FROM paced
), filled AS (
	SELECT *, least(size, tokens + growth) AS level, greatest(0, queued - growth) AS queue FROM grown
), judged AS (
	SELECT *, greatest(0,
		CASE WHEN level - kept < 1 THEN (1 + kept - level + CASE WHEN $5 > 0 THEN queue ELSE 0 END) / rate END,
		CASE WHEN hour_now - hour_kept < 1 THEN (1 + hour_kept - hour_now) * 3600 / per_hour + greatest(0, extract(epoch FROM hour_reset - at)) END,
		extract(epoch FROM paused_until - at))::float8 AS wait
	FROM filled
)
UPDATE account_budget a SET refilled_at = j.at, hour_reset = greatest(a.hour_reset, j.at),
	tokens = j.level - CASE WHEN j.wait > 0 THEN 0 ELSE 1 END,
	hour_left = j.hour_now - CASE WHEN j.wait > 0 THEN 0 ELSE 1 END,
	queued = j.queue + CASE WHEN j.wait > 0 AND $5 > 0 THEN 1 ELSE 0 END
FROM judged j WHERE a.account_id = j.account_id RETURNING j.wait`

// Take spends one request of an account, see cloud.Budget.
func (b *Budget) Take(ctx context.Context, account string) error {
	kept := b.limits.InteractiveShare
	if cloud.IsInteractive(ctx) {
		kept = 0
	}
	for range 2 {
		var wait float64
		err := b.s.pool.QueryRow(ctx, takeToken, account, b.clock(),
			float64(b.limits.PerMinute), float64(b.limits.PerHour), kept).Scan(&wait)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			err = b.open(ctx, account)
		case err == nil && wait <= 0:
			return nil
		case err == nil:
			return b.refuse("the account's allowance of requests is spent", wait, nil)
		}
		if err != nil {
			return b.refuse("the account's allowance of requests cannot be asked for", budgetTrouble.Seconds(), mapError(err))
		}
	}
	return b.refuse("the account's allowance of requests cannot be asked for", budgetTrouble.Seconds(), nil)
}

func (b *Budget) refuse(message string, wait float64, err error) *cloud.ProviderError {
	return &cloud.ProviderError{
		Class: cloud.ClassThrottled, Op: "request", Message: message, Err: err,
		RetryAfter: min(time.Duration(math.Ceil(wait*1000))*time.Millisecond, maxBudgetWait),
	}
}

// open makes the row of an account that was never asked: a full bucket, and a
// full hour from now on.
func (b *Budget) open(ctx context.Context, account string) error {
	_, err := b.s.pool.Exec(ctx, `INSERT INTO account_budget (account_id, tokens, refilled_at, hour_left, hour_reset)
		SELECT $1, $2, at, $3, at + interval '1 hour' FROM (SELECT coalesce($4::timestamptz, clock_timestamp()) AS at) now
		ON CONFLICT DO NOTHING`, account, float64(b.limits.PerMinute), float64(b.limits.PerHour), b.clock())
	return err
}

// reportHeaders keeps the lower of what is left while the window is the same,
// since answers arrive out of order.
const reportHeaders = `
UPDATE account_budget SET
	hour_limit = CASE WHEN $3 > 0 THEN $3 ELSE hour_limit END,
	hour_left = CASE WHEN $3 <= 0 THEN hour_left WHEN hour_reset = $5 AND hour_limit = $3 THEN least(hour_left, $4) ELSE $4 END,
	hour_reset = CASE WHEN $3 > 0 THEN coalesce($5, $2, clock_timestamp()) ELSE hour_reset END,
	paused_until = CASE WHEN $6::interval > '0' THEN greatest(paused_until, coalesce($2::timestamptz, clock_timestamp()) + $6::interval) ELSE paused_until END
WHERE account_id = $1`

// Report tells what the provider's answer said, see cloud.Budget. One that is
// lost is made good by the next answer's.
func (b *Budget) Report(ctx context.Context, account string, limit, remaining int, reset time.Time, pause time.Duration) {
	// The answer counts even if whoever asked has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	var until *time.Time
	if !reset.IsZero() {
		until = &reset
	}
	_, _ = b.s.pool.Exec(ctx, reportHeaders, account, b.clock(), limit, remaining, until, pause)
}
