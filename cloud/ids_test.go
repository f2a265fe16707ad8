package cloud

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestResourceID(t *testing.T) {
	t.Parallel()
	require.Equal(t, testID, ResourceID("acme", "acme/alice", "key-1"), "the same call names the same resource (D1)")
	require.Regexp(t, PatternResource, testID)
	require.Len(t, testID, len("crs_")+52)
	require.NotEqual(t, ResourceID("a", "bc", "d"), ResourceID("ab", "c", "d"))
	require.NotEqual(t, ResourceID("a", "b", "cd"), ResourceID("a", "bc", "d"))
	name := ProviderName(testID)
	require.Len(t, name, 29)
	require.True(t, strings.HasPrefix(name, "bc-r-"))
	require.Equal(t, LabelKey(testID), KeyFromProviderName(name))
	for _, other := range []string{"", "bc-r-", "bc-r-short", "x" + name, name + "x", "web"} {
		require.Empty(t, KeyFromProviderName(other), other)
	}
	require.Empty(t, LabelKey("crs_short"))
	require.Empty(t, LabelKey("nothing"))
}

func TestIDProperties(t *testing.T) {
	t.Parallel()
	part := rapid.StringN(0, 8, 20)
	rapid.Check(t, func(t *rapid.T) {
		a := [3]string{part.Draw(t, "a0"), part.Draw(t, "a1"), part.Draw(t, "a2")}
		b := [3]string{part.Draw(t, "b0"), part.Draw(t, "b1"), part.Draw(t, "b2")}
		idA, idB := ResourceID(a[0], a[1], a[2]), ResourceID(b[0], b[1], b[2])
		require.Equal(t, a == b, idA == idB)
		require.Equal(t, a == b, LabelKey(idA) == LabelKey(idB))
		require.Regexp(t, PatternResource, idA)
		text := rapid.String().Draw(t, "label")
		back, ok := DecodeLabel(EncodeLabel(text))
		require.True(t, ok)
		require.Equal(t, text, back)
		require.Regexp(t, `^[a-z2-7]*$`, EncodeLabel(text), "safe in any provider's tag (B30)")
	})
	_, ok := DecodeLabel("not base32!")
	require.False(t, ok)
	require.LessOrEqual(t, len("better-compute-tenant:"+EncodeLabel(strings.Repeat("x", 128))), 255)
}

func TestCertificateName(t *testing.T) {
	t.Parallel()
	id := DeriveID(PrefixCertificate, "acme", "alice", "k")
	names := map[string]bool{}
	for serial := range int64(2000) {
		name := CertificateName(id, serial)
		require.False(t, names[name], name)
		names[name] = true
	}
}

func TestSecretShowsNowhere(t *testing.T) {
	t.Parallel()
	s := NewSecret("canary")
	type holder struct {
		Password Secret
		Inner    map[string]Secret
	}
	h := holder{s, map[string]Secret{"a": s}}
	marshalled, err := json.Marshal(h)
	require.NoError(t, err)
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "secret", s, "holder", h)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "secret", s, "holder", h)
	for _, text := range []string{
		fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q %x %d", s, s, s, s, s, s, s), fmt.Sprintf("%v %+v %#v", h, h, h), fmt.Sprintf("%v", &h),
		string(marshalled), logged.String(),
	} {
		require.NotContains(t, text, "canary")
		require.NotContains(t, text, "63616e617279")
	}
	require.Equal(t, "canary", s.Reveal())
}

func TestSecretRef(t *testing.T) {
	t.Parallel()
	tenant, name, ok := NewSecretRef("acme", OutputSecretName(testID, "password")).Parse()
	require.True(t, ok)
	require.Equal(t, "acme", tenant)
	require.Equal(t, "resources/"+testID+"/password", name)
	for _, bad := range []SecretRef{"", "secret://", "secret://acme", "secret://acme/", "secret:///x", "http://acme/x", "secret://ac me/x", "secret://acme/x y", "secret://acme/x\n"} {
		_, _, ok := bad.Parse()
		require.False(t, ok, string(bad))
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	require.Nil(t, AsError(nil))
	hidden := AsError(fmt.Errorf("pq: secret detail"))
	require.Equal(t, CodeInternal, hidden.Code)
	require.NotContains(t, hidden.Message, "detail")
	e := Errorf(CodeConflict, "taken").Because(ReasonName)
	require.Equal(t, ReasonName, AsError(fmt.Errorf("while: %w", e)).Reason())
	require.Empty(t, Errorf(CodeConflict, "x").Reason())
	require.Equal(t, ClassUnknown, ClassOf(fmt.Errorf("reset by peer")))
	require.Equal(t, Class(""), ClassOf(nil))
	require.True(t, IsNotFound(fmt.Errorf("look: %w", NotFound("get"))))
	p := &ProviderError{Op: "create do.app", Message: "no", Status: 422, RequestID: "r1"}
	require.Equal(t, "create do.app: no (HTTP 422) (request r1)", p.Error())
}
