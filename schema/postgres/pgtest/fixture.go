package pgtest

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

// The ids of World.
const (
	Root, Acme, Globex = "root", "acme", "globex"

	AccountShared, AccountAcme = "acct_shared", "acct_acme"
)

// Ids of World that follow a pattern.
var (
	PoolShared, PoolAcme, PoolFree = PoolID("shared"), PoolID("acme"), PoolID("free")
	ProjectWebs                    = "prj_" + pad("webs")
)

// PoolID, InstanceID and NetworkID make ids out of a short word.
func PoolID(word string) string     { return "pool_" + pad(word) }
func InstanceID(word string) string { return "ins_" + pad(word) }
func NetworkID(word string) string  { return "net_" + pad(word) }

func pad(word string) string { return strings.Repeat("0", max(0, 26-len(word))) + word }

// World declares the tenants root, acme and globex; root's account, whose
// metered pool is offered to both others; acme's account with a platform-fee
// pool and one that is not billed; a project, instances and networks.
func (db *DB) World() *DB {
	db.t.Helper()
	db.Deployment("test", map[string]any{})
	for _, tenant := range []string{Root, Acme, Globex} {
		db.Tenant(tenant)
	}
	db.Account(AccountShared, Root, "nyc3", "ams3")
	db.Account(AccountAcme, Acme, "nyc3", "ams3", "atl1", "nyc2")
	db.Pool(PoolShared, Root, AccountShared, cloud.BillingMetered)
	db.Pool(PoolAcme, Acme, AccountAcme, cloud.BillingPlatformFee)
	db.Pool(PoolFree, Acme, AccountAcme, cloud.BillingNone)
	db.Offer(Acme, PoolShared)
	db.Offer(Globex, PoolShared)
	db.Exec("INSERT INTO projects (id, tenant_id) VALUES ($1, $2)", ProjectWebs, Acme)
	db.Instance(InstanceID("acme"), Acme, AccountAcme, true)
	db.Instance(InstanceID("dead"), Acme, AccountAcme, false)
	db.Instance(InstanceID("shared"), Acme, AccountShared, true)
	db.Instance(InstanceID("gx"), Globex, AccountShared, true)
	db.Network(NetworkID("acme"), Acme, AccountAcme, map[string]string{"nyc3": "vpc-nyc3", "atl1": "vpc-atl1"})
	db.Network(NetworkID("gx"), Globex, AccountShared, map[string]string{"nyc3": "vpc-gx"})
	return db
}

// Deployment names the deployment and sets its settings.
func (db *DB) Deployment(name string, settings map[string]any) {
	db.t.Helper()
	raw, err := json.Marshal(settings)
	require.NoError(db.t, err)
	db.Exec(`INSERT INTO deployment (name, settings) VALUES ($1, $2)
		ON CONFLICT (only_row) DO UPDATE SET name = EXCLUDED.name, settings = EXCLUDED.settings`, name, string(raw))
}

// Tenant declares a tenant.
func (db *DB) Tenant(id string) {
	db.t.Helper()
	db.Exec("INSERT INTO tenants (id) VALUES ($1)", id)
}

// Account declares a provider account with a token that opens with the store's keys.
func (db *DB) Account(id, owner string, regions ...string) {
	db.t.Helper()
	sealed, err := db.keyset.Seal([]byte("token-of-"+id), []byte("account/"+id))
	require.NoError(db.t, err)
	db.Exec(`INSERT INTO provider_accounts (id, provider, owner_tenant_id, token_sealed, regions)
		VALUES ($1, 'digitalocean', $2, $3, $4)`, id, owner, sealed, regions)
}

// Pool declares a provider pool.
func (db *DB) Pool(id, owner, account string, billing cloud.Billing) {
	db.t.Helper()
	db.Exec("INSERT INTO pools (id, type, owner_tenant_id, account_id, billing) VALUES ($1, 'provider', $2, $3, $4)", id, owner, account, billing)
}

// Offer offers a pool to a tenant, leaving regions out.
func (db *DB) Offer(tenant, pool string, excluded ...string) {
	db.t.Helper()
	db.Exec("INSERT INTO offers (tenant_id, pool_id, excluded_regions) VALUES ($1, $2, coalesce($3::text[], '{}'))", tenant, pool, excluded)
}

