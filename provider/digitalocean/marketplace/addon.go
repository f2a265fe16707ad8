package marketplace

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed addon.json
var addonJSON []byte

var addonManifest = cloud.MustManifest(addonJSON)

type addon struct{ doapi.Base }

// Addon is the kind do.marketplace.addon. a is nil when only the manifest is
// asked for.
func Addon(a *doapi.Account) cloud.Kind { return &addon{doapi.NewBase(a, addonManifest)} }

var _ cloud.SpecChecker = (*addon)(nil)

const path = "v2/add-ons/saas"

// wireAddon is an add-on as the API shows it, without its metadata.
type wireAddon struct {
	UUID      string `json:"uuid"`
	Name      string `json:"name"`
	State     string `json:"state"`
	AppSlug   string `json:"app_slug"`
	AppName   string `json:"app_name"`
	PlanSlug  string `json:"plan_slug"`
	PlanName  string `json:"plan_name"`
	Price     *int64 `json:"plan_price_per_month"`
	HasConfig *bool  `json:"has_config"`
	SSO       string `json:"sso_url"`
	Message   string `json:"message"`
}

type answer struct {
	Resource *wireAddon `json:"resource"`
}

var phases = map[string]cloud.Phase{
	"provisioned":         cloud.PhaseReady,
	"provisioning-failed": cloud.PhaseFailed, "deprovisioning-failed": cloud.PhaseFailed, "suspended": cloud.PhaseFailed,
	"deprovisioning": cloud.PhaseDeleting, "deprovisioned": cloud.PhaseGone,
}

// CheckSpec: an item of the metadata has one value.
func (k *addon) CheckSpec(s cloud.Spec) error {
	seen := map[string]bool{}
	for i, m := range items(s) {
		name := m.String("name")
		if seen[name] {
			return cloud.InvalidField("the same name twice", fmt.Sprintf("spec.metadata[%d].name", i))
		}
		seen[name] = true
	}
	return nil
}

func items(s cloud.Spec) (out []cloud.Spec) {
	for _, e := range s.List("metadata") {
		m, _ := e.(map[string]any)
		out = append(out, m)
	}
	return out
}

// Find looks through the whole list. One that is gone and still shown is not
// found, since the name may be used again.
func (k *addon) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	all, err := k.all(ctx, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	i := slices.IndexFunc(all, func(w wireAddon) bool {
		return w.Name == r.ProviderName && w.UUID != "" && phases[strings.ToLower(w.State)] != cloud.PhaseGone
	})
	if i < 0 {
		return nil, cloud.NotFound(k.Op(doapi.Look))
	}
	return k.whole(r, &all[i]), nil
}

func (k *addon) all(ctx context.Context, limit int) ([]wireAddon, error) {
	return doapi.Pages[wireAddon](ctx, k.Account, path, "resources", nil, limit)
}

func (k *addon) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	metadata := []map[string]any{}
	for _, m := range items(r.Spec) {
		value := m["value"]
		if text, ok := value.(string); ok {
			value = r.Resolve(text)
		}
		metadata = append(metadata, map[string]any{"name": m.String("name"), "value": value})
	}
	in := map[string]any{
		"app_slug": r.Spec.String("app_slug"), "plan_slug": r.Spec.String("plan_slug"), "name": r.ProviderName, "metadata": metadata,
	}
	if fleet := r.Spec.String("fleet_uuid"); fleet != "" {
		in["fleet_uuid"] = fleet
	}
	if instance := r.Spec.String("instance"); instance != "" {
		id, err := strconv.ParseInt(r.Instances[instance], 10, 64)
		if err != nil {
			return nil, cloud.Refuse(k.Op(doapi.Create), "the instance is not a Droplet of the account", "spec.instance")
		}
		in["linked_droplet_id"] = id
	}
	var made answer
	if err := k.Call(ctx, http.MethodPost, path, in, &made); err != nil {
		return nil, k.Fail(doapi.Create, r, err)
	}
	return k.answered(doapi.Create, r, made)
}

