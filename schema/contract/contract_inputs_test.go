package contract_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/schema/contract"
)

// constraint is what a field of an input must be like.
type constraint struct {
	good []any
	bad  []any
}

// idOf are the bounds of ids of 26 to 52 characters under a prefix.
func idOf(prefix string) constraint {
	zeros := func(n int) string { return prefix + strings.Repeat("0", n) }
	return constraint{
		good: []any{zeros(26), zeros(52), prefix + strings.Repeat("z", 26), prefix + "0123456789abcdefghjkmnpqrstvwxyz"},
		bad:  []any{"", nil, 7, zeros(25), zeros(53), zeros(26) + "\n", prefix + strings.Repeat("u", 26), prefix + strings.Repeat("A", 26), strings.Repeat("0", 30)},
	}
}

func words(limit int) constraint {
	return constraint{
		good: []any{"a", "A-z_0.9:", strings.Repeat("x", limit)},
		bad:  []any{"", nil, 7, "a b", "a/b", "ä", strings.Repeat("x", limit+1)},
	}
}

// inputConstraints are those of each field, which is the same in every method.
var inputConstraints = map[string]constraint{
	"tenantId":       words(128),
	"idempotencyKey": words(128),
	"poolId":         idOf("pool_"),
	"projectId":      idOf("prj_"),
	"resourceId":     idOf("crs_"),
	"parentId":       idOf("crs_"),
	"after":          idOf("crs_"),
	"kind": {
		good: []any{"a", "do.database.pg", "do.ai.dedicated-inference", strings.Repeat("a", 64)},
		bad:  []any{"", nil, 7, "A", "a..b", "a.-b", ".a", "a.", "a_b", strings.Repeat("a", 65)},
	},
	"name": {
		good: []any{"a", "a1", "a-b", "a" + strings.Repeat("b", 62)},
		bad:  []any{"", nil, 7, "A", "1a", "-a", "a-", "a.b", "a" + strings.Repeat("b", 63)},
	},
	"description": {
		good: []any{"", nil, strings.Repeat("é", 256)},
		bad:  []any{7, strings.Repeat("é", 257)},
	},
	"providerId":      {good: []any{"a", "a/b c", strings.Repeat("é", 200)}, bad: []any{"", nil, 7, strings.Repeat("a", 201)}},
	"spec":            {good: []any{map[string]any{}, map[string]any{"a": []any{nil}}}, bad: []any{nil, "a", 7, []any{}}},
	"installsOn":      {good: []any{"instance", "kubernetes"}, bad: []any{"", nil, "droplet"}},
	"includeDeleted":  {good: []any{true, false}, bad: []any{nil, "true", 1}},
	"expectedVersion": {good: []any{1, 7}, bad: []any{nil, 0, -1, "1", 1.5}},
	"family": {
		good: []any{"storage", "network", "edge", "data", "platform", "ai", "observability"},
		bad:  []any{"", nil, "Data", "compute"},
	},
}

// methodInputs are the fields of each method, those that it must have first.
var methodInputs = map[string]struct{ required, optional []string }{
	"kinds":    {[]string{"tenantId", "poolId"}, nil},
	"catalog":  {[]string{"tenantId", "poolId"}, []string{"installsOn"}},
	"signals":  {[]string{"tenantId", "poolId"}, []string{"resourceId"}},
	"create":   {[]string{"tenantId", "poolId", "kind", "name", "spec", "idempotencyKey"}, []string{"projectId", "description", "parentId"}},
	"list":     {[]string{"tenantId"}, []string{"poolId", "projectId", "kind", "family", "includeDeleted", "after"}},
	"get":      {[]string{"tenantId", "resourceId"}, nil},
	"update":   {[]string{"tenantId", "resourceId"}, []string{"spec", "description", "expectedVersion"}},
	"delete":   {[]string{"tenantId", "resourceId"}, []string{"expectedVersion"}},
	"discover": {[]string{"tenantId", "poolId", "kind"}, nil},
	"adopt":    {[]string{"tenantId", "poolId", "kind", "providerId", "name", "idempotencyKey"}, []string{"projectId", "description"}},
	"release":  {[]string{"tenantId", "resourceId"}, nil},
}

// Each field of each method takes its longest and refuses one more, and a
// method takes exactly its own fields.
func TestInputsOfTheElevenMethods(t *testing.T) {
	t.Parallel()
	c := contract.New()
	for method, fields := range methodInputs {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			check := func(in map[string]any) error {
				raw, err := json.Marshal(in)
				require.NoError(t, err)
				return c.ValidateInput("cloudResources."+method, raw)
			}
			whole := map[string]any{}
			for _, field := range fields.required {
				whole[field] = inputConstraints[field].good[0]
			}
			require.NoError(t, check(whole), "what it must have is enough")
			own := slices.Concat(fields.required, fields.optional)
			for _, field := range own {
				for _, value := range inputConstraints[field].good {
					in := maps.Clone(whole)
					in[field] = value
					require.NoError(t, check(in), "%s = %v", field, value)
				}
				for _, value := range inputConstraints[field].bad {
					in := maps.Clone(whole)
					in[field] = value
					refused(t, check(in), field)
				}
			}
			for _, field := range fields.required {
				in := maps.Clone(whole)
				delete(in, field)
				refused(t, check(in), field)
			}
			for field, values := range inputConstraints {
				if !slices.Contains(own, field) {
					in := maps.Clone(whole)
					in[field] = values.good[0]
					refused(t, check(in), field)
				}
			}
		})
	}
}

// Which of them change something, and what each is decided on.
func TestKindsAndDecisionsOfTheElevenMethods(t *testing.T) {
	t.Parallel()
	const tenant, resource = "compute-tenant/", "compute-cloud-resource/"
	for method, want := range map[string]struct {
		mutation   bool
		action, on string
	}{
		"kinds": {false, "read", tenant}, "catalog": {false, "read", tenant}, "signals": {false, "read", tenant},
		"create": {true, "create", resource}, "list": {false, "read", tenant}, "get": {false, "read", resource},
		"update": {true, "update", resource}, "delete": {true, "delete", resource}, "discover": {false, "read", tenant},
		"adopt": {true, "create", resource}, "release": {true, "delete", resource},
	} {
		m, ok := contract.New().Method("cloudResources." + method)
		require.True(t, ok, method)
		require.Equal(t, want.mutation, m.Mutation, method)
		require.True(t, strings.HasPrefix(m.Decided, "compute:cloud-resources:"+want.action+" on "+want.on), "%s: %s", method, m.Decided)
	}
}

// The words of closed lists: states, families, severities and so on.
func TestWordsOfTheContract(t *testing.T) {
	t.Parallel()
	document := compact(t, contract.OpenAPI())
	for _, list := range []string{
		`["pending","provisioning","ready","updating","deleting","deleted","released","error"]`,
		`["storage","network","edge","data","platform","ai","observability"]`,
		`["instance","kubernetes"]`,
		`["critical","warning","info"]`,
		`["this","other"]`,
	} {
		require.Contains(t, document, `"enum":`+list)
	}
}

func compact(t *testing.T, document []byte) string {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(document, &v))
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}
