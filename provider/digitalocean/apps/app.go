package apps

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// app is the kind. Specs go over the wire raw: godo's structs drop false, 0 and
// every field that they do not know.
type app struct{ doapi.Base }

// App is the kind do.app. a is nil when only the manifest is asked for.
func App(a *doapi.Account) cloud.Kind { return &app{doapi.NewBase(a, appManifest)} }

// wireApp is an app as the API shows it.
type wireApp struct {
	ID             string          `json:"id"`
	Spec           json.RawMessage `json:"spec"`
	DefaultIngress string          `json:"default_ingress"`
	LiveURL        string          `json:"live_url"`
	LiveDomain     string          `json:"live_domain"`
	TierSlug       string          `json:"tier_slug"`
	ProjectID      string          `json:"project_id"`
	CreatedAt      time.Time       `json:"created_at"`
	Active         *wireDeployment `json:"active_deployment"`
	InProgress     *wireDeployment `json:"in_progress_deployment"`
	Pending        *wireDeployment `json:"pending_deployment"`
	DedicatedIPs   []wireIP        `json:"dedicated_ips"`
	VPC            *struct {
		EgressIPs []wireIP `json:"egress_ips"`
	} `json:"vpc"`
}

type wireIP struct {
	IP string `json:"ip"`
}

type appAnswer struct {
	App *wireApp `json:"app"`
}

// told reports whether an answer holds an app at all.
func (a *wireApp) told() bool { return a != nil && a.ID != "" && len(a.spec()) > 0 }

func (a *wireApp) spec() cloud.Spec {
	s, err := cloud.ParseSpec(a.Spec)
	if err != nil || s == nil {
		return cloud.Spec{}
	}
	return s
}

// Find looks through all apps for the record's name, which is unique in the
// account.
func (k *app) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	all, err := k.all(ctx, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	for i := range all {
		if all[i].spec().String("name") == r.ProviderName {
			r.ProviderID = all[i].ID
			return k.look(ctx, r, &all[i])
		}
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

// Observe reads the app, and the deployment that decides when the app alone
// does not tell.
func (k *app) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	a, err := k.read(ctx, doapi.Look, r)
	if err != nil {
		return nil, err
	}
	return k.look(ctx, r, a)
}

func (k *app) read(ctx context.Context, v doapi.Verb, r cloud.Request) (*wireApp, error) {
	var in appAnswer
	if err := k.Get(ctx, doapi.Path("v2", "apps", r.ProviderID), &in); err != nil {
		return nil, k.Fail(v, r, err)
	}
	if !in.App.told() {
		return nil, k.Missing(v)
	}
	return in.App, nil
}

// look is what an app tells to the record that asks.
func (k *app) look(ctx context.Context, r cloud.Request, a *wireApp) (*cloud.Observed, error) {
	n := readNotes(r.Memo)
	o := k.observed(a)
	state, err := k.settle(ctx, r, a, &n)
	if err != nil {
		return nil, err
	}
	o.Phase, o.Message = state.phase, state.message
	n.see(object(o.Spec), false)
	n.trim(r)
	if state.ran != nil {
		n.applied(r, o, state.ran, a.spec())
	}
	n.save(r.Memo)
	return o, nil
}

// observed is what an answer tells without its deployments' end.
func (k *app) observed(a *wireApp) *cloud.Observed {
	whole := a.spec()
	conceal(object(whole))
	spec := cloud.Spec{}
	for field, v := range whole {
		if k.Manifest().Property(field) {
			spec[field] = v
		}
	}
	if a.ProjectID != "" {
		spec["project_id"] = a.ProjectID
	}
	return &cloud.Observed{
		ProviderID: a.ID, Name: whole.String("name"), Region: whole.String("region"), CreatedAt: a.CreatedAt,
		Owner: cloud.Owner{ResourceKey: cloud.KeyFromProviderName(whole.String("name"))},
		Phase: a.phase(), Spec: spec, Outputs: a.outputs(whole),
	}
}

func (a *wireApp) outputs(spec cloud.Spec) map[string]any {
	out := map[string]any{"id": a.ID, "urn": "do:app:" + a.ID}
	for name, text := range map[string]string{
		"region": spec.String("region"), "tier_slug": a.TierSlug, "default_ingress": a.DefaultIngress,
		"live_url": a.LiveURL, "live_domain": a.LiveDomain,
	} {
		if text != "" {
			out[name] = text
		}
	}
	if a.Active != nil && a.Active.ID != "" {
		out["active_deployment"] = a.Active.ID
	}
	out["dedicated_ips"] = addresses(a.DedicatedIPs)
	if a.VPC != nil {
		out["egress_ips"] = addresses(a.VPC.EgressIPs)
	}
	return out
}

func addresses(list []wireIP) []any {
	out := []any{}
	for _, e := range list {
		if e.IP != "" {
			out = append(out, e.IP)
		}
	}
	return out
}

// Create makes the app and follows its first deployment.
func (k *app) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	form, err := k.wanted(doapi.Create, r)
	if err != nil {
		return nil, err
	}
	in := object{}
	if id := r.Spec.String("project_id"); id != "" {
		in["project_id"] = id
	}
	return k.send(ctx, doapi.Create, r, http.MethodPost, "v2/apps", in, form, cloud.Spec{}, nil)
}

