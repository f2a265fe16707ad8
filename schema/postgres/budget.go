package postgres

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
)

// BudgetLimits are what a provider lets one account ask.
type BudgetLimits struct {
	// PerMinute and PerHour are requests in any window of that length.
	PerMinute int
	PerHour   int
	// InteractiveShare is the part of both that background work leaves to
	// callers' own requests: 0 to below 1.
	InteractiveShare float64
}

// DefaultBudgetLimits are DigitalOcean's published limits, a fifth of them
// kept for callers.
var DefaultBudgetLimits = BudgetLimits{PerMinute: 250, PerHour: 5000, InteractiveShare: 0.2}

// Budget spends the allowances of provider accounts. There is one bucket of
// tokens per account, a row that every process takes from, so that together
// they stay below the limits and the provider never has to refuse.
//
// Size and rate of the bucket are the ones with which no minute and no hour can
// exceed its limit: size + 60s*rate = PerMinute and size + 3600s*rate = PerHour.
// What the provider's headers say counts more: its own hourly limit replaces
// PerHour, what it says is left bounds what others have spent with the same
// token, and a pause stops everybody on the account.
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
	now    *func() time.Time
	// told are the hourly limits last reported, by account.
	told sync.Map
}

var _ cloud.Budget = (*Budget)(nil)

// Budget returns the allowances of this database's accounts. Time is the
// database's, one clock for all processes.
func (s *Store) Budget(limits BudgetLimits) *Budget { return &Budget{s: s, limits: limits} }

// WithNow replaces the clock, for tests.
func (b *Budget) WithNow(now func() time.Time) *Budget {
	b.now = &now
	return b
}

func (b *Budget) clock() *time.Time {
	if b.now == nil {
		return nil
	}
	t := (*b.now)()
	return &t
}

const (
	// budgetTrouble is when to come back when the bucket cannot be asked.
	budgetTrouble = 5 * time.Second
	// maxBudgetWait bounds what a refused request is told.
	maxBudgetWait = 10 * time.Minute
	reportTimeout = 2 * time.Second
)

// takeToken is one statement. b is the bucket as of now, locked, so that of two
// takers the second sees what the first left; wait is how long until one more
// request fits, by the tokens, by the provider's hour and by its pause.
const takeToken = `
WITH locked AS (
	SELECT *, coalesce($2::timestamptz, clock_timestamp()) AS at, coalesce(hour_limit, $4)::float8 AS per_hour
	FROM account_budget WHERE account_id = $1 FOR UPDATE
), paced AS (
	SELECT *, CASE WHEN per_hour > $3 THEN (per_hour - $3) / 3540 ELSE per_hour / 7200 END AS rate FROM locked
), sized AS (
	SELECT *, CASE WHEN per_hour > $3 THEN $3 - 60 * rate ELSE per_hour / 2 END AS size,
		greatest(0, extract(epoch FROM at - refilled_at))::float8 * rate AS grown FROM paced
), filled AS (
	SELECT *, least(size, tokens + grown) AS level, greatest(0, queued - grown) AS queue, $5 * size AS kept FROM sized
), judged AS (
	SELECT *, greatest(
		CASE WHEN level - kept < 1 THEN (1 + kept - level + CASE WHEN $5::float8 > 0 THEN queue ELSE 0 END) / rate ELSE 0 END,
		CASE WHEN hour_reset > at AND hour_left - $5 * per_hour < 1 THEN extract(epoch FROM hour_reset - at) ELSE 0 END,
		extract(epoch FROM paused_until - at), 0)::float8 AS wait FROM filled
)
UPDATE account_budget a SET refilled_at = j.at,
	tokens = CASE WHEN j.wait > 0 THEN j.level ELSE j.level - 1 END,
	hour_left = CASE WHEN j.wait > 0 THEN a.hour_left ELSE a.hour_left - 1 END,
	queued = CASE WHEN j.wait > 0 AND $5::float8 > 0 THEN j.queue + 1 ELSE j.queue END
FROM judged j WHERE a.account_id = j.account_id RETURNING j.wait`

// Take spends one request of an account, see cloud.Budget.
func (b *Budget) Take(ctx context.Context, account string) error {
	kept := b.limits.InteractiveShare
	if cloud.IsInteractive(ctx) {
		kept = 0
	}
	for range 2 {
		var wait float64
		err := b.s.pool.QueryRow(ctx, takeToken, account, b.clock(), float64(b.limits.PerMinute), b.limits.PerHour, kept).Scan(&wait)
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

// open makes a full bucket for an account that has none.
func (b *Budget) open(ctx context.Context, account string) error {
	_, err := b.s.pool.Exec(ctx, `INSERT INTO account_budget (account_id, tokens, refilled_at)
		VALUES ($1, $2, coalesce($3::timestamptz, clock_timestamp())) ON CONFLICT DO NOTHING`, account, float64(b.limits.PerMinute), b.clock())
	return err
}

// reportHeaders keeps the lower of what is left while the window is the same,
// since answers arrive out of order.
const reportHeaders = `
UPDATE account_budget SET
	hour_limit = CASE WHEN $3 > 0 THEN $3 ELSE hour_limit END,
	hour_left = CASE WHEN $3 <= 0 THEN hour_left WHEN hour_reset = $5 THEN least(hour_left, $4) ELSE $4 END,
	hour_reset = CASE WHEN $3 > 0 THEN $5 ELSE hour_reset END,
	paused_until = CASE WHEN $6::interval > '0' THEN greatest(paused_until, coalesce($2::timestamptz, clock_timestamp()) + $6::interval) ELSE paused_until END
WHERE account_id = $1`

// Report tells what the provider's answer said, see cloud.Budget. While more
// than half of the hour is left it writes nothing. A report that is lost is
// made good by the next answer's.
func (b *Budget) Report(ctx context.Context, account string, limit, remaining int, reset time.Time, pause time.Duration) {
	if known, ok := b.told.Swap(account, limit); ok && known == limit && remaining*2 > limit && pause <= 0 {
		return
	}
	// The answer counts even if whoever asked has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	var until *time.Time
	if !reset.IsZero() {
		until = &reset
	}
	if _, err := b.s.pool.Exec(ctx, reportHeaders, account, b.clock(), limit, remaining, until, pause); err != nil {
		b.told.Delete(account)
	}
}
