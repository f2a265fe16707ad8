package database_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

const tenant = "Acme.Corp:EU_"

// world is an account with a way to see behind it.
type world struct {
	*testing.T
	cloud.ProviderResources
	sim simulator.Control
	// api is the provider itself, as somebody else would use it.
	api *doapi.Account
}

func newWorld(t *testing.T) *world {
	t.Parallel()
	opened, sim := kindtest.Open(t)
	api, err := doapi.Open(cloud.AccountAccess{APIURL: sim.URL, Token: cloud.NewSecret(kindtest.Token)}, nil)
	require.NoError(t, err)
	return &world{t, opened, sim, api}
}

func (w *world) kind(name string) cloud.Kind {
	k, ok := w.Kind(name)
	require.True(w, ok)
	return k
}

func (w *world) request(key string, s cloud.Spec) cloud.Request {
	id := cloud.ResourceID(tenant, "tester", key)
	return cloud.Request{ResourceID: id, TenantID: tenant, ProviderName: cloud.ProviderName(id), Spec: s, Memo: map[string]string{}, Now: time.Now()}
}

func clusterSpec() cloud.Spec {
	return cloud.Spec{"region": "nyc3", "version": "16", "size": "db-s-2vcpu-4gb", "num_nodes": 1}
}

// online makes a cluster and waits until it can be used.
func (w *world) online(kind, key string, s cloud.Spec) (cloud.Request, *cloud.Observed) {
	w.Helper()
	r := w.request(key, s)
	o, err := w.kind(kind).Create(context.Background(), r)
	require.NoError(w, err)
	r.ProviderID = o.ProviderID
	return r, w.settled(kind, r)
}

func (w *world) settled(kind string, r cloud.Request) (o *cloud.Observed) {
	w.Helper()
	require.Eventually(w, func() bool {
		var err error
		o, err = w.kind(kind).Observe(context.Background(), r)
		return err == nil && o.Phase == cloud.PhaseReady
	}, 10*time.Second, 5*time.Millisecond)
	return o
}

func (w *world) writes() (list []simulator.Request) {
	all, err := w.sim.Requests(context.Background(), kindtest.Token, 0)
	require.NoError(w, err)
	for _, r := range all {
		if r.Method != http.MethodGet {
			list = append(list, r)
		}
	}
	return list
}

func (w *world) tags() (names []string) {
	list, err := doapi.Pages[struct {
		Name string `json:"name"`
	}](context.Background(), w.api, "v2/tags", "tags", nil, 0)
	require.NoError(w, err)
	for _, t := range list {
		names = append(names, t.Name)
	}
	return names
}

// The tenant's id has characters that tags refuse; it comes back from its tag.
func TestOwnershipTags(t *testing.T) {
	w := newWorld(t)
	// The provider keeps the letter case of a tag's first use, account-wide.
	_, _, err := w.api.API.Tags.Create(context.Background(), tagRequest("BETTER-COMPUTE-MANAGED:TEST-DEPLOYMENT"))
	require.NoError(t, err)
	r, o := w.online("do.database.pg", "owner", clusterSpec())
	require.Equal(t, cloud.Owner{ResourceKey: cloud.LabelKey(r.ResourceID), Deployment: "test-deployment"}, o.Owner)

	var tenantTag string
	for _, name := range w.tags() {
		if text, ok := strings.CutPrefix(name, "better-compute-tenant:"); ok {
			tenantTag, _ = cloud.DecodeLabel(text)
		}
	}
	require.Equal(t, tenant, tenantTag)
}

