package cloud

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// MaxSpecBytes is the most JSON a spec may take, in bytes, after a merge too.
const MaxSpecBytes = 64 << 10

// Spec is a resource's wish as decoded JSON: map[string]any, []any, string,
// bool, nil and json.Number (so integers keep all 64 bits).
type Spec map[string]any

// ParseSpec decodes one JSON object. Empty input is an empty spec.
func ParseSpec(raw []byte) (Spec, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return Spec{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var s Spec
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("spec is not a JSON object: %w", err)
	}
	if s == nil {
		s = Spec{}
	}
	return s, nil
}

// JSON returns the canonical JSON of the spec: keys sorted, no white space.
func (s Spec) JSON() []byte {
	if s == nil {
		s = Spec{}
	}
	b, err := json.Marshal(map[string]any(s))
	if err != nil { // only a value that never came from JSON can do this
		return []byte("{}")
	}
	return b
}

// Clone returns a deep copy.
func (s Spec) Clone() Spec { c, _ := cloneValue(map[string]any(s)).(map[string]any); return c }

func cloneValue(v any) any {
	switch t := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(t))
		for k, e := range t {
			m[k] = cloneValue(e)
		}
		return m
	case []any:
		l := make([]any, len(t))
		for i, e := range t {
			l[i] = cloneValue(e)
		}
		return l
	default:
		return v
	}
}

// Merge is RFC 7396: members of patch replace those of s, objects merge, null
// removes (D29). Neither argument is changed.
func (s Spec) Merge(patch Spec) Spec {
	merged, _ := mergeValue(map[string]any(s), map[string]any(patch)).(map[string]any)
	return merged
}

func mergeValue(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return cloneValue(patch)
	}
	t, _ := target.(map[string]any)
	out := map[string]any{}
	for k, v := range t {
		out[k] = cloneValue(v)
	}
	for k, v := range p {
		if v == nil {
			delete(out, k)
			continue
		}
		out[k] = mergeValue(out[k], v)
	}
	return out
}

// Changed returns the top-level fields in which two specs differ by value,
// sorted. Numbers compare as numbers (1, 1.0 and 1e0 are one value).
func (s Spec) Changed(other Spec) []string {
	var fields []string
	for k := range maps.Keys(s) {
		if o, ok := other[k]; !ok || !SameValue(s[k], o) {
			fields = append(fields, k)
		}
	}
	for k := range maps.Keys(other) {
		if _, ok := s[k]; !ok {
			fields = append(fields, k)
		}
	}
	slices.Sort(fields)
	return fields
}

// SameValue compares two decoded JSON values, numbers by value and lists in order.
func SameValue(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !SameValue(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, SameValue)
	}
	if na, ok := number(a); ok {
		nb, ok := number(b)
		return ok && na.Cmp(nb) == 0
	}
	return reflect.DeepEqual(a, b)
}

// maxExponent bounds numbers such as 1e999999999, which big.Rat would expand.
const maxExponent = 6

func number(v any) (*big.Rat, bool) {
	switch n := v.(type) {
	case json.Number:
		text := n.String()
		if _, exp, ok := strings.Cut(strings.ToLower(text), "e"); ok && len(strings.TrimLeft(exp, "+-0")) > maxExponent {
			return nil, false
		}
		return new(big.Rat).SetString(text)
	case int:
		return new(big.Rat).SetInt64(int64(n)), true
	case int64:
		return new(big.Rat).SetInt64(n), true
	case float64:
		r := new(big.Rat)
		return r, r.SetFloat64(n) != nil
	}
	return nil, false
}

// String is the text of a string field, or "".
func (s Spec) String(field string) string { t, _ := s[field].(string); return t }

// Int is the value of an integer field; ok is false when it is absent or no integer.
func (s Spec) Int(field string) (value int64, ok bool) {
	r, ok := number(s[field])
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// Bool is the value of a boolean field; ok is false when it is absent.
func (s Spec) Bool(field string) (value, ok bool) { value, ok = s[field].(bool); return value, ok }

// Object is a field that is an object, or nil.
func (s Spec) Object(field string) Spec { o, _ := s[field].(map[string]any); return o }

// List is a field that is a list, or nil.
func (s Spec) List(field string) []any { l, _ := s[field].([]any); return l }

// Strings is a field that is a list of strings; other elements are left out.
func (s Spec) Strings(field string) []string {
	var out []string
	for _, e := range s.List(field) {
		if t, ok := e.(string); ok {
			out = append(out, t)
		}
	}
	return out
}

// Decode fills a struct with json tags from the spec.
func (s Spec) Decode(into any) error {
	return json.Unmarshal(s.JSON(), into)
}

// SpecOf turns a struct with json tags into a Spec.
func SpecOf(v any) (Spec, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return ParseSpec(b)
}
