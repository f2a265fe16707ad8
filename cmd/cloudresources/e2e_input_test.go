//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// statusOf is the HTTP status that callers rely on for each code.
var statusOf = map[cloud.Code]int{
	cloud.CodeInvalidInput: 400, cloud.CodeUnauthenticated: 401, cloud.CodeAccessDenied: 403, cloud.CodeNotFound: 404,
	cloud.CodeConflict: 409, cloud.CodeInvalidState: 409, cloud.CodeUnsupported: 422, cloud.CodeQuotaExceeded: 403, cloud.CodeBudgetExceeded: 403,
}

// badCall is a call that must be refused.
type badCall struct {
	name   string
	method string // create when empty
	// body is sent as it is; without one it is in.
	body   string
	in     object
	code   cloud.Code
	reason string
	fields []string
}

// recorded counts what a refused call must not leave behind. What the
// reconciler does meanwhile for others is not counted.
func (w *world) recorded(t testing.TB) (n int) {
	t.Helper()
	for _, p := range w.tenants {
		for table, by := range map[string]string{
			"resources": "", "events": " AND actor <> 'reconciler'", "quota_bookings": "", "authorization_rows": "", "secrets": " AND resource_id = ''",
		} {
			n += pgtest.Value[int](w.db, "SELECT count(*) FROM "+table+" WHERE tenant_id = $1"+by, p.tenant)
		}
	}
	return n
}

func (w *world) refuses(t *testing.T, p party, calls []badCall) {
	t.Helper()
	before := w.recorded(t)
	for _, c := range calls {
		if c.method == "" {
			c.method = "cloudResources/create"
		}
		if c.body == "" {
			raw, err := json.Marshal(c.in)
			require.NoError(t, err)
			c.body = string(raw)
		}
		r := p.refusedRaw(t, c.method, c.body)
		require.Equal(t, c.code, r.Code, "%s: %s %v", c.name, r.Message, r.Details)
		require.Equal(t, statusOf[c.code], r.Status, c.name)
		require.Equal(t, c.reason, r.reason(), "%s: %s", c.name, r.Message)
		if c.fields != nil {
			require.ElementsMatch(t, c.fields, r.fields(), "%s: %s", c.name, r.Message)
		}
		require.NotContains(t, r.Message, w.globex.tenant, "%s: nothing of another tenant", c.name)
	}
	require.Equal(t, before, w.recorded(t), "a refused call leaves nothing behind")
}

