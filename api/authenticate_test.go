package api_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api"
	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/schema/platform"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestStaticTokens(t *testing.T) {
	t.Parallel()
	s := apitest.New(t).Serve()
	for header, status := range map[string]int{
		"": 401, "Bearer": 401, "Bearer ": 401, "Bearer wrong": 401, "Basic dev-acme": 401, "dev-acme": 401,
		"Bearer dev-acme": 200, "bearer dev-acme": 200, "Bearer  dev-acme ": 200, "Bearer dev-acme x": 401,
	} {
		req, err := http.NewRequest(http.MethodPost, s.URL+"/api/compute/cloudResources/list", strings.NewReader(`{"tenantId":"acme"}`))
		require.NoError(t, err)
		req.Header.Set("Authorization", header)
		a := s.Do(req)
		require.Equal(t, status, a.Status, header)
		if status == 401 {
			require.Contains(t, a.Header.Get("WWW-Authenticate"), "Bearer")
		}
	}
	require.NotContains(t, s.Log.String(), "dev-acme", "no token is logged")
}

// issuer is an OpenID Connect issuer of the test's own.
type issuer struct {
	*httptest.Server
	keys    []*ecdsa.PrivateKey
	fetches atomic.Int32
	down    atomic.Bool
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/a", "token_endpoint": i.URL + "/t"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.fetches.Add(1)
		if i.down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		var set jose.JSONWebKeySet
		for n, k := range i.keys {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.Public(), KeyID: itoa(n), Algorithm: "ES256", Use: "sig"})
		}
		_ = json.NewEncoder(w).Encode(set)
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	i.addKey(t)
	return i
}

func (i *issuer) addKey(t *testing.T) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i.keys = append(i.keys, k)
}

// token is a token of the newest key, with claims changed by edits.
func (i *issuer) token(t *testing.T, edits ...fields) string {
	t.Helper()
	n := len(i.keys) - 1
	return signed(t, fields{"alg": "ES256", "kid": itoa(n)}, i.claims(edits...), i.keys[n])
}

