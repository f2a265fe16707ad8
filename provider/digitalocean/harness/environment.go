package harness

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed environment.json
var environmentJSON []byte

var environmentManifest = cloud.MustManifest(environmentJSON)

type environment struct{ doapi.Base }

// Environment is the kind do.harness.environment. a is nil when only the
// manifest is asked for.
func Environment(a *doapi.Account) cloud.Kind {
	return &environment{doapi.NewBase(a, environmentManifest)}
}

const configs = "v2/harness-runtime/configs"

// wire is an environment as the API shows it; the list leaves the manifest out.
type wire struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	SchemaVersion string   `json:"agentspec_schema_version"`
	ContentHash   string   `json:"content_hash"`
	Region        string   `json:"region"`
	Warnings      []string `json:"warnings"`
	CreatedAt     string   `json:"created_at"`
}

// off is what 403 means here: the team does not have the feature.
var off = doapi.Means(http.StatusForbidden, cloud.ClassRefused)

// Find looks for the name among the environments of the region.
func (k *environment) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	host, err := k.host(doapi.Look, r)
	if err != nil {
		return nil, err
	}
	all, err := list(ctx, host, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err, off)
	}
	for i := range all {
		if strings.EqualFold(all[i].Name, r.ProviderName) && all[i].ID != "" {
			return k.observed(r, &all[i]), nil
		}
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

// host is the account on the host of the spec's region.
func (k *environment) host(v doapi.Verb, r cloud.Request) (*doapi.Account, error) {
	host, err := k.Regional(r.Spec.String("region"))
	if err != nil {
		return nil, k.Fail(v, r, err)
	}
	return host, nil
}

// Create sends the manifest with the values of its secrets.
func (k *environment) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	if err := k.checkRegion(ctx, r); err != nil {
		return nil, err
	}
	host, err := k.host(doapi.Create, r)
	if err != nil {
		return nil, err
	}
	manifest, err := fill(r.Spec.String("manifest_yaml"), r.Resolve)
	if err != nil {
		return nil, cloud.Refuse(k.Op(doapi.Create), "the manifest cannot be read", "spec.manifest_yaml")
	}
	return k.one(ctx, doapi.Create, host, http.MethodPost, configs, r, map[string]any{"name": r.ProviderName, "manifest_yaml": manifest})
}

// checkRegion refuses a region that Harness Runtime does not have for the team;
// its host would not exist.
func (k *environment) checkRegion(ctx context.Context, r cloud.Request) error {
	want := r.Spec.String("region")
	if want == "" {
		return nil
	}
	have, err := regions(ctx, k.Account)
	if err != nil {
		return k.Fail(doapi.Look, r, err, off)
	}
	for _, region := range have {
		if region == want {
			return nil
		}
	}
	return cloud.Refuse(k.Op(doapi.Create), "Harness Runtime is not in region "+want+"; it is in "+strings.Join(have, ", "), "spec.region")
}

func (k *environment) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	host, err := k.host(doapi.Look, r)
	if err != nil {
		return nil, err
	}
	return k.one(ctx, doapi.Look, host, http.MethodGet, doapi.Path("v2", "harness-runtime", "configs", r.ProviderID), r, nil)
}

// one makes a call that answers one environment.
func (k *environment) one(ctx context.Context, v doapi.Verb, host *doapi.Account, method, path string, r cloud.Request, in any) (*cloud.Observed, error) {
	var answer struct {
		Config *wire `json:"config"`
	}
	if err := host.Call(ctx, method, path, in, &answer); err != nil {
		return nil, k.Fail(v, r, err, off, doapi.Fields("manifest_yaml"))
	}
	if answer.Config == nil || answer.Config.ID == "" {
		return nil, k.Missing(v)
	}
	return k.observed(r, answer.Config), nil
}

func (k *environment) observed(r cloud.Request, w *wire) *cloud.Observed {
	o := &cloud.Observed{
		ProviderID: w.ID, Name: w.Name, Region: w.Region, Phase: cloud.PhaseReady,
		Owner:   cloud.Owner{ResourceKey: cloud.KeyFromProviderName(strings.ToLower(w.Name))},
		Spec:    cloud.Spec{},
		Outputs: map[string]any{"id": w.ID, "content_hash": w.ContentHash, "schema_version": w.SchemaVersion},
	}
	o.CreatedAt, _ = time.Parse(time.RFC3339, w.CreatedAt) // zero means not told
	if w.Region != "" {
		o.Spec["region"], o.Outputs["region"] = w.Region, w.Region
	}
	if len(w.Warnings) > 0 {
		warnings := []any{}
		for _, text := range w.Warnings {
			warnings = append(warnings, k.Words(r, text))
		}
		o.Outputs["warnings"] = warnings
	}
	return o
}

// Diff is empty: an environment never changes.
func (k *environment) Diff(cloud.Request, *cloud.Observed) []string { return nil }

// Update has nothing to change and nothing to start again.
func (k *environment) Update(_ context.Context, _ cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	return &cloud.Updated{Settles: fields}, nil
}

// Delete takes the environment out of use; the provider keeps a trace of it.
func (k *environment) Delete(ctx context.Context, r cloud.Request) error {
	host, err := k.host(doapi.Delete, r)
	if err != nil {
		return err
	}
	path := doapi.Path("v2", "harness-runtime", "configs", r.ProviderID)
	return k.Fail(doapi.Delete, r, host.Call(ctx, http.MethodDelete, path, nil, nil), off)
}

// List returns the environments of every region of the account.
func (k *environment) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	hosts, err := Hosts(ctx, k.Account)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err, off)
	}
	out := []*cloud.Observed{}
	for _, host := range hosts {
		left := 0
		if s.Limit > 0 {
			if left = s.Limit - len(out); left <= 0 {
				break
			}
		}
		all, err := list(ctx, host, left)
		if err != nil {
			return nil, k.Fail(doapi.List, cloud.Request{}, err, off)
		}
		for i := range all {
			out = append(out, k.observed(cloud.Request{}, &all[i]))
		}
	}
	return out, nil
}

// pageSize is how many are asked for at once, and maxPages stops a list that
// never ends.
const (
	pageSize = "100"
	maxPages = 1000
)

// list reads the environments of one host to the last page, or until limit were
// found (0 reads all).
func list(ctx context.Context, host *doapi.Account, limit int) ([]wire, error) {
	var all []wire
	token := ""
	for range maxPages {
		query := url.Values{"page_size": {pageSize}}
		if token != "" {
			query.Set("page_token", token)
		}
		var page struct {
			Configs json.RawMessage `json:"configs"`
			Next    string          `json:"next_page_token"`
		}
		if err := host.Get(ctx, configs+"?"+query.Encode(), &page); err != nil {
			return nil, err
		}
		if page.Configs == nil {
			return nil, noList
		}
		var items []wire
		if err := json.Unmarshal(page.Configs, &items); err != nil {
			return nil, err
		}
		all = append(all, items...)
		if limit > 0 && len(all) >= limit {
			return all[:limit], nil
		}
		if page.Next == "" || page.Next == token {
			return all, nil
		}
		token = page.Next
	}
	return nil, &cloud.ProviderError{Class: cloud.ClassUnknown, Message: "the list of environments does not end"}
}

// noList is an answer without a list: nothing that we know, and no absence.
var noList = &cloud.ProviderError{Class: cloud.ClassUnknown, Message: "the answer holds no list"}
