package activities

import (
	"context"
	"slices"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// finder gives the object of a record: from a complete list, or by asking.
type finder func(ctx context.Context, r *cloud.Resource) (*cloud.Observed, error)

// unit lists one kind and compares it with the records at rest, page by page.
func (s *sweep) unit(ctx context.Context, u unit) error {
	if u.kind == nil {
		return s.certificates(ctx)
	}
	started := s.Now()
	find, err := s.list(ctx, u)
	if err != nil {
		return err
	}
	s.Lists++
	parent, after := "", ""
	if u.parent != nil {
		parent = u.parent.ResourceID
	}
	for {
		records, err := s.Store.SweepRecords(ctx, s.in.Account, u.manifest.Kind, parent, after, sweepPage)
		if err != nil {
			return err
		}
		if err := s.page(ctx, u, records, find, started); err != nil {
			return err
		}
		if len(records) < sweepPage {
			return nil
		}
		after = records[len(records)-1].ID
	}
}

// list reads the whole list. A kind that cannot be listed is asked one by one.
func (s *sweep) list(ctx context.Context, u unit) (finder, error) {
	objects, err := u.kind.List(ctx, cloud.Scope{Parent: u.parent})
	if cloud.ClassOf(err) == cloud.ClassUnsupported {
		return func(ctx context.Context, r *cloud.Resource) (*cloud.Observed, error) {
			o, err := u.kind.Observe(ctx, s.request(r, &Resolved{Parent: u.parent}))
			if cloud.IsNotFound(err) {
				return nil, nil
			}
			return o, err
		}, nil
	}
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*cloud.Observed, len(objects))
	for _, o := range objects {
		byID[o.ProviderID] = o
	}
	return func(_ context.Context, r *cloud.Resource) (*cloud.Observed, error) { return byID[r.ProviderID], nil }, nil
}

// page compares and saves one page of records.
func (s *sweep) page(ctx context.Context, u unit, records []*cloud.Resource, find finder, started time.Time) error {
	seen := make(map[string]*cloud.Observed, len(records))
	var withSecrets []string
	for _, r := range records {
		o, err := find(ctx, r)
		if err != nil {
			return err
		}
		if seen[r.ID] = o; o != nil && len(o.Secrets) > 0 {
			withSecrets = append(withSecrets, r.ID)
		}
	}
	var digests map[string]map[string]string
	if len(withSecrets) > 0 {
		var err error
		if digests, err = s.Store.SweepDigests(ctx, withSecrets); err != nil {
			return err
		}
	}
	var items []SweepItem
	for _, r := range records {
		s.Compared++
		if !r.UpdatedAt.Before(started) {
			continue // moved while the list was read, so the list says nothing about it
		}
		item, err := s.compare(ctx, u, r, seen[r.ID], digests[r.ID])
		if err != nil {
			return err
		}
		if item != nil {
			items = append(items, *item)
		}
	}
	if len(items) == 0 {
		return nil
	}
	saved, err := s.Store.SaveSweep(ctx, items)
	s.Saved += saved
	return err
}

// compare says what to save of a record, or nil.
func (s *sweep) compare(ctx context.Context, u unit, r *cloud.Resource, o *cloud.Observed, sealed map[string]string) (*SweepItem, error) {
	look := cloud.Look{Observed: o}
	if o != nil && !r.ObservedOnly {
		res, err := s.resolve(ctx, u, r)
		if err != nil {
			return nil, err
		}
		look.Diff = u.kind.Diff(s.request(r, res), o)
	}
	changed := s.changedSecrets(o, sealed)
	finding, class := cloud.Sweep(r, u.manifest, look, changed, s.deployment, s.Settings, s.Now())
	now := s.Now()
	item := &SweepItem{ID: r.ID, Generation: r.Generation}
	switch finding {
	case cloud.FindMissing:
		s.Missing++
		item.Apply = func(r *cloud.Resource) *cloud.Change { return r.Missing(now) }
	case cloud.FindGone:
		s.Missing++
		item.Nudge, item.Apply = true, func(*cloud.Resource) *cloud.Change { return &cloud.Change{} }
	case cloud.FindSuspect:
		s.Suspect++
		item.Nudge, item.Apply = true, func(r *cloud.Resource) *cloud.Change { return r.Suspect(class, now) }
	case cloud.FindChanged, cloud.FindDrift:
		if s.Changed++; finding == cloud.FindDrift {
			s.Drifted++
			item.Nudge = true
		} else {
			look.Diff = nil
		}
		news := only(o, changed)
		item.Apply = func(r *cloud.Resource) *cloud.Change { return r.Refreshed(news, look.Diff, changed, now) }
	default:
		return nil, nil
	}
	return item, nil
}

// only is the object with those of its secrets that changed, so that saving it
// does not seal the others again.
func only(o *cloud.Observed, secrets []string) *cloud.Observed {
	c := *o
	c.Secrets = map[string]cloud.Secret{}
	for _, name := range secrets {
		c.Secrets[name] = o.Secrets[name]
	}
	return &c
}

// changedSecrets names the secret outputs in o that are not sealed with that value.
func (s *sweep) changedSecrets(o *cloud.Observed, sealed map[string]string) []string {
	if o == nil {
		return nil
	}
	var changed []string
	for name, v := range o.Secrets {
		if !v.Empty() && sealed[name] != s.Records.SecretDigest(v.Reveal()) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

// resolve turns references into provider ids. Most specs have none, and then
// the store is not asked.
func (s *sweep) resolve(ctx context.Context, u unit, r *cloud.Resource) (*Resolved, error) {
	refs := u.manifest.Refs(r.Spec)
	if len(refs.Secrets)+len(refs.Instances)+len(refs.Networks) == 0 {
		return &Resolved{Parent: u.parent}, nil
	}
	return s.Records.Resolve(ctx, r, u.manifest, false)
}

// request is what a kind may use of a record when nothing is changed.
func (s *sweep) request(r *cloud.Resource, res *Resolved) cloud.Request {
	return lookRequest(r, res, s.Records.SecretDigest, s.Now())
}