// testInputShape: what is no input at all, and fields that are not what the
// contract says.
func testInputShape(t *testing.T, w *world) {
	p := w.acme
	with := func(more object) object { return p.wish(w.poolOwn, volume, "v", volumeSpec(), more) }
	without := func(field string) object {
		in := p.wish(w.poolOwn, volume, "v", volumeSpec())
		delete(in, field)
		return in
	}
	long := func(n int) string { return strings.Repeat("a", n) }
	whole, err := json.Marshal(with(nil))
	require.NoError(t, err)
	calls := []badCall{
		{name: "no JSON", body: "name=v"},
		{name: "cut off", body: string(whole[:len(whole)-2])},
		{name: "a list", body: "[" + string(whole) + "]"},
		{name: "null", body: "null"},
		{name: "two objects", body: string(whole) + string(whole)},
		{name: "not UTF-8", body: strings.Replace(string(whole), `"v"`, "\"\xff\"", 1)},
		{name: "more than a megabyte", body: `{"tenantId":"` + long(1<<20) + `"}`},
		{name: "a name twice", body: strings.Replace(string(whole), "{", `{"name":"other",`, 1), fields: []string{"name"}},
		{name: "NUL", in: with(object{"description": "a\x00b"}), fields: []string{"description"}},
		{name: "unknown field", in: with(object{"colour": "red"}), fields: []string{"colour"}},
		{name: "unknown spec field", in: with(object{"spec": volumeSpec(object{"colour": "red"})}), fields: []string{"spec.colour"}},
		{name: "name is a number", in: with(object{"name": 7}), fields: []string{"name"}},
		{name: "spec is text", in: with(object{"spec": "big"}), fields: []string{"spec"}},
		{name: "size is text", in: with(object{"spec": volumeSpec(object{"size_gigabytes": "10"})}), fields: []string{"spec.size_gigabytes"}},
		{name: "size is no integer", in: with(object{"spec": volumeSpec(object{"size_gigabytes": 10.5})}), fields: []string{"spec.size_gigabytes"}},
		{name: "size is too small", in: with(object{"spec": volumeSpec(object{"size_gigabytes": 0})}), fields: []string{"spec.size_gigabytes"}},
		{name: "size is beyond 64 bits", body: strings.Replace(string(whole), `"size_gigabytes":10`, `"size_gigabytes":9223372036854775808`, 1), fields: []string{"spec.size_gigabytes"}},
		{name: "no such word", in: with(object{"spec": volumeSpec(object{"filesystem_type": "ntfs"})}), fields: []string{"spec.filesystem_type"}},
		{name: "several at once", in: with(object{"name": "A", "idempotencyKey": "a b"}), fields: []string{"name", "idempotencyKey"}},
		{name: "tenantId", in: with(object{"tenantId": "a/b"}), fields: []string{"tenantId"}},
		{name: "poolId", in: with(object{"poolId": "pool_1"}), fields: []string{"poolId"}},
		{name: "poolId with letters that no id has", in: with(object{"poolId": "pool_" + strings.Repeat("l", 26)}), fields: []string{"poolId"}},
		{name: "kind", in: with(object{"kind": "do..volume"}), fields: []string{"kind"}},
		{name: "kind too long", in: with(object{"kind": long(65)}), fields: []string{"kind"}},
		{name: "name too long", in: with(object{"name": long(64)}), fields: []string{"name"}},
		{name: "name ends with a dash", in: with(object{"name": "a-"}), fields: []string{"name"}},
		{name: "name begins with a digit", in: with(object{"name": "1a"}), fields: []string{"name"}},
		{name: "name with a line end", in: with(object{"name": "a\n"}), fields: []string{"name"}},
		{name: "name looks like letters", in: with(object{"name": "аbc"}), fields: []string{"name"}},
		{name: "description too long", in: with(object{"description": strings.Repeat("é", 257)}), fields: []string{"description"}},
		{name: "key too long", in: with(object{"idempotencyKey": long(129)}), fields: []string{"idempotencyKey"}},
		{name: "parentId", in: with(object{"parentId": "crs_x"}), fields: []string{"parentId"}},
		{name: "includeDeleted", method: "cloudResources/list", in: object{"tenantId": p.tenant, "includeDeleted": "yes"}, fields: []string{"includeDeleted"}},
		{name: "family", method: "cloudResources/list", in: object{"tenantId": p.tenant, "family": "games"}, fields: []string{"family"}},
		{name: "resourceId", method: "cloudResources/get", in: object{"tenantId": p.tenant, "resourceId": "1"}, fields: []string{"resourceId"}},
		{name: "providerId too long", method: "cloudResources/adopt", fields: []string{"providerId"}, in: object{
			"tenantId": p.tenant, "poolId": w.poolOwn, "kind": volume, "name": "v", "providerId": long(201), "idempotencyKey": "k"}},
	}
	for _, field := range []string{"tenantId", "poolId", "kind", "name", "spec", "idempotencyKey"} {
		calls = append(calls, badCall{name: "without " + field, in: without(field), fields: []string{field}})
	}
	for i := range calls {
		calls[i].code = cloud.CodeInvalidInput
	}
	w.refuses(t, p, calls)
	w.refuses(t, party{system: w.system, tenant: p.tenant}, []badCall{{name: "no token", in: with(nil), code: cloud.CodeUnauthenticated}})
	w.refuses(t, party{system: w.system, tenant: p.tenant, token: "guess"}, []badCall{{name: "a guess", in: with(nil), code: cloud.CodeUnauthenticated}})

	// 256 counts characters, not bytes.
	v := p.create(t, w.poolOwn, volume, "v", volumeSpec(), object{"description": strings.Repeat("é", 256)})
	require.Len(t, []rune(v.Description), 256)
}