// The tag that only this resource used goes with it, after a delete and after a
// release; tags of others stay.
func TestTagsAreCleanedUp(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	k := w.kind("do.database.pg")
	own := func(r cloud.Request) string { return "better-compute-resource:" + cloud.LabelKey(r.ResourceID) }

	r, _ := w.online("do.database.pg", "deleted", clusterSpec())
	require.Contains(t, w.tags(), own(r))
	require.NoError(t, k.Delete(ctx, r))
	require.Eventually(t, func() bool { _, err := k.Observe(ctx, r); return cloud.IsNotFound(err) }, 5*time.Second, 5*time.Millisecond)
	require.NotContains(t, w.tags(), own(r))

	r, _ = w.online("do.database.pg", "released", clusterSpec())
	require.NoError(t, w.api.Tag(ctx, "database", r.ProviderID, "team:web"))
	require.NoError(t, k.(cloud.Labeler).Unlabel(ctx, r))
	require.NotContains(t, w.tags(), own(r))
	o, err := k.Observe(ctx, r)
	require.NoError(t, err)
	require.Equal(t, []any{"team:web"}, o.Outputs["tags"])
	require.NotContains(t, o.Spec, "tags", "an adopted one does not come to want them")
	require.Empty(t, o.Owner)
}

// The deciding label goes last: whatever call of a release fails before it, the
// object still counts as managed.
func TestReleaseRemovesTheDecidingLabelLast(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	k := w.kind("do.database.pg")
	r, _ := w.online("do.database.pg", "half", clusterSpec())
	one := 1
	_, err := w.sim.AddFault(ctx, simulator.Fault{Method: "DELETE", Path: "/v2/tags/*/resources", Skip: 1, Times: &one, Effect: simulator.Effect{Status: 403}})
	require.NoError(t, err)
	err = k.(cloud.Labeler).Unlabel(ctx, r)
	require.Equal(t, cloud.ClassRefused, cloud.ClassOf(err), "a 403 is the refusal of the release: %v", err)
	o, err := k.Observe(ctx, r)
	require.NoError(t, err)
	require.Equal(t, cloud.LabelKey(r.ResourceID), o.Owner.ResourceKey)
}

// A token without the right to see credentials gets none: nothing is sealed
// that is half a credential.
func TestHiddenCredentials(t *testing.T) {
	w := newWorld(t)
	r, _ := w.online("do.database.pg", "hidden", clusterSpec())
	require.NoError(t, w.sim.SetAccount(context.Background(), kindtest.Token, map[string]any{"hideCredentials": true}))
	o := w.settled("do.database.pg", r)
	require.Empty(t, o.Secrets)
	require.NotEmpty(t, o.Outputs["host"])
	_, err := w.kind("do.database.pg").(cloud.SecretRecoverer).RecoverSecrets(context.Background(), r, o)
	require.Equal(t, cloud.ClassBusy, cloud.ClassOf(err))
	require.Contains(t, err.Error(), "view_credentials")
}

// A bigger size brings more storage; the old value is not sent with it.
func TestResizeLeavesStorageOut(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	k := w.kind("do.database.pg")
	s := clusterSpec()
	s["storage_size_mib"] = 81920
	r, o := w.online("do.database.pg", "resize", s)
	r.Applied = s
	r.Spec = s.Merge(cloud.Spec{"size": "gd-8vcpu-32gb"})
	require.Equal(t, []string{"size"}, k.Diff(r, o))
	u, err := k.Update(ctx, r, o, []string{"size"})
	require.NoError(t, err)
	require.Equal(t, []string{"size"}, u.Settles)
	last := w.writes()[len(w.writes())-1]
	require.Contains(t, last.Path, "/resize")
	require.NotContains(t, string(last.Body), "storage")
	require.Eventually(t, func() bool { // online with the old size at first
		o = w.settled("do.database.pg", r)
		return len(k.Diff(r, o)) == 0
	}, 10*time.Second, 5*time.Millisecond)

	r.Applied = r.Spec
	r.Spec = r.Spec.Merge(cloud.Spec{"storage_size_mib": 1024})
	_, err = k.Update(ctx, r, o, k.Diff(r, o))
	require.Equal(t, cloud.ClassRefused, cloud.ClassOf(err))
	var p *cloud.ProviderError
	require.ErrorAs(t, err, &p)
	require.Equal(t, []string{"spec.storage_size_mib"}, p.Fields)
	require.NotEmpty(t, p.RequestID)
}