// wanted is the wanted form, refused when the network has no VPC in the region.
func (k *app) wanted(v doapi.Verb, r cloud.Request) (cloud.Spec, error) {
	form, vpc := wantedForm(r.Spec, r.Networks)
	if r.Spec["network"] != nil && vpc == "" {
		return nil, cloud.Refuse(k.Op(v), "the network reaches no VPC in region "+r.Spec.String("region"), "spec.network")
	}
	return form, nil
}

// send makes a call that carries the whole spec, and keeps the notes in step
// with what is known of its outcome.
func (k *app) send(ctx context.Context, v doapi.Verb, r cloud.Request, method, path string, in object, form, now cloud.Spec, was shape) (*cloud.Observed, error) {
	before, n := readNotes(r.Memo), readNotes(r.Memo)
	out := body(r.ProviderName, form, now, was)
	n.fillSecrets(r, out, object(now))
	sent := shapeOf(wantedMeaning(form))
	n.Set = sent.and(was)
	n.Sent = map[string]echo{}
	for field := range form {
		n.Sent[field] = echo{Wanted: wantedDigest(r, form, field)}
	}
	n.save(r.Memo)
	in["spec"] = out
	var answer appAnswer
	err := k.named(k.Fail(v, r, k.Call(ctx, method, path, in, &answer)))
	switch {
	case err != nil:
		if cloud.ClassOf(err) != cloud.ClassUnknown {
			before.save(r.Memo) // certainly not done
		}
		return nil, err
	case !answer.App.told():
		return nil, k.Missing(v)
	}
	a := answer.App
	n.Set, n.Deployment = sent, a.started()
	o := k.observed(a)
	o.Phase = cloud.PhaseBusy // a deployment was asked for, whether the answer has it or not
	n.see(object(o.Spec), true)
	n.save(r.Memo)
	return o, nil
}

// named adds the field that a refusal names.
func (k *app) named(err error) error {
	var p *cloud.ProviderError
	if errors.As(err, &p) && p.Class == cloud.ClassRefused {
		if field := refusedField(p.Message); field != "" {
			p.Fields = []string{"spec." + field}
		}
	}
	return err
}

// Diff names the fields whose meaning differs.
func (k *app) Diff(r cloud.Request, o *cloud.Observed) []string {
	n := readNotes(r.Memo)
	form, _ := wantedForm(r.Spec, r.Networks)
	want, have, was := wantedMeaning(form), observedMeaning(o.Spec), n.was(r)
	secrets, shown := secretPlaces(object(form)), secretPlaces(object(o.Spec))
	var out []string
	for _, field := range k.Manifest().Updatable() {
		at := field
		if field == "network" {
			at = "vpc"
		}
		switch {
		case field == "network" && (r.Spec["network"] == nil || form.Object("vpc").String("id") == ""),
			field == "vpc" && r.Spec["network"] != nil, field == "region" && want[at] == nil,
			want[at] == nil && was[at] == nil:
			continue
		}
		wish := ""
		if r.Digest != nil {
			wish = wantedDigest(r, form, at)
			if e := n.Sent[at]; e.Wanted == wish && e.Observed != "" && e.Observed == observedDigest(r, o, at) {
				continue
			}
		}
		c := comparison{sent: wish != "" && n.Sent[at].Wanted == wish}
		if !c.same(at, want[at], have[at], was[at]) || n.anySecret(r, at, secrets, shown) {
			out = append(out, field)
		}
	}
	return out
}

// Update sends the whole spec, from a fresh look so that nothing that changed
// meanwhile is undone; with no fields it builds again what failed.
func (k *app) Update(ctx context.Context, r cloud.Request, o *cloud.Observed, fields []string) (*cloud.Updated, error) {
	if len(fields) == 0 {
		return k.buildAgain(ctx, r, o)
	}
	form, err := k.wanted(doapi.Change, r)
	if err != nil {
		return nil, err
	}
	a, err := k.read(ctx, doapi.Change, r)
	if err != nil {
		return nil, err
	}
	settles := slices.Compact(slices.Sorted(slices.Values(append(k.Diff(r, o), fields...))))
	seen, err := k.send(ctx, doapi.Change, r, http.MethodPut, doapi.Path("v2", "apps", a.ID), object{}, form, a.spec(), readNotes(r.Memo).was(r))
	if err != nil {
		return nil, err
	}
	done := &cloud.Updated{Settles: settles}
	if readNotes(r.Memo).Deployment != "" {
		done.Observed = seen // else the next look asks what runs
	}
	return done, nil
}

// Delete ends the app with its deployments.
func (k *app) Delete(ctx context.Context, r cloud.Request) error {
	return k.Fail(doapi.Delete, r, k.Call(ctx, http.MethodDelete, doapi.Path("v2", "apps", r.ProviderID), nil, nil))
}

// List returns every app of the account. How a failed deployment failed is told
// by Observe only.
func (k *app) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	all, err := k.all(ctx, s.Limit)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := make([]*cloud.Observed, len(all))
	for i := range all {
		if !all[i].told() {
			return nil, k.Missing(doapi.List)
		}
		out[i] = k.observed(&all[i])
	}
	return out, nil
}

func (k *app) all(ctx context.Context, limit int) ([]wireApp, error) {
	return doapi.Pages[wireApp](ctx, k.Account, "v2/apps", "apps", url.Values{"with_projects": {"true"}}, limit)
}
