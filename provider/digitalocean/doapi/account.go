package doapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/transport"
)

// DefaultURL is the provider's public address.
const DefaultURL = "https://api.digitalocean.com/"

const userAgent = "better-compute-cloud-resources"

// Account is one opened account. Kinds keep a pointer to it; it makes no call
// by itself and is safe for concurrent use.
type Account struct {
	// API is godo's client. Its errors go through Fail.
	API *godo.Client
	// Access is who we are there. Its token is not for kinds.
	Access cloud.AccountAccess
}

// Open makes the client of an account. base sends the requests; nil is the
// default transport.
func Open(access cloud.AccountAccess, base http.RoundTripper) (*Account, error) {
	address := access.APIURL
	if address == "" {
		address = DefaultURL
	}
	if !strings.HasSuffix(address, "/") {
		address += "/" // godo resolves its paths against it
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("account %s: apiUrl %q is not an http address", access.ID, access.APIURL)
	}
	hosts := []string{u.Hostname()}
	if access.APIURL == "" {
		hosts = append(hosts, ".digitalocean.com") // products with a host per region
	}
	client := transport.Client(transport.Options{
		Access: access, Hosts: hosts, Quota: quota, Rewrite: rewriteError, Base: base,
	})
	// No RetryConfig: retries belong to the workflow, which looks first.
	api, err := godo.New(client, godo.SetBaseURL(address), godo.SetUserAgent(userAgent))
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", access.ID, err)
	}
	return &Account{API: api, Access: access}, nil
}

// Regional is the account on the host of one region, for products that have a
// host for each (an object is unknown on any other). "" is the product's default
// region. With an apiUrl of its own, an account has one host for all.
func (a *Account) Regional(region string) (*Account, error) {
	if a.Access.APIURL != "" || region == "" {
		return a, nil
	}
	api, err := godo.New(a.API.HTTPClient, godo.SetBaseURL(godo.HostedAgentsRegionalBaseURL(region)), godo.SetUserAgent(userAgent))
	if err != nil {
		return nil, fmt.Errorf("account %s: region %q: %w", a.Access.ID, region, err)
	}
	return &Account{API: api, Access: a.Access}, nil
}

// Base is what a kind embeds: its account and its manifest.
type Base struct {
	*Account
	manifest *cloud.Manifest
}

// NewBase makes the Base of a kind. a is nil when only the manifest is asked
// for, so constructors must not call it.
func NewBase(a *Account, m *cloud.Manifest) Base { return Base{Account: a, manifest: m} }

// Manifest is the kind as data.
func (b Base) Manifest() *cloud.Manifest { return b.manifest }

// Name is the kind's name.
func (b Base) Name() string { return b.manifest.Kind }

// Op names a verb on the kind, for errors.
func (b Base) Op(v Verb) string { return string(v) + " " + b.manifest.Kind }

// Fail is Account.Fail for the kind, with the request's secrets scrubbed.
func (b Base) Fail(v Verb, r cloud.Request, err error, how ...Meaning) error {
	return b.Account.Fail(b.Op(v), v, err, append(how, Hide(r.Secrets))...)
}

// Missing is the error of an answer that should have held an object and did
// not: the outcome is unknown, and the next look tells.
func (b Base) Missing(v Verb) error {
	return &cloud.ProviderError{Class: cloud.ClassUnknown, Op: b.Op(v), Message: "the answer holds no object"}
}

// ParentID is the provider id of the parent that the object lives in. Busy
// while the parent has none yet.
func (b Base) ParentID(v Verb, p *cloud.ParentRef) (string, error) {
	if p == nil || p.ProviderID == "" {
		return "", &cloud.ProviderError{Class: cloud.ClassBusy, Op: b.Op(v), Message: "waiting for the " + b.manifest.Parent + " that it lives in"}
	}
	return p.ProviderID, nil
}

// Words makes a text that the provider wrote fit for a message: one line, at
// most 500 characters, without secrets.
func (b Base) Words(r cloud.Request, text string) string {
	hidden := []string{b.Access.Token.Reveal()}
	for _, s := range r.Secrets {
		hidden = append(hidden, s.Reveal())
	}
	return clean(text, hidden)
}