// testInputSize: a spec has at most 64 KiB of JSON, in bytes, also after a merge.
func testInputSize(t *testing.T, w *world) {
	p := w.acme
	sized := func(n int) object {
		spec := object{"region": ""}
		raw, err := json.Marshal(spec)
		require.NoError(t, err)
		spec["region"] = strings.Repeat("r", n-len(raw))
		return spec
	}
	w.refuses(t, p, []badCall{
		{name: "65536 bytes are read, and found wrong", in: p.wish(w.poolOwn, volume, "v", sized(65536)), code: cloud.CodeInvalidInput,
			fields: []string{"spec.region", "spec.size_gigabytes"}},
		{name: "65537 are too many", in: p.wish(w.poolOwn, volume, "v", sized(65537)), code: cloud.CodeInvalidInput, fields: []string{"spec"}},
		{name: "bytes, not characters", in: p.wish(w.poolOwn, volume, "v", object{"region": strings.Repeat("é", 40000)}), code: cloud.CodeInvalidInput, fields: []string{"spec"}},
	})
	a := p.create(t, w.poolOwn, app, "web", appSpec(object{"envs": []object{{"key": "A", "value": strings.Repeat("a", 30000)}}}))
	job := object{"name": "job", "kind": "PRE_DEPLOY", "image": object{"registry_type": "DOCKER_HUB", "registry": "library", "repository": "nginx"},
		"envs": []object{{"key": "B", "value": strings.Repeat("b", 30000)}, {"key": "C", "value": strings.Repeat("c", 10000)}}}
	w.refuses(t, p, []badCall{{name: "too much together", method: "cloudResources/update", code: cloud.CodeInvalidInput, fields: []string{"spec"},
		in: object{"tenantId": p.tenant, "resourceId": a.ID, "spec": object{"jobs": []object{job}}}}})
	require.JSONEq(t, string(a.Spec), string(p.get(t, a.ID).Spec))
}

