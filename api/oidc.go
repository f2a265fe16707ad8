package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// algorithms are the signatures that are accepted: public-key ones only, so
// that "none" and a key of the caller's own choice are not.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// userPattern is what a user may be called: no white space, no wildcard of policies.
var userPattern = regexp.MustCompile(`^[^\s*\x00-\x1f\x7f]{1,200}$`)

// issuer is a declared issuer with the verifier of its tokens, which is made
// when the first one comes and keeps the issuer's keys.
type issuer struct {
	platform.Issuer
	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
}

// same reports whether the declaration is as it was.
func (i *issuer) same(d platform.Issuer) bool { return i != nil && reflect.DeepEqual(i.Issuer, d) }

// issuerOf finds the issuer that a token names; ok is false for anything that
// is no JWT of a declared issuer. Nothing in it is believed yet.
func (c *callers) issuerOf(token string) (*issuer, bool) {
	parts := strings.Split(token, ".")
	if len(c.issuers) == 0 || len(parts) != 3 {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, false
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(raw, &claims) != nil {
		return nil, false
	}
	i, ok := c.issuers[claims.Issuer]
	return i, ok
}

// fromIssuer verifies a JWT and maps its claims to a principal.
// UNAUTHENTICATED when it is not valid, UNAVAILABLE when the issuer's keys
// cannot be had.
func (a *authenticator) fromIssuer(ctx context.Context, i *issuer, token string) (intent.Principal, error) {
	verifier, err := i.verifierOf(ctx, a.http, a.now)
	if err != nil {
		return intent.Principal{}, silentIssuer(err)
	}
	var silent bool
	verified, err := verifier.Verify(context.WithValue(ctx, silentKey{}, &silent), token)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return intent.Principal{}, unauthenticated("the token has expired")
	case silent:
		return intent.Principal{}, silentIssuer(err)
	case err != nil:
		return intent.Principal{}, &cloud.Error{Code: cloud.CodeUnauthenticated, Message: "the token is not valid", Err: err}
	}
	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		return intent.Principal{}, &cloud.Error{Code: cloud.CodeUnauthenticated, Message: "the token is not valid", Err: err}
	}
	tenant, _ := claims[i.Claims.Tenant].(string)
	user, _ := claims[i.Claims.User].(string)
	if !cloud.PatternTenant.MatchString(tenant) || !userPattern.MatchString(user) {
		return intent.Principal{}, unauthenticated("the token does not say in which tenant and as whom it speaks")
	}
	if err := a.speaksFor(ctx, i, tenant); err != nil {
		return intent.Principal{}, err
	}
	user = i.UserPrefix + user
	return intent.Principal{Tenant: tenant, User: user, ID: tenant + "/" + user}, nil
}

func silentIssuer(err error) error {
	return &cloud.Error{Code: cloud.CodeUnavailable, Message: "the token's issuer does not answer; try again", Err: err}
}

// verifierOf makes the verifier when the first token comes. Without a declared
// address of the keys the issuer's discovery document says where they are.
func (i *issuer) verifierOf(ctx context.Context, client *http.Client, now intent.Clock) (*oidc.IDTokenVerifier, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.verifier != nil {
		return i.verifier, nil
	}
	fetch := &keyFetcher{base: client.Transport, now: now, answers: map[string]keyAnswer{}}
	if fetch.base == nil {
		fetch.base = http.DefaultTransport
	}
	ctx = oidc.ClientContext(ctx, &http.Client{Transport: fetch, Timeout: keysTimeout})
	address := i.JWKSURL
	if address == "" {
		provider, err := oidc.NewProvider(ctx, i.Issuer.Issuer)
		if err != nil {
			return nil, err
		}
		var document struct {
			Address string `json:"jwks_uri"`
		}
		if err := provider.Claims(&document); err != nil {
			return nil, err
		}
		address = document.Address
	}
	keys := &issuerKeys{remote: oidc.NewRemoteKeySet(ctx, address), fetch: fetch}
	i.verifier = oidc.NewVerifier(i.Issuer.Issuer, keys, &oidc.Config{ClientID: i.Audience, SupportedSigningAlgs: algorithms, Now: now})
	return i.verifier, nil
}

// speaksFor: an issuer speaks for the tenants that it is declared for, and only
// for declared ones.
func (a *authenticator) speaksFor(ctx context.Context, i *issuer, tenant string) error {
	if len(i.Tenants) > 0 && !slices.Contains(i.Tenants, tenant) {
		return unauthenticated("the token's issuer does not speak for its tenant")
	}
	declared, err := a.platform.TenantDeclared(ctx, tenant)
	if err == nil && !declared {
		err = unauthenticated("the token's issuer does not speak for its tenant")
	}
	return err
}
