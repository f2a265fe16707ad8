package platform

import (
	"encoding/json"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// File is a whole platform. docs/platform.md describes every field.
type File struct {
	// Development allows tokens in clear.
	Development bool `json:"development,omitempty"`
	// Deployment is the name that provider-side labels carry. It cannot change
	// while resources live.
	Deployment  string       `json:"deployment"`
	Tenants     []Tenant     `json:"tenants"`
	Principals  []Principal  `json:"principals,omitempty"`
	OIDCIssuers []Issuer     `json:"oidcIssuers,omitempty"`
	Policies    []Policy     `json:"policies,omitempty"`
	Projects    []Project    `json:"projects,omitempty"`
	Accounts    []Account    `json:"accounts,omitempty"`
	Pools       []Pool       `json:"pools,omitempty"`
	Offers      []Offer      `json:"offers,omitempty"`
	Quotas      []Quota      `json:"quotas,omitempty"`
	Capacity    []Capacity   `json:"capacity,omitempty"`
	Budgets     []Budget     `json:"budgets,omitempty"`
	Instances   []Instance   `json:"instances,omitempty"`
	Networks    []Network    `json:"networks,omitempty"`
	KindMeters  []string     `json:"kindMeters,omitempty"`
	MaxPerKind  *int64       `json:"maxPerKind,omitempty"` // DefaultMaxPerKind when absent
	PKI         *PKI         `json:"pki,omitempty"`
	Daemons     []Daemon     `json:"daemons,omitempty"`
	Subscribers []Subscriber `json:"subscribers,omitempty"`
}

// DefaultMaxPerKind is the count quota of kinds without an entry.
const DefaultMaxPerKind = 20

// Tenant is who resources belong to.
type Tenant struct {
	ID string `json:"id"`
}

// Principal is a caller with static tokens; its id is "<tenant>/<user>".
type Principal struct {
	Tenant string `json:"tenant"`
	User   string `json:"user"`
	// TokenSHA256 are hex digests; several let a token be rotated.
	TokenSHA256 []string `json:"tokenSha256,omitempty"`
	// Token is a token in clear, for development.
	Token ClearText `json:"token,omitzero"`
}

// ID is the principal's id.
func (p Principal) ID() string { return p.Tenant + "/" + p.User }

// Issuer is an OpenID Connect issuer whose tokens are accepted.
type Issuer struct {
	Issuer   string `json:"issuer"`
	Audience string `json:"audience"`
	// JWKSURL is where its keys are; "" asks the issuer's discovery document.
	JWKSURL string `json:"jwksUrl,omitempty"`
	Claims  Claims `json:"claims"`
	// Tenants are the tenants that its tokens may speak for; empty means every
	// declared one.
	Tenants []string `json:"tenants,omitempty"`
	// UserPrefix precedes the user that the claim names, so that two issuers, or
	// an issuer and a static token, do not name the same principal.
	UserPrefix string `json:"userPrefix,omitempty"`
}

// Claims name the claims that hold tenant and user.
type Claims struct {
	Tenant string `json:"tenant"`
	User   string `json:"user"`
}

// Policy allows or denies calls. Deny wins; nothing is allowed by default. It
// reaches the principals' own tenants unless Tenants says more.
type Policy struct {
	ID string `json:"id"`
	// Principals are ids, with * for any run of characters: "acme/*".
	Principals []string `json:"principals"`
	// Tenants whose things the statements reach: ids, or "*" for every one.
	// Empty means each principal's own tenant.
	Tenants    []string    `json:"tenants,omitempty"`
	Statements []Statement `json:"statements"`
}

// Statement is one rule of a policy.
type Statement struct {
	Effect Effect `json:"effect"`
	// Actions such as "compute:cloud-resources:read", with *.
	Actions []string `json:"actions"`
	// Resources such as "compute-cloud-resource/*" or "compute-tenant/acme", with *.
	Resources []string `json:"resources"`
	// Condition maps an operator (StringEquals, StringNotEquals, StringLike) to
	// attributes ("resource.family") and the values that match.
	Condition map[string]map[string]Strings `json:"condition,omitempty"`
}

// Effect is what a matching statement does.
type Effect string

// The effects.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// Strings is a list that may be written as a single string.
type Strings []string

// UnmarshalJSON reads either form.
func (s *Strings) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		*s = Strings{""}
		return json.Unmarshal(raw, &(*s)[0])
	}
	return json.Unmarshal(raw, (*[]string)(s))
}

