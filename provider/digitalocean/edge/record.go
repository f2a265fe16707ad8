package edge

import (
	"context"
	_ "embed"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed record.json
var recordJSON []byte

var recordManifest = cloud.MustManifest(recordJSON)

type record struct{ doapi.Base }

// Record is the kind do.edge.record. a is nil when only the manifest is asked for.
func Record(a *doapi.Account) cloud.Kind { return &record{doapi.NewBase(a, recordManifest)} }

var (
	_ cloud.SpecChecker    = (*record)(nil)
	_ cloud.SpecNormaliser = (*record)(nil)
)

// wireRecord is a record as the API writes it. What the type does not have is
// null there.
type wireRecord struct {
	ID       int64   `json:"id,omitempty"`
	Type     string  `json:"type"`
	Name     string  `json:"name"`
	Data     string  `json:"data"`
	TTL      *int64  `json:"ttl,omitempty"`
	Priority *int64  `json:"priority,omitempty"`
	Port     *int64  `json:"port,omitempty"`
	Weight   *int64  `json:"weight,omitempty"`
	Flags    *int64  `json:"flags,omitempty"`
	Tag      *string `json:"tag,omitempty"`
}

type recordAnswer struct {
	Record *wireRecord `json:"domain_record"`
}

// memoAsked notes name and data of the last create, in the form of an identity:
// an answer that was lost may be to other values than those wanted by now.
const memoAsked = "asked"

func (k *record) path(domain string, more ...string) string {
	return doapi.Path(append([]string{"v2", "domains", domain, "records"}, more...)...)
}

func (k *record) all(ctx context.Context, domain string, query url.Values, limit int) ([]wireRecord, error) {
	return doapi.Pages[wireRecord](ctx, k.Account, k.path(domain), "domain_records", query, limit)
}

// Find reads all records of the type. The API would narrow by name too, but by
// a spelling that it does not promise.
func (k *record) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	domain, err := k.ParentID(doapi.Look, r.Parent)
	if err != nil {
		return nil, err
	}
	all, err := k.all(ctx, domain, url.Values{"type": {r.Spec.String("type")}}, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	want := identity(r.Spec, domain)
	for i := range all {
		o := seenRecord(&all[i], domain)
		if have := identity(o.Spec, domain); all[i].ID != 0 && (have == want || have == r.Memo[memoAsked]) {
			return o, nil
		}
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

func (k *record) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	domain, err := k.ParentID(doapi.Create, r.Parent)
	if err != nil {
		return nil, err
	}
	if r.Memo != nil {
		r.Memo[memoAsked] = identity(r.Spec, domain)
	}
	var made recordAnswer
	if err := k.Call(ctx, http.MethodPost, k.path(domain), wanted(r.Spec), &made); err != nil {
		return nil, k.Fail(doapi.Create, r, err)
	}
	return k.answered(doapi.Create, made, domain)
}

func (k *record) answered(v doapi.Verb, a recordAnswer, domain string) (*cloud.Observed, error) {
	if a.Record == nil || a.Record.ID == 0 {
		return nil, k.Missing(v)
	}
	return seenRecord(a.Record, domain), nil
}

// wanted is the whole record as it is sent; the API replaces it whole.
func wanted(s cloud.Spec) wireRecord {
	s = normal(s.Clone())
	number := func(field string) *int64 {
		if n, ok := s.Int(field); ok {
			return &n
		}
		return nil
	}
	w := wireRecord{
		Type: s.String("type"), Name: s.String("name"), Data: s.String("data"), TTL: number("ttl"),
		Priority: number("priority"), Port: number("port"), Weight: number("weight"), Flags: number("flags"),
	}
	if w.TTL == nil {
		ttl := int64(defaultTTL)
		w.TTL = &ttl
	}
	if tag := s.String("tag"); tag != "" {
		w.Tag = &tag
	}
	if w.Data != "@" && pointsToHost(s) {
		w.Data += "." // the API wants one, or takes the name for one below the domain
	}
	return w
}

func (k *record) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	domain, err := k.ParentID(doapi.Look, r.Parent)
	if err != nil {
		return nil, err
	}
	var got recordAnswer
	if err := k.Get(ctx, k.path(domain, r.ProviderID), &got); err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	return k.answered(doapi.Look, got, domain)
}

func seenRecord(w *wireRecord, domain string) *cloud.Observed {
	spec := cloud.Spec{"type": w.Type, "name": w.Name, "data": w.Data}
	if w.Tag != nil && *w.Tag != "" {
		spec["tag"] = *w.Tag
	}
	spec = normal(spec)
	spec["name"] = relative(spec.String("name"), domain)
	for field, n := range map[string]*int64{
		"ttl": w.TTL, "priority": w.Priority, "port": w.Port, "weight": w.Weight, "flags": w.Flags,
	} {
		if n != nil && (field == "ttl" || has(spec.String("type"), field)) {
			spec[field] = *n
		}
	}
	fqdn := domain
	if name := spec.String("name"); name != "@" {
		fqdn = name + "." + domain
	}
	o := &cloud.Observed{
		ProviderID: strconv.FormatInt(w.ID, 10), Name: fqdn, Phase: cloud.PhaseReady, Spec: spec,
		Identity: recordManifest.IdentityOf(spec),
		Outputs:  map[string]any{"id": w.ID, "fqdn": fqdn},
	}
	if w.TTL != nil {
		o.Outputs["ttl"] = *w.TTL
	}
	return o
}

func (k *record) Update(ctx context.Context, r cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	if len(fields) == 0 {
		return &cloud.Updated{}, nil
	}
	domain, err := k.ParentID(doapi.Change, r.Parent)
	if err != nil {
		return nil, err
	}
	var got recordAnswer
	if err := k.Call(ctx, http.MethodPut, k.path(domain, r.ProviderID), wanted(r.Spec), &got); err != nil {
		return nil, k.Fail(doapi.Change, r, err, doapi.Fields(fields...))
	}
	u := &cloud.Updated{Settles: fields}
	if got.Record != nil && strconv.FormatInt(got.Record.ID, 10) == r.ProviderID {
		u.Observed = seenRecord(got.Record, domain)
	}
	return u, nil
}

// Delete goes by the number.
func (k *record) Delete(ctx context.Context, r cloud.Request) error {
	domain, err := k.ParentID(doapi.Delete, r.Parent)
	if err != nil {
		return err
	}
	return k.Fail(doapi.Delete, r, k.Call(ctx, http.MethodDelete, k.path(domain, r.ProviderID), nil, nil))
}

// List leaves out the SOA record, which is the zone's own.
func (k *record) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	domain, err := k.ParentID(doapi.List, s.Parent)
	if err != nil {
		return nil, err
	}
	all, err := k.all(ctx, domain, nil, 0)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := make([]*cloud.Observed, 0, len(all))
	for i := range all {
		if strings.EqualFold(all[i].Type, "SOA") || s.Limit > 0 && len(out) == s.Limit {
			continue
		}
		out = append(out, seenRecord(&all[i], domain))
	}
	return out, nil
}
