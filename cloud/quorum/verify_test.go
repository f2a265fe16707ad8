package quorum_test

import (
	"encoding/json"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

func TestVerifyAcceptsEveryCommandOfABatch(t *testing.T) {
	for i := range uint64(10) {
		who, err := quorum.Verify(policy(), approved(t, 10, i), now)
		require.NoError(t, err)
		require.Equal(t, []string{"alice", "bob"}, who)
	}
}

// TestAnyChangeIsRefused alters one value somewhere in the JSON of an approved
// command. Whatever it is, the command is no longer accepted. The
// optional key id, which approvals may leave out, is left alone.
func TestAnyChangeIsRefused(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		index := rapid.SampledFrom([]uint64{0, 1, 3, 4, 6}).Draw(rt, "index") // bound leaves
		var body any
		original := approved(t, 7, index)
		data, err := json.Marshal(original)
		require.NoError(rt, err)
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		require.NoError(rt, d.Decode(&body))
		changed := alter(rt, body)
		data, err = json.Marshal(changed)
		require.NoError(rt, err)
		var c quorum.Command
		// Base64 of a payload has spare bits, so other text can be the same bytes.
		if quorum.DecodeStrict(data, &c) != nil || reflect.DeepEqual(c, original) {
			return
		}
		_, err = quorum.Verify(policy(), c, now)
		require.Error(rt, err, "%s", data)
	})
}

// alter walks to a random place below v and changes what is there.
func alter(t *rapid.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			if k != "keyId" {
				keys = append(keys, k)
			}
		}
		k := rapid.SampledFrom(slices.Sorted(slices.Values(keys))).Draw(t, "key")
		if k != "index" && rapid.IntRange(0, 9).Draw(t, "drop") == 0 {
			delete(v, k)
			return v
		}
		v[k] = alter(t, v[k])
		return v
	case []any:
		i := rapid.IntRange(0, len(v)-1).Draw(t, "item")
		switch rapid.IntRange(0, 3).Draw(t, "how") {
		case 0:
			return append(v[:i:i], v[i+1:]...)
		case 1:
			return append(v, v[i])
		}
		v[i] = alter(t, v[i])
		return v
	case json.Number:
		return json.Number(rapid.StringMatching(`[1-9][0-9]{0,12}`).Filter(func(s string) bool { return s != v.String() }).Draw(t, "number"))
	case string:
		b := []byte(v)
		i := rapid.IntRange(0, len(b)-1).Draw(t, "char")
		b[i] = rapid.SampledFrom([]byte("0123456789abcdefXYZ+")).Filter(func(c byte) bool { return c != b[i] }).Draw(t, "to")
		return string(b)
	}
	return v
}

func TestRefusalsAreSafeToPrint(t *testing.T) {
	c := approved(t, 3, 0)
	c.Statement.TrustDomain = "a\x1b[2J"
	_, err := quorum.Verify(policy(), c, now)
	require.NotContains(t, err.Error(), "\x1b")
	c = approved(t, 3, 0)
	c.Approvals[0].ApproverID = "\x1b[2J"
	c.Approvals[1].ApproverID = "\x1b[2J"
	_, err = quorum.Verify(policy(), c, now)
	require.NotContains(t, err.Error(), "\x1b")
	_, err = quorum.DecodeBatch([]byte(`{"\u001b[2J": 1}`))
	require.NotContains(t, err.Error(), "\x1b")
}

// TestImportsLittle keeps the promise that a daemon can import this alone.
func TestImportsLittle(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	require.NoError(t, err)
	for _, path := range strings.Fields(string(out)) {
		allowed := path == "github.com/better-compute/cloud-resources/cloud/quorum" ||
			strings.HasPrefix(path, "github.com/transparency-dev/merkle")
		require.True(t, allowed, path)
	}
}
