package platform

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// checker gathers what the JSON Schema cannot say: references and repetitions.
type checker struct {
	f        *File
	problems []Problem
	tenants  map[string]bool
	accounts map[string]*Account
	pools    map[string]*Pool
	seen     map[string]bool
}

func (c *checker) wrong(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{path, fmt.Sprintf(format, args...)})
}

// once notes an id of a list and complains when it stands there again.
func (c *checker) once(list, path string, key ...string) {
	id := list + "\x00" + strings.Join(key, "\x00")
	if c.seen[id] {
		c.wrong(path, "is declared twice")
	}
	c.seen[id] = true
}

func (c *checker) tenant(path, id string) {
	if !c.tenants[id] {
		c.wrong(path, "no tenant %s is declared", id)
	}
}

func (c *checker) account(path, id string) *Account {
	a := c.accounts[id]
	if a == nil {
		c.wrong(path, "no account %s is declared", id)
	}
	return a
}

func (c *checker) pool(path, id string) *Pool {
	p := c.pools[id]
	if p == nil {
		c.wrong(path, "no pool %s is declared", id)
	}
	return p
}

func at(list string, i int, field string) string {
	path := fmt.Sprintf("%s[%d]", list, i)
	if field != "" {
		path += "." + field
	}
	return path
}

// complete checks the file and fills in defaults and digests.
func (f *File) complete() []Problem {
	c := &checker{f: f, tenants: map[string]bool{}, accounts: map[string]*Account{}, pools: map[string]*Pool{}, seen: map[string]bool{}}
	for i, t := range f.Tenants {
		c.once("tenants", at("tenants", i, "id"), t.ID)
		c.tenants[t.ID] = true
	}
	c.clearText()
	c.places()
	c.callers()
	c.policies()
	c.allowances()
	c.references()
	c.delivery()
	if f.MaxPerKind == nil {
		n := int64(DefaultMaxPerKind)
		f.MaxPerKind = &n
	}
	return c.problems
}

// clearText refuses secrets in a file that is not for development.
func (c *checker) clearText() {
	if c.f.Development {
		return
	}
	const message = "a secret in clear needs development: true; use env or file"
	for i, p := range c.f.Principals {
		if !p.Token.IsZero() {
			c.wrong(at("principals", i, "token"), "a token in clear needs development: true; use tokenSha256")
		}
	}
	for i, a := range c.f.Accounts {
		if !a.Token.Value.IsZero() {
			c.wrong(at("accounts", i, "token.value"), message)
		}
	}
	for i, s := range c.f.Subscribers {
		if !s.Secret.Value.IsZero() {
			c.wrong(at("subscribers", i, "secret.value"), message)
		}
	}
	for i, d := range c.f.Daemons {
		if d.Token != nil && !d.Token.Value.IsZero() {
			c.wrong(at("daemons", i, "token.value"), message)
		}
	}
}

// places are projects, accounts and pools.
func (c *checker) places() {
	for i, p := range c.f.Projects {
		c.once("projects", at("projects", i, "id"), p.ID)
		c.tenant(at("projects", i, "tenant"), p.Tenant)
	}
	for i := range c.f.Accounts {
		a := &c.f.Accounts[i]
		c.once("accounts", at("accounts", i, "id"), a.ID)
		c.tenant(at("accounts", i, "owner"), a.Owner)
		c.accounts[a.ID] = a
	}
	for i := range c.f.Pools {
		p := &c.f.Pools[i]
		c.once("pools", at("pools", i, "id"), p.ID)
		c.pools[p.ID] = p
		if p.Billing == "" {
			p.Billing = cloud.BillingMetered
		}
		switch {
		case p.Type == PoolProvider && p.Account == "":
			c.wrong(at("pools", i, "account"), "a pool of type provider has an account")
		case p.Type == PoolProvider:
			if a := c.account(at("pools", i, "account"), p.Account); a != nil {
				if p.Owner != "" && p.Owner != a.Owner {
					c.wrong(at("pools", i, "owner"), "the owner of its account is %s", a.Owner)
				}
				p.Owner = a.Owner
			}
		case p.Account != "":
			c.wrong(at("pools", i, "account"), "only a pool of type provider has an account")
		case p.Owner == "":
			c.wrong(at("pools", i, "owner"), "is required")
		default:
			c.tenant(at("pools", i, "owner"), p.Owner)
		}
	}
}

// callers are principals and issuers.
func (c *checker) callers() {
	holder := map[string]string{}
	for i := range c.f.Principals {
		p := &c.f.Principals[i]
		c.once("principals", at("principals", i, ""), p.ID())
		c.tenant(at("principals", i, "tenant"), p.Tenant)
		if !p.Token.IsZero() {
			sum := sha256.Sum256([]byte(p.Token.Reveal()))
			p.TokenSHA256 = append(p.TokenSHA256, hex.EncodeToString(sum[:]))
			p.Token = ClearText{}
		}
		slices.Sort(p.TokenSHA256)
		p.TokenSHA256 = slices.Compact(p.TokenSHA256)
		for _, digest := range p.TokenSHA256 {
			if other, ok := holder[digest]; ok {
				c.wrong(at("principals", i, ""), "has the same token as %s", other)
			}
			holder[digest] = p.ID()
		}
	}
	for i, s := range c.f.OIDCIssuers {
		c.once("oidcIssuers", at("oidcIssuers", i, "issuer"), s.Issuer, s.Audience)
		for j, t := range s.Tenants {
			c.tenant(at("oidcIssuers", i, fmt.Sprintf("tenants[%d]", j)), t)
		}
		c.private(at("oidcIssuers", i, "issuer"), s.Issuer)
		c.private(at("oidcIssuers", i, "jwksUrl"), s.JWKSURL)
	}
}

// private refuses an address whose answers anybody on the way could change.
func (c *checker) private(path, address string) {
	u, err := url.Parse(address)
	if err != nil {
		c.wrong(path, "is not an address")
		return
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		c.wrong(path, "must be https unless it is on this machine")
	}
}

func (c *checker) policies() {
	for i, p := range c.f.Policies {
		c.once("policies", at("policies", i, "id"), p.ID)
		for j, t := range p.Tenants {
			if t != "*" {
				c.tenant(at("policies", i, fmt.Sprintf("tenants[%d]", j)), t)
			}
		}
	}
}