// While something runs on the cluster, a change is busy, not refused.
func TestBusyCluster(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	k := w.kind("do.database.pg")
	r, o := w.online("do.database.pg", "busy", clusterSpec())
	_, err := w.sim.AddFault(ctx, simulator.Fault{Method: "PUT", Path: "/v2/databases/*/resize", Effect: simulator.Effect{Busy: 412}})
	require.NoError(t, err)
	_, err = w.sim.AddFault(ctx, simulator.Fault{Method: "DELETE", Path: "/v2/databases/*", Effect: simulator.Effect{Busy: 409}})
	require.NoError(t, err)
	r.Spec = r.Spec.Merge(cloud.Spec{"size": "db-s-4vcpu-8gb"})
	_, err = k.Update(ctx, r, o, []string{"size"})
	require.Equal(t, cloud.ClassBusy, cloud.ClassOf(err), "%v", err)
	require.Equal(t, cloud.ClassBusy, cloud.ClassOf(k.Delete(ctx, r)))
}

// A network is joined by the VPC that it has in the cluster's region.
func TestNetworks(t *testing.T) {
	w := newWorld(t)
	vpc := simulator.VPCID(kindtest.Token, "nyc3")
	s := clusterSpec().Merge(cloud.Spec{"network": "net_acme"})
	r := w.request("net", s)
	r.Networks = map[string]cloud.NetworkRef{"net_acme": {"nyc3": vpc}}
	o, err := w.kind("do.database.pg").Create(context.Background(), r)
	require.NoError(t, err)
	require.Equal(t, vpc, o.Outputs["private_network_uuid"])

	r = w.request("elsewhere", s.Merge(cloud.Spec{"region": "ams3"}))
	r.Networks = map[string]cloud.NetworkRef{"net_acme": {"nyc3": vpc}}
	_, err = w.kind("do.database.pg").Create(context.Background(), r)
	require.Equal(t, cloud.ClassRefused, cloud.ClassOf(err))
	require.Contains(t, err.Error(), "ams3")
}

// The firewall of a cluster that is being deleted is left as it is: emptying it
// would open the cluster while it dies.
func TestFirewallOfADyingCluster(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	k := w.kind("do.database.pg.firewall")
	cluster, _ := w.online("do.database.pg", "guarded", clusterSpec())
	r := w.request("firewall", cloud.Spec{"rules": []any{ipRule("203.0.113.1", "home")}})
	r.Parent = &cloud.ParentRef{ProviderID: cluster.ProviderID}
	o, err := k.Create(ctx, r)
	require.NoError(t, err)
	r.ProviderID = o.ProviderID
	before := len(w.writes())
	r.Parent.Deleting = true
	require.True(t, cloud.IsNotFound(k.Delete(ctx, r)))
	require.Len(t, w.writes(), before, "no call")

	r.Parent.Deleting = false
	r.Spec = cloud.Spec{"rules": []any{ipRule("203.0.113.1", ""), ipRule("203.0.113.2", "")}}
	o, err = k.Observe(ctx, r)
	require.NoError(t, err)
	require.Equal(t, []string{"rules"}, k.Diff(r, o))
	require.NoError(t, k.Delete(ctx, r))
	_, err = k.Observe(ctx, r)
	require.True(t, cloud.IsNotFound(err), "emptied by us: gone")
}

// Another user's password changes with the way it authenticates, and the new one
// arrives with the call.
func TestAuthPluginMakesANewPassword(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	k := w.kind("do.database.mysql.user")
	cluster, seen := w.online("do.database.mysql", "mysql", clusterSpec().Merge(cloud.Spec{"version": "8"}))
	r := w.request("user", cloud.Spec{"name": "app"})
	r.Parent = &cloud.ParentRef{ProviderID: cluster.ProviderID, Outputs: seen.Outputs}
	o, err := k.Create(ctx, r)
	require.NoError(t, err)
	r.ProviderID = o.ProviderID
	require.Contains(t, o.Secrets["uri"].Reveal(), o.Secrets["password"].Reveal())
	require.Contains(t, o.Secrets["uri"].Reveal(), seen.Outputs["host"])
	r.Spec["mysql_settings"] = map[string]any{"auth_plugin": "mysql_native_password"}
	u, err := k.Update(ctx, r, o, k.Diff(r, o))
	require.NoError(t, err)
	require.NotEqual(t, o.Secrets["password"].Reveal(), u.Observed.Secrets["password"].Reveal())
}

