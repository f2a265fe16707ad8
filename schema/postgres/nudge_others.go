package postgres

import (
	"context"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// stalledCertificates are the candidates: not at rest, as the index
// certificates_unsettled spells it, not moved since $1, and not waiting for
// their next attempt. cloud.DecideCertificate judges what remains.
const stalledCertificates = `
	WHERE state <> 'deleted' AND (state <> 'ready' OR intent <> 'present' OR current_serial < serial OR former <> '[]' OR refresh_wanted)
	AND greatest(stepped_at, updated_at) < $1
	AND (retry_at IS NULL OR retry_at < $1 OR refresh_wanted)
	AND NOT EXISTS (SELECT FROM outbox o WHERE o.workflow_id = certificates.id)
	ORDER BY greatest(stepped_at, updated_at) LIMIT $2`

func (s *Store) nudgeCertificates(ctx context.Context, quiet time.Duration, limit int) (int, error) {
	now := s.now()
	candidates, err := collectCertificates(s.pool.Query(ctx, selectCertificate+stalledCertificates, now.Add(-quiet), limit))
	if err != nil {
		return 0, err
	}
	var ids []string
	for _, c := range candidates {
		switch cloud.DecideCertificate(c, now).Step {
		case cloud.StepRest, cloud.StepRetry, cloud.StepEnd:
		default:
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	n, err := s.insertNudges(ctx, `SELECT id, '`+workflowCertificate+`', '`+signalRefresh+`', generation
		FROM certificates WHERE id = ANY ($1) ORDER BY id`, ids)
	if err != nil {
		return n, err
	}
	_, err = s.pool.Exec(ctx, "UPDATE certificates SET stepped_at = $2 WHERE id = ANY ($1)", ids, now) // as nudgeResources
	return n, err
}

// nudgeBatches asks again for batches whose time is over, and for those with
// commands that are due, since $1; one that is approved and has no open command
// left is to be completed.
func (s *Store) nudgeBatches(ctx context.Context, quiet time.Duration, limit int) (int, error) {
	return s.insertNudges(ctx, `SELECT b.id, '`+workflowBatch+`', '`+signalRefresh+`', b.generation FROM command_batches b
		WHERE b.ended_at IS NULL AND NOT EXISTS (SELECT FROM outbox o WHERE o.workflow_id = b.id)
		AND (b.expires_at < $1 OR b.state = 'dispatching' AND b.updated_at < $1 AND coalesce(
			(SELECT min(c.due_at) FROM batch_commands c WHERE c.batch_id = b.id AND c.state IN ('waiting', 'sent')), b.updated_at) < $1)
		ORDER BY b.id LIMIT $2`, s.now().Add(-quiet), limit)
}
