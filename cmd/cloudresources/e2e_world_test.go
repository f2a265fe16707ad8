//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// world is what one test has of a system to itself: two tenants, acme with an
// account of its own, and after share an account that both share.
type world struct {
	*system
	word string

	acme, globex, root party
	// own is acme's account, shared the platform's: their ids and their tokens at
	// the provider.
	own, shared           string
	ownToken, sharedToken string
	// pools: on acme's account billed and not, on the shared one, and one that is
	// no provider's.
	poolOwn, poolFree, poolShared, poolKVM string
	project                                string

	// What tests change and apply again.
	offers, quotas, budgets, capacity []object
	tenants                           []party
	sharing                           bool
	// faults are the ids of those that act on the world's accounts.
	faults []string
	marked int64
}

// world adds one to the system. When the test ends everything in it is deleted
// and nothing of ours may be left at the provider.
func (s *system) world(t *testing.T) *world {
	t.Helper()
	raw := make([]byte, 4)
	_, _ = rand.Read(raw)
	word := "w" + hex.EncodeToString(raw)
	w := &world{
		system: s, word: word, own: "own-" + word, shared: "shared-" + word,
		ownToken: "dop_v1_own_" + word, sharedToken: "dop_v1_shared_" + word,
		poolOwn: pgtest.PoolID(word + "a"), poolFree: pgtest.PoolID(word + "f"),
		poolShared: pgtest.PoolID(word + "s"), poolKVM: pgtest.PoolID(word + "k"), project: "prj_" + strings.TrimPrefix(pgtest.PoolID(word), "pool_"),
	}
	w.root, w.acme, w.globex = w.tenant("root"), w.tenant("acme"), w.tenant("globex")
	w.change(t, func() { s.worlds = append(s.worlds, w) })
	w.allow(w.own)
	t.Cleanup(func() { w.end(t) })
	return w
}

// share adds the platform's account and offers it to acme and globex. Most tests
// do without: each account is swept every few seconds.
func (w *world) share(t testing.TB) {
	t.Helper()
	w.change(t, func() {
		w.sharing = true
		w.offers = []object{{"tenant": w.acme.tenant, "pool": w.poolShared}, {"tenant": w.globex.tenant, "pool": w.poolShared}}
	})
	w.allow(w.shared)
}

// allow fills the account's allowance, which is as large as the simulated
// provider tells: these tests are about other things than waiting for it.
func (w *world) allow(account string) {
	w.db.Exec(`INSERT INTO account_budget (account_id, tokens, refilled_at, hour_left, hour_limit) VALUES ($1, $2::int, now(), $3::int, $3::int)`,
		account, allowance/40, allowance)
}

// tenant adds a tenant with one caller who may do everything in it.
func (w *world) tenant(name string) party {
	p := party{system: w.system, tenant: name + "-" + w.word, token: "token-" + name + "-" + w.word}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tenants = append(w.tenants, p)
	return p
}

func (w *world) instance(name string) string { return pgtest.InstanceID(w.word + name) }
func (w *world) network(name string) string  { return pgtest.NetworkID(w.word + name) }

// change changes the platform and applies it.
func (w *world) change(t testing.TB, fn func()) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
	w.apply(t)
}

// declare adds the world to a platform file.
func (w *world) declare(file object) {
	add := func(list string, entries ...object) {
		if have, _ := file[list].([]object); len(have)+len(entries) > 0 {
			file[list] = append(have, entries...)
		}
	}
	for _, p := range w.tenants {
		add("tenants", object{"id": p.tenant})
		add("principals", object{"tenant": p.tenant, "user": "admin", "token": p.token})
		add("policies", object{"id": p.tenant, "principals": []string{p.tenant + "/admin"}, "statements": []object{
			{"effect": "allow", "actions": []string{"*"}, "resources": []string{"*"}},
		}})
	}
	add("projects", object{"id": w.project, "tenant": w.acme.tenant})
	account := func(id, owner, token string, regions ...string) object {
		return object{"id": id, "provider": "digitalocean", "owner": owner, "token": object{"value": token}, "apiUrl": w.sim.URL,
			"regions": regions, "previews": id == w.own}
	}
	add("accounts", account(w.own, w.acme.tenant, w.ownToken, "nyc3", "ams3", "atl1", "nyc2"))
	add("pools", object{"id": w.poolOwn, "type": "provider", "account": w.own, "billing": "platform-fee"},
		object{"id": w.poolFree, "type": "provider", "account": w.own, "billing": "none"},
		object{"id": w.poolKVM, "type": "kvm", "owner": w.acme.tenant})
	add("offers", w.offers...)
	add("quotas", w.quotas...)
	add("budgets", w.budgets...)
	add("capacity", w.capacity...)
	droplet := func(id, name, tenant, account, token string, live bool) object {
		return object{"id": w.instance(id), "tenant": tenant, "account": account, "live": live,
			"providerId": strconv.Itoa(simulator.DropletID(token, name))}
	}
	add("instances", droplet("a", "acme", w.acme.tenant, w.own, w.ownToken, true), droplet("d", "shared", w.acme.tenant, w.own, w.ownToken, false))
	vpcs := func(id, tenant, account, token string, regions ...string) object {
		ids := object{}
		for _, region := range regions {
			ids[region] = simulator.VPCID(token, region)
		}
		return object{"id": w.network(id), "tenant": tenant, "account": account, "vpcs": ids}
	}
	add("networks", vpcs("a", w.acme.tenant, w.own, w.ownToken, "nyc3", "atl1"))
	if !w.sharing {
		return
	}
	add("accounts", account(w.shared, w.root.tenant, w.sharedToken, "nyc3", "ams3"))
	add("pools", object{"id": w.poolShared, "type": "provider", "account": w.shared, "billing": "metered"})
	add("instances", droplet("s", "shared", w.acme.tenant, w.shared, w.sharedToken, true), droplet("g", "gx", w.globex.tenant, w.shared, w.sharedToken, true))
	add("networks", vpcs("s", w.acme.tenant, w.shared, w.sharedToken, "nyc3", "ams3"), vpcs("g", w.globex.tenant, w.shared, w.sharedToken, "nyc3", "ams3"))
}

