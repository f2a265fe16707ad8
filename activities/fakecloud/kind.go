package fakecloud

import (
	"context"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

type kind struct {
	*Cloud
	m *cloud.Manifest
}

func (k kind) Manifest() *cloud.Manifest { return k.m }

// name is what an object is known by: its own name, or parent and identity.
func (k kind) name(r cloud.Request) string {
	if r.Parent != nil {
		return r.Parent.ProviderID + "/" + r.Spec.String("name")
	}
	return r.ProviderName
}

func (k kind) Find(ctx context.Context, r cloud.Request) (found *cloud.Observed, err error) {
	err = k.call(ctx, Call{Verb: "find", Kind: k.m.Kind, Name: k.name(r)}, func() error {
		for id, o := range k.objects {
			if o.Kind == k.m.Kind && o.Name == k.name(r) {
				if o = k.visible(id); o != nil {
					found = k.observed(o)
					return nil
				}
			}
		}
		return cloud.NotFound("find " + k.m.Kind)
	})
	return found, err
}

func (k kind) Create(ctx context.Context, r cloud.Request) (made *cloud.Observed, err error) {
	err = k.call(ctx, Call{Verb: "create", Kind: k.m.Kind, Name: k.name(r), Changes: true}, func() error {
		if r.Parent != nil && k.objects[r.Parent.ProviderID] == nil {
			return cloud.NotFound("create " + k.m.Kind)
		}
		for _, o := range k.objects {
			// Labels allow two of one name; names and identities do not.
			if k.m.Ownership != cloud.OwnedByLabels && o.Kind == k.m.Kind && o.Name == k.name(r) {
				return &cloud.ProviderError{Class: cloud.ClassExists, Op: "create", Status: 422, Message: "name is taken"}
			}
		}
		o := &Object{Kind: k.m.Kind, Name: k.name(r), Spec: r.Spec.Clone(), Looks: k.BusyLooks}
		if r.Parent != nil {
			o.Parent, o.ID = r.Parent.ProviderID, k.name(r)
		}
		if k.m.Ownership != cloud.OwnedByParent {
			o.Owner = cloud.Owner{ResourceKey: cloud.LabelKey(r.ResourceID), Deployment: Deployment}
		}
		k.made[o.Name]++
		made = k.observed(k.put(o))
		made.Secrets = k.secrets(o)
		return nil
	})
	return made, err
}

func (k kind) Observe(ctx context.Context, r cloud.Request) (seen *cloud.Observed, err error) {
	err = k.call(ctx, Call{Verb: "observe", Kind: k.m.Kind, Name: k.name(r)}, func() error {
		o := k.visible(r.ProviderID)
		if o == nil {
			return cloud.NotFound("get " + k.m.Kind)
		}
		seen = k.observed(o)
		return nil
	})
	return seen, err
}

func (k kind) Diff(r cloud.Request, o *cloud.Observed) []string {
	var diff []string
	for _, f := range k.m.Updatable() {
		want, set := r.Spec[f]
		if _, was := r.Applied[f]; !set && !was {
			continue
		}
		if !cloud.SameValue(want, o.Spec[f]) {
			diff = append(diff, f)
		}
	}
	return diff
}

// Update changes one field at a time.
func (k kind) Update(ctx context.Context, r cloud.Request, seen *cloud.Observed, fields []string) (u *cloud.Updated, err error) {
	err = k.call(ctx, Call{Verb: "update", Kind: k.m.Kind, Name: k.name(r), Changes: true}, func() error {
		o := k.objects[r.ProviderID]
		if o == nil {
			return cloud.NotFound("update " + k.m.Kind)
		}
		u = &cloud.Updated{}
		if o.Failed = ""; len(fields) > 0 {
			if o.Spec[fields[0]] = r.Spec[fields[0]]; r.Spec[fields[0]] == nil {
				delete(o.Spec, fields[0])
			}
			u.Settles = fields[:1]
		}
		o.Looks = k.BusyLooks
		u.Observed = k.observed(o)
		return nil
	})
	return u, err
}

func (k kind) Delete(ctx context.Context, r cloud.Request) error {
	return k.call(ctx, Call{Verb: "delete", Kind: k.m.Kind, Name: k.name(r), Changes: true}, func() error {
		o := k.objects[r.ProviderID]
		if o == nil {
			return cloud.NotFound("delete " + k.m.Kind)
		}
		if !o.Deleting {
			o.Deleting, o.Looks = true, k.BusyLooks
		}
		for id, child := range k.objects {
			if child.Parent == o.ID {
				delete(k.objects, id)
			}
		}
		return nil
	})
}

func (k kind) List(ctx context.Context, scope cloud.Scope) (all []*cloud.Observed, err error) {
	parent := ""
	if scope.Parent != nil {
		parent = scope.Parent.ProviderID
	}
	err = k.call(ctx, Call{Verb: "list", Kind: k.m.Kind, Name: parent}, func() error {
		if parent != "" && k.objects[parent] == nil {
			return cloud.NotFound("list " + k.m.Kind)
		}
		for id, o := range k.objects {
			if o.Kind == k.m.Kind && o.Parent == parent {
				if o = k.visible(id); o != nil {
					all = append(all, k.observed(o))
				}
			}
		}
		slices.SortFunc(all, func(a, b *cloud.Observed) int { return strings.Compare(a.ProviderID, b.ProviderID) })
		return nil
	})
	return all, err
}

// RecoverSecrets resets a user's password, and deletes a key.
func (k kind) RecoverSecrets(ctx context.Context, r cloud.Request, _ *cloud.Observed) (again *cloud.Observed, err error) {
	err = k.call(ctx, Call{Verb: "recover", Kind: k.m.Kind, Name: k.name(r), Changes: true}, func() error {
		o := k.objects[r.ProviderID]
		if o == nil {
			return cloud.NotFound("recover " + k.m.Kind)
		}
		if k.m.Kind == KindKey {
			delete(k.objects, r.ProviderID)
			again = &cloud.Observed{ProviderID: r.ProviderID, Phase: cloud.PhaseGone}
			return nil
		}
		o.Secret = k.secret()
		again = k.observed(o)
		again.Secrets = k.secrets(o)
		return nil
	})
	return again, err
}

func (k kind) secrets(o *Object) map[string]cloud.Secret {
	return map[string]cloud.Secret{k.m.SecretOutputs[0].Name: cloud.NewSecret(o.Secret)}
}

func (k kind) observed(o *Object) *cloud.Observed {
	seen := &cloud.Observed{
		ProviderID: o.ID, Name: o.Name, Owner: o.Owner, Phase: cloud.PhaseReady, Spec: o.Spec.Clone(),
		CreatedAt: o.Created, Outputs: map[string]any{}, Identity: k.m.IdentityOf(o.Spec),
	}
	switch {
	case o.Deleting:
		seen.Phase = cloud.PhaseDeleting
	case o.Looks > 0:
		seen.Phase = cloud.PhaseBusy
	case o.Failed != "":
		seen.Phase, seen.Message = cloud.PhaseFailed, o.Failed
	}
	switch k.m.Kind {
	case KindCluster:
		seen.Outputs["host"], seen.Secrets = o.ID+".example", k.secrets(o)
	case KindKey:
		seen.Outputs["id"] = o.ID
	}
	return seen
}

// labelled is a kind with labels.
type labelled struct{ kind }

func (k labelled) Label(ctx context.Context, r cloud.Request) error {
	return k.call(ctx, Call{Verb: "label", Kind: k.m.Kind, Name: r.ProviderName, Changes: true}, func() error {
		o := k.objects[r.ProviderID]
		switch {
		case o == nil:
			return cloud.NotFound("label " + k.m.Kind)
		case o.Owner.ResourceKey != "" && o.Owner.ResourceKey != cloud.LabelKey(r.ResourceID):
			return &cloud.ProviderError{Class: cloud.ClassNotManaged, Op: "label", Message: "another deployment manages it"}
		}
		o.Owner = cloud.Owner{ResourceKey: cloud.LabelKey(r.ResourceID), Deployment: Deployment}
		return nil
	})
}

func (k labelled) Unlabel(ctx context.Context, r cloud.Request) error {
	return k.call(ctx, Call{Verb: "unlabel", Kind: k.m.Kind, Name: r.ProviderName, Changes: true}, func() error {
		o := k.objects[r.ProviderID]
		if o == nil {
			return cloud.NotFound("unlabel " + k.m.Kind)
		}
		o.Owner = cloud.Owner{}
		return nil
	})
}
