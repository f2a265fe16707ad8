package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// Change locks a tenant's record, runs fn on it and saves what it asks for,
// with an outbox row for the signal when something new is asked of the
// workflow: another generation, intent or hold, or a wish for a look. fn may be
// run again after a deadlock, each time on a fresh record. An error of fn
// leaves nothing behind. NOT_FOUND as in Resource.
func (s *Store) Change(ctx context.Context, tenant, id, actor, signal string,
	fn func(ctx context.Context, tx intent.Tx, r *cloud.Resource) (*cloud.Change, error)) (*cloud.Resource, error) {
	var changed *cloud.Resource
	err := s.work(ctx, s.pool, func(w *work) error {
		l, err := w.lockOne(ctx, "r.id = $1 AND r.tenant_id = $2", id, tenant)
		if errors.Is(err, pgx.ErrNoRows) {
			return errNotFound("resource")
		}
		if err != nil {
			return err
		}
		c, err := fn(ctx, &changeTx{w}, l.r)
		if err != nil {
			return err
		}
		if _, err := w.save(ctx, l, c, actor); err != nil {
			return err
		}
		if signal != "" && l.asks() {
			w.nudge(id, workflowResource, signal, l.r.Generation, false)
		}
		changed = l.r
		return nil
	})
	if err != nil {
		return nil, mapError(err)
	}
	return changed, nil
}

// changeTx is what a change may ask beyond its own row.
type changeTx struct{ w *work }

var _ intent.Tx = (*changeTx)(nil)

func (t *changeTx) CheckInstances(ctx context.Context, tenant, account string, ids []string) error {
	return checkInstances(ctx, t.w.tx, tenant, account, ids)
}

func (t *changeTx) CheckNetworks(ctx context.Context, tenant, account, region string, ids []string) error {
	var regions []string
	if region != "" {
		regions = []string{region}
	}
	return checkNetworks(ctx, t.w.tx, tenant, account, regions, ids)
}

func (t *changeTx) CheckSecrets(ctx context.Context, tenant string, refs []cloud.PathValue) error {
	return t.w.s.checkSecrets(ctx, t.w.tx, tenant, refs)
}

func (t *changeTx) Rebook(ctx context.Context, r *cloud.Resource, booking map[string]int64) error {
	return t.w.book(ctx, r, booking)
}

func (t *changeTx) LiveChildren(ctx context.Context, id string) ([]*cloud.Resource, error) {
	return collectResources(t.w.tx.Query(ctx, selectResource+" WHERE r.parent_id = $1 AND r."+live+" ORDER BY r.created_at, r.id", id))
}

func (t *changeTx) DestructiveQuorum(ctx context.Context, pools []string) (demanded bool, err error) {
	err = t.w.tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pools WHERE id = ANY ($1) AND destructive_quorum)", pools).Scan(&demanded)
	return demanded, err
}

func (t *changeTx) DeleteTree(ctx context.Context, id, actor string) error {
	return t.below(ctx, id, actor, func(r *cloud.Resource) *cloud.Change { return r.WantDelete(t.w.now) })
}

// below changes everything that lives in a record. It goes down level by level:
// with a level's rows locked nothing can be added below it, since a create
// locks its parent.
func (t *changeTx) below(ctx context.Context, id, actor string, fn func(r *cloud.Resource) *cloud.Change) error {
	level := []string{id}
	for len(level) > 0 {
		children, err := t.w.lock(ctx, "r.parent_id = ANY ($1) AND r."+live, level)
		if err != nil {
			return err
		}
		level = nil
		for _, l := range children {
			level = append(level, l.r.ID)
			if _, err := t.w.save(ctx, l, fn(l.r), actor); err != nil {
				return err
			}
			if l.asks() {
				t.w.nudge(l.r.ID, workflowResource, signalDelete, l.r.Generation, true)
			}
		}
	}
	return nil
}

var _ intent.BatchTx = (*changeTx)(nil)

// QuorumPolicy and Deployment are what a batch is made under.
func (t *changeTx) QuorumPolicy(ctx context.Context) (quorum.Policy, error) {
	st, _, err := settings(ctx, t.w.tx)
	return st.PKI.Policy(), err
}

func (t *changeTx) Deployment(ctx context.Context) (string, error) { return deployment(ctx, t.w.tx) }

// RecordBatch records the batch whose approval a delete awaits.
func (t *changeTx) RecordBatch(ctx context.Context, b *cloud.Batch, commands []cloud.BatchCommand, actor string) error {
	_, err := t.w.insertBatch(ctx, b, commands, []byte(b.ID), actor)
	return err
}

// HoldTree holds the deletion of everything that lives in a record.
func (t *changeTx) HoldTree(ctx context.Context, parent, batch, actor string) error {
	return t.below(ctx, parent, actor, func(r *cloud.Resource) *cloud.Change { return r.HoldDelete(batch, t.w.now) })
}
