package intent

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// digest identifies a create by what it asks for, not by how it is written:
// the order of keys, white space, escapes and the spelling of numbers do not
// count, and an absent field is an empty one.
func (in CreateRequest) digest() []byte {
	return digestOf(map[string]any{
		"method": "create", "tenantId": in.TenantID, "projectId": in.ProjectID, "poolId": in.PoolID,
		"kind": in.Kind, "name": in.Name, "description": in.Description, "parentId": in.ParentID,
		"spec": map[string]any(in.Spec),
	})
}

// digest is the same for an adopt, which is never equal to a create.
func (in AdoptRequest) digest() []byte {
	return digestOf(map[string]any{
		"method": "adopt", "tenantId": in.TenantID, "projectId": in.ProjectID, "poolId": in.PoolID,
		"kind": in.Kind, "providerId": in.ProviderID, "name": in.Name, "description": in.Description,
	})
}

func digestOf(v any) []byte {
	h := sha256.New()
	writeValue(h, v)
	return h.Sum(nil)
}

// writeValue feeds a decoded JSON value unambiguously: each with a letter for
// its type, texts and collections with their length.
func writeValue(h hash.Hash, v any) {
	switch t := v.(type) {
	case map[string]any:
		fmt.Fprintf(h, "o%d:", len(t))
		for _, k := range slices.Sorted(maps.Keys(t)) {
			writeValue(h, k)
			writeValue(h, t[k])
		}
	case []any:
		fmt.Fprintf(h, "l%d:", len(t))
		for _, e := range t {
			writeValue(h, e)
		}
	case string:
		fmt.Fprintf(h, "s%d:%s", len(t), t)
	case json.Number:
		fmt.Fprintf(h, "n%s;", numberText(t.String()))
	case bool:
		fmt.Fprintf(h, "b%t;", t)
	case nil:
		fmt.Fprint(h, "z;")
	default: // specs come from JSON; this keeps others apart as well as can be
		fmt.Fprintf(h, "?%T%v;", t, t)
	}
}

// maxExponentDigits bounds what is expanded: 1e999999999 stays as it is written.
const maxExponentDigits = 4

func numberText(text string) string {
	if _, exp, ok := strings.Cut(strings.ToLower(text), "e"); ok && len(strings.TrimLeft(exp, "+-0")) > maxExponentDigits {
		return text
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return text
	}
	return r.RatString()
}

// specSize is how many bytes of JSON a spec takes, without white space and
// needless escapes.
func specSize(spec cloud.Spec) int {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]any(spec)); err != nil {
		return 0
	}
	return b.Len() - 1 // the encoder ends with a line break
}
