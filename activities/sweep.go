package activities

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// Sweeps is the activity of account sweeps and what it needs.
type Sweeps struct {
	Store Sweep
	// Certificates is nil where there are none to sweep.
	Certificates CertificateSweep
	Records      Records
	Accounts     Accounts
	Settings     cloud.Settings
	Now          func() time.Time
	Log          *slog.Logger
}

// SweepInput says which account is swept and how the last sweep of it ended.
type SweepInput struct {
	Account string `json:"account"`
	// Unreachable: the account did not answer for us; ask that first.
	Unreachable bool `json:"unreachable,omitempty"`
	// From is where a sweep that was throttled goes on, "" at the start.
	From string `json:"from,omitempty"`
}

// SweepResult counts what a sweep found. It holds no names and no values.
type SweepResult struct {
	Lists    int `json:"lists"`
	Compared int `json:"compared"`
	Changed  int `json:"changed"`
	Drifted  int `json:"drifted"`
	Missing  int `json:"missing"`
	Suspect  int `json:"suspect"`
	Saved    int `json:"saved"`
	// Incomplete counts lists that could not be read to their end: no evidence.
	Incomplete int `json:"incomplete"`
	// Gone: the account is no longer declared.
	Gone        bool   `json:"gone,omitempty"`
	Unreachable bool   `json:"unreachable,omitempty"`
	From        string `json:"from,omitempty"`
	// Message says in plain words what held it up, "" when nothing did.
	Message string `json:"message,omitempty"`
	// NextIn is when the next sweep is due, with jitter.
	NextIn time.Duration `json:"nextIn"`
}

// sweepPage is how many records are read and saved at once.
const sweepPage = 200

// SweepAccount refreshes everything at rest on an account for the price of its
// lists: each kind in use is listed once, compared with the records, and only
// what differs is written; only what needs work is nudged.
func (a *Sweeps) SweepAccount(ctx context.Context, in SweepInput) (SweepResult, error) {
	s := &sweep{Sweeps: a, in: in}
	err := s.run(ctx)
	if err != nil {
		return SweepResult{}, (&Activities{Log: a.Log, Now: a.Now}).internal(ctx, "sweep", in.Account, err)
	}
	if s.NextIn == 0 {
		s.NextIn = jitter(a.Settings.Refresh)
	}
	return s.SweepResult, nil
}

// jitter spreads accounts over time: d, give or take a tenth.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

// sweep is one attempt.
type sweep struct {
	*Sweeps
	SweepResult
	in         SweepInput
	account    cloud.ProviderResources
	deployment string
}

// unit is one list call's worth: a kind, or a kind in one parent; without a
// kind it is the account's certificates.
type unit struct {
	kind     cloud.Kind
	manifest *cloud.Manifest
	parent   *cloud.ParentRef
	key      string
}

func (s *sweep) run(ctx context.Context) error {
	kinds, err := s.Store.SweepKinds(ctx, s.in.Account)
	if err == nil {
		s.account, err = s.Accounts.Open(ctx, s.in.Account)
	}
	if e := cloud.AsError(err); e != nil {
		if e.Code == cloud.CodeNotFound {
			s.Gone, s.Message = true, "the account is no longer declared"
			return nil
		}
		return err
	}
	if s.deployment, err = s.Accounts.Deployment(ctx); err != nil {
		return err
	}
	if s.in.Unreachable {
		if err := s.account.Healthy(ctx); err != nil {
			return s.unreachable(ctx, err)
		}
	}
	stopped, err := s.units(ctx, s.plan(kinds))
	if err != nil || stopped || s.Lists == 0 && !s.in.Unreachable {
		return err
	}
	return s.answers(ctx)
}

// plan lists what to ask, in a stable order, from where the last one stopped.
func (s *sweep) plan(kinds []SweepKind) []unit {
	var plan []unit
	for _, k := range kinds {
		kind, ok := s.account.Kind(k.Kind)
		if !ok {
			continue // its records stay as they are until the kind is served again
		}
		m := kind.Manifest()
		if m.Parent == "" {
			plan = append(plan, unit{kind: kind, manifest: m, key: k.Kind})
			continue
		}
		for i := range k.Parents {
			p := &k.Parents[i]
			plan = append(plan, unit{kind: kind, manifest: m, parent: p, key: k.Kind + "/" + p.ResourceID})
		}
	}
	if s.Certificates != nil && s.account.Certificates() != nil {
		plan = append(plan, unit{key: certificatesKey})
	}
	slices.SortFunc(plan, func(a, b unit) int { return strings.Compare(a.key, b.key) })
	return slices.DeleteFunc(plan, func(u unit) bool { return u.key < s.in.From })
}

// units works through the plan. stopped means that the account cannot go on now.
func (s *sweep) units(ctx context.Context, plan []unit) (stopped bool, err error) {
	for _, u := range plan {
		err := s.unit(ctx, u)
		var pe *cloud.ProviderError
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return true, ctx.Err()
		case !errors.As(err, &pe):
			return true, err
		}
		switch pe.Class {
		case cloud.ClassThrottled:
			s.From, s.NextIn = u.key, max(pe.RetryAfter, time.Second)
			s.Message = "the account's request allowance is used up; going on later"
			return true, nil
		case cloud.ClassUnreachable:
			// One list may lack a right that the others have: ask the account.
			if healthErr := s.account.Healthy(ctx); healthErr != nil {
				return true, s.unreachable(ctx, err)
			}
		}
		s.Incomplete++
		s.Log.WarnContext(ctx, "list not complete; taken as no evidence", "account", s.in.Account, "list", u.key, "class", pe.Class, "error", pe.Error())
	}
	return false, nil
}

// unreachable marks the account once and tells its resources (D8). The next
// sweep asks only whether it answers again.
func (s *sweep) unreachable(ctx context.Context, err error) error {
	var pe *cloud.ProviderError
	if !errors.As(err, &pe) {
		return err
	}
	s.Unreachable, s.Message = true, "the provider account does not answer for us: "+pe.Message
	if s.in.Unreachable {
		return nil // marked before; the message stays what it was
	}
	if err := s.Records.MarkAccount(ctx, s.in.Account, pe.Message); err != nil {
		return err
	}
	return s.Store.AccountMessage(ctx, s.in.Account, s.Message)
}

// answers takes the mark back and wakes what waited.
func (s *sweep) answers(ctx context.Context) error {
	if err := s.Records.MarkAccount(ctx, s.in.Account, ""); err != nil || !s.in.Unreachable {
		return err
	}
	if err := s.Store.AccountMessage(ctx, s.in.Account, ""); err != nil {
		return err
	}
	_, err := s.Store.NudgeAccount(ctx, s.in.Account)
	return err
}
