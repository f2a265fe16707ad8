package contract_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xeipuuv/gojsonschema"
	"pgregory.net/rapid"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/contract"
)

// refused checks the code and the fields (nil: the whole input is meant).
func refused(t *testing.T, err error, fields ...string) {
	t.Helper()
	require.Error(t, err)
	e := cloud.AsError(err)
	require.Equal(t, cloud.CodeInvalidInput, e.Code, e.Error())
	if len(fields) == 0 {
		require.NotContains(t, e.Details, "fields", e.Error())
		return
	}
	require.Equal(t, fields, e.Details["fields"], e.Error())
}

// A valid input of create, with edits of single fields.
func input(t *testing.T, edits map[string]any) []byte {
	t.Helper()
	fields := map[string]any{
		"tenantId": "acme", "poolId": "pool_" + strings.Repeat("0", 26), "kind": "do.database.pg", "name": "orders",
		"spec": map[string]any{}, "idempotencyKey": "k-1",
	}
	for name, v := range edits {
		if fields[name] = v; v == absent {
			delete(fields, name)
		}
	}
	raw, err := json.Marshal(fields)
	require.NoError(t, err)
	return raw
}

// absent takes a field out.
var absent any = "\x00absent"

func TestEverySchemaIsValid(t *testing.T) {
	for _, m := range contract.New().Methods() {
		for what, schema := range map[string]json.RawMessage{"input": m.Input, "output": m.Output} {
			loader := gojsonschema.NewSchemaLoader()
			loader.Draft, loader.AutoDetect, loader.Validate = gojsonschema.Draft7, false, true
			// What it refers to is checked where it stands.
			_, err := loader.Compile(gojsonschema.NewStringLoader(strings.ReplaceAll(string(schema), `"$ref"`, `"x-ref"`)))
			require.NoError(t, err, "%s of %s", what, m.Name)
		}
		require.NotEmpty(t, m.Summary, m.Name)
		require.NotEmpty(t, m.Decided, m.Name)
	}
}

// Unknown fields are refused by every method, at every level that is ours.
func TestEveryInputRefusesUnknownFields(t *testing.T) {
	c := contract.New()
	for _, m := range c.Methods() {
		err := c.ValidateInput(m.Name, []byte(`{"surprise":1}`))
		require.Error(t, err, m.Name)
		require.Contains(t, cloud.AsError(err).Details["fields"], "surprise", m.Name)
	}
}

func TestInputConstraints(t *testing.T) {
	c := contract.New()
	require.NoError(t, c.ValidateInput("cloudResources.create", input(t, nil)))
	require.NoError(t, c.ValidateInput("cloudResources.create", input(t, map[string]any{
		"description": strings.Repeat("é", 256), "tenantId": strings.Repeat("a", 128), "name": "a" + strings.Repeat("-", 61) + "9",
		"projectId": "prj_" + strings.Repeat("z", 52), "parentId": "crs_" + strings.Repeat("0", 52),
	})))
	for field, values := range map[string][]any{
		"tenantId":       {absent, "", 5, nil, strings.Repeat("a", 129), "a b", "ä", "a\n"},
		"poolId":         {absent, "pool_", "pool_" + strings.Repeat("0", 25), "pool_" + strings.Repeat("0", 53), "pool_" + strings.Repeat("i", 26), "POOL_" + strings.Repeat("0", 26)},
		"projectId":      {"", nil, "prj_1", 1},
		"kind":           {absent, "", "Do.app", "do..app", ".do", strings.Repeat("a", 65)},
		"name":           {absent, "", "-a", "a-", "9a", "A", "a_b", strings.Repeat("a", 64), "a\n"},
		"description":    {5, strings.Repeat("é", 257)},
		"parentId":       {"", "crs_x", nil},
		"spec":           {absent, nil, "x", []any{}},
		"idempotencyKey": {absent, "", strings.Repeat("k", 129), "a/b"},
	} {
		for _, v := range values {
			refused(t, c.ValidateInput("cloudResources.create", input(t, map[string]any{field: v})), field)
		}
	}
	id := `"tenantId":"acme","resourceId":"crs_` + strings.Repeat("0", 52) + `"`
	require.NoError(t, c.ValidateInput("cloudResources.update", []byte(`{`+id+`,"description":null,"expectedVersion":1}`)))
	refused(t, c.ValidateInput("cloudResources.update", []byte(`{`+id+`,"expectedVersion":0}`)), "expectedVersion")
	refused(t, c.ValidateInput("cloudResources.update", []byte(`{`+id+`,"spec":null}`)), "spec")
	refused(t, c.ValidateInput("cloudResources.list", []byte(`{"tenantId":"acme","family":"food","includeDeleted":"yes"}`)), "family", "includeDeleted")
	refused(t, c.ValidateInput("cloudResources.catalog", input(t, map[string]any{"installsOn": "moon", "kind": absent, "name": absent, "spec": absent, "idempotencyKey": absent})), "installsOn")
	refused(t, c.ValidateInput("cloudResources.adopt", input(t, map[string]any{"providerId": strings.Repeat("x", 201), "spec": absent})), "providerId")
}