// end deletes all that the world has and checks that nothing of it is left.
func (w *world) end(t *testing.T) {
	if t.Failed() { // its state may tell why
		return
	}
	w.calm(t)
	for _, p := range w.tenants {
		for _, r := range p.list(t, nil) {
			if r.ParentID == "" {
				call[cloud.View](t, p, "cloudResources/delete", object{"tenantId": p.tenant, "resourceId": r.ID})
			}
		}
	}
	for _, p := range w.tenants {
		for _, r := range p.list(t, object{"includeDeleted": true}) {
			p.until(t, r.ID, "it to end", func(v cloud.View) bool { return v.State.Final() })
		}
		for _, secret := range call[listing[struct{ Name string }]](t, p, "secrets/list", object{"tenantId": p.tenant}).Items {
			call[object](t, p, "secrets/delete", object{"tenantId": p.tenant, "name": secret.Name})
		}
	}
	for _, token := range []string{w.ownToken, w.sharedToken} {
		require.Empty(t, w.managed(t, token), "objects of ours are left at the provider")
	}
	// Nothing looks at the accounts any more.
	w.change(t, func() { w.worlds = slices.DeleteFunc(w.worlds, func(o *world) bool { return o == w }) })
}

// calm takes all faults of the world's accounts back.
func (w *world) calm(t testing.TB) {
	t.Helper()
	for _, id := range w.faults {
		require.NoError(t, w.sim.ClearFaults(context.Background(), id))
	}
	w.faults = nil
}

// fault makes the provider misbehave on acme's account unless the fault names
// another; the returned function takes it back.
func (w *world) fault(t testing.TB, f simulator.Fault) (undo func()) {
	t.Helper()
	if f.Account == "" {
		f.Account = w.ownToken
	}
	id, err := w.sim.AddFault(context.Background(), f)
	require.NoError(t, err)
	w.faults = append(w.faults, id)
	return func() {
		t.Helper()
		require.NoError(t, w.sim.ClearFaults(context.Background(), id))
		w.faults = slices.DeleteFunc(w.faults, func(other string) bool { return other == id })
	}
}

// objects are what exists at the provider on an account beyond what it had from
// the start, of a type or of all.
func (w *world) objects(t testing.TB, token, kind string) []simulator.Object {
	t.Helper()
	all, err := w.sim.Objects(context.Background(), token)
	require.NoError(t, err)
	return slices.DeleteFunc(all, func(o simulator.Object) bool {
		return o.Seeded() || o["dying"] == true || kind != "" && o.Text("type") != kind
	})
}

// managed are the objects that bear our labels or our names.
func (w *world) managed(t testing.TB, token string) []simulator.Object {
	t.Helper()
	return slices.DeleteFunc(w.objects(t, token, ""), func(o simulator.Object) bool {
		tags, _ := o["tags"].([]any)
		ours := slices.ContainsFunc(tags, func(tag any) bool {
			text, _ := tag.(string)
			return strings.HasPrefix(strings.ToLower(text), "better-compute-")
		})
		return !ours && !strings.HasPrefix(o.Text("name"), "bc-r-")
	})
}

// asked are the requests of an account in the provider's ledger, refused ones
// included, whose path matches the glob.
func (w *world) asked(t testing.TB, token, method, glob string) []simulator.Request {
	t.Helper()
	all, err := w.sim.Requests(context.Background(), token, 0)
	require.NoError(t, err)
	return slices.DeleteFunc(all, func(r simulator.Request) bool {
		ok, err := path.Match(glob, r.Path)
		require.NoError(t, err)
		return !ok || method != "*" && r.Method != method
	})
}

func every(d time.Duration) simulator.Duration { return simulator.Duration(d) }

func times(n int) *int { return &n }