func (k *addon) answered(v doapi.Verb, r cloud.Request, a answer) (*cloud.Observed, error) {
	if a.Resource == nil || a.Resource.UUID == "" {
		return nil, k.Missing(v)
	}
	return k.whole(r, a.Resource), nil
}

func (k *addon) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	var got answer
	if err := k.Get(ctx, path+"/"+doapi.Path(r.ProviderID), &got); err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	return k.answered(doapi.Look, r, got)
}

// whole is what seen tells, and the address that logs in.
func (k *addon) whole(r cloud.Request, w *wireAddon) *cloud.Observed {
	o := k.seen(r, w)
	if w.SSO != "" {
		o.Secrets = map[string]cloud.Secret{"sso_url": cloud.NewSecret(w.SSO)}
	}
	return o
}

func (k *addon) seen(r cloud.Request, w *wireAddon) *cloud.Observed {
	phase, known := phases[strings.ToLower(w.State)]
	o := &cloud.Observed{
		ProviderID: w.UUID, Name: w.Name, Phase: phase,
		Owner:   cloud.Owner{ResourceKey: cloud.KeyFromProviderName(w.Name)},
		Spec:    cloud.Spec{},
		Outputs: map[string]any{"uuid": w.UUID},
	}
	words := k.Words(r, w.Message)
	switch {
	case !known:
		o.Phase, o.Message = cloud.PhaseBusy, "the vendor is setting it up"
	case phase == cloud.PhaseFailed:
		o.Message = strings.TrimSuffix(w.State+": "+words, ": ")
	}
	for field, text := range map[string]string{"app_slug": w.AppSlug, "plan_slug": w.PlanSlug} {
		if text != "" {
			o.Spec[field] = text
		}
	}
	for name, text := range map[string]string{
		"state": w.State, "app_name": w.AppName, "plan_name": w.PlanName, "message": words,
	} {
		if text != "" {
			o.Outputs[name] = text
		}
	}
	if w.Price != nil {
		o.Outputs["plan_price_per_month"] = *w.Price
	}
	if w.HasConfig != nil {
		o.Outputs["has_config"] = *w.HasConfig
	}
	return o
}

// Diff compares the plan; slugs have one letter case.
func (k *addon) Diff(r cloud.Request, o *cloud.Observed) []string {
	want, have := r.Spec.String("plan_slug"), o.Spec.String("plan_slug")
	if want == "" || have == "" || strings.EqualFold(want, have) {
		return nil
	}
	return []string{"plan_slug"}
}

// Update asks for the other plan. A failed add-on cannot be started again.
func (k *addon) Update(ctx context.Context, r cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	if !slices.Contains(fields, "plan_slug") {
		return &cloud.Updated{}, nil
	}
	var got answer
	in := map[string]any{"plan_slug": r.Spec.String("plan_slug")}
	if err := k.Call(ctx, http.MethodPatch, path+"/"+doapi.Path(r.ProviderID, "plan"), in, &got); err != nil {
		return nil, k.Fail(doapi.Change, r, err, doapi.Fields("plan_slug"))
	}
	u := &cloud.Updated{Settles: []string{"plan_slug"}}
	if got.Resource != nil && got.Resource.UUID == r.ProviderID {
		u.Observed = k.whole(r, got.Resource)
	}
	return u, nil
}

// Delete asks the vendor to end the service; the answer comes before the end.
func (k *addon) Delete(ctx context.Context, r cloud.Request) error {
	return k.Fail(doapi.Delete, r, k.Call(ctx, http.MethodDelete, path+"/"+doapi.Path(r.ProviderID), nil, nil))
}

// List leaves out addresses that log in, and what is gone and still shown.
func (k *addon) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	all, err := k.all(ctx, s.Limit)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := make([]*cloud.Observed, 0, len(all))
	for i := range all {
		if o := k.seen(cloud.Request{}, &all[i]); o.Phase != cloud.PhaseGone {
			out = append(out, o)
		}
	}
	return out, nil
}
