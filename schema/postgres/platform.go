package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// ApplyOptions change how Apply works.
type ApplyOptions struct {
	// DryRun does all of it, then takes it back.
	DryRun bool
	// Actor stands in the audit trail; cloud.ActorOperator when "".
	Actor string
}

// Changes are what an apply did, or would do, one line each in the order of
// the file's sections. A secret shows as changed, never with a value.
type Changes []string

func (c Changes) String() string {
	if len(c) == 0 {
		return "nothing to change"
	}
	return strings.Join(c, "\n")
}

var errDryRun = errors.New("dry run")

// Apply makes the platform what the file declares, in one transaction: all of
// it is in force for the next call, or none. Applying the same file again
// changes nothing. What the file no longer names is dropped; what ended records
// refer to stays, undeclared, out of everybody's reach.
//
// INVALID_STATE, with details.uses, when something would be dropped, or changed
// in what it is (an account's provider, a pool's account, an owner, the
// deployment's name), that live records still use: they could not be managed
// any more. A pool that shall take nothing new is declared withdrawn instead.
// INVALID_INPUT when a secret cannot be read from where the file says;
// UNSUPPORTED (secretStore) for secrets in clear without a secret store.
func (s *Store) Apply(ctx context.Context, f *platform.File, opts ApplyOptions) (Changes, error) {
	secrets, err := readSecrets(f)
	if err != nil {
		return nil, err
	}
	var changes Changes
	err = s.tx(ctx, func(tx pgx.Tx) error {
		a := &apply{s: s, tx: tx, file: f, secrets: secrets}
		if err := a.run(ctx); err != nil {
			return err
		}
		changes = a.changes
		if len(a.changes) == 0 {
			return nil
		}
		if err := a.finish(ctx, opts.Actor); err != nil {
			return err
		}
		if opts.DryRun {
			return errDryRun
		}
		return nil
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return nil, err
	}
	return changes, nil
}

// apply is one run.
type apply struct {
	s       *Store
	tx      pgx.Tx
	file    *platform.File
	secrets fileSecrets
	changes Changes
	// uses says what is in the way of dropping or changing something.
	uses []string
	// accounts and subscribers that are new or changed.
	accounts, subscribers []string
}

func (a *apply) note(format string, args ...any) {
	a.changes = append(a.changes, fmt.Sprintf(format, args...))
}

func (a *apply) run(ctx context.Context) error {
	if err := advisoryLock(ctx, a.tx, "platform"); err != nil {
		return err
	}
	if err := a.deployment(ctx); err != nil {
		return err
	}
	tables, err := a.tables(ctx)
	if err != nil {
		return err
	}
	diffs := make([]*tableDiff, len(tables))
	for i, t := range tables {
		if diffs[i], err = a.diff(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	for _, d := range diffs {
		if err := a.guard(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	if len(a.uses) > 0 {
		return cloud.Errorf(cloud.CodeInvalidState, "the platform file drops or changes what is still used:\n  %s",
			strings.Join(a.uses, "\n  ")).With("uses", a.uses)
	}
	for _, d := range diffs {
		if err := a.write(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	for i := len(diffs) - 1; i >= 0; i-- { // what refers to others goes before them
		if err := a.drop(ctx, diffs[i]); err != nil {
			return fmt.Errorf("%s: %w", diffs[i].name, err)
		}
	}
	return nil
}

// deployment is the one row that is no list: name and settings.
func (a *apply) deployment(ctx context.Context) error {
	wanted, err := json.Marshal(Settings{
		MaxPerKind: *a.file.MaxPerKind, KindMeters: a.file.KindMeters, PKI: a.file.PKI, OIDCIssuers: a.file.OIDCIssuers,
	})
	if err != nil {
		return err
	}
	var name string
	var changed []string
	err = a.tx.QueryRow(ctx, `
		SELECT name, ARRAY(SELECT coalesce(w.key, h.key) FROM jsonb_each($1::jsonb) w FULL JOIN jsonb_each(settings) h ON w.key = h.key
			WHERE w.value IS DISTINCT FROM h.value ORDER BY 1)
		FROM deployment FOR UPDATE`, wanted).Scan(&name, &changed)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		a.note("add deployment %s", a.file.Deployment)
	case err != nil:
		return err
	default:
		if name != a.file.Deployment {
			users, err := a.users(ctx, `SELECT `+liveUsers("true"), nil)
			if err != nil {
				return err
			}
			a.use("deployment "+name, users)
			a.note("rename deployment %s to %s", name, a.file.Deployment)
		}
		for _, key := range changed {
			a.note("change %s", key)
		}
		if len(a.changes) == 0 {
			return nil
		}
	}
	_, err = a.tx.Exec(ctx, `INSERT INTO deployment (name, settings) VALUES ($1, $2)
		ON CONFLICT (only_row) DO UPDATE SET name = excluded.name, settings = excluded.settings`, a.file.Deployment, wanted)
	return err
}

// finish makes others notice: the revision, a line in the audit trail, and a
// sweep of accounts that may answer now and did not before. A subscriber that
// was moved to another tenant loses what waits of the former one.
func (a *apply) finish(ctx context.Context, actor string) error {
	if _, err := a.tx.Exec(ctx, `UPDATE deployment SET revision = revision + 1`); err != nil {
		return err
	}
	for _, id := range a.accounts {
		if _, err := a.tx.Exec(ctx, `INSERT INTO outbox (workflow_id, workflow_type, signal) VALUES ($1, $2, $3) `+onAskedAgain,
			accountWorkflowPrefix+id, workflowAccount, signalSweep); err != nil {
			return err
		}
	}
	if len(a.subscribers) > 0 {
		if _, err := a.tx.Exec(ctx, `DELETE FROM deliveries d USING subscribers s, events e
			WHERE d.subscriber_id = ANY ($1) AND s.id = d.subscriber_id AND e.id = d.event_id AND e.tenant_id <> s.tenant_id`, a.subscribers); err != nil {
			return err
		}
	}
	if actor == "" {
		actor = cloud.ActorOperator
	}
	return a.s.appendAudit(ctx, a.tx, AuditEntry{
		Actor: actor, Action: "platform:apply", Subject: "deployment/" + a.file.Deployment,
		Detail: map[string]any{"changes": a.changes},
	})
}
