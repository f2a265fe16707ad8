package apitest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/api/authz"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/contract"
	"github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// Accounts, pools and other ids of the development platform.
const (
	AccountShared = "acct_shared"
	AccountAcme   = "acct_acme"
)

// Ids with a word at their end.
var (
	PoolShared, PoolAcme, PoolFree, PoolOther = pad("pool_", "shared"), pad("pool_", "acme"), pad("pool_", "free"), pad("pool_", "kvmx")
	// PoolQuorum demands a quorum for deletions.
	PoolQuorum  = pad("pool_", "qrm")
	ProjectWebs = pad("prj_", "webs")
)

// Instance and Network are ids of the development platform.
func Instance(word string) string { return pad("ins_", word) }
func Network(word string) string  { return pad("net_", word) }

func pad(prefix, word string) string { return prefix + strings.Repeat("0", 26-len(word)) + word }

// Principals of the development platform.
var (
	Root   = principal("root", "admin")
	Alice  = principal("acme", "alice")
	Dora   = principal("acme", "dora")
	Rita   = principal("acme", "rita")
	Bob    = principal("globex", "bob")
	Gavin  = principal("hooli", "gavin")
	Peter  = principal("initech", "peter")
	Nobody = principal("acme", "nobody")
)

func principal(tenant, user string) intent.Principal {
	return intent.Principal{Tenant: tenant, User: user, ID: tenant + "/" + user}
}

// World is one test's deployment.
type World struct {
	*pgtest.DB
	Provider *Provider
	Service  *intent.Service
	Platform *platform.File
	// Secrets says whether there is a secret store.
	Secrets bool

	t testing.TB
}

// New makes a world with the development platform and a pool that demands a
// quorum.
func New(t testing.TB, edits ...func(f *platform.File)) *World {
	t.Helper()
	w := &World{DB: pgtest.New(t), t: t, Secrets: true}
	file, err := platform.Development("http://127.0.0.1:1")
	require.NoError(t, err)
	file.Pools = append(file.Pools, platform.Pool{ID: PoolQuorum, Type: platform.PoolProvider, Account: AccountAcme, Owner: "acme", Billing: cloud.BillingNone, DestructiveQuorum: true})
	w.Platform = file
	w.Apply(edits...)
	w.Provider = &Provider{
		objects: map[string][]*Object{}, signals: map[string][]cloud.Signal{}, deployment: w.Deployment,
		previews: func(account string) bool {
			for _, a := range w.Platform.Accounts {
				if a.ID == account {
					return a.Previews
				}
			}
			return false
		},
	}
	w.Service = &intent.Service{
		Store: w.Store, Validator: contract.New(), Accounts: w.Provider, Authorizer: authz.New(w.Store),
		SecretStore: func() bool { return w.Secrets }, Answers: w.Store, Now: time.Now,
		Batches: &intent.BatchService{Store: w.Store, Now: time.Now},
	}
	return w
}

// Apply changes the platform file and applies it.
func (w *World) Apply(edits ...func(f *platform.File)) {
	w.t.Helper()
	for _, edit := range edits {
		edit(w.Platform)
	}
	_, err := w.Store.Apply(context.Background(), w.Platform, postgres.ApplyOptions{})
	require.NoError(w.t, err)
}

// Deployment is the deployment's name.
func (w *World) Deployment(ctx context.Context) (string, error) { return w.Store.Deployment(ctx) }

// Ready makes a resource ready as a worker would, under a provider id.
func (w *World) Ready(r *cloud.Resource, providerID string) *cloud.Resource {
	w.t.Helper()
	return w.Step(r, func(r *cloud.Resource) []*cloud.Change {
		o := &cloud.Observed{ProviderID: providerID, Phase: cloud.PhaseReady, Outputs: map[string]any{"host": "db.example.com"}}
		now := time.Now()
		var changes []*cloud.Change
		if r.Adopting() {
			o.Spec = cloud.Spec{"region": "nyc3", "size": "small"}
			changes = append(changes, r.TakeOver(o, "", now))
		} else {
			r.Attempt(now)
			changes = append(changes, r.Accept(o, now))
		}
		if r.Kind == Cluster || r.Kind == User {
			o.Secrets = map[string]cloud.Secret{"password": cloud.NewSecret("canary-" + r.ID)}
		}
		return append(changes, r.Ready(o, r.Generation, now))
	})
}

// Step changes a record as a worker would.
func (w *World) Step(r *cloud.Resource, fn func(r *cloud.Resource) []*cloud.Change) *cloud.Resource {
	w.t.Helper()
	ctx := context.Background()
	err := w.Hold(ctx, r.ID, func(ctx context.Context, h activities.Hold) error {
		return h.Commit(ctx, func(r *cloud.Resource) *cloud.Change {
			out := &cloud.Change{Seal: map[string]cloud.Secret{}}
			for _, c := range fn(r) {
				out.Events = append(out.Events, c.Events...)
				out.SettleBooking = out.SettleBooking || c.SettleBooking
				out.Ended = out.Ended || c.Ended
				for name, s := range c.Seal {
					out.Seal[name] = s
				}
			}
			return out
		})
	})
	require.NoError(w.t, err)
	fresh, err := w.Resource(ctx, r.TenantID, r.ID)
	require.NoError(w.t, err)
	return fresh
}

// Ended makes a resource deleted as a worker would.
func (w *World) Ended(r *cloud.Resource) *cloud.Resource {
	w.t.Helper()
	return w.Step(r, func(r *cloud.Resource) []*cloud.Change {
		now := time.Now()
		return []*cloud.Change{r.WantDelete(now), r.Deleted(now)}
	})
}

// Events are the types of a tenant's events about a subject, in order.
func (w *World) Events(tenant, subject string) []string {
	w.t.Helper()
	events, err := w.ListEvents(context.Background(), tenant, 0, 1000)
	require.NoError(w.t, err)
	types := []string{}
	for _, e := range events {
		if e.Subject == subject {
			types = append(types, strings.TrimPrefix(e.Type, "cloud.resource."))
		}
	}
	return types
}

// Count counts the rows of a table.
func (w *World) Count(table string) int {
	w.t.Helper()
	return pgtest.Value[int](w.DB, "SELECT count(*) FROM "+table)
}

// Refusal is what a refused call was told.
type Refusal struct {
	Message    string
	Details    map[string]any
	RetryAfter time.Duration
}

// Refused checks that err is a *cloud.Error of a code and reason ("" for none)
// with these fields, if any, and returns what it tells.
func Refused(t testing.TB, err error, code cloud.Code, reason string, fields ...string) Refusal {
	t.Helper()
	require.Error(t, err)
	e := cloud.AsError(err)
	require.Equal(t, code, e.Code, e.Error())
	require.Equal(t, reason, e.Reason(), e.Error())
	if len(fields) > 0 {
		require.Equal(t, fields, e.Details["fields"], e.Error())
	}
	return Refusal{Message: e.Message, Details: e.Details, RetryAfter: e.RetryAfter}
}
