package activities

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// certificatesKey is where the account's certificates stand in a plan: behind
// every kind.
const certificatesKey = "~certificates"

// certificates compares the certificates in service with one list. A renewal is
// recorded here; one that is absent, failed or not ours gets a look of its own,
// since one list is not enough to doubt it (D4).
func (s *sweep) certificates(ctx context.Context) error {
	records, err := s.Certificates.SweepCertificates(ctx, s.in.Account)
	if err != nil || len(records) == 0 {
		return err
	}
	started := s.Now()
	list, err := s.account.Certificates().List(ctx)
	if err != nil {
		return err
	}
	s.Lists++
	byID := make(map[string]*cloud.ObservedCertificate, len(list))
	for _, o := range list {
		byID[o.ProviderID] = o
	}
	var items []CertificateItem
	for _, c := range records {
		s.Compared++
		o, now := byID[c.Current.ProviderID], s.Now()
		if !c.UpdatedAt.Before(started) {
			continue // moved while the list was read
		}
		item := CertificateItem{ID: c.ID, Generation: c.Generation}
		switch cloud.SweepCertificate(c, o) {
		case cloud.CertificateSuspect:
			s.Suspect++
			item.Nudge, item.Apply = true, func(c *cloud.Certificate) *cloud.CertificateChange { return c.WantRefresh(now) }
		case cloud.CertificateMoved:
			s.Changed++
			item.Apply = func(c *cloud.Certificate) *cloud.CertificateChange { return c.Refreshed(o, now) }
		default:
			continue
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		return nil
	}
	saved, err := s.Certificates.SaveCertificates(ctx, items)
	s.Saved += saved
	return err
}