func (i *issuer) claims(edits ...fields) fields {
	c := fields{"iss": i.URL, "aud": "cloud", "sub": "alice", "org": "acme", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	for _, e := range edits {
		for k, v := range e {
			if c[k] = v; v == nil {
				delete(c, k)
			}
		}
	}
	return c
}

// signed writes a JWT by hand, so that wrong ones can be written too.
func signed(t *testing.T, header, claims fields, key crypto.Signer) string {
	t.Helper()
	part := func(v any) string {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	text := part(header) + "." + part(claims)
	if key == nil {
		return text + "."
	}
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key.(*ecdsa.PrivateKey), sum[:])
	require.NoError(t, err)
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(sig)
}

func declare(i *issuer, edits ...func(d *platform.Issuer)) func(f *platform.File) {
	return func(f *platform.File) {
		d := platform.Issuer{Issuer: i.URL, Audience: "cloud", Claims: platform.Claims{Tenant: "org", User: "sub"}, UserPrefix: "oidc:"}
		for _, edit := range edits {
			edit(&d)
		}
		f.OIDCIssuers = []platform.Issuer{d}
		f.Policies = append(f.Policies, platform.Policy{ID: "oidc", Principals: []string{"*/oidc:alice"}, Statements: []platform.Statement{
			{Effect: platform.Allow, Actions: []string{"*"}, Resources: []string{"*"}},
		}})
	}
}

func TestTokensOfAnIssuer(t *testing.T) {
	t.Parallel()
	i, stranger := newIssuer(t), newIssuer(t)
	w := apitest.New(t, declare(i))
	s := w.Serve()
	list := func(token string) apitest.Answer {
		return s.Call(token, "cloudResources/list", fields{"tenantId": "acme"})
	}
	require.Equal(t, 200, list(i.token(t)).Status)
	require.Equal(t, 200, list(i.token(t, fields{"aud": []string{"other", "cloud"}})).Status)
	require.Equal(t, 200, list("dev-acme").Status, "static tokens go on")
	require.EqualValues(t, 1, i.fetches.Load(), "keys are kept")

	none := signed(t, fields{"alg": "none"}, i.claims(), nil)
	symmetric := signed(t, fields{"alg": "HS256", "kid": "0"}, i.claims(), i.keys[0])
	tampered := strings.Split(i.token(t), ".")
	tampered[1] = strings.Split(i.token(t, fields{"org": "globex"}), ".")[1]
	for name, token := range map[string]string{
		"expired":              i.token(t, fields{"exp": time.Now().Add(-time.Minute).Unix()}),
		"no end":               i.token(t, fields{"exp": nil}),
		"not valid yet":        i.token(t, fields{"nbf": time.Now().Add(time.Hour).Unix()}),
		"another audience":     i.token(t, fields{"aud": "other"}),
		"no audience":          i.token(t, fields{"aud": nil}),
		"another issuer":       stranger.token(t),
		"another's key":        signed(t, fields{"alg": "ES256", "kid": "0"}, i.claims(), stranger.keys[0]),
		"unknown key":          signed(t, fields{"alg": "ES256", "kid": "77"}, i.claims(), stranger.keys[0]),
		"no signature":         none,
		"symmetric":            symmetric,
		"tampered":             strings.Join(tampered, "."),
		"no tenant":            i.token(t, fields{"org": nil}),
		"tenant of wrong type": i.token(t, fields{"org": 5}),
		"undeclared tenant":    i.token(t, fields{"org": "nowhere"}),
		"malformed tenant":     i.token(t, fields{"org": "acme/x"}),
		"no user":              i.token(t, fields{"sub": ""}),
		"user with a wildcard": i.token(t, fields{"sub": "*"}),
		"no JWT":               "a.b.c",
	} {
		a := list(token)
		code, _ := a.Error()
		require.Equal(t, []any{401, "UNAUTHENTICATED"}, []any{a.Status, code}, name)
	}
	require.LessOrEqual(t, i.fetches.Load(), int32(2), "made-up keys are no requests to the issuer")

	refused(t, s, i.token(t, fields{"sub": "bob"}), "cloudResources/list", fields{"tenantId": "acme"}, 403, "ACCESS_DENIED", "")
	refused(t, s, i.token(t, fields{"org": "globex"}), "cloudResources/list", fields{"tenantId": "acme"}, 403, "ACCESS_DENIED", "")
	r := done(t, s, i.token(t), "cloudResources/create", newCluster("a"))
	require.Equal(t, "acme/oidc:alice", r.Text("owner"))
	require.NotEqual(t, r.Text("id"), done(t, s, "dev-acme", "cloudResources/create", newCluster("a", fields{"name": "b"})).Text("id"), "not the static principal of that name")

	w.Apply(func(f *platform.File) { f.OIDCIssuers[0].Tenants = []string{"globex"} })
	require.Equal(t, 401, list(i.token(t)).Status, "a change shows at the next call")
	w.Apply(func(f *platform.File) { f.OIDCIssuers = nil })
	require.Equal(t, 401, list(i.token(t, fields{"org": "globex"})).Status)
}

func TestIssuersKeysRotateAndFail(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	var ahead atomic.Int64
	w := apitest.New(t, declare(i, func(d *platform.Issuer) { d.JWKSURL = i.URL + "/keys" }))
	s := w.Serve(func(d *api.Deps) {
		d.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	list := func(token string) int {
		return s.Call(token, "cloudResources/list", fields{"tenantId": "acme"}).Status
	}
	i.down.Store(true)
	require.Equal(t, 503, list(i.token(t)), "whether it is valid cannot be told")
	i.down.Store(false)
	require.Equal(t, 200, list(i.token(t)))

	old := i.token(t)
	i.addKey(t)
	ahead.Store(int64(time.Minute))
	require.Equal(t, 200, list(i.token(t)), "a new key is fetched")
	require.Equal(t, 200, list(old))
	i.down.Store(true)
	ahead.Store(int64(2 * time.Minute))
	require.Equal(t, 200, list(i.token(t)), "known keys serve while the issuer is down")
	require.Equal(t, 401, list(i.token(t, fields{"aud": "other"})))
}