// A pool waits for the database and user that it names, for a while.
func TestPoolWaitsForItsDatabase(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	k := w.kind("do.database.pg.pool")
	cluster, seen := w.online("do.database.pg", "pools", clusterSpec())
	r := w.request("pool", cloud.Spec{"name": "web", "mode": "transaction", "size": 5, "db": "shop"})
	r.Parent = &cloud.ParentRef{ProviderID: cluster.ProviderID, Outputs: seen.Outputs}
	_, err := k.Create(ctx, r)
	require.Equal(t, cloud.ClassBusy, cloud.ClassOf(err), "%v", err)
	require.Contains(t, err.Error(), "shop")
	r.Now = r.Now.Add(time.Hour)
	_, err = k.Create(ctx, r)
	require.Equal(t, cloud.ClassRefused, cloud.ClassOf(err), "%v", err)

	db := w.request("db", cloud.Spec{"name": "shop"})
	db.Parent = r.Parent
	_, err = w.kind("do.database.pg.db").Create(ctx, db)
	require.NoError(t, err)
	o, err := k.Create(ctx, r)
	require.NoError(t, err)
	require.NotEmpty(t, o.Secrets["uri"])
	require.NotEmpty(t, o.Secrets["password"])
}

// A child of a cluster that nobody sees yet waits; of one that was online and is
// gone, it is refused.
func TestChildWithoutCluster(t *testing.T) {
	w := newWorld(t)
	k := w.kind("do.database.pg.user")
	r := w.request("orphan", cloud.Spec{"name": "app"})
	_, err := k.Create(context.Background(), r)
	require.Equal(t, cloud.ClassBusy, cloud.ClassOf(err), "no parent id yet: %v", err)
	r.Parent = &cloud.ParentRef{ProviderID: "5c5bd4b2-0000-4000-8000-000000000000"}
	_, err = k.Create(context.Background(), r)
	require.Equal(t, cloud.ClassBusy, cloud.ClassOf(err), "not visible yet: %v", err)
	r.Parent.Outputs = map[string]any{"status": "online"}
	_, err = k.Create(context.Background(), r)
	require.Equal(t, cloud.ClassRefused, cloud.ClassOf(err), "gone: %v", err)
}

// discover asks without a parent and reads only the engine's clusters.
func TestListAcrossClusters(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	pg, _ := w.online("do.database.pg", "pg", clusterSpec())
	w.online("do.database.mysql", "mysql", clusterSpec().Merge(cloud.Spec{"version": "8"}))
	found, err := w.kind("do.database.pg.pool").List(ctx, cloud.Scope{})
	require.NoError(t, err)
	require.Empty(t, found)
	users, err := w.kind("do.database.pg.user").List(ctx, cloud.Scope{})
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(users, func(o *cloud.Observed) bool { return o.Name == "doadmin" }))
	clusters, err := w.kind("do.database.pg").List(ctx, cloud.Scope{})
	require.NoError(t, err)
	require.Len(t, clusters, 1)
	require.Equal(t, pg.ProviderID, clusters[0].ProviderID)
	_, err = w.sim.AddFault(ctx, simulator.Fault{Method: "GET", Path: "/v2/databases/*/pools", Effect: simulator.Effect{Status: 422}})
	require.NoError(t, err)
	found, err = w.kind("do.database.pg.pool").List(ctx, cloud.Scope{})
	require.NoError(t, err, "an unsupported list is an empty one")
	require.Empty(t, found)
	_, err = w.kind("do.database.pg.pool").List(ctx, cloud.Scope{Parent: &cloud.ParentRef{ProviderID: pg.ProviderID}})
	require.Error(t, err, "of a parent whose children are recorded it is no evidence")
}

func tagRequest(name string) *godo.TagCreateRequest { return &godo.TagCreateRequest{Name: name} }
