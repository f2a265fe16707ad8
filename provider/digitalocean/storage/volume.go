package storage

import (
	"context"
	_ "embed"
	"net/http"
	"slices"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed volume.json
var volumeJSON []byte

var volumeManifest = cloud.MustManifest(volumeJSON)

type volume struct{ doapi.Base }

// Volume is the kind do.volume. a is nil when only the manifest is asked for.
func Volume(a *doapi.Account) cloud.Kind { return &volume{doapi.NewBase(a, volumeManifest)} }

var (
	_ cloud.Labeler     = (*volume)(nil)
	_ cloud.SpecChecker = (*volume)(nil)
)

// CheckSpec holds the rule between the label and the type of the file system.
func (k *volume) CheckSpec(s cloud.Spec) error {
	label, kind := s.String("filesystem_label"), s.String("filesystem_type")
	switch {
	case label != "" && kind == "":
		return cloud.InvalidField("filesystem_label needs a filesystem_type", "spec.filesystem_label")
	case kind == "xfs" && len(label) > 12:
		return cloud.InvalidField("an xfs label has at most 12 characters", "spec.filesystem_label")
	}
	return nil
}

// Find asks by name and region, in which a volume's name is unique, and then
// for the tag, which a renamed record keeps.
func (k *volume) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	all, err := k.all(ctx, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	key := cloud.LabelKey(r.ResourceID)
	for i := range all {
		if v := &all[i]; v.ID != "" && (v.Name == r.ProviderName || k.Owner(v.Tags, key).ResourceKey == key) {
			return k.observed(ctx, v, r)
		}
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

func (k *volume) all(ctx context.Context, limit int) ([]godo.Volume, error) {
	// Not by godo's list: an answer without the list would be an empty one there.
	return doapi.Pages[godo.Volume](ctx, k.Account, "v2/volumes", "volumes", nil, limit)
}

func (k *volume) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	size, _ := r.Spec.Int("size_gigabytes")
	v, _, err := k.API.Storage.CreateVolume(ctx, &godo.VolumeCreateRequest{
		Name: r.ProviderName, Region: r.Spec.String("region"), SizeGigaBytes: size,
		Description: r.Spec.String("description"), FilesystemType: r.Spec.String("filesystem_type"),
		FilesystemLabel: r.Spec.String("filesystem_label"), SnapshotID: r.Spec.String("snapshot_id"),
		Tags: append(k.Tags(r), doapi.Foreign(r.Spec.Strings("tags"))...),
	})
	if err != nil {
		return nil, k.Fail(doapi.Create, r, err)
	}
	if v == nil || v.ID == "" {
		return nil, k.Missing(doapi.Create)
	}
	return k.seen(v, r), nil
}

func (k *volume) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	v, _, err := k.API.Storage.GetVolume(ctx, r.ProviderID)
	if err != nil {
		err = k.Fail(doapi.Look, r, err)
		if cloud.IsNotFound(err) && doapi.DeleteNoted(r) {
			k.DropTag(ctx, r)
		}
		return nil, err
	}
	if v == nil || v.ID == "" {
		return nil, k.Missing(doapi.Look)
	}
	return k.observed(ctx, v, r)
}

// observed adds what only the actions tell: a volume has no status, it is busy
// while one of them runs. They are read only when the size is not the wanted
// one, which is when an action may be under way.
func (k *volume) observed(ctx context.Context, v *godo.Volume, r cloud.Request) (*cloud.Observed, error) {
	o := k.seen(v, r)
	if !slices.Contains(k.Diff(r, o), "size_gigabytes") {
		return o, nil
	}
	list, _, err := k.API.StorageActions.List(ctx, v.ID, nil)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	for _, a := range list {
		if a.Status == godo.ActionInProgress {
			o.Phase, o.Message = cloud.PhaseBusy, "the provider is resizing the volume"
		}
	}
	return o, nil
}

func (k *volume) seen(v *godo.Volume, r cloud.Request) *cloud.Observed {
	droplets := []any{}
	for _, id := range v.DropletIDs {
		droplets = append(droplets, int64(id))
	}
	tags := []any{}
	for _, t := range doapi.Foreign(v.Tags) {
		tags = append(tags, t)
	}
	o := &cloud.Observed{
		ProviderID: v.ID, Name: v.Name, Phase: cloud.PhaseReady, CreatedAt: v.CreatedAt,
		Owner: k.Owner(v.Tags, cloud.LabelKey(r.ResourceID)),
		Spec:  cloud.Spec{"size_gigabytes": v.SizeGigaBytes, "tags": tags},
		Outputs: map[string]any{
			"id": v.ID, "urn": v.URN(), "droplet_ids": droplets, "size_gigabytes": v.SizeGigaBytes,
		},
	}
	if v.Region != nil {
		o.Region = v.Region.Slug
		o.Spec["region"] = v.Region.Slug
	}
	for field, text := range map[string]string{
		"description": v.Description, "filesystem_type": v.FilesystemType, "filesystem_label": v.FilesystemLabel,
	} {
		if text != "" {
			o.Spec[field] = text
		}
	}
	return o
}

// Diff: the size by number, the tags as a set in lower case.
func (k *volume) Diff(r cloud.Request, o *cloud.Observed) []string {
	var out []string
	want, ok := r.Spec.Int("size_gigabytes")
	if have, told := o.Spec.Int("size_gigabytes"); ok && told && want != have {
		out = append(out, "size_gigabytes")
	}
	if _, told := o.Spec["tags"]; told && k.managesTags(r) && !slices.Equal(k.wantedTags(r), doapi.Foreign(o.Spec.Strings("tags"))) {
		out = append(out, "tags")
	}
	return out
}

func (k *volume) managesTags(r cloud.Request) bool {
	_, now := r.Spec["tags"]
	_, before := r.Applied["tags"]
	return now || before
}

func (k *volume) wantedTags(r cloud.Request) []string { return doapi.Foreign(r.Spec.Strings("tags")) }

// Update resizes, or writes one tag that is missing or removes one that is too
// many.
func (k *volume) Update(ctx context.Context, r cloud.Request, o *cloud.Observed, fields []string) (*cloud.Updated, error) {
	switch {
	case slices.Contains(fields, "size_gigabytes"):
		size, _ := r.Spec.Int("size_gigabytes")
		_, _, err := k.API.StorageActions.Resize(ctx, r.ProviderID, int(size), r.Spec.String("region"))
		return &cloud.Updated{Settles: []string{"size_gigabytes"}}, k.Fail(doapi.Change, r, err, doapi.Fields("size_gigabytes"))
	case slices.Contains(fields, "tags"):
		return &cloud.Updated{Settles: []string{"tags"}}, k.setTags(ctx, r, o)
	}
	return &cloud.Updated{}, nil
}

func (k *volume) setTags(ctx context.Context, r cloud.Request, o *cloud.Observed) error {
	want, have := k.wantedTags(r), doapi.Foreign(o.Spec.Strings("tags"))
	missing := func(from, in []string) (out []string) {
		for _, t := range from {
			if !slices.Contains(in, t) {
				out = append(out, t)
			}
		}
		return out
	}
	if add := missing(want, have); len(add) > 0 {
		if err := k.Tag(ctx, godo.VolumeResourceType, r.ProviderID, add...); err != nil {
			return k.Fail(doapi.Change, r, err, doapi.Fields("tags"))
		}
	}
	if drop := missing(have, want); len(drop) > 0 {
		return k.Fail(doapi.Change, r, k.Untag(ctx, godo.VolumeResourceType, r.ProviderID, drop...), doapi.Fields("tags"))
	}
	return nil
}

func (k *volume) Delete(ctx context.Context, r cloud.Request) error {
	_, err := k.API.Storage.DeleteVolume(ctx, r.ProviderID)
	err = k.Fail(doapi.Delete, r, err, doapi.Means(http.StatusConflict, cloud.ClassBusy))
	if cloud.IsNotFound(err) {
		k.DropTag(ctx, r)
		return err
	}
	doapi.NoteDelete(r)
	return err
}

func (k *volume) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	all, err := k.all(ctx, s.Limit)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := make([]*cloud.Observed, 0, len(all))
	for i := range all {
		out = append(out, k.seen(&all[i], cloud.Request{}))
	}
	return out, nil
}

// Label writes our tags on a fresh look.
func (k *volume) Label(ctx context.Context, r cloud.Request) error {
	v, _, err := k.API.Storage.GetVolume(ctx, r.ProviderID)
	if err != nil {
		return k.Fail(doapi.Label, r, err)
	}
	if v == nil {
		return k.Missing(doapi.Label)
	}
	return k.LabelObject(ctx, r, godo.VolumeResourceType, k.Owner(v.Tags, cloud.LabelKey(r.ResourceID)))
}

// Unlabel removes our tags and leaves those of others.
func (k *volume) Unlabel(ctx context.Context, r cloud.Request) error {
	return k.UnlabelObject(ctx, r, godo.VolumeResourceType)
}
