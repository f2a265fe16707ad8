package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/better-compute/cloud-resources/cloud/ports"
)

// Workflow types and signals as the workflows know them.
const (
	workflowResource = "CloudResource"
	workflowAccount  = "AccountSweep"
	workflowWebhook  = "WebhookDelivery"
	signalUpdate     = "update"
	signalDelete     = "delete"
	// signalRefresh makes a workflow read its record again whatever its
	// generation.
	signalRefresh = "refresh"
	signalSweep   = "sweep"
	signalDeliver = "deliver"
)

const (
	outboxChannel         = "outbox"
	accountWorkflowPrefix = "account/"
	webhookWorkflowPrefix = "webhook/"
	// head is how long a row of an API call waits for that call's own attempt.
	head = time.Second
	// lease is how long a claimed row is left to its claimer; longer than a
	// delivery takes.
	lease = 15 * time.Second
	// maxBackoff bounds the wait after failed deliveries.
	maxBackoff = time.Minute
)

// onAskedAgain keeps one open row per workflow. The serial grows, so that a
// delivery that began before does not close it.
const onAskedAgain = `ON CONFLICT (workflow_id) DO UPDATE SET workflow_type = EXCLUDED.workflow_type, signal = EXCLUDED.signal,
	generation = greatest(outbox.generation, EXCLUDED.generation), serial = outbox.serial + 1, due_at = EXCLUDED.due_at, attempts = 0`

type nudge struct {
	workflowType, signal string
	generation           int64
	atOnce               bool
}

// nudge asks for a signal to a workflow after the commit. atOnce rows are the
// relay's and wake it; the others are first tried by who made them.
func (w *work) nudge(workflowID, workflowType, signal string, generation int64, atOnce bool) {
	w.nudges[workflowID] = nudge{workflowType, signal, generation, atOnce}
}

func (w *work) writeNudges(ctx context.Context) error {
	if len(w.nudges) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	wake := false
	for _, id := range slices.Sorted(maps.Keys(w.nudges)) {
		n := w.nudges[id]
		wait := head
		if n.atOnce {
			wait, wake = 0, true
		}
		b.Queue(`INSERT INTO outbox (workflow_id, workflow_type, signal, generation, due_at) VALUES ($1, $2, $3, $4, now() + $5::interval) `+onAskedAgain,
			id, n.workflowType, n.signal, n.generation, wait)
	}
	if wake {
		b.Queue("SELECT pg_notify($1, '')", outboxChannel)
	}
	return w.tx.SendBatch(ctx, b).Close()
}

// claimed is an outbox row with what starting its workflow needs.
type claimed struct {
	ports.Message
	serial   int64
	attempts int
}

// described are the columns of outbox rows o joined by records with what they
// are about; kinds of workflow without a record have nulls.
const described = `o.workflow_id, o.workflow_type, o.signal, o.generation, o.serial, o.attempts,
	coalesce(r.tenant_id, c.tenant_id, b.tenant_id), coalesce(r.pool_id, c.pool_id, ''), coalesce(r.account_id, c.account_id, ''),
	CASE WHEN c.id IS NOT NULL THEN 'certificate' WHEN b.id IS NOT NULL THEN 'command-batch' ELSE r.kind END,
	coalesce(r.state, c.state, b.state)`

const records = ` LEFT JOIN resources r ON r.id = o.workflow_id LEFT JOIN certificates c ON c.id = o.workflow_id
	LEFT JOIN command_batches b ON b.id = o.workflow_id `

func scanClaimed(row pgx.Row) (*claimed, error) {
	var c claimed
	var tenant, kind, state *string
	var pool, account string
	err := row.Scan(&c.WorkflowID, &c.WorkflowType, &c.Signal, &c.Generation, &c.serial, &c.attempts, &tenant, &pool, &account, &kind, &state)
	if err != nil {
		return nil, err
	}
	if tenant != nil {
		c.Attributes = map[string]string{"TenantId": *tenant, "ResourceKind": *kind, "ResourceState": *state}
		if account != "" {
			c.Attributes["PoolId"], c.Attributes["ProviderAccountId"] = pool, account
		}
	} else if account, ok := strings.CutPrefix(c.WorkflowID, accountWorkflowPrefix); ok {
		c.Attributes = map[string]string{"ProviderAccountId": account}
	}
	return &c, nil
}

