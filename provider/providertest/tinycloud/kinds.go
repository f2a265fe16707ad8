package tinycloud

import (
	"context"
	_ "embed"
	"net/http"
	"net/url"

	"github.com/better-compute/cloud-resources/cloud"
)

var (
	//go:embed box.json
	boxJSON []byte
	//go:embed lid.json
	lidJSON []byte

	boxManifest = cloud.MustManifest(boxJSON)
	lidManifest = cloud.MustManifest(lidJSON)
)

// wireBox and wireLid are the objects on the wire, page a piece of a list.
type wireBox struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	Colour string `json:"colour"`
	Place  string `json:"place,omitempty"`
	Doing  string `json:"doing,omitempty"`
	Key    string `json:"key,omitempty"`
}

type wireLid struct {
	Label string `json:"label"`
	Tight bool   `json:"tight"`
}

type page struct {
	Boxes *[]wireBox `json:"boxes,omitempty"`
	Lids  *[]wireLid `json:"lids,omitempty"`
	More  string     `json:"more,omitempty"`
}

type box struct{ *client }

func (k box) Manifest() *cloud.Manifest { return boxManifest }

func (k box) all(ctx context.Context, op string) ([]wireBox, error) {
	var out []wireBox
	for cursor := ""; ; {
		var p page
		if err := k.call(ctx, op, http.MethodGet, "/boxes?limit=50&cursor="+url.QueryEscape(cursor), nil, &p); err != nil {
			return nil, err
		}
		if p.Boxes == nil {
			return nil, missing(op)
		}
		out = append(out, *p.Boxes...)
		if cursor = p.More; cursor == "" {
			return out, nil
		}
	}
}

func (k box) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	list, err := k.all(ctx, "find tiny.box")
	if err != nil {
		return nil, err
	}
	for _, b := range list {
		if b.Name == r.ProviderName {
			return seeBox("find tiny.box", b)
		}
	}
	return nil, cloud.NotFound("find tiny.box")
}

func (k box) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	size, _ := r.Spec.Int("size")
	var made wireBox
	err := k.call(ctx, "create tiny.box", http.MethodPost, "/boxes", wireBox{Name: r.ProviderName, Size: size, Colour: r.Spec.String("colour")}, &made)
	if err != nil {
		return nil, err
	}
	return seeBox("create tiny.box", made)
}

func (k box) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	var b wireBox
	if err := k.call(ctx, "observe tiny.box", http.MethodGet, boxPath(r.ProviderID), nil, &b); err != nil {
		return nil, err
	}
	return seeBox("observe tiny.box", b)
}

func boxPath(id string) string { return "/boxes/" + url.PathEscape(id) }

func seeBox(op string, b wireBox) (*cloud.Observed, error) {
	if b.ID == "" || b.Name == "" {
		return nil, missing(op)
	}
	o := &cloud.Observed{
		ProviderID: b.ID, Name: b.Name, Phase: cloud.PhaseReady, Message: b.Doing,
		Owner:   cloud.Owner{ResourceKey: cloud.KeyFromProviderName(b.Name)},
		Spec:    cloud.Spec{"size": b.Size, "colour": b.Colour},
		Outputs: map[string]any{"place": b.Place},
	}
	if b.Doing != "" {
		o.Phase = cloud.PhaseBusy
	}
	if b.Key != "" {
		o.Secrets = map[string]cloud.Secret{"key": cloud.NewSecret(b.Key)}
	}
	return o, nil
}

func (k box) Diff(r cloud.Request, o *cloud.Observed) []string {
	if cloud.SameValue(r.Spec["size"], o.Spec["size"]) {
		return nil
	}
	return []string{"size"}
}

func (k box) Update(ctx context.Context, r cloud.Request, o *cloud.Observed, fields []string) (*cloud.Updated, error) {
	if len(fields) == 0 {
		return &cloud.Updated{}, nil
	}
	err := k.call(ctx, "update tiny.box", http.MethodPatch, boxPath(o.ProviderID), map[string]any{"size": r.Spec["size"]}, nil)
	return &cloud.Updated{Settles: fields}, err
}