// Project groups a tenant's resources.
type Project struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant"`
}

// Account is an account at a provider.
type Account struct {
	ID       string       `json:"id"`
	Provider string       `json:"provider"`
	Owner    string       `json:"owner"`
	Token    SecretSource `json:"token"`
	APIURL   string       `json:"apiUrl,omitempty"`
	// Regions are the datacenter words that may be asked for.
	Regions  []string `json:"regions,omitempty"`
	Previews bool     `json:"previews,omitempty"`
}

// Statuses of an offer.
const (
	OfferActive    = "active"
	OfferSuspended = "suspended"
)

// PoolProvider is the type of pools that stand for a provider account.
const PoolProvider = "provider"

// Pool is where resources are made.
type Pool struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// Account of a provider pool. Its owner is the pool's.
	Account string `json:"account,omitempty"`
	// Owner of the pool; Parse fills it in for a provider pool.
	Owner   string        `json:"owner,omitempty"`
	Billing cloud.Billing `json:"billing,omitempty"`
	// DestructiveQuorum: deletes go through a command batch.
	DestructiveQuorum bool `json:"destructiveQuorum,omitempty"`
	// Withdrawn: takes nothing new; what lives there is managed on.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// Offer lets a tenant use another's pool.
type Offer struct {
	Tenant          string   `json:"tenant"`
	Pool            string   `json:"pool"`
	Status          string   `json:"status,omitempty"` // OfferActive when absent
	ExcludedRegions []string `json:"excludedRegions,omitempty"`
}

// AllKinds as a quota's kind stands for every kind without its own entry.
const AllKinds = "*"

// Quota caps how many live resources of a kind a tenant may have.
type Quota struct {
	Tenant string `json:"tenant"`
	Kind   string `json:"kind"`
	Max    int64  `json:"max"`
}

// Capacity is how much of something a tenant may book on a pool.
type Capacity struct {
	Tenant string `json:"tenant"`
	Pool   string `json:"pool"`
	Name   string `json:"name"` // such as gpu
	Amount int64  `json:"amount"`
}

// Budget is money that a tenant may spend.
type Budget struct {
	Tenant string      `json:"tenant"`
	ID     string      `json:"id"`
	Max    json.Number `json:"max"`
	// Used sets what is spent already; absent leaves it as it is.
	Used json.Number `json:"used,omitempty"`
}

// Instance is a tenant's server at a provider, which specs may name.
type Instance struct {
	ID         string `json:"id"`
	Tenant     string `json:"tenant"`
	Account    string `json:"account"`
	ProviderID string `json:"providerId"`
	Live       *bool  `json:"live,omitempty"` // true when absent
}

// Network is a tenant's network at a provider, which specs may name.
type Network struct {
	ID      string `json:"id"`
	Tenant  string `json:"tenant"`
	Account string `json:"account"`
	// VPCs maps a region to the provider's id of the network there.
	VPCs map[string]string `json:"vpcs"`
	Live *bool             `json:"live,omitempty"` // true when absent
}

// PKI is who approves command batches.
type PKI struct {
	TrustDomain string            `json:"trustDomain"`
	Approvers   []quorum.Approver `json:"approvers"`
	Threshold   int               `json:"threshold"`
}

// Policy is the verifier's form of it.
func (p *PKI) Policy() quorum.Policy {
	if p == nil {
		return quorum.Policy{}
	}
	return quorum.Policy{TrustDomain: p.TrustDomain, Approvers: p.Approvers, Threshold: p.Threshold}
}

// Daemon is where commands of some kinds are sent. The first that matches wins.
type Daemon struct {
	// Kinds are command kinds, with *.
	Kinds []string      `json:"kinds"`
	URL   string        `json:"url"`
	Token *SecretSource `json:"token,omitempty"`
}

// Subscriber is a webhook that gets a tenant's events.
type Subscriber struct {
	ID     string       `json:"id"`
	Tenant string       `json:"tenant"`
	URL    string       `json:"url"`
	Secret SecretSource `json:"secret"` // Standard Webhooks: whsec_ and base64
	// Types are event types, with *; empty means all.
	Types []string `json:"types,omitempty"`
}