// Instance and Network declare what specs refer to.
func (db *DB) Instance(id, tenant, account string, live bool) {
	db.t.Helper()
	db.Exec("INSERT INTO instances (id, tenant_id, account_id, provider_id, live) VALUES ($1, $2, $3, $4, $5)", id, tenant, account, "at-provider-"+id, live)
}

// Network declares a network with a VPC by region.
func (db *DB) Network(id, tenant, account string, vpcs map[string]string) {
	db.t.Helper()
	raw, err := json.Marshal(vpcs)
	require.NoError(db.t, err)
	db.Exec("INSERT INTO networks (id, tenant_id, account_id, vpcs) VALUES ($1, $2, $3, $4)", id, tenant, account, string(raw))
}

// Manifests of kinds that exist for tests only: one that others live in, two
// that live in it, and one that books.
var (
	KindCluster = manifest(`{"kind": "test.cluster", "family": "data", "regional": true, "ownership": "labels",
		"regionMap": {"nyc3": ["nyc3"], "ams3": ["ams3"], "atl1": ["atl1"], "nyc": ["nyc2", "nyc3"]},
		"secretOutputs": [{"name": "password"}], "meters": ["test.cluster.nodes"],
		"spec": {"properties": {"region": {}, "size": {"x-updatable": true}, "network": {"x-networks": true},
			"instances": {"x-instances": true}, "token": {"x-secret-ref": true}}}}`)
	KindUser = manifest(`{"kind": "test.cluster.user", "family": "data", "parent": "test.cluster", "ownership": "parent",
		"identity": {"fields": ["name"]}, "spec": {"properties": {"name": {}}}}`)
	KindFirewall = manifest(`{"kind": "test.cluster.firewall", "family": "data", "parent": "test.cluster", "ownership": "parent",
		"identity": {"single": true}, "spec": {"properties": {"rules": {"x-updatable": true}}}}`)
	KindInference = manifest(`{"kind": "test.inference", "family": "ai", "ownership": "name", "books": "gpu",
		"spec": {"properties": {"replicas": {"x-updatable": true}}}}`)
)

func manifest(text string) *cloud.Manifest {
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		panic(err)
	}
	m["title"], m["description"], m["examples"] = "Test", "For tests.", []any{map[string]any{}}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return cloud.MustManifest(raw)
}

// Request is a create that passed the checks which need no lock, as acme/alice
// makes it on acme's own pool. Change it with edits before it is inserted.
func Request(m *cloud.Manifest, name string, edits ...func(*intent.NewResource)) intent.NewResource {
	r := &cloud.Resource{
		TenantID: Acme, PoolID: PoolAcme, AccountID: AccountAcme, Provider: "digitalocean",
		Kind: m.Kind, Family: m.Family, Name: name, Owner: Acme + "/alice", Billed: m.Parent == "", Spec: cloud.Spec{},
	}
	if m.Regional {
		r.Region, r.Spec["region"] = "nyc3", "nyc3"
	}
	n := intent.NewResource{Resource: r, Manifest: m, Actor: Acme + "/alice"}
	for _, edit := range edits {
		edit(&n)
	}
	if r.ID == "" {
		r.ID = cloud.ResourceID(r.TenantID, r.Owner, r.Kind+"/"+name)
	}
	if n.RequestDigest == nil {
		n.RequestDigest = []byte(r.ID)
	}
	n.Refs = m.Refs(r.Spec)
	r.Identity = m.IdentityOf(r.Spec)
	return n
}

// In makes the request one for a resource that lives in parent.
func In(parent *cloud.Resource) func(*intent.NewResource) {
	return func(n *intent.NewResource) { n.Resource.ParentID = parent.ID }
}

// With sets a field of the spec.
func With(field string, value any) func(*intent.NewResource) {
	return func(n *intent.NewResource) { n.Resource.Spec[field] = value }
}

// On makes the request one of a tenant on a pool of an account.
func On(tenant, pool, account string) func(*intent.NewResource) {
	return func(n *intent.NewResource) {
		r := n.Resource
		r.TenantID, r.PoolID, r.AccountID, r.Owner = tenant, pool, account, tenant+"/somebody"
		n.Actor = r.Owner
	}
}

// Create inserts a request.
func (db *DB) Create(n intent.NewResource) *cloud.Resource {
	db.t.Helper()
	r, err := db.Insert(context.Background(), n)
	require.NoError(db.t, err)
	return r
}
