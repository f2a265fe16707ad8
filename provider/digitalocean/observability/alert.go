package observability

import (
	"context"
	_ "embed"
	"net/url"
	"slices"
	"strings"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed alert.json
var alertJSON []byte

var alertManifest = cloud.MustManifest(alertJSON)

type alert struct{ doapi.Base }

// Alert is the kind do.uptime.alert. a is nil when only the manifest is asked for.
func Alert(a *doapi.Account) cloud.Kind { return &alert{doapi.NewBase(a, alertManifest)} }

var _ cloud.SpecChecker = (*alert)(nil)

// CheckSpec holds what depends on the type: a threshold where one is compared
// (the API answers a missing one with an error of its own), and a destination.
func (k *alert) CheckSpec(s cloud.Spec) error {
	if t := s.String("type"); t == "latency" || t == "ssl_expiry" {
		if _, ok := s.Int("threshold"); !ok {
			return cloud.InvalidField("this type of alert compares with a threshold", "spec.threshold")
		}
		if s.String("comparison") == "" {
			return cloud.InvalidField("this type of alert compares with a threshold: say how", "spec.comparison")
		}
	}
	to := s.Object("notifications")
	if len(to.List("email"))+len(to.List("slack")) == 0 {
		return cloud.InvalidField("name at least one address to tell", "spec.notifications")
	}
	return nil
}

func (k *alert) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	parent, err := k.ParentID(doapi.Look, r.Parent)
	if err != nil {
		return nil, err
	}
	all, err := k.all(ctx, parent, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	for i := range all {
		if all[i].Name == r.Spec.String("name") && all[i].ID != "" {
			return k.seen(&all[i], r), nil
		}
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

func (k *alert) all(ctx context.Context, parent string, limit int) ([]godo.UptimeAlert, error) {
	path := "v2/uptime/checks/" + url.PathEscape(parent) + "/alerts"
	return doapi.Pages[godo.UptimeAlert](ctx, k.Account, path, "alerts", nil, limit)
}

func (k *alert) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	parent, err := k.ParentID(doapi.Create, r.Parent)
	if err != nil {
		return nil, err
	}
	in := godo.CreateUptimeAlertRequest(k.wanted(r))
	a, _, err := k.API.UptimeChecks.CreateAlert(ctx, parent, &in)
	if err != nil {
		return nil, k.Fail(doapi.Create, r, err)
	}
	if a == nil || a.ID == "" {
		return nil, k.Missing(doapi.Create)
	}
	return k.seen(a, r), nil
}

func (k *alert) wanted(r cloud.Request) godo.UpdateUptimeAlertRequest {
	threshold, _ := r.Spec.Int("threshold")
	to := &godo.Notifications{Email: r.Spec.Object("notifications").Strings("email"), Slack: []godo.SlackDetails{}}
	if to.Email == nil {
		to.Email = []string{}
	}
	for _, s := range slacks(r.Spec) {
		to.Slack = append(to.Slack, godo.SlackDetails{Channel: s.String("channel"), URL: r.Resolve(s.String("url"))})
	}
	return godo.UpdateUptimeAlertRequest{
		Name: r.Spec.String("name"), Type: r.Spec.String("type"), Threshold: int(threshold),
		Comparison: godo.UptimeAlertComp(r.Spec.String("comparison")), Period: r.Spec.String("period"), Notifications: to,
	}
}

func slacks(s cloud.Spec) []cloud.Spec {
	var out []cloud.Spec
	for _, e := range s.Object("notifications").List("slack") {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func (k *alert) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	parent, err := k.ParentID(doapi.Look, r.Parent)
	if err != nil {
		return nil, err
	}
	a, _, err := k.API.UptimeChecks.GetAlert(ctx, parent, r.ProviderID)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	if a == nil || a.ID == "" {
		return nil, k.Missing(doapi.Look)
	}
	return k.seen(a, r), nil
}

// seen shows Slack hooks by the digest of their address only.
func (k *alert) seen(a *godo.UptimeAlert, r cloud.Request) *cloud.Observed {
	o := &cloud.Observed{
		ProviderID: a.ID, Name: a.Name, Phase: cloud.PhaseReady, Identity: a.Name,
		Spec: cloud.Spec{
			"name": a.Name, "type": a.Type, "threshold": int64(a.Threshold), "period": a.Period,
		},
		Outputs: map[string]any{"id": a.ID},
	}
	if a.Comparison != "" {
		o.Spec["comparison"] = string(a.Comparison)
	}
	if a.Notifications != nil {
		emails, hooks := []any{}, []any{}
		for _, e := range a.Notifications.Email {
			emails = append(emails, e)
		}
		for _, s := range a.Notifications.Slack {
			if r.Digest != nil {
				hooks = append(hooks, map[string]any{"channel": s.Channel, "url": r.Digest(s.URL)})
			}
		}
		o.Spec["notifications"] = map[string]any{"email": emails, "slack": hooks}
	}
	return o
}

func (k *alert) Diff(r cloud.Request, o *cloud.Observed) []string {
	var out []string
	for _, f := range []string{"type", "comparison", "period"} {
		want, have := r.Spec.String(f), o.Spec.String(f)
		if want != have && (want != "" || removed(r, f) && have != "") {
			out = append(out, f)
		}
	}
	if want, set := r.Spec.Int("threshold"); set || removed(r, "threshold") {
		if have, told := o.Spec.Int("threshold"); told && want != have {
			out = append(out, "threshold")
		}
	}
	if to := o.Spec.Object("notifications"); to != nil && !k.sameAddresses(r, to) {
		out = append(out, "notifications")
	}
	return out
}

// sameAddresses compares as sets: e-mails without case, hooks by channel and
// the digest of their address.
func (k *alert) sameAddresses(r cloud.Request, have cloud.Spec) bool {
	lower := func(in []string) []string {
		out := make([]string, len(in))
		for i, s := range in {
			out[i] = strings.ToLower(s)
		}
		slices.Sort(out)
		return out
	}
	if !slices.Equal(lower(r.Spec.Object("notifications").Strings("email")), lower(have.Strings("email"))) {
		return false
	}
	var want, present []string
	for _, s := range slacks(r.Spec) {
		want = append(want, s.String("channel")+" "+r.SecretVersions[s.String("url")])
	}
	for _, e := range have.List("slack") {
		if m, ok := e.(map[string]any); ok {
			s := cloud.Spec(m)
			present = append(present, s.String("channel")+" "+s.String("url"))
		}
	}
	slices.Sort(want)
	slices.Sort(present)
	return slices.Equal(want, present)
}

func (k *alert) Update(ctx context.Context, r cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	if len(fields) == 0 {
		return &cloud.Updated{}, nil
	}
	parent, err := k.ParentID(doapi.Change, r.Parent)
	if err != nil {
		return nil, err
	}
	in := k.wanted(r)
	a, _, err := k.API.UptimeChecks.UpdateAlert(ctx, parent, r.ProviderID, &in)
	if err != nil {
		return nil, k.Fail(doapi.Change, r, err)
	}
	u := &cloud.Updated{Settles: fields}
	if a != nil && a.ID != "" {
		u.Observed = k.seen(a, r)
	}
	return u, nil
}

func (k *alert) Delete(ctx context.Context, r cloud.Request) error {
	parent, err := k.ParentID(doapi.Delete, r.Parent)
	if err != nil {
		return err
	}
	_, err = k.API.UptimeChecks.DeleteAlert(ctx, parent, r.ProviderID)
	return k.Fail(doapi.Delete, r, err)
}

func (k *alert) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	parent, err := k.ParentID(doapi.List, s.Parent)
	if err != nil {
		return nil, err
	}
	all, err := k.all(ctx, parent, s.Limit)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := make([]*cloud.Observed, 0, len(all))
	for i := range all {
		out = append(out, k.seen(&all[i], cloud.Request{}))
	}
	return out, nil
}
