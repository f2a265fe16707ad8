package intent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/better-compute/cloud-resources/cloud"
)

// Bounds of signals.
const (
	MaxSignals = 500
	// MaxSignalDetail is in characters; a title is cut there too.
	MaxSignalDetail = 500
	// SignalsAge is how long one answer of an account is reused.
	SignalsAge = 30 * time.Second
	// maxKept bounds what is kept of an account before a tenant's part is cut out.
	maxKept = 10_000
)

const questionSignals = "signals"

// Signals lists what the pool's provider raises, newest first: to the owner of
// the account all of it, to another tenant what is about its own resources.
// ACCESS_DENIED; NOT_FOUND pool or resource; UNSUPPORTED, with preview where the
// account lacks previews; PROVIDER_ERROR, THROTTLED.
func (s *Service) Signals(ctx context.Context, p Principal, in PoolRequest) ([]cloud.Signal, error) {
	at, err := s.enter(ctx, p, in.TenantID, in.PoolID, "", "")
	if err != nil {
		return nil, err
	}
	if in.ResourceID != "" {
		if _, err := s.Store.Resource(ctx, in.TenantID, in.ResourceID); err != nil {
			return nil, err
		}
	}
	all, err := s.accountSignals(ctx, at)
	if err != nil {
		return nil, err
	}
	records, err := s.signalRecords(ctx, at.pool.Account.ID, all)
	if err != nil {
		return nil, err
	}
	hosted, items := at.pool.Hosted(in.TenantID), []cloud.Signal{}
	for _, sig := range all {
		record := records[[2]string{sig.Kind, sig.ProviderID}]
		sig.ResourceID = record.ResourceID
		switch {
		case hosted && record.TenantID != in.TenantID, in.ResourceID != "" && sig.ResourceID != in.ResourceID:
			continue
		case len(items) == MaxSignals:
			return items, nil
		}
		items = append(items, sig)
	}
	return items, nil
}

// accountSignals is the account's shared answer, the same for every caller.
func (s *Service) accountSignals(ctx context.Context, at *place) ([]cloud.Signal, error) {
	fetch := func(ctx context.Context) (any, error) {
		resources, err := s.Accounts.Open(ctx, at.pool.Account.ID)
		if err != nil {
			return nil, err
		}
		signals, err := resources.Signals(cloud.Interactive(ctx))
		return tidy(signals), err
	}
	signals, err := ask(ctx, "asking for signals", func(ctx context.Context) ([]cloud.Signal, error) {
		var raw []byte
		var err error
		if s.Answers != nil {
			raw, err = s.Answers.Answer(ctx, at.pool.Account.ID, questionSignals, SignalsAge, fetch)
		} else if answer, failed := fetch(ctx); failed != nil {
			err = failed
		} else {
			raw, err = json.Marshal(answer)
		}
		if err != nil {
			return nil, at.behindPreviews(err)
		}
		var signals []cloud.Signal
		return signals, json.Unmarshal(raw, &signals)
	})
	return signals, err
}

// behindPreviews tells a provider that raises no signals from one that raises
// them for preview kinds only, on an account without previews.
func (at *place) behindPreviews(err error) error {
	var known *cloud.Error
	if errors.As(err, &known) || cloud.ClassOf(err) != cloud.ClassUnsupported || at.pool.Account.Previews {
		return err
	}
	if !slices.ContainsFunc(at.manifests, func(m *cloud.Manifest) bool { return m.Preview }) {
		return err
	}
	return cloud.Errorf(cloud.CodeUnsupported, "signals are a preview of the provider, and previews are not enabled on the account").
		Because(cloud.ReasonPreview)
}

// tidy drops malformed signals, cuts texts to one line, and sorts, newest first.
func tidy(signals []cloud.Signal) []cloud.Signal {
	out := make([]cloud.Signal, 0, len(signals))
	for _, s := range signals {
		s.Title, s.Detail, s.ResourceID = oneLine(s.Title), oneLine(s.Detail), ""
		known := s.Severity == cloud.SeverityCritical || s.Severity == cloud.SeverityWarning || s.Severity == cloud.SeverityInfo
		if known && s.ID != "" && s.Title != "" && s.At > 0 && s.Kind != "" && s.ProviderID != "" {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b cloud.Signal) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(len(out), maxKept)]
}

// oneLine folds white space and control characters into single spaces and cuts
// at MaxSignalDetail characters.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if runes := []rune(text); len(runes) > MaxSignalDetail {
		text = strings.TrimRight(string(runes[:MaxSignalDetail-1]), " ") + "…"
	}
	return text
}

// signalRecords maps kind and provider id to the record.
func (s *Service) signalRecords(ctx context.Context, account string, signals []cloud.Signal) (map[[2]string]Record, error) {
	ids := map[string][]string{}
	for _, sig := range signals {
		ids[sig.Kind] = append(ids[sig.Kind], sig.ProviderID)
	}
	records := map[[2]string]Record{}
	for kind, list := range ids {
		slices.Sort(list)
		found, err := s.Store.Records(ctx, account, kind, slices.Compact(list))
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			records[[2]string{kind, r.ProviderID}] = r
		}
	}
	return records, nil
}
