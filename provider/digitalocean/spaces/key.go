package spaces

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed key.json
var keyJSON []byte

var keyManifest = cloud.MustManifest(keyJSON)

type key struct{ doapi.Base }

// Key is the kind do.spaces.key. a is nil when only the manifest is asked for.
func Key(a *doapi.Account) cloud.Kind { return &key{doapi.NewBase(a, keyManifest)} }

const path = "v2/spaces/keys"

const full = "fullaccess"

type wireGrant struct {
	Bucket     string `json:"bucket"`
	Permission string `json:"permission"`
}

// wireKey is a key as the API shows it.
type wireKey struct {
	Name      string      `json:"name"`
	AccessKey string      `json:"access_key"`
	SecretKey string      `json:"secret_key"`
	Grants    []wireGrant `json:"grants"`
	CreatedAt string      `json:"created_at"`
}

// answer holds one key: as key in practice, as keys in the provider's document.
type answer struct {
	Key  *wireKey  `json:"key"`
	Keys []wireKey `json:"keys"`
}

func (a answer) one() *wireKey {
	if a.Key == nil && len(a.Keys) == 1 {
		return &a.Keys[0]
	}
	return a.Key
}

// Find looks for the name. The API narrows the list by it, and what it does not
// narrow is left out here.
func (k *key) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	all, err := doapi.Pages[wireKey](ctx, k.Account, path, "keys", url.Values{"name": {r.ProviderName}}, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	for i := range all {
		if all[i].Name == r.ProviderName && all[i].AccessKey != "" {
			return k.observed(&all[i]), nil
		}
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

// Create makes the key; its answer is the only one with the secret half.
func (k *key) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	grants := []wireGrant{}
	for _, e := range r.Spec.List("grants") {
		m, _ := e.(map[string]any)
		g := cloud.Spec(m)
		grants = append(grants, wireGrant{Bucket: g.String("bucket"), Permission: g.String("permission")})
	}
	var made answer
	err := k.Call(ctx, http.MethodPost, path, map[string]any{"name": r.ProviderName, "grants": grants}, &made)
	if err != nil {
		return nil, k.Fail(doapi.Create, r, err, doapi.Fields("grants"))
	}
	if made.one() == nil || made.one().AccessKey == "" {
		return nil, k.Missing(doapi.Create)
	}
	return k.observed(made.one()), nil
}

func (k *key) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	var got answer
	if err := k.Get(ctx, doapi.Path("v2", "spaces", "keys", r.ProviderID), &got); err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	if got.one() == nil || got.one().AccessKey == "" {
		return nil, k.Missing(doapi.Look)
	}
	return k.observed(got.one()), nil
}

func (k *key) observed(w *wireKey) *cloud.Observed {
	o := &cloud.Observed{
		ProviderID: w.AccessKey, Name: w.Name, Phase: cloud.PhaseReady,
		Owner:   cloud.Owner{ResourceKey: cloud.KeyFromProviderName(w.Name)},
		Spec:    cloud.Spec{},
		Outputs: map[string]any{"access_key": w.AccessKey},
	}
	if w.Grants != nil {
		grants := []any{}
		for _, g := range w.Grants {
			grant := map[string]any{"permission": g.Permission}
			if g.Bucket != "" {
				grant["bucket"] = g.Bucket
			}
			grants = append(grants, grant)
		}
		o.Spec["grants"] = grants
	}
	if w.CreatedAt != "" {
		o.Outputs["created_at"] = w.CreatedAt
		o.CreatedAt, _ = time.Parse(time.RFC3339, w.CreatedAt) // zero means not told
	}
	if w.SecretKey != "" {
		o.Secrets = map[string]cloud.Secret{"secret_key": cloud.NewSecret(w.SecretKey)}
	}
	return o
}

// Diff is empty: grants are fixed.
func (k *key) Diff(cloud.Request, *cloud.Observed) []string { return nil }

// Update has nothing to change and nothing to start again.
func (k *key) Update(_ context.Context, _ cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	return &cloud.Updated{Settles: fields}, nil
}

// Delete revokes the key by its public half, which is its id.
func (k *key) Delete(ctx context.Context, r cloud.Request) error {
	return k.Fail(doapi.Delete, r, k.Call(ctx, http.MethodDelete, doapi.Path("v2", "spaces", "keys", r.ProviderID), nil, nil))
}

// RecoverSecrets deletes the key, since nothing shows its secret half again.
func (k *key) RecoverSecrets(ctx context.Context, r cloud.Request, o *cloud.Observed) (*cloud.Observed, error) {
	r.ProviderID = o.ProviderID
	if err := k.Delete(ctx, r); err != nil && !cloud.IsNotFound(err) {
		return nil, err
	}
	return &cloud.Observed{ProviderID: o.ProviderID, Phase: cloud.PhaseGone}, nil
}

// List returns every key of the account, without secret halves.
func (k *key) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	all, err := doapi.Pages[wireKey](ctx, k.Account, path, "keys", nil, s.Limit)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := make([]*cloud.Observed, len(all))
	for i := range all {
		out[i] = k.observed(&all[i])
	}
	return out, nil
}

// CheckSpec refuses grants that do not go together.
func (k *key) CheckSpec(s cloud.Spec) error {
	grants := s.List("grants")
	seen := map[string]bool{}
	for i, e := range grants {
		m, _ := e.(map[string]any)
		g, at := cloud.Spec(m), fmt.Sprintf("spec.grants[%d]", i)
		bucket := g.String("bucket")
		switch {
		case g.String("permission") == full && len(grants) > 1:
			return cloud.InvalidField("fullaccess stands alone", at+".permission")
		case g.String("permission") == full && bucket != "":
			return cloud.InvalidField("fullaccess is for every bucket, so it names none", at+".bucket")
		case g.String("permission") != full && bucket == "":
			return cloud.InvalidField("a bucket is required", at+".bucket")
		case seen[bucket]:
			return cloud.InvalidField("the same bucket twice", at+".bucket")
		}
		seen[bucket] = true
	}
	return nil
}
