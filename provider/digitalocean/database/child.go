package database

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// child is what kinds that live in a cluster under a name share.
type child struct {
	doapi.Base
	engine Engine
	// segment is the path below the cluster, key and one the names of the list
	// and of the object in an answer.
	segment, key, one string
}

func (k *child) path(parent string, more ...string) string {
	return doapi.Path(append([]string{"v2", "databases", parent, k.segment}, more...)...)
}

// childName is the object's name in the cluster, which is its id too.
func childName(r cloud.Request) string {
	if r.ProviderID != "" {
		return r.ProviderID
	}
	return r.Spec.String("name")
}

// named is what all of them show: the name, which is the identity and the id.
func (k *child) named(name string) *cloud.Observed {
	o := &cloud.Observed{
		ProviderID: name, Name: name, Phase: cloud.PhaseReady,
		Spec: cloud.Spec{"name": name}, Outputs: map[string]any{"name": name},
	}
	o.Identity = k.Manifest().IdentityOf(o.Spec)
	return o
}

// read gets one object of the cluster into out.
func (k *child) read(ctx context.Context, r cloud.Request, out any) error {
	parent, err := k.ParentID(doapi.Look, r.Parent)
	if err != nil {
		return err
	}
	return k.send(ctx, doapi.Look, http.MethodGet, k.path(parent, childName(r)), r, nil, out)
}

// send makes a call whose answer holds the object, which it puts into out; an
// answer without one leaves out as it was.
func (k *child) send(ctx context.Context, v doapi.Verb, method, path string, r cloud.Request, in, out any, how ...doapi.Meaning) error {
	var answer map[string]json.RawMessage
	err := k.Call(ctx, method, path, in, &answer)
	if raw, ok := answer[k.one]; err == nil && ok {
		err = json.Unmarshal(raw, out)
	}
	return k.Fail(v, r, err, how...)
}

// unready gives a 404 on a create its meaning: while the cluster has not been
// seen online it is "not visible yet", later the cluster is gone.
func unready(p *cloud.ParentRef) doapi.Meaning {
	class := cloud.ClassBusy
	if p != nil && p.Outputs["status"] == "online" {
		class = cloud.ClassRefused
	}
	return doapi.Means(http.StatusNotFound, class)
}

// Delete asks for the object's end; with the cluster it goes without a call.
func (k *child) Delete(ctx context.Context, r cloud.Request) error {
	parent, err := k.ParentID(doapi.Delete, r.Parent)
	if err != nil {
		return err
	}
	return k.Fail(doapi.Delete, r, k.Call(ctx, http.MethodDelete, k.path(parent, childName(r)), nil, nil))
}

// list reads the objects of one cluster, or of all clusters of the engine. In
// the latter, a cluster that has no such list (422) or went away has none; in
// the former that would count as absence, so it is an error.
func list[T any](ctx context.Context, k *child, s cloud.Scope, see func(item *T, parent *cloud.ParentRef) *cloud.Observed) ([]*cloud.Observed, error) {
	parents, err := k.parents(ctx, s)
	if err != nil {
		return nil, err
	}
	out := []*cloud.Observed{}
	for _, parent := range parents {
		items, err := doapi.Pages[T](ctx, k.Account, k.path(parent), k.key, nil, 0)
		if err = k.Fail(doapi.List, cloud.Request{}, err); err != nil {
			if s.Parent == nil && (cloud.ClassOf(err) == cloud.ClassRefused || cloud.IsNotFound(err)) {
				continue
			}
			return nil, err
		}
		for i := range items {
			if s.Limit > 0 && len(out) == s.Limit {
				return out, nil
			}
			out = append(out, see(&items[i], s.Parent))
		}
	}
	return out, nil
}

func (k *child) parents(ctx context.Context, s cloud.Scope) ([]string, error) {
	if s.Parent != nil {
		id, err := k.ParentID(doapi.List, s.Parent)
		return []string{id}, err
	}
	all, err := clusters(ctx, k.Account, 0)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	var ids []string
	for i := range all {
		if all[i].EngineSlug == string(k.engine) {
			ids = append(ids, all[i].ID)
		}
	}
	return ids, nil
}
