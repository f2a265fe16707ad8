package observability

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed check.json
var checkJSON []byte

var checkManifest = cloud.MustManifest(checkJSON)

type check struct{ doapi.Base }

// Check is the kind do.uptime.check. a is nil when only the manifest is asked for.
func Check(a *doapi.Account) cloud.Kind { return &check{doapi.NewBase(a, checkManifest)} }

func (k *check) all(ctx context.Context, limit int) ([]godo.UptimeCheck, error) {
	return doapi.Pages[godo.UptimeCheck](ctx, k.Account, "v2/uptime/checks", "checks", nil, limit)
}

func (k *check) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	all, err := k.all(ctx, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	for i := range all {
		if all[i].Name == r.ProviderName && all[i].ID != "" {
			return k.seen(&all[i]), nil
		}
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

func (k *check) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	in := godo.CreateUptimeCheckRequest(k.wanted(r, nil))
	c, _, err := k.API.UptimeChecks.Create(ctx, &in)
	return k.answered(doapi.Create, r, c, err)
}

func (k *check) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	c, _, err := k.API.UptimeChecks.Get(ctx, r.ProviderID)
	return k.answered(doapi.Look, r, c, err)
}

func (k *check) answered(v doapi.Verb, r cloud.Request, c *godo.UptimeCheck, err error) (*cloud.Observed, error) {
	switch {
	case err != nil:
		return nil, k.Fail(v, r, err)
	case c == nil || c.ID == "":
		return nil, k.Missing(v)
	}
	return k.seen(c), nil
}

// wanted is the whole check, since the API replaces it whole. What the tenant
// did not set keeps its present value.
func (k *check) wanted(r cloud.Request, o *cloud.Observed) godo.UpdateUptimeCheckRequest {
	in := godo.UpdateUptimeCheckRequest{
		Name: r.ProviderName, Type: r.Spec.String("type"), Target: r.Spec.String("target"),
		Regions: r.Spec.Strings("regions"), Enabled: true,
	}
	if enabled, ok := r.Spec.Bool("enabled"); ok {
		in.Enabled = enabled
	} else if o != nil {
		if present, told := o.Spec.Bool("enabled"); told && !removed(r, "enabled") {
			in.Enabled = present
		}
	}
	return in
}

// removed reports whether a field was taken out of the spec, so that the
// provider's default is wanted again.
func removed(r cloud.Request, field string) bool {
	_, before := r.Applied[field]
	_, now := r.Spec[field]
	return before && !now
}

func (k *check) seen(c *godo.UptimeCheck) *cloud.Observed {
	regions := []any{}
	for _, region := range c.Regions {
		regions = append(regions, region)
	}
	return &cloud.Observed{
		ProviderID: c.ID, Name: c.Name, Phase: cloud.PhaseReady,
		Owner:   cloud.Owner{ResourceKey: cloud.KeyFromProviderName(c.Name)},
		Spec:    cloud.Spec{"type": c.Type, "target": c.Target, "regions": regions, "enabled": c.Enabled},
		Outputs: map[string]any{"id": c.ID},
	}
}

// Diff compares regions as a set and words without case.
func (k *check) Diff(r cloud.Request, o *cloud.Observed) []string {
	var out []string
	if t := r.Spec.String("type"); t != "" && !strings.EqualFold(t, o.Spec.String("type")) {
		out = append(out, "type")
	}
	if t := r.Spec.String("target"); t != "" && t != o.Spec.String("target") {
		out = append(out, "target")
	}
	if want := slices.Sorted(slices.Values(r.Spec.Strings("regions"))); len(want) > 0 &&
		!slices.Equal(want, slices.Sorted(slices.Values(o.Spec.Strings("regions")))) {
		out = append(out, "regions")
	}
	want, set := r.Spec.Bool("enabled")
	if !set && removed(r, "enabled") {
		want, set = true, true
	}
	if have, told := o.Spec.Bool("enabled"); set && told && want != have {
		out = append(out, "enabled")
	}
	return out
}

func (k *check) Update(ctx context.Context, r cloud.Request, o *cloud.Observed, fields []string) (*cloud.Updated, error) {
	if len(fields) == 0 {
		return &cloud.Updated{}, nil
	}
	in := k.wanted(r, o)
	c, _, err := k.API.UptimeChecks.Update(ctx, r.ProviderID, &in)
	if err != nil {
		return nil, k.Fail(doapi.Change, r, err)
	}
	u := &cloud.Updated{Settles: fields}
	if c != nil && c.ID != "" {
		u.Observed = k.seen(c)
	}
	return u, nil
}

func (k *check) Delete(ctx context.Context, r cloud.Request) error {
	_, err := k.API.UptimeChecks.Delete(ctx, r.ProviderID)
	return k.Fail(doapi.Delete, r, err)
}

func (k *check) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	all, err := k.all(ctx, s.Limit)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := make([]*cloud.Observed, 0, len(all))
	for i := range all {
		out = append(out, k.seen(&all[i]))
	}
	return out, nil
}