// testInputPlaces: pools, kinds, regions and whose things a spec may name.
func testInputPlaces(t *testing.T, w *world) {
	w.share(t)
	p := w.acme
	mine := p.create(t, w.poolOwn, pg, "mine", pgSpec())
	hosted := p.create(t, w.poolShared, pg, "hosted", pgSpec())
	theirs := w.globex.create(t, w.poolShared, pg, "theirs", pgSpec())
	disk := p.create(t, w.poolOwn, volume, "disk", volumeSpec())
	nobody := pgtest.PoolID(w.word + "zz")

	db := func(pool string, more object) object { return p.wish(pool, pg, "new", pgSpec(more)) }
	wall := func(pool, parent string, spec object) object {
		return p.wish(pool, pgWall, "wall", spec, object{"parentId": parent})
	}
	user := func(more object) object { return p.wish(w.poolOwn, pgUser, "user", object{"name": "user"}, more) }
	hostedWall := func(kind, value string) object {
		return wall(w.poolShared, hosted.ID, object{"rules": []object{{"type": "ip_addr", "value": "192.0.2.1"}, {"type": kind, "value": value}}})
	}
	w.refuses(t, p, []badCall{
		{name: "another's tenant", in: w.globex.wish(w.poolShared, pg, "new", pgSpec()), code: cloud.CodeAccessDenied},
		{name: "a tenant that is not there", in: p.wish(w.poolOwn, pg, "new", pgSpec(), object{"tenantId": "nobody"}), code: cloud.CodeAccessDenied},
		{name: "a pool that is not there", in: db(nobody, nil), code: cloud.CodeNotFound},
		{name: "no provider pool", in: db(w.poolKVM, nil), code: cloud.CodeUnsupported},
		{name: "unknown kind", in: p.wish(w.poolOwn, "do.database.oracle", "new", object{}), code: cloud.CodeUnsupported},
		{name: "another cloud's kind", in: p.wish(w.poolOwn, "aws.rds.pg", "new", object{}), code: cloud.CodeUnsupported},

		{name: "a region that the account does not configure", in: db(w.poolOwn, object{"region": "fra1"}), code: cloud.CodeInvalidInput, fields: []string{"spec.region"}},
		{name: "a region that is not there", in: db(w.poolOwn, object{"region": "nyc9"}), code: cloud.CodeInvalidInput, fields: []string{"spec.region"}},
		{name: "a city instead of a datacenter", in: db(w.poolOwn, object{"region": "nyc"}), code: cloud.CodeInvalidInput, fields: []string{"spec.region"}},
		{name: "an app in a city without a datacenter of the account", code: cloud.CodeInvalidInput, fields: []string{"spec.region"},
			in: p.wish(w.poolShared, app, "new", appSpec(object{"region": "syd"}))},
		{name: "an app in a datacenter", in: p.wish(w.poolShared, app, "new", appSpec(object{"region": "nyc3"})), code: cloud.CodeInvalidInput, fields: []string{"spec.region"}},

		{name: "another's project", in: p.wish(w.poolOwn, pg, "new", pgSpec(), object{"projectId": "prj_" + strings.Repeat("0", 26)}), code: cloud.CodeNotFound, fields: []string{"projectId"}},
		{name: "a parent that is not there", in: user(object{"parentId": "crs_" + strings.Repeat("0", 52)}), code: cloud.CodeNotFound, fields: []string{"parentId"}},
		{name: "another's parent", in: user(object{"parentId": theirs.ID, "poolId": w.poolShared}), code: cloud.CodeNotFound, fields: []string{"parentId"}},
		{name: "no parent", in: user(nil), code: cloud.CodeInvalidInput, reason: "parent", fields: []string{"parentId"}},
		{name: "a parent of another kind", in: user(object{"parentId": disk.ID}), code: cloud.CodeInvalidInput, reason: "parent", fields: []string{"parentId"}},
		{name: "a parent on another account", in: user(object{"parentId": hosted.ID}), code: cloud.CodeInvalidInput, reason: "parent", fields: []string{"parentId"}},
		{name: "a parent for what lives alone", in: p.wish(w.poolOwn, volume, "new", volumeSpec(), object{"parentId": mine.ID}), code: cloud.CodeInvalidInput, reason: "parent", fields: []string{"parentId"}},

		{name: "another's instance", in: wall(w.poolShared, hosted.ID, object{"rules": []object{}, "instances": []string{w.instance("g")}}), code: cloud.CodeInvalidInput, reason: "instance"},
		{name: "an instance on another account", in: wall(w.poolOwn, mine.ID, object{"rules": []object{}, "instances": []string{w.instance("s")}}), code: cloud.CodeInvalidInput, reason: "instance"},
		{name: "a dead instance", in: wall(w.poolOwn, mine.ID, object{"rules": []object{}, "instances": []string{w.instance("d")}}), code: cloud.CodeInvalidInput, reason: "instance"},
		{name: "an instance that is not there", in: wall(w.poolOwn, mine.ID, object{"rules": []object{}, "instances": []string{w.instance("x")}}), code: cloud.CodeInvalidInput, reason: "instance"},
		{name: "another's network", in: db(w.poolShared, object{"network": w.network("g")}), code: cloud.CodeInvalidInput, reason: "network"},
		{name: "a network that is not in the region", in: db(w.poolOwn, object{"network": w.network("a"), "region": "ams3"}), code: cloud.CodeInvalidInput, reason: "network"},
		{name: "a network that is not there", in: db(w.poolOwn, object{"network": w.network("x")}), code: cloud.CodeInvalidInput, reason: "network"},

		{name: "a VPC of a shared account", in: db(w.poolShared, object{"private_network_uuid": "00000000-0000-4000-8000-000000000000"}), code: cloud.CodeInvalidInput, reason: "accountWide", fields: []string{"spec.private_network_uuid"}},
		{name: "tags on a shared account", in: db(w.poolShared, object{"tags": []string{"web"}}), code: cloud.CodeInvalidInput, reason: "accountWide", fields: []string{"spec.tags"}},
		{name: "another's backup", in: db(w.poolShared, object{"backup_restore": object{"database_name": "bc-r-x"}}), code: cloud.CodeInvalidInput, reason: "accountWide", fields: []string{"spec.backup_restore.database_name"}},
		{name: "a Droplet as source", in: hostedWall("droplet", "1"), code: cloud.CodeInvalidInput, reason: "accountWide"},
		{name: "a tag as source", in: hostedWall("tag", "web"), code: cloud.CodeInvalidInput, reason: "accountWide"},
		{name: "another's secret", code: cloud.CodeInvalidInput, reason: "secretRef", fields: []string{"spec.services[0].image.registry_credentials"}, in: p.wish(w.poolOwn, app, "new", appSpec(object{
			"services": []object{{"name": "web", "image": object{"registry_type": "GHCR", "registry": "a", "repository": "b", "registry_credentials": "secret://" + w.globex.tenant + "/ghcr"}}}}))},
		{name: "a secret that is not there", code: cloud.CodeInvalidInput, reason: "secretRef", in: p.wish(w.poolOwn, app, "new", appSpec(object{
			"envs": []object{{"key": "K", "type": "SECRET", "value": "secret://" + p.tenant + "/none"}}}))},

		{name: "get of another's", method: "cloudResources/get", in: object{"tenantId": p.tenant, "resourceId": theirs.ID}, code: cloud.CodeNotFound},
		{name: "get in another's tenant", method: "cloudResources/get", in: object{"tenantId": w.globex.tenant, "resourceId": theirs.ID}, code: cloud.CodeAccessDenied},
		{name: "get of nothing", method: "cloudResources/get", in: object{"tenantId": p.tenant, "resourceId": "crs_" + strings.Repeat("0", 52)}, code: cloud.CodeNotFound},
		{name: "update of another's", method: "cloudResources/update", in: object{"tenantId": p.tenant, "resourceId": theirs.ID, "description": "x"}, code: cloud.CodeNotFound},
		{name: "delete of another's", method: "cloudResources/delete", in: object{"tenantId": p.tenant, "resourceId": theirs.ID}, code: cloud.CodeNotFound},
		{name: "release of another's", method: "cloudResources/release", in: object{"tenantId": p.tenant, "resourceId": theirs.ID}, code: cloud.CodeNotFound},
		{name: "an update of nothing", method: "cloudResources/update", in: object{"tenantId": p.tenant, "resourceId": mine.ID}, code: cloud.CodeInvalidInput, fields: []string{"spec", "description"}},
		{name: "a required field taken out", method: "cloudResources/update", in: object{"tenantId": p.tenant, "resourceId": mine.ID, "spec": object{"size": nil}}, code: cloud.CodeInvalidInput, fields: []string{"spec.size"}},
		{name: "discover on another's account", method: "cloudResources/discover", in: object{"tenantId": p.tenant, "poolId": w.poolShared, "kind": pg}, code: cloud.CodeAccessDenied, reason: "notAccountOwner"},
		{name: "release before it is accepted or in a parent", method: "cloudResources/release", in: object{"tenantId": p.tenant, "resourceId": p.create(t, w.poolOwn, pgUser, "early", object{"name": "early"}, object{"parentId": mine.ID}).ID}, code: cloud.CodeInvalidState, reason: "parent"},
	})

	// On the tenant's own account the same words are allowed.
	own := p.create(t, w.poolOwn, pgWall, "wall", object{"rules": []object{{"type": "tag", "value": "web"}}}, object{"parentId": mine.ID})
	require.Equal(t, cloud.StatePending, own.State)
}

