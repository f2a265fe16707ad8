// Package kindtest runs the conformance suite for kinds of this provider, each
// check over a simulator of its own and real HTTP.
package kindtest

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/simtest"
	"github.com/better-compute/cloud-resources/provider/providertest"
)

// Token is the account that the checks use.
const Token = "dop_v1_acme"

// Case is a kind under test. The embedded harness' Start and Kind are filled in.
type Case struct {
	Kind string
	// Create is the request that makes an object, as a fault names it:
	// "POST /v2/databases/*/users".
	Create string
	// Objects is the simulator's type of the objects ("database.user"), and Count
	// replaces counting them where the product has no objects of its own.
	Objects string
	Count   func(t *testing.T, url string) int
	// Filter narrows the objects that are counted; nil counts all.
	Filter func(o simulator.Object) bool
	// Settings changes the simulator's settings before a check begins.
	Settings map[string]any

	Spec       cloud.Spec
	ParentSpec cloud.Spec
	Updates    []cloud.Spec
	NotUpdated map[string]string
	Siblings   []providertest.Sibling
	Async      bool
	Networks   map[string]cloud.NetworkRef
	Instances  map[string]string
	Secrets    map[string]cloud.Secret
	Vary       func(spec cloud.Spec, i int) cloud.Spec
	Many       int
	Patience   time.Duration
}

// Run runs the suite.
func Run(t *testing.T, c Case) {
	t.Helper()
	providertest.Run(t, providertest.Harness{
		Start: func(t *testing.T) providertest.Backend { return start(t, c) },
		Kind:  c.Kind, Spec: c.Spec, ParentSpec: c.ParentSpec, Updates: c.Updates, NotUpdated: c.NotUpdated,
		Siblings: c.Siblings, Async: c.Async, Networks: c.Networks, Instances: c.Instances, Secrets: c.Secrets,
		Vary: c.Vary, Many: c.Many, Patience: c.Patience,
	})
}

// Open starts a simulator and opens its account, for a kind's own tests.
func Open(t testing.TB) (cloud.ProviderResources, simulator.Control) {
	t.Helper()
	url, _ := simtest.Start(t)
	opened, err := digitalocean.New().Open(access(url))
	require.NoError(t, err)
	return opened, simulator.Control{URL: url}
}

func access(url string) cloud.AccountAccess {
	return cloud.AccountAccess{
		ID: "acct_test", Provider: digitalocean.Name, Token: cloud.NewSecret(Token), APIURL: url,
		Regions: []string{"nyc3", "ams3", "atl1", "nyc2"}, Previews: true, Deployment: "test-deployment",
	}
}

type backend struct {
	simulator.Control
	c        Case
	provider cloud.Provider
}

func start(t *testing.T, c Case) *backend {
	url, _ := simtest.Start(t)
	b := &backend{Control: simulator.Control{URL: url}, c: c, provider: digitalocean.New()}
	if len(c.Settings) > 0 {
		_, err := b.PutSettings(context.Background(), c.Settings)
		require.NoError(t, err)
	}
	return b
}

func (b *backend) Provider() cloud.Provider    { return b.provider }
func (b *backend) Access() cloud.AccountAccess { return access(b.URL) }

func (b *backend) Refusal(words string) string {
	body, err := json.Marshal(map[string]string{"id": "unprocessable_entity", "message": words})
	if err != nil {
		return ""
	}
	return string(body)
}

func (b *backend) Objects(t *testing.T) int {
	t.Helper()
	if b.c.Count != nil {
		return b.c.Count(t, b.URL)
	}
	all, err := b.Control.Objects(context.Background(), Token)
	require.NoError(t, err)
	n := 0
	for _, o := range all {
		if o.Text("type") == b.c.Objects && !o.Seeded() && (b.c.Filter == nil || b.c.Filter(o)) {
			n++
		}
	}
	return n
}

func (b *backend) Writes(t *testing.T) int {
	t.Helper()
	all, err := b.Requests(context.Background(), "", 0)
	require.NoError(t, err)
	n := 0
	for _, r := range all {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			n++
		}
	}
	return n
}

func (b *backend) Plan(t *testing.T, f providertest.Fault) {
	t.Helper()
	fault := simulator.Fault{Method: "*", Path: "/**"}
	switch f.On {
	case providertest.Creates:
		fault.Method, fault.Path, _ = strings.Cut(b.c.Create, " ")
		fault.Path = path.Clean(fault.Path)
	case providertest.Reads:
		fault.Method = http.MethodGet
	}
	if f.Times > 0 {
		fault.Times = &f.Times
	}
	switch {
	case f.Drop:
		fault.Effect = simulator.Effect{Accept: true, Then: &simulator.Then{Drop: true}}
	case f.Lost != 0:
		fault.Effect = simulator.Effect{Accept: true, Then: &simulator.Then{Status: f.Lost}}
	case f.Late != 0:
		fault.Effect = simulator.Effect{InvisibleFor: simulator.Duration(f.Late)}
	default:
		fault.Effect = simulator.Effect{Status: f.Refuse, Headers: f.Headers}
		if f.Body != "" || f.Refuse == http.StatusOK {
			fault.Effect.Body = f.Body
		}
	}
	_, err := b.AddFault(context.Background(), fault)
	require.NoError(t, err)
}

func (b *backend) Clear(t *testing.T) {
	t.Helper()
	require.NoError(t, b.ClearFaults(context.Background()))
}
