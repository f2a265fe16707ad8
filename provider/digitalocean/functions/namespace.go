package functions

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed namespace.json
var namespaceJSON []byte

var namespaceManifest = cloud.MustManifest(namespaceJSON)

type namespace struct{ doapi.Base }

// Namespace is the kind do.functions.namespace. a is nil when only the manifest
// is asked for.
func Namespace(a *doapi.Account) cloud.Kind {
	return &namespace{doapi.NewBase(a, namespaceManifest)}
}

// Find looks for the label in the list, which the provider gives in one piece.
func (k *namespace) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	all, err := k.all(ctx)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	for i := range all {
		if all[i].Label == r.ProviderName && all[i].Namespace != "" {
			return k.observed(&all[i]), nil
		}
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

// Create makes the namespace. A label that is taken is told as 422.
func (k *namespace) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	n, _, err := k.API.Functions.CreateNamespace(ctx, &godo.FunctionsNamespaceCreateRequest{
		Label: r.ProviderName, Region: r.Spec.String("region"),
	})
	if err != nil {
		return nil, k.Fail(doapi.Create, r, err, doapi.Fields("region"))
	}
	if n == nil || n.Namespace == "" {
		return nil, k.Missing(doapi.Create)
	}
	return k.observed(n), nil
}

func (k *namespace) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	n, _, err := k.API.Functions.GetNamespace(ctx, r.ProviderID)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	if n == nil || n.Namespace == "" {
		return nil, k.Missing(doapi.Look)
	}
	return k.observed(n), nil
}

func (k *namespace) observed(n *godo.FunctionsNamespace) *cloud.Observed {
	o := &cloud.Observed{
		ProviderID: n.Namespace, Name: n.Label, Region: n.Region, Phase: cloud.PhaseReady, CreatedAt: n.CreatedAt,
		Owner:   cloud.Owner{ResourceKey: cloud.KeyFromProviderName(n.Label)},
		Spec:    cloud.Spec{},
		Outputs: map[string]any{"namespace": n.Namespace, "uuid": n.UUID, "api_host": n.ApiHost, "label": n.Label, "region": n.Region},
	}
	if n.Region != "" {
		o.Spec["region"] = n.Region
	}
	if n.Key != "" {
		o.Secrets = map[string]cloud.Secret{"key": cloud.NewSecret(n.Key)}
	}
	return o
}

// Diff is empty: nothing changes in place.
func (k *namespace) Diff(cloud.Request, *cloud.Observed) []string { return nil }

// Update has nothing to change and nothing to start again.
func (k *namespace) Update(_ context.Context, _ cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	return &cloud.Updated{Settles: fields}, nil
}

// Delete ends the namespace with everything in it.
func (k *namespace) Delete(ctx context.Context, r cloud.Request) error {
	_, err := k.API.Functions.DeleteNamespace(ctx, r.ProviderID)
	return k.Fail(doapi.Delete, r, err)
}

// List returns every namespace of the account. Only of those that bear a name
// of ours the key is kept.
func (k *namespace) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	all, err := k.all(ctx)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := []*cloud.Observed{}
	for i := range all {
		if s.Limit > 0 && len(out) == s.Limit {
			break
		}
		o := k.observed(&all[i])
		if o.Owner.ResourceKey == "" {
			o.Secrets = nil
		}
		out = append(out, o)
	}
	return out, nil
}

// all reads the list raw, so that an answer which is no list counts as an
// error, not as an empty account.
func (k *namespace) all(ctx context.Context) ([]godo.FunctionsNamespace, error) {
	var answer struct {
		Namespaces json.RawMessage `json:"namespaces"`
	}
	if err := k.Call(ctx, http.MethodGet, "v2/functions/namespaces", nil, &answer); err != nil {
		return nil, err
	}
	if answer.Namespaces == nil {
		return nil, k.Missing(doapi.List)
	}
	var list []godo.FunctionsNamespace
	if err := json.Unmarshal(answer.Namespaces, &list); err != nil {
		return nil, err
	}
	return list, nil
}