func TestReadingIsStrict(t *testing.T) {
	c := contract.New()
	deep := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	for _, raw := range []string{"", " ", "null", "[]", "5", `"x"`, "{", `{"tenantId"`, `{"tenantId":}`, "{}{}", "{} x", "{'a':1}", `{"tenantId":"a",}`, "\xff{}", "{\"tenantId\":\"\xc3\x28\"}", strings.Repeat(" ", contract.MaxBody) + "{}"} {
		refused(t, c.ValidateInput("cloudResources.get", []byte(raw)))
	}
	for raw, field := range map[string]string{
		`{"tenantId":"a","tenantId":"b"}`:                "tenantId",
		`{"spec":{"a":1,"b":{"c":1,"c":2}}}`:             "spec.b.c",
		`{"spec":{"a":[1,{"b":"x\u0000y"}]}}`:            "spec.a[1].b",
		`{"spec":{"a":1e1000}}`:                          "spec.a",
		`{"spec":{"a":` + strings.Repeat("9", 65) + `}}`: "spec.a",
		`{"spec":{"a":1e-99999999999}}`:                  "spec.a",
	} {
		refused(t, c.ValidateInput("cloudResources.create", []byte(raw)), field)
	}
	e := cloud.AsError(c.ValidateInput("cloudResources.create", input(t, map[string]any{"spec": json.RawMessage(deep)})))
	require.Equal(t, cloud.CodeInvalidInput, e.Code)
	require.Contains(t, e.Message, "64 deep")
	// One name in other letter case is another name.
	refused(t, c.ValidateInput("cloudResources.get", []byte(`{"tenantId":"a","TenantId":"b","resourceId":"crs_`+strings.Repeat("0", 52)+`"}`)), "TenantId")
}

func TestNumbersKeepAllTheirBits(t *testing.T) {
	var in struct {
		Spec cloud.Spec `json:"spec"`
	}
	require.NoError(t, contract.New().Decode("cloudResources.create", input(t, map[string]any{"spec": json.RawMessage(`{"a":9223372036854775807,"b":0.1,"c":1E2}`)}), &in))
	require.Equal(t, cloud.Spec{"a": json.Number("9223372036854775807"), "b": json.Number("0.1"), "c": json.Number("1E2")}, in.Spec)

	var version struct {
		ExpectedVersion *int64 `json:"expectedVersion"`
	}
	id := `"tenantId":"acme","resourceId":"crs_` + strings.Repeat("0", 52) + `"`
	refused(t, contract.New().Decode("cloudResources.delete", []byte(`{`+id+`,"expectedVersion":1.0}`), &version), "expectedVersion")
}

func manifest(t *testing.T, spec string) *cloud.Manifest {
	t.Helper()
	m, err := cloud.ParseManifest([]byte(`{"kind":"test.kind","title":"T","description":"D","family":"data","ownership":"labels","examples":[{}],"spec":` + spec + `}`))
	require.NoError(t, err)
	return m
}

func TestValidateSpec(t *testing.T) {
	c := contract.New()
	m := manifest(t, `{
		"type": "object", "additionalProperties": false, "required": ["size"],
		"definitions": {"port": {"type": "integer", "minimum": 1, "maximum": 65535}},
		"properties": {
			"size": {"enum": ["small", "large"]},
			"services": {"type": "array", "maxItems": 2, "items": {"type": "object", "additionalProperties": false, "required": ["name"],
				"properties": {"name": {"type": "string", "minLength": 2, "maxLength": 3}, "ports": {"type": "array", "uniqueItems": true, "items": {"$ref": "#/definitions/port"}}}}},
			"either": {"oneOf": [{"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": {"type": "string"}}}, {"type": "string", "pattern": "^x"}]},
			"free": {"type": "object"},
			"ratio": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
			"0": {"type": "string"}
		}}`)
	for text, fields := range map[string][]string{
		`{}`:                              {"spec.size"},
		`{"size":"huge"}`:                 {"spec.size"},
		`{"size":"small","colour":"red"}`: {"spec.colour"},
		`{"size":"small","services":[{"name":"a"},{}]}`:                 {"spec.services[0].name", "spec.services[1].name"},
		`{"size":"small","services":[{"name":"abcd","x":1}]}`:           {"spec.services[0].name", "spec.services[0].x"},
		`{"size":"small","services":[{"name":"ab","ports":[0,70000]}]}`: {"spec.services[0].ports[0]", "spec.services[0].ports[1]"},
		`{"size":"small","services":[{"name":"ab","ports":[1,1.0]}]}`:   {"spec.services[0].ports"},
		`{"size":"small","services":[{},{},{}]}`:                        {"spec.services", "spec.services[0].name", "spec.services[1].name", "spec.services[2].name"},
		`{"size":"small","either":5}`:                                   {"spec.either"},
		`{"size":"small","ratio":0.3}`:                                  {"spec.ratio"},
		`{"size":"small","ratio":-1}`:                                   {"spec.ratio"},
		`{"size":"small","0":0}`:                                        {"spec.0"},
		`{"size":null}`:                                                 {"spec.size"},
	} {
		s, err := cloud.ParseSpec([]byte(text))
		require.NoError(t, err)
		refused(t, c.ValidateSpec(m, s), fields...)
	}
	for _, text := range []string{`{"size":"small"}`, `{"size":"large","services":[{"name":"ab","ports":[1,2]}],"either":{"a":"b"},"free":{"x":[1]},"ratio":1.5}`} {
		s, err := cloud.ParseSpec([]byte(text))
		require.NoError(t, err)
		require.NoError(t, c.ValidateSpec(m, s), text)
	}
	// A kind may have made Go numbers of JSON ones.
	require.NoError(t, c.ValidateSpec(m, cloud.Spec{"size": "small", "services": []any{map[string]any{"name": "ab", "ports": []any{int64(5)}}}}))
}