// testInputConflicts: keys, names, identities and how many there may be.
func testInputConflicts(t *testing.T, w *world) {
	w.share(t)
	p := w.acme
	c := p.create(t, w.poolOwn, pg, "main", pgSpec())
	u := p.create(t, w.poolOwn, pgUser, "app", object{"name": "app"}, object{"parentId": c.ID})
	wall := p.create(t, w.poolOwn, pgWall, "wall", object{"rules": []object{}}, object{"parentId": c.ID})

	// A repeat is told what the first one made, however it is written.
	again := call[cloud.View](t, p, "cloudResources/create", p.wish(w.poolOwn, pg, "main", pgSpec()))
	require.Equal(t, c.ID, again.ID)
	results := make(chan []byte, 20)
	for range cap(results) {
		go func() {
			_, raw, _ := p.post(p.base, "cloudResources/create", marshal(p.wish(w.poolOwn, volume, "disk", volumeSpec())))
			results <- raw
		}()
	}
	ids := map[string]bool{}
	for range cap(results) {
		var v cloud.View
		require.NoError(t, json.Unmarshal(<-results, &v))
		ids[v.ID] = true
	}
	require.Len(t, ids, 1, "twenty at once are one")
	require.Len(t, p.list(t, object{"kind": volume}), 1)

	w.change(t, func() {
		w.quotas = []object{{"tenant": p.tenant, "kind": volume, "max": 1}, {"tenant": p.tenant, "kind": pgUser, "max": 3}}
	})
	w.refuses(t, p, []badCall{
		{name: "same key, other spec", in: p.wish(w.poolOwn, pg, "main", pgSpec(object{"num_nodes": 2})), code: cloud.CodeConflict, reason: "idempotencyKey"},
		{name: "same key, other name", in: p.wish(w.poolOwn, pg, "other", pgSpec(), object{"idempotencyKey": pg + ":main"}), code: cloud.CodeConflict, reason: "idempotencyKey"},
		{name: "same key, other description", in: p.wish(w.poolOwn, pg, "main", pgSpec(), object{"description": "x"}), code: cloud.CodeConflict, reason: "idempotencyKey"},
		{name: "name", in: p.wish(w.poolOwn, pg, "main", pgSpec(), object{"idempotencyKey": "k2"}), code: cloud.CodeConflict, reason: "name"},
		{name: "name on another account", in: p.wish(w.poolShared, pg, "main", pgSpec(), object{"idempotencyKey": "k3"}), code: cloud.CodeConflict, reason: "name"},
		{name: "quota", in: p.wish(w.poolOwn, volume, "disk2", volumeSpec()), code: cloud.CodeQuotaExceeded},
	})
	for name, taken := range map[string]struct {
		in object
		id string
	}{
		"a user's name": {p.wish(w.poolOwn, pgUser, "app2", object{"name": "app"}, object{"parentId": c.ID}), u.ID},
		"the firewall":  {p.wish(w.poolOwn, pgWall, "wall2", object{"rules": []object{}}, object{"parentId": c.ID}), wall.ID},
	} {
		r := p.refused(t, "cloudResources/create", taken.in)
		require.Equal(t, cloud.CodeConflict, r.Code, name)
		require.Equal(t, "identity", r.reason(), name)
		require.Equal(t, taken.id, r.Details["resourceId"], name)
	}
	r := p.refused(t, "cloudResources/create", p.wish(w.poolOwn, volume, "disk3", volumeSpec()))
	require.EqualValues(t, 1, r.Details["limit"])

	// The same name of another kind, and the same key of another tenant, are free.
	p.create(t, w.poolOwn, pgUser, "main", object{"name": "main"}, object{"parentId": c.ID})
	theirs := w.globex.create(t, w.poolShared, pg, "main", pgSpec())
	require.NotEqual(t, c.ID, theirs.ID)
}

// testUnknownPaths: what is not served says so in the shape of every error.
func testUnknownPaths(t *testing.T, w *world) {
	r := w.acme.refusedRaw(t, "cloudResources/explode", "{}")
	require.Equal(t, http.StatusNotFound, r.Status)
	res, err := http.Get(w.base + "/api/compute/cloudResources/list")
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusMethodNotAllowed, res.StatusCode)
	for _, path := range []string{"/openapi.json", "/docs/", "/metrics", "/healthz"} {
		res, err := http.Get(w.base + path)
		require.NoError(t, err)
		res.Body.Close()
		require.Equal(t, http.StatusOK, res.StatusCode, path)
	}
}

func marshal(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