func (k box) Delete(ctx context.Context, r cloud.Request) error {
	return k.call(ctx, "delete tiny.box", http.MethodDelete, boxPath(r.ProviderID), nil, nil)
}

// RecoverSecrets deletes the box: its key is shown once.
func (k box) RecoverSecrets(ctx context.Context, r cloud.Request, o *cloud.Observed) (*cloud.Observed, error) {
	r.ProviderID = o.ProviderID
	if err := k.Delete(ctx, r); err != nil && !cloud.IsNotFound(err) {
		return nil, err
	}
	return &cloud.Observed{ProviderID: o.ProviderID, Phase: cloud.PhaseGone}, nil
}

func (k box) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	list, err := k.all(ctx, "list tiny.box")
	if err != nil {
		return nil, err
	}
	out := []*cloud.Observed{}
	for _, b := range list {
		if s.Limit > 0 && len(out) == s.Limit {
			break
		}
		o, err := seeBox("list tiny.box", b)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

type lid struct{ *client }

func (k lid) Manifest() *cloud.Manifest { return lidManifest }

func lidPath(r cloud.Request) (string, error) {
	if r.Parent == nil || r.Parent.ProviderID == "" {
		return "", &cloud.ProviderError{Class: cloud.ClassBusy, Op: "tiny.lid", Message: "waiting for the box"}
	}
	label := r.ProviderID
	if label == "" {
		label = r.Spec.String("label")
	}
	return boxPath(r.Parent.ProviderID) + "/lids/" + url.PathEscape(label), nil
}

func (k lid) send(ctx context.Context, op, method string, r cloud.Request, in any, answers bool) (*cloud.Observed, error) {
	path, err := lidPath(r)
	if err != nil {
		return nil, err
	}
	var l wireLid
	var out any
	if answers {
		out = &l
	}
	if err := k.call(ctx, op, method, path, in, out); err != nil || !answers {
		return nil, err
	}
	if l.Label == "" {
		return nil, missing(op)
	}
	return seeLid(l), nil
}

func seeLid(l wireLid) *cloud.Observed {
	s := cloud.Spec{"label": l.Label, "tight": l.Tight}
	return &cloud.Observed{
		ProviderID: l.Label, Name: l.Label, Phase: cloud.PhaseReady, Spec: s,
		Outputs: map[string]any{"label": l.Label}, Identity: lidManifest.IdentityOf(s),
	}
}

func (k lid) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	return k.Observe(ctx, r)
}

func (k lid) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	return k.send(ctx, "create tiny.lid", http.MethodPost, r, r.Spec, true)
}

func (k lid) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	return k.send(ctx, "observe tiny.lid", http.MethodGet, r, nil, true)
}

func (k lid) Diff(r cloud.Request, o *cloud.Observed) []string {
	if want := r.Spec["tight"]; want != nil && want != o.Spec["tight"] {
		return []string{"tight"}
	}
	return nil
}

func (k lid) Update(ctx context.Context, r cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	if len(fields) == 0 {
		return &cloud.Updated{}, nil
	}
	_, err := k.send(ctx, "update tiny.lid", http.MethodPatch, r, map[string]any{"tight": r.Spec["tight"]}, false)
	return &cloud.Updated{Settles: fields}, err
}

func (k lid) Delete(ctx context.Context, r cloud.Request) error {
	_, err := k.send(ctx, "delete tiny.lid", http.MethodDelete, r, nil, false)
	return err
}

func (k lid) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	if s.Parent == nil || s.Parent.ProviderID == "" {
		return []*cloud.Observed{}, nil
	}
	var p page
	if err := k.call(ctx, "list tiny.lid", http.MethodGet, boxPath(s.Parent.ProviderID)+"/lids", nil, &p); err != nil {
		return nil, err
	}
	if p.Lids == nil {
		return nil, missing("list tiny.lid")
	}
	out := []*cloud.Observed{}
	for _, l := range *p.Lids {
		if s.Limit == 0 || len(out) < s.Limit {
			out = append(out, seeLid(l))
		}
	}
	return out, nil
}