// A secret in the wrong place must not come back in the refusal.
func TestRefusalsNeverRepeatValues(t *testing.T) {
	c := contract.New()
	m := manifest(t, `{"type": "object", "additionalProperties": false, "properties": {
		"a": {"type": "string", "pattern": "^secret://", "maxLength": 3, "enum": ["x"]}, "b": {"const": "y"}, "c": {"type": "integer", "maximum": 5},
		"d": {"anyOf": [{"type": "integer"}, {"type": "string", "format": "ipv4"}]}, "e": {"type": "array", "contains": {"const": 1}}, "f": {"not": {"type": "string"}},
		"g": {"if": {"type": "string"}, "then": {"minLength": 50}}, "h": {"type": "array", "uniqueItems": true}}}`)
	for _, f := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		var v any = "canary-value"
		if f == "e" || f == "h" {
			v = []any{"canary-value", "canary-value"}
		}
		err := c.ValidateSpec(m, cloud.Spec{f: v})
		e := cloud.AsError(err)
		require.Equal(t, cloud.CodeInvalidInput, e.Code, f)
		require.Contains(t, e.Details["fields"], "spec."+f)
		require.NotContains(t, fmt.Sprint(e.Message, e.Details), "canary", f)
		require.NotContains(t, e.Message, "not valid", f)
	}
}

func TestSchemasOfKindsAreCompiledOnceEach(t *testing.T) {
	c := contract.New()
	a := manifest(t, `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}}}`)
	b := manifest(t, `{"type":"object","additionalProperties":false,"properties":{"b":{"type":"string"}}}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if c.ValidateSpec(a, cloud.Spec{"a": "x"}) != nil || c.ValidateSpec(b, cloud.Spec{"a": "x"}) == nil {
				t.Error("kinds share a schema")
			}
		})
	}
	wg.Wait()
}

// Whatever arrives, reading it neither panics nor fails as our own trouble.
func TestAnyBytesAreRefusedInPlainWords(t *testing.T) {
	c := contract.New()
	methods := c.Methods()
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.SampledFrom(methods).Draw(rt, "method")
		raw := rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.Map(rapid.StringMatching(`[\[\]{}",:a1\\u0nulltrefas.e+-]{0,40}`), func(s string) []byte { return []byte(s) }),
			rapid.Map(rapid.StringMatching(`\{("(tenantId|spec|after|commands|value)":("[a-z]{0,3}"|[0-9]{1,3}|\[\{\}\]|\{\}|null)(,)?){0,3}\}`), func(s string) []byte { return []byte(s) }),
		).Draw(rt, "raw")
		if err := c.ValidateInput(m.Name, raw); err != nil {
			e := cloud.AsError(err)
			if e.Code != cloud.CodeInvalidInput || e.Message == "" {
				rt.Fatalf("%s %q: %v", m.Name, raw, err)
			}
		}
	})
}

func BenchmarkValidateInput(b *testing.B) {
	c := contract.New()
	raw := []byte(`{"tenantId":"acme","poolId":"pool_0000000000000000000000acme","kind":"do.database.pg","name":"orders","idempotencyKey":"k","spec":{"region":"nyc3","size":"db-s-1vcpu-1gb"}}`)
	for b.Loop() {
		if err := c.ValidateInput("cloudResources.create", raw); err != nil {
			b.Fatal(err)
		}
	}
}
