package edge

import (
	"context"
	_ "embed"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed cdn.json
var cdnJSON []byte

var cdnManifest = cloud.MustManifest(cdnJSON)

type cdn struct{ doapi.Base }

// CDN is the kind do.edge.cdn. a is nil when only the manifest is asked for.
func CDN(a *doapi.Account) cloud.Kind { return &cdn{doapi.NewBase(a, cdnManifest)} }

var (
	_ cloud.SpecChecker    = (*cdn)(nil)
	_ cloud.SpecNormaliser = (*cdn)(nil)
)

const (
	cdnPath = "v2/cdn/endpoints"
	// cdnTTL is the provider's default, in seconds.
	cdnTTL = 3600
)

type wireCDN struct {
	ID          string `json:"id"`
	Origin      string `json:"origin"`
	Endpoint    string `json:"endpoint"`
	TTL         *int64 `json:"ttl"`
	Domain      string `json:"custom_domain"`
	Certificate string `json:"certificate_id"`
	CreatedAt   string `json:"created_at"`
}

type cdnAnswer struct {
	Endpoint *wireCDN `json:"endpoint"`
}

// NormaliseSpec: host names have no letter case.
func (k *cdn) NormaliseSpec(s cloud.Spec) cloud.Spec {
	out := s.Clone()
	for _, field := range []string{"origin", "custom_domain", "certificate_id"} {
		if text, ok := s[field].(string); ok {
			out[field] = strings.ToLower(text)
		}
	}
	return out
}

// CheckSpec: a domain and its certificate go together.
func (k *cdn) CheckSpec(s cloud.Spec) error {
	switch domain, certificate := s.String("custom_domain"), s.String("certificate_id"); {
	case domain != "" && certificate == "":
		return cloud.InvalidField("custom_domain needs its certificate_id", "spec.certificate_id")
	case domain == "" && certificate != "":
		return cloud.InvalidField("certificate_id needs its custom_domain", "spec.custom_domain")
	}
	return nil
}

func (k *cdn) all(ctx context.Context, limit int) ([]wireCDN, error) {
	return doapi.Pages[wireCDN](ctx, k.Account, cdnPath, "endpoints", nil, limit)
}

// Find looks for the origin, of which there is one endpoint at most.
func (k *cdn) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	all, err := k.all(ctx, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	for i := range all {
		if strings.EqualFold(all[i].Origin, r.Spec.String("origin")) && all[i].ID != "" {
			return seenCDN(&all[i]), nil
		}
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

func (k *cdn) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	in := map[string]any{"origin": r.Spec.String("origin"), "ttl": wantedTTL(r.Spec)}
	for _, field := range []string{"custom_domain", "certificate_id"} {
		if text := r.Spec.String(field); text != "" {
			in[field] = text
		}
	}
	var made cdnAnswer
	if err := k.Call(ctx, http.MethodPost, cdnPath, in, &made); err != nil {
		return nil, k.Fail(doapi.Create, r, err)
	}
	return k.answered(doapi.Create, made)
}

func wantedTTL(s cloud.Spec) int64 {
	if ttl, set := s.Int("ttl"); set {
		return ttl
	}
	return cdnTTL
}

func (k *cdn) answered(v doapi.Verb, a cdnAnswer) (*cloud.Observed, error) {
	if a.Endpoint == nil || a.Endpoint.ID == "" {
		return nil, k.Missing(v)
	}
	return seenCDN(a.Endpoint), nil
}

func (k *cdn) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	var got cdnAnswer
	if err := k.Get(ctx, cdnPath+"/"+doapi.Path(r.ProviderID), &got); err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	return k.answered(doapi.Look, got)
}

// seenCDN: an answer leaves a domain out that is not there, so "" is told.
func seenCDN(w *wireCDN) *cloud.Observed {
	o := &cloud.Observed{
		ProviderID: w.ID, Name: w.Origin, Phase: cloud.PhaseReady,
		Spec: cloud.Spec{
			"origin": strings.ToLower(w.Origin), "custom_domain": strings.ToLower(w.Domain), "certificate_id": strings.ToLower(w.Certificate),
		},
		Outputs: map[string]any{"id": w.ID},
	}
	if w.TTL != nil {
		o.Spec["ttl"] = *w.TTL
	}
	if w.Endpoint != "" {
		o.Outputs["endpoint"] = w.Endpoint
	}
	if w.CreatedAt != "" {
		o.Outputs["created_at"] = w.CreatedAt
		o.CreatedAt, _ = time.Parse(time.RFC3339, w.CreatedAt) // zero means not told
	}
	return o
}

// Diff: a field that was taken out of the spec is the provider's default again.
func (k *cdn) Diff(r cloud.Request, o *cloud.Observed) []string {
	managed := func(field string) bool {
		_, now := r.Spec[field]
		_, before := r.Applied[field]
		return now || before
	}
	var out []string
	if ttl, told := o.Spec.Int("ttl"); told && managed("ttl") && ttl != wantedTTL(r.Spec) {
		out = append(out, "ttl")
	}
	for _, field := range []string{"custom_domain", "certificate_id"} {
		if have, told := o.Spec[field].(string); told && managed(field) && !strings.EqualFold(have, r.Spec.String(field)) {
			out = append(out, field)
		}
	}
	return out
}

// Update sends what differs in one request. A domain and its certificate are
// sent together, both empty to take them away.
func (k *cdn) Update(ctx context.Context, r cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	in := map[string]any{}
	if slices.Contains(fields, "ttl") {
		in["ttl"] = wantedTTL(r.Spec)
	}
	if slices.Contains(fields, "custom_domain") || slices.Contains(fields, "certificate_id") {
		in["custom_domain"], in["certificate_id"] = r.Spec.String("custom_domain"), r.Spec.String("certificate_id")
	}
	if len(in) == 0 {
		return &cloud.Updated{}, nil
	}
	var got cdnAnswer
	if err := k.Call(ctx, http.MethodPut, cdnPath+"/"+doapi.Path(r.ProviderID), in, &got); err != nil {
		return nil, k.Fail(doapi.Change, r, err, doapi.Fields(fields...))
	}
	u := &cloud.Updated{Settles: fields}
	if got.Endpoint != nil && got.Endpoint.ID == r.ProviderID {
		u.Observed = seenCDN(got.Endpoint)
	}
	return u, nil
}

func (k *cdn) Delete(ctx context.Context, r cloud.Request) error {
	return k.Fail(doapi.Delete, r, k.Call(ctx, http.MethodDelete, cdnPath+"/"+doapi.Path(r.ProviderID), nil, nil))
}

func (k *cdn) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	all, err := k.all(ctx, s.Limit)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := make([]*cloud.Observed, len(all))
	for i := range all {
		out[i] = seenCDN(&all[i])
	}
	return out, nil
}
