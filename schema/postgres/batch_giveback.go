package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
)

// giveBack undoes the deletions that a batch still holds. A resource whose
// parent goes all the same shares the parent's fate: it is never brought back
// to life in something that is being deleted.
func (w *work) giveBack(ctx context.Context, batch, actor string) error {
	held, err := w.lock(ctx, "r.held_by = $1 AND r.held_by <> ''", batch)
	if err != nil {
		return err
	}
	byID := map[string]*locked{}
	for _, l := range held {
		byID[l.r.ID] = l
	}
	for len(byID) > 0 {
		for id, l := range byID {
			if byID[l.r.ParentID] != nil {
				continue // the parent first
			}
			delete(byID, id)
			if err := w.giveBackOne(ctx, l, batch, actor, held); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *work) giveBackOne(ctx context.Context, l *locked, batch, actor string, held []*locked) error {
	parent, err := w.parentOf(ctx, l.r.ParentID, held)
	if err != nil {
		return err
	}
	change := l.r.GiveBack
	switch {
	case parent == nil || parent.Intent != cloud.IntentDelete:
	case parent.HeldBy != "":
		to := parent.HeldBy
		_, err := w.save(ctx, l, l.r.Rehold(batch, to, w.now), actor)
		return err
	default:
		change = l.r.Approve
	}
	if _, err := w.save(ctx, l, change(batch, w.now), actor); err != nil {
		return err
	}
	w.nudge(l.r.ID, workflowResource, signalRefresh, l.r.Generation, true)
	return nil
}

// parentOf is the parent as this transaction leaves it; nil without one. A
// delete of the parent that is on its way takes its children after this
// transaction, so that it need not be waited for.
func (w *work) parentOf(ctx context.Context, id string, held []*locked) (*cloud.Resource, error) {
	if id == "" {
		return nil, nil
	}
	for _, l := range held {
		if l.r.ID == id {
			return l.r, nil
		}
	}
	p, err := scanResource(w.tx.QueryRow(ctx, selectResource+" WHERE r.id = $1", id))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return p, err
}

// ApproveDeletion lets a resource's held deletion go ahead. Repeating it changes
// nothing. A deletion that another batch holds goes ahead too: what was approved
// is this resource's end. NOT_FOUND when the resource is not to be deleted.
func (s *Store) ApproveDeletion(ctx context.Context, batch, resource string) error {
	return s.work(ctx, s.pool, func(w *work) error {
		l, err := w.lockOne(ctx, "r.id = $1 AND r.tenant_id = (SELECT tenant_id FROM command_batches WHERE id = $2)", resource, batch)
		if errors.Is(err, pgx.ErrNoRows) {
			return errNotFound("resource")
		}
		switch {
		case err != nil:
			return err
		case l.r.State.Final():
			return nil
		case l.r.Intent != cloud.IntentDelete:
			return errNotFound("deletion that awaits approval")
		case l.r.HeldBy == "":
			return nil // let go by an earlier send whose answer was lost
		}
		if _, err := w.save(ctx, l, l.r.Approve(l.r.HeldBy, w.now), cloud.ActorReconciler); err != nil {
			return err
		}
		w.nudge(l.r.ID, workflowResource, signalRefresh, l.r.Generation, true)
		return nil
	})
}
