package inference

import (
	"context"
	_ "embed"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed token.json
var tokenJSON []byte

var tokenManifest = cloud.MustManifest(tokenJSON)

type token struct{ doapi.Base }

// Token is the kind do.ai.inference-token. a is nil when only the manifest is
// asked for.
func Token(a *doapi.Account) cloud.Kind { return &token{doapi.NewBase(a, tokenManifest)} }

var (
	_ cloud.SecretRecoverer = (*token)(nil)
	_ cloud.SpecChecker     = (*token)(nil)
)

// CheckSpec keeps the names under which lost tokens of endpoints are replaced.
func (k *token) CheckSpec(s cloud.Spec) error {
	if strings.HasPrefix(strings.ToLower(s.String("name")), "bc-r-") {
		return cloud.InvalidField("names that begin with bc-r- are kept for the endpoint itself", "spec.name")
	}
	return nil
}

func (k *token) of(v doapi.Verb, p *cloud.ParentRef) (tokens, error) {
	id, err := k.ParentID(v, p)
	return tokens{k.Base, id}, err
}

func (k *token) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	return k.look(ctx, r, func(w wireToken) bool { return w.Name == r.Spec.String("name") })
}

// Observe reads the list: one token alone cannot be asked for.
func (k *token) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	return k.look(ctx, r, func(w wireToken) bool { return w.ID == r.ProviderID })
}

func (k *token) look(ctx context.Context, r cloud.Request, is func(wireToken) bool) (*cloud.Observed, error) {
	t, err := k.of(doapi.Look, r.Parent)
	if err != nil {
		return nil, err
	}
	all, err := t.all(ctx, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	for i := range all {
		if is(all[i]) {
			return seenToken(&all[i]), nil
		}
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

// Create makes the token; its answer is the only one with the value.
func (k *token) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	t, err := k.of(doapi.Create, r.Parent)
	if err != nil {
		return nil, err
	}
	made, err := t.create(ctx, r.Spec.String("name"))
	if err != nil {
		return nil, k.Fail(doapi.Create, r, err, doapi.Fields("name"))
	}
	if made == nil || made.ID == "" {
		return nil, k.Missing(doapi.Create)
	}
	return seenToken(made), nil
}

func seenToken(w *wireToken) *cloud.Observed {
	o := &cloud.Observed{
		ProviderID: w.ID, Name: w.Name, Identity: w.Name, Phase: cloud.PhaseReady, CreatedAt: parseTime(w.CreatedAt),
		Spec:    cloud.Spec{"name": w.Name},
		Outputs: map[string]any{"id": w.ID},
	}
	if w.CreatedAt != "" {
		o.Outputs["created_at"] = w.CreatedAt
	}
	if w.Value != "" {
		o.Secrets = map[string]cloud.Secret{"token": cloud.NewSecret(w.Value)}
	}
	return o
}

// Diff is empty: a token is fixed.
func (k *token) Diff(cloud.Request, *cloud.Observed) []string { return nil }

// Update has nothing to change and nothing to start again.
func (k *token) Update(_ context.Context, _ cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	return &cloud.Updated{Settles: fields}, nil
}

// Delete revokes the token by its id, also when the endpoint goes: that may take
// an hour, and a deleted token must not work meanwhile (B20).
func (k *token) Delete(ctx context.Context, r cloud.Request) error {
	t, err := k.of(doapi.Delete, r.Parent)
	if err != nil {
		return err
	}
	return k.Fail(doapi.Delete, r, t.revoke(ctx, r.ProviderID))
}

// RecoverSecrets revokes the token, since nothing shows its value again.
func (k *token) RecoverSecrets(ctx context.Context, r cloud.Request, o *cloud.Observed) (*cloud.Observed, error) {
	t, err := k.of(doapi.Delete, r.Parent)
	if err != nil {
		return nil, err
	}
	if err := k.Fail(doapi.Delete, r, t.revoke(ctx, o.ProviderID)); err != nil && !cloud.IsNotFound(err) {
		return nil, err
	}
	return &cloud.Observed{ProviderID: o.ProviderID, Phase: cloud.PhaseGone}, nil
}

func (k *token) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	t, err := k.of(doapi.List, s.Parent)
	if err != nil {
		return nil, err
	}
	all, err := t.all(ctx, s.Limit)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := make([]*cloud.Observed, len(all))
	for i := range all {
		out[i] = seenToken(&all[i])
	}
	return out, nil
}
