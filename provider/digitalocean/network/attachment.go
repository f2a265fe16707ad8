package network

import (
	"context"
	_ "embed"
	"net/http"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed attachment.json
var attachmentJSON []byte

var attachmentManifest = cloud.MustManifest(attachmentJSON)

type attachment struct{ doapi.Base }

// Attachment is the kind do.network.partner-attachment. a is nil when only the
// manifest is asked for.
func Attachment(a *doapi.Account) cloud.Kind {
	return &attachment{doapi.NewBase(a, attachmentManifest)}
}

var _ cloud.SpecChecker = (*attachment)(nil)

const path = "v2/partner_network_connect/attachments"

// wireBGP is in answers. godo's type is not used: it cannot read a null here.
type wireBGP struct {
	LocalASN      int64  `json:"local_asn"`
	PeerASN       int64  `json:"peer_asn"`
	LocalRouterIP string `json:"local_router_ip"`
	PeerRouterIP  string `json:"peer_router_ip"`
}

type wireAttachment struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	State     string   `json:"state"`
	Bandwidth int64    `json:"connection_bandwidth_in_mbps"`
	Region    string   `json:"region"`
	Partner   string   `json:"naas_provider"`
	VPCs      []string `json:"vpc_ids"`
	BGP       *wireBGP `json:"bgp"`
	Zone      string   `json:"redundancy_zone"`
	Parent    string   `json:"parent_uuid"`
	Children  []string `json:"children"`
	CreatedAt string   `json:"created_at"`
}

type answer struct {
	Attachment *wireAttachment `json:"partner_attachment"`
}

var phases = map[string]cloud.Phase{
	"CREATED": cloud.PhaseReady, "ACTIVE": cloud.PhaseReady,
	"ERROR": cloud.PhaseFailed, "FAILED": cloud.PhaseFailed,
	"DELETING": cloud.PhaseDeleting, "DELETED": cloud.PhaseGone,
}

func (k *attachment) all(ctx context.Context, limit int) ([]wireAttachment, error) {
	return doapi.Pages[wireAttachment](ctx, k.Account, path, "partner_attachments", nil, limit)
}

func (k *attachment) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	all, err := k.all(ctx, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	for i := range all {
		if all[i].Name == r.ProviderName && all[i].ID != "" {
			return k.withKeys(ctx, r, seen(&all[i]))
		}
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

func (k *attachment) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	vpcs, err := k.wantedVPCs(doapi.Create, r)
	if err != nil {
		return nil, err
	}
	bandwidth, _ := r.Spec.Int("connection_bandwidth_in_mbps")
	in := map[string]any{
		"name": r.ProviderName, "connection_bandwidth_in_mbps": bandwidth, "region": r.Spec.String("region"),
		"naas_provider": r.Spec.String("naas_provider"), "vpc_ids": vpcs,
	}
	for _, field := range []string{"redundancy_zone", "parent_uuid"} {
		if text := r.Spec.String(field); text != "" {
			in[field] = text
		}
	}
	if bgp := wantedBGP(r); bgp != nil {
		in["bgp"] = bgp
	}
	var made answer
	if err := k.Call(ctx, http.MethodPost, path, in, &made); err != nil {
		return nil, k.Fail(doapi.Create, r, err)
	}
	if made.Attachment == nil || made.Attachment.ID == "" {
		return nil, k.Missing(doapi.Create)
	}
	o := seen(made.Attachment)
	if o.Phase == cloud.PhaseReady { // the keys are for the look after it
		o.Phase = cloud.PhaseBusy
	}
	return o, nil
}

func (k *attachment) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	var got answer
	if err := k.Get(ctx, path+"/"+doapi.Path(r.ProviderID), &got); err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	if got.Attachment == nil || got.Attachment.ID == "" {
		return nil, k.Missing(doapi.Look)
	}
	return k.withKeys(ctx, r, seen(got.Attachment))
}

func seen(w *wireAttachment) *cloud.Observed {
	phase, known := phases[strings.ToUpper(w.State)]
	o := &cloud.Observed{
		ProviderID: w.ID, Name: w.Name, Region: w.Region, Phase: phase,
		Owner:   cloud.Owner{ResourceKey: cloud.KeyFromProviderName(w.Name)},
		Spec:    cloud.Spec{},
		Outputs: map[string]any{"id": w.ID},
	}
	if !known {
		o.Phase, o.Message = cloud.PhaseBusy, "the provider is working on the attachment"
	}
	o.CreatedAt, _ = time.Parse(time.RFC3339, w.CreatedAt) // zero means not told
	for field, text := range map[string]string{
		"region": w.Region, "naas_provider": w.Partner, "redundancy_zone": w.Zone, "parent_uuid": w.Parent,
	} {
		if text != "" {
			o.Spec[field] = text
		}
	}
	if w.Bandwidth != 0 {
		o.Spec["connection_bandwidth_in_mbps"] = w.Bandwidth
	}
	if w.State != "" {
		o.Outputs["state"] = w.State
	}
	for name, ids := range map[string][]string{"vpc_ids": w.VPCs, "children": w.Children} {
		if len(ids) > 0 {
			list := make([]any, len(ids))
			for i, id := range ids {
				list[i] = id
			}
			o.Outputs[name] = list
		}
	}
	if b := w.BGP; b != nil && *b != (wireBGP{}) {
		o.Spec["bgp"] = map[string]any{"local_router_ip": b.LocalRouterIP, "peer_router_ip": b.PeerRouterIP, "peer_router_asn": b.PeerASN}
		o.Outputs["local_asn"], o.Outputs["peer_asn"] = b.LocalASN, b.PeerASN
		o.Outputs["local_router_ip"], o.Outputs["peer_router_ip"] = b.LocalRouterIP, b.PeerRouterIP
	}
	return o
}

// Update sends the first of the fields alone: each is a change of its own at
// the provider, and the next is for the look after it.
func (k *attachment) Update(ctx context.Context, r cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	if len(fields) == 0 {
		return &cloud.Updated{}, nil
	}
	in := map[string]any{}
	switch fields[0] {
	case "networks":
		vpcs, err := k.wantedVPCs(doapi.Change, r)
		if err != nil {
			return nil, err
		}
		in["vpc_ids"] = vpcs
	case "bgp":
		in["bgp"] = wantedBGP(r)
	}
	err := k.Call(ctx, http.MethodPatch, path+"/"+doapi.Path(r.ProviderID), in, nil)
	if err != nil {
		return nil, k.Fail(doapi.Change, r, err, doapi.Fields(fields[0]))
	}
	return &cloud.Updated{Settles: fields[:1]}, nil
}

// Delete: 403 is the provider's "not now", as long as a change is under way or
// the partner's side still stands.
func (k *attachment) Delete(ctx context.Context, r cloud.Request) error {
	err := k.Call(ctx, http.MethodDelete, path+"/"+doapi.Path(r.ProviderID), nil, nil)
	return k.Fail(doapi.Delete, r, err, doapi.Means(http.StatusForbidden, cloud.ClassBusy))
}

// List leaves the keys out: they would be two requests for each.
func (k *attachment) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	all, err := k.all(ctx, s.Limit)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := make([]*cloud.Observed, len(all))
	for i := range all {
		out[i] = seen(&all[i])
	}
	return out, nil
}
