package api

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/better-compute/cloud-resources/api/authz"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

// authenticator finds out who calls. What it keeps in memory (who holds a
// token, an issuer's keys) is of one revision of the platform: the revision is
// asked for at each call, so that a revoked token is refused at the next.
type authenticator struct {
	platform Platform
	http     *http.Client
	now      intent.Clock

	mu      sync.Mutex
	current *callers
}

// callers is what is known of one revision.
type callers struct {
	revision int64
	issuers  map[string]*issuer
	mu       sync.Mutex
	tokens   map[[sha256.Size]byte]intent.Principal
}

// maxTokens bounds how many tokens' holders are remembered.
const maxTokens = 10_000

func newAuthenticator(p Platform, client *http.Client, now intent.Clock) *authenticator {
	if client == nil {
		client = &http.Client{Timeout: keysTimeout}
	}
	return &authenticator{platform: p, http: client, now: now}
}

func unauthenticated(message string) error {
	return cloud.Errorf(cloud.CodeUnauthenticated, "%s", message)
}

// authenticate reads the Authorization header. The context that it returns
// carries the platform's revision to the decisions of this request.
func (a *authenticator) authenticate(ctx context.Context, header string) (context.Context, intent.Principal, error) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return ctx, intent.Principal{}, unauthenticated("a bearer token is required: Authorization: Bearer <token>")
	}
	revision, err := a.platform.PlatformRevision(ctx)
	if err != nil {
		return ctx, intent.Principal{}, err
	}
	known, err := a.callersOf(ctx, revision)
	if err != nil {
		return ctx, intent.Principal{}, err
	}
	ctx = authz.WithRevision(ctx, known.revision)
	if iss, ok := known.issuerOf(token); ok {
		p, err := a.fromIssuer(ctx, iss, token)
		return ctx, p, err
	}
	p, err := a.fromToken(ctx, known, token)
	return ctx, p, err
}

func (a *authenticator) callersOf(ctx context.Context, revision int64) (*callers, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current != nil && a.current.revision == revision {
		return a.current, nil
	}
	declared, err := a.platform.Issuers(ctx)
	if err != nil {
		return nil, err
	}
	known := &callers{revision: revision, issuers: map[string]*issuer{}, tokens: map[[sha256.Size]byte]intent.Principal{}}
	for _, d := range declared {
		if old := a.current; old != nil && old.issuers[d.Issuer].same(d) {
			known.issuers[d.Issuer] = old.issuers[d.Issuer] // with its keys
			continue
		}
		known.issuers[d.Issuer] = &issuer{Issuer: d}
	}
	a.current = known
	return known, nil
}

// fromToken finds who holds a static token. Only holders are remembered, so
// that wrong tokens take no memory.
func (a *authenticator) fromToken(ctx context.Context, known *callers, token string) (intent.Principal, error) {
	sum := sha256.Sum256([]byte(token))
	known.mu.Lock()
	p, ok := known.tokens[sum]
	known.mu.Unlock()
	if ok {
		return p, nil
	}
	found, err := a.platform.PrincipalByToken(ctx, sum[:])
	if err != nil {
		return intent.Principal{}, err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if len(known.tokens) < maxTokens {
		known.tokens[sum] = *found
	}
	return *found, nil
}

// keysTimeout bounds the fetching of an issuer's keys.
const keysTimeout = 10 * time.Second
