package inference

import (
	"context"
	"net/http"
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// tokens are the access tokens of one endpoint, without those that the provider
// manages. Its errors go through Fail of the kind that calls.
type tokens struct {
	doapi.Base
	endpoint string
}

func (t tokens) path(more ...string) string {
	return doapi.Path(append([]string{"v2", "dedicated-inferences", t.endpoint, "tokens"}, more...)...)
}

func (t tokens) all(ctx context.Context, limit int) ([]wireToken, error) {
	all, err := doapi.Pages[wireToken](ctx, t.Account, t.path(), "tokens", nil, 0)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(w wireToken) bool { return w.IsManaged || w.ID == "" })
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	return all, nil
}

// create makes a token; nil when the answer holds none.
func (t tokens) create(ctx context.Context, name string) (*wireToken, error) {
	var made answer
	err := t.Call(ctx, http.MethodPost, t.path(), map[string]string{"name": name}, &made)
	return made.Token, err
}

func (t tokens) revoke(ctx context.Context, id string) error {
	return t.Call(ctx, http.MethodDelete, t.path(id), nil, nil)
}
