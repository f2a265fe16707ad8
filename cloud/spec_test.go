package cloud

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestMerge takes the examples of RFC 7396, appendix A, that concern objects.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"a":1}`, ``, `{"a":1}`},
		{``, `{"a":[]}`, `{"a":[]}`},
		{`{"n":9007199254740993}`, `{"m":9223372036854775807}`, `{"n":9007199254740993,"m":9223372036854775807}`},
	} {
		base, err := ParseSpec([]byte(c[0]))
		require.NoError(t, err)
		patch, err := ParseSpec([]byte(c[1]))
		require.NoError(t, err)
		before, patchBefore := string(base.JSON()), string(patch.JSON())
		merged := base.Merge(patch)
		require.JSONEq(t, c[2], string(merged.JSON()), "%s + %s", c[0], c[1])
		require.Equal(t, before, string(base.JSON()))
		require.Equal(t, patchBefore, string(patch.JSON()))
	}
}

func TestParseSpecRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`[]`, `"x"`, `1`, `{`, `{"a":}`} {
		_, err := ParseSpec([]byte(bad))
		require.Error(t, err, bad)
	}
	s, err := ParseSpec([]byte(" null "))
	require.NoError(t, err)
	require.Equal(t, Spec{}, s)
}

func TestChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want []string
	}{
		{`{"a":1}`, `{"a":1.0}`, nil},
		{`{"a":1e0}`, `{"a":1}`, nil},
		{`{"a":100}`, `{"a":1e2}`, nil},
		{`{"a":"1"}`, `{"a":1}`, []string{"a"}},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, []string{"a"}},
		{`{"a":{"x":1,"y":2}}`, `{"a":{"y":2,"x":1}}`, nil},
		{`{"a":{"x":1}}`, `{"a":{"x":1,"y":null}}`, []string{"a"}},
		{`{"b":1,"a":1}`, `{"c":1}`, []string{"a", "b", "c"}},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, []string{"a"}},
		{`{"a":1e999999999}`, `{"a":1e999999999}`, nil},
		{`{"a":false}`, `{}`, []string{"a"}},
	} {
		a, err := ParseSpec([]byte(c.a))
		require.NoError(t, err)
		b, err := ParseSpec([]byte(c.b))
		require.NoError(t, err)
		require.Equal(t, c.want, a.Changed(b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, b.Changed(a), "%s %s", c.b, c.a)
	}
}

func TestSpecProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, patch := drawSpec(t, "spec"), drawSpec(t, "patch")
		again, err := ParseSpec(s.JSON())
		require.NoError(t, err)
		require.Empty(t, s.Changed(again), "JSON keeps every value")
		require.Equal(t, string(s.JSON()), string(again.JSON()), "and has one form")
		require.Empty(t, s.Changed(s.Clone()))
		merged := s.Merge(patch)
		require.Empty(t, merged.Changed(merged.Merge(patch)), "merging twice is merging once")
		for k, v := range patch {
			if v == nil {
				require.NotContains(t, merged, k)
			}
		}
		require.Empty(t, s.Changed(s.Merge(Spec{})))
		clone := s.Clone()
		scribble(map[string]any(clone))
		require.Equal(t, string(again.JSON()), string(s.JSON()), "a clone shares nothing")
	})
}

func scribble(m map[string]any) {
	for k, v := range m {
		if inner, ok := v.(map[string]any); ok {
			scribble(inner)
		}
		if list, ok := v.([]any); ok && len(list) > 0 {
			list[0] = "scribbled"
		}
		m[k] = "scribbled"
	}
}

func drawSpec(t *rapid.T, label string) Spec {
	return drawObject(t, label, 3)
}

func drawObject(t *rapid.T, label string, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, label+" size") {
		m[rapid.SampledFrom(strings.Split("abcdefg", "")).Draw(t, label+" key")] = drawValue(t, label, depth-1)
	}
	return m
}

func drawValue(t *rapid.T, label string, depth int) any {
	most := 4
	if depth > 0 {
		most = 6
	}
	switch rapid.IntRange(0, most).Draw(t, label+" type") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, label)
	case 2:
		return json.Number(rapid.SampledFrom([]string{"0", "-1", "1.5", "9223372036854775807", "1e3"}).Draw(t, label))
	case 3, 4:
		return rapid.StringN(0, 5, 20).Draw(t, label)
	case 5:
		return drawObject(t, label, depth)
	}
	list := []any{}
	for range rapid.IntRange(0, 3).Draw(t, label+" length") {
		list = append(list, drawValue(t, label, depth-1))
	}
	return list
}

func TestFields(t *testing.T) {
	t.Parallel()
	s, err := ParseSpec([]byte(`{"n":3,"big":9223372036854775808,"half":1.5,"b":false,"t":"x","l":["a",1,"b"],"o":{"k":"v"}}`))
	require.NoError(t, err)
	n, ok := s.Int("n")
	require.True(t, ok)
	require.EqualValues(t, 3, n)
	for _, f := range []string{"big", "half", "t", "none"} {
		_, ok = s.Int(f)
		require.False(t, ok, f)
	}
	b, ok := s.Bool("b")
	require.True(t, ok)
	require.False(t, b)
	require.Equal(t, "x", s.String("t"))
	require.Equal(t, []string{"a", "b"}, s.Strings("l"))
	require.Equal(t, "v", s.Object("o").String("k"))
	var into struct {
		N int64 `json:"n"`
	}
	require.NoError(t, s.Decode(&into))
	require.EqualValues(t, 3, into.N)
	back, err := SpecOf(into)
	require.NoError(t, err)
	require.Equal(t, `{"n":3}`, string(back.JSON()))
}
