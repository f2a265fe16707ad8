package postgres

import (
	"context"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
)

var _ ports.Outbox = (*Store)(nil)

// NudgeStalled asks again for what should move and has not for the time quiet:
// resources, certificates and batches with work due, accounts whose sweep is late, subscribers with
// deliveries overdue. It returns how many. It heals workflows that were
// terminated, a Temporal that lost its database, a restored backup. quiet must
// be longer than the converge and refresh intervals. What has an open row
// already is left to the relay. Resources at rest cost nothing here.
func (s *Store) NudgeStalled(ctx context.Context, quiet time.Duration, limit int) (int, error) {
	resources, err := s.nudgeResources(ctx, quiet, limit)
	if err != nil {
		return 0, mapError(err)
	}
	certificates, err := s.nudgeCertificates(ctx, quiet, limit)
	if err != nil {
		return resources, mapError(err)
	}
	batches, err := s.nudgeBatches(ctx, quiet, limit)
	if err != nil {
		return resources + certificates, mapError(err)
	}
	others, err := s.insertNudges(ctx, lateOthers, s.now().Add(-quiet), limit)
	return resources + certificates + batches + others, mapError(err)
}

// stalled are the candidates: not at rest, as the index resources_unsettled
// spells it, and not moved since $1. What waits for its children, for an
// approval or for its next attempt is left out. What remains is judged by
// cloud.Decide, the one place that knows what a record needs.
const stalled = `
	WHERE r.state NOT IN ('deleted', 'released')
	AND (r.state <> 'ready' OR r.intent <> 'present' OR r.applied < r.generation OR r.refresh_wanted OR r.drift <> '{}'
		OR r.missing_since IS NOT NULL OR r.error_class IN ('NotManaged', 'Refused'))
	AND greatest(r.stepped_at, r.updated_at) < $1
	AND r.held_by = ''
	AND (r.state <> 'error' OR r.refresh_wanted OR r.retry_at IS NULL OR r.retry_at < $1)
	AND (r.intent <> 'delete' OR NOT EXISTS (SELECT FROM resources c WHERE c.parent_id = r.id AND c.state NOT IN ('deleted', 'released')))
	AND NOT EXISTS (SELECT FROM outbox o WHERE o.workflow_id = r.id)
	ORDER BY greatest(r.stepped_at, r.updated_at) LIMIT $2`

func (s *Store) nudgeResources(ctx context.Context, quiet time.Duration, limit int) (int, error) {
	now := s.now()
	candidates, err := collectResources(s.pool.Query(ctx, selectResource+stalled, now.Add(-quiet), limit))
	if err != nil {
		return 0, err
	}
	var ids []string
	for _, r := range candidates {
		switch cloud.Decide(r, 0, now).Step {
		case cloud.StepRest, cloud.StepRetry, cloud.StepEnd:
		default:
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	n, err := s.insertNudges(ctx, `SELECT r.id, '`+workflowResource+`', '`+signalRefresh+`', r.generation
		FROM resources r WHERE r.id = ANY ($1) ORDER BY r.id`, ids)
	if err != nil {
		return n, err
	}
	// Being asked counts as a step: what does not move for a reason that no signal
	// mends, or only because everything is slow, is asked again after as long a
	// time, and not at every turn.
	_, err = s.pool.Exec(ctx, "UPDATE resources SET stepped_at = $2 WHERE id = ANY ($1)", ids, now)
	return n, err
}

// lateOthers are sweeps that did not begin since $1, of accounts that have
// something to sweep, and deliveries that are due since then.
const lateOthers = `SELECT id, type, signal, 0 FROM (
		SELECT '` + accountWorkflowPrefix + `' || a.id AS id, '` + workflowAccount + `' AS type, '` + signalSweep + `' AS signal
		FROM provider_accounts a
		WHERE a.declared AND (a.swept_at IS NULL OR a.swept_at < $1)
		AND (EXISTS (SELECT FROM resources r WHERE r.account_id = a.id AND r.state NOT IN ('deleted', 'released'))
			OR EXISTS (SELECT FROM certificates c WHERE c.account_id = a.id AND c.state <> 'deleted'))
		UNION ALL
		SELECT '` + webhookWorkflowPrefix + `' || s.id, '` + workflowWebhook + `', '` + signalDeliver + `'
		FROM subscribers s
		WHERE s.active AND EXISTS (SELECT FROM deliveries d WHERE d.subscriber_id = s.id AND d.status = 'waiting' AND d.due_at < $1)
	) late
	WHERE NOT EXISTS (SELECT FROM outbox o WHERE o.workflow_id = late.id)
	ORDER BY id LIMIT $2`
