package doapi

import (
	"context"
	"slices"
	"strings"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
)

// The prefixes of our ownership tags (D11). The provider keeps whatever letter
// case a tag was first used with, account-wide, so all comparing folds case.
const (
	tagResource = "better-compute-resource:"
	tagTenant   = "better-compute-tenant:"
	tagManaged  = "better-compute-managed:"
	tagAny      = "better-compute-"
)

// Tags are the ownership tags of a request's resource, for its create call.
// The last one decides.
func (a *Account) Tags(r cloud.Request) []string {
	return []string{
		tagManaged + a.Access.Deployment,
		tagTenant + cloud.EncodeLabel(r.TenantID),
		resourceTag(r.ResourceID),
	}
}

func resourceTag(resourceID string) string { return tagResource + cloud.LabelKey(resourceID) }

// Owner reads ownership from an object's tags. key is the label key of the
// record that asks, or "": when tags of several records stand there, another's
// is reported, so that a contested object counts as not ours.
func (a *Account) Owner(tags []string, key string) cloud.Owner {
	var o cloud.Owner
	for _, t := range tags {
		t = strings.ToLower(t)
		if k, ok := strings.CutPrefix(t, tagResource); ok && (o.ResourceKey == "" || o.ResourceKey == key) {
			o.ResourceKey = k
		}
		if d, ok := strings.CutPrefix(t, tagManaged); ok && (o.Deployment == "" || o.Deployment == a.Access.Deployment) {
			o.Deployment = d
			if strings.EqualFold(d, a.Access.Deployment) {
				o.Deployment = a.Access.Deployment
			}
		}
	}
	return o
}

// Foreign are the tags that are not ownership tags of any deployment, sorted
// and in lower case; "" is no tag.
func Foreign(tags []string) []string {
	out := []string{}
	for _, t := range tags {
		if t = strings.ToLower(t); t != "" && !strings.HasPrefix(t, tagAny) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Tag writes a tag on an object, making the tag when it does not exist.
func (a *Account) Tag(ctx context.Context, kind godo.ResourceType, id string, tags ...string) error {
	for _, t := range tags {
		_, _, err := a.API.Tags.Create(ctx, &godo.TagCreateRequest{Name: t})
		if class := cloud.ClassOf(a.Fail("create tag", Create, err)); class != "" && class != cloud.ClassExists {
			return err
		}
		on := &godo.TagResourcesRequest{Resources: []godo.Resource{{ID: id, Type: kind}}}
		if _, err := a.API.Tags.TagResources(ctx, t, on); err != nil {
			return err
		}
	}
	return nil
}

// Untag removes tags from an object; one that is not there is removed already.
func (a *Account) Untag(ctx context.Context, kind godo.ResourceType, id string, tags ...string) error {
	from := &godo.UntagResourcesRequest{Resources: []godo.Resource{{ID: id, Type: kind}}}
	for _, t := range tags {
		if _, err := a.API.Tags.UntagResources(ctx, t, from); err != nil && !cloud.IsNotFound(a.Fail("remove tag", Unlabel, err)) {
			return err
		}
	}
	return nil
}

// LabelObject writes our ownership tags on an object that shows owner,
// beside the tags of others.
func (b Base) LabelObject(ctx context.Context, r cloud.Request, kind godo.ResourceType, owner cloud.Owner) error {
	ours := owner.ResourceKey == cloud.LabelKey(r.ResourceID)
	foreign := owner.Deployment != "" && owner.Deployment != b.Access.Deployment
	if owner.ResourceKey != "" && !ours || foreign {
		return &cloud.ProviderError{Class: cloud.ClassNotManaged, Op: b.Op(Label), Message: "another deployment or resource manages it"}
	}
	return b.Fail(Label, r, b.Tag(ctx, kind, r.ProviderID, b.Tags(r)...))
}

// UnlabelObject removes our ownership tags, the deciding one last, and the tag
// that only this resource used.
func (b Base) UnlabelObject(ctx context.Context, r cloud.Request, kind godo.ResourceType) error {
	if err := b.Untag(ctx, kind, r.ProviderID, b.Tags(r)...); err != nil {
		return b.Fail(Unlabel, r, err)
	}
	b.DropTag(ctx, r)
	return nil
}

// memoDeleting notes that the object's end was asked for.
const memoDeleting = "deleting"

// NoteDelete remembers that a delete was sent, so that the next look that
// finds nothing may clean up.
func NoteDelete(r cloud.Request) {
	if r.Memo != nil {
		r.Memo[memoDeleting] = "yes"
	}
}

// DeleteNoted reports whether NoteDelete was called for the record.
func DeleteNoted(r cloud.Request) bool { return r.Memo[memoDeleting] != "" }

// DropTag deletes the tag object that only this resource used; it would outlive
// the object otherwise. Best effort: a tag left over harms nobody.
func (b Base) DropTag(ctx context.Context, r cloud.Request) {
	if r.ResourceID == "" {
		return
	}
	if _, err := b.API.Tags.Delete(ctx, resourceTag(r.ResourceID)); err != nil && b.Access.Logger != nil {
		b.Access.Logger.DebugContext(ctx, "tag not deleted", "resource", r.ResourceID, "class", cloud.ClassOf(b.Fail(Delete, r, err)))
	}
}
