package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
)

var _ ports.CertificateSweep = (*Store)(nil)

// SweepCertificates returns the certificates of an account that are at rest in
// service, by id.
func (s *Store) SweepCertificates(ctx context.Context, account string) ([]*cloud.Certificate, error) {
	list, err := collectCertificates(s.pool.Query(ctx, selectCertificate+
		" WHERE account_id = $1 AND state = 'ready' AND intent = 'present' AND current_serial = serial ORDER BY id", account))
	return list, mapError(err)
}

// SaveCertificates applies what a sweep found to the certificates that are still
// as it read them, in one transaction. It returns how many it wrote.
func (s *Store) SaveCertificates(ctx context.Context, items []ports.CertificateItem) (int, error) {
	items = slices.SortedFunc(slices.Values(items), func(a, b ports.CertificateItem) int { return strings.Compare(a.ID, b.ID) })
	saved := 0
	err := s.work(ctx, s.pool, func(w *work) error {
		saved = 0
		for _, item := range items {
			c, err := w.lockCertificate(ctx, item.ID)
			if err != nil {
				return err
			}
			if c.Generation != item.Generation || c.State != cloud.StateReady || c.Intent != cloud.IntentPresent {
				continue
			}
			change := item.Apply(c)
			if change == nil {
				continue
			}
			saved++
			if err := w.saveCertificate(ctx, c, change, cloud.ActorReconciler); err != nil {
				return err
			}
			if item.Nudge {
				w.nudge(c.ID, workflowCertificate, signalRefresh, c.Generation, true)
			}
		}
		return nil
	})
	return saved, err
}

// noticeDue is true for a certificate whose next expiry notice is due at $1:
// the first one that comes after what was noticed, or the end itself.
var noticeDue = func() string {
	var b strings.Builder
	fmt.Fprintf(&b, "not_after <= $1::timestamptz + interval '%d days' AND ", cloud.ExpiryNotices[0]) // what the index can use
	b.WriteString("not_after <= $1::timestamptz + (CASE noticed")
	last := 0
	for _, days := range cloud.ExpiryNotices {
		fmt.Fprintf(&b, " WHEN %d THEN %d", last, days)
		last = days
	}
	b.WriteString(" ELSE 0 END) * interval '1 day'")
	return b.String()
}()

// noticeBatch is how many certificates one turn tells of; the rest follow.
const noticeBatch = 1000

// NoticeExpiry writes the expiry events that are due and returns how many
// certificates it told of. It reads nothing else when nothing is due.
func (s *Store) NoticeExpiry(ctx context.Context) (int, error) {
	rows, err := s.pool.Query(ctx, `SELECT id FROM certificates
		WHERE state <> 'deleted' AND intent = 'present' AND noticed >= 0 AND `+noticeDue+` ORDER BY not_after LIMIT $2`, s.now(), noticeBatch)
	if err != nil {
		return 0, mapError(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, mapError(err)
	}
	told := 0
	for _, id := range ids {
		var change *cloud.CertificateChange
		_, err := s.ChangeCertificate(ctx, "", id, cloud.ActorReconciler, "", func(c *cloud.Certificate) (*cloud.CertificateChange, error) {
			change = c.Notice(s.now())
			return change, nil
		})
		if err != nil {
			return told, err
		}
		if change != nil {
			told++
		}
	}
	return told, nil
}
