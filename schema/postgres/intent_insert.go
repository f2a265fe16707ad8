package postgres

import (
	"bytes"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

// Insert records a new resource, or returns the one that the same request
// recorded before (CONFLICT idempotencyKey when it was another request). The
// tenant's creates run one after the other, so counts and names hold. Refusals,
// in this order: INVALID_INPUT instance, network, secretRef; NOT_FOUND or
// INVALID_INPUT parent; CONFLICT identity, recorded, name; QUOTA_EXCEEDED;
// ACCESS_DENIED offerSuspended, regionExcluded; BUDGET_EXCEEDED. The relay, or
// the caller by ClaimOne, starts the workflow.
func (s *Store) Insert(ctx context.Context, n intent.NewResource) (*cloud.Resource, error) {
	var made *cloud.Resource
	err := s.work(ctx, s.pool, func(w *work) error {
		if err := advisoryLock(ctx, w.tx, "creates/"+n.Resource.TenantID); err != nil {
			return err
		}
		before, digest, err := replay(ctx, w.tx, n.Resource.ID)
		if err != nil {
			return err
		}
		if before != nil {
			if !bytes.Equal(digest, n.RequestDigest) {
				return cloud.Errorf(cloud.CodeConflict, "the idempotency key was used for another request").Because(cloud.ReasonIdempotencyKey)
			}
			made = before
			return nil
		}
		r := *n.Resource // a rerun begins from what the caller gave
		if err := w.check(ctx, &n, &r); err != nil {
			return err
		}
		made = &r
		return w.insert(ctx, &n, &r)
	})
	if err != nil {
		return nil, mapError(err)
	}
	return made, nil
}

func (w *work) check(ctx context.Context, n *intent.NewResource, r *cloud.Resource) error {
	if err := checkInstances(ctx, w.tx, r.TenantID, r.AccountID, n.Refs.InstanceIDs()); err != nil {
		return err
	}
	if err := checkNetworks(ctx, w.tx, r.TenantID, r.AccountID, datacenters(n.Manifest, r.Region), n.Refs.NetworkIDs()); err != nil {
		return err
	}
	if err := w.s.checkSecrets(ctx, w.tx, r.TenantID, n.Refs.Secrets); err != nil {
		return err
	}
	parent, err := checkParent(ctx, w.tx, r, n.Manifest)
	if err != nil {
		return err
	}
	facts, err := readFacts(ctx, w.tx, r)
	if err != nil {
		return err
	}
	if err := facts.checkTaken(r); err != nil {
		return err
	}
	if err := facts.checkCount(r); err != nil {
		return err
	}
	for capacity, amount := range n.Booking {
		if err := w.checkCapacity(ctx, r, capacity, amount); err != nil {
			return err
		}
	}
	if err := facts.checkOffer(n, parent); err != nil {
		return err
	}
	w.now = facts.keepOrder(w.now)
	return facts.checkBudget()
}

func (w *work) insert(ctx context.Context, n *intent.NewResource, r *cloud.Resource) error {
	change := r.Created(w.now)
	values, err := rowValues(r)
	if err != nil {
		return err
	}
	attributes, err := authorizationAttributes(r)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(insertResource, append(values, n.RequestDigest)...)
	b.Queue(upsertAuthorization, r.ID, r.TenantID, r.Owner, attributes)
	if err := w.tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	if len(n.Booking) > 0 {
		if err := w.book(ctx, r, n.Booking); err != nil {
			return err
		}
	}
	for _, e := range change.Events {
		w.emitFor(r, e, n.Actor)
	}
	w.nudge(r.ID, workflowResource, signalUpdate, r.Generation, false)
	return nil
}