// Claim takes up to limit due rows and runs deliver for each, one after the
// other; any number of callers may do so at once. A claim is a lease and holds
// no lock, so that nobody who asks again waits for a slow delivery; a row whose
// claimer died is due again when the lease is over. It returns how many rows
// it took. An error of deliver makes that row wait, longer each time.
func (s *Store) Claim(ctx context.Context, limit int, deliver func(ctx context.Context, m ports.Message) error) (int, error) {
	rows, err := s.pool.Query(ctx, `WITH o AS (
			UPDATE outbox SET due_at = now() + $2::interval, attempts = attempts + 1
			WHERE workflow_id IN (SELECT workflow_id FROM outbox WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
			RETURNING *
		) SELECT `+described+` FROM o`+records+`ORDER BY o.created_at, o.workflow_id`, limit, lease)
	if err != nil {
		return 0, mapError(err)
	}
	batch, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*claimed, error) { return scanClaimed(row) })
	if err != nil {
		return 0, mapError(err)
	}
	for _, c := range batch {
		if ctx.Err() != nil {
			return len(batch), mapError(ctx.Err())
		}
		settle := s.closeRow
		if err := deliver(ctx, c.Message); err != nil {
			settle = s.putBack
		}
		if err := settle(ctx, c); err != nil {
			return len(batch), err
		}
	}
	return len(batch), nil
}

// closeRow removes a delivered row unless it was asked for again meanwhile.
func (s *Store) closeRow(ctx context.Context, c *claimed) error {
	_, err := s.pool.Exec(ctx, "DELETE FROM outbox WHERE workflow_id = $1 AND serial = $2", c.WorkflowID, c.serial)
	return mapError(err)
}

func (s *Store) putBack(ctx context.Context, c *claimed) error {
	_, err := s.pool.Exec(ctx, "UPDATE outbox SET due_at = now() + $3::interval WHERE workflow_id = $1 AND serial = $2",
		c.WorkflowID, c.serial, backoff(c.attempts))
	return mapError(err)
}

// backoff is 1, 2, 4, ... seconds and at most a minute.
func backoff(attempts int) time.Duration {
	return min(time.Second<<min(max(attempts-1, 0), 10), maxBackoff)
}

// ClaimOne is for who just asked for a signal: it returns the open row of a
// workflow, or nil when there is none, and done, which closes the row after a
// delivery. Without a delivery the relay takes it up a moment later.
func (s *Store) ClaimOne(ctx context.Context, workflowID string) (m *ports.Message, done func(delivered bool) error, err error) {
	c, err := scanClaimed(s.pool.QueryRow(ctx, "SELECT "+described+" FROM outbox o"+records+"WHERE o.workflow_id = $1", workflowID))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, func(bool) error { return nil }, nil
	}
	if err != nil {
		return nil, nil, mapError(err)
	}
	return &c.Message, func(delivered bool) error {
		if !delivered {
			return nil
		}
		return s.closeRow(ctx, c)
	}, nil
}

// Wait returns when a row may be due: at once if one is, after a notification,
// when the next row's time comes, or at the latest after the period. It never
// fails; when the database does not answer it waits the period out.
func (s *Store) Wait(ctx context.Context, period time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, period)
	defer cancel()
	if err := s.listen(ctx); err != nil {
		<-ctx.Done()
	}
}

func (s *Store) listen(ctx context.Context) error {
	conn, err := s.sessions.Acquire(ctx)
	if err != nil {
		return err
	}
	defer forget(conn)
	if _, err := conn.Exec(ctx, "LISTEN "+outboxChannel); err != nil {
		return err
	}
	// Only now, so that no row falls between the look and the listening.
	var next *time.Duration
	if err := conn.QueryRow(ctx, "SELECT min(due_at) - now() FROM outbox").Scan(&next); err != nil {
		return err
	}
	if next != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *next)
		defer cancel()
	}
	_, err = conn.Conn().WaitForNotification(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// forget gives a listening connection back without what it heard.
func forget(conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, "UNLISTEN *"); err != nil {
		_ = conn.Conn().Close(ctx)
	}
	conn.Release()
}
