package certificates

import (
	"crypto/sha1" // the API shows this fingerprint; nothing relies on it
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"regexp"
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// Let's Encrypt certificates hold for 90 days and are renewed 30 days before
// their end; renewals are planned ahead for some years.
const (
	issuedFor    = 90 * 24 * time.Hour
	renewedAfter = 60 * 24 * time.Hour
	renewals     = 24
)

type certificate struct {
	Type        string    `json:"type"`
	DNSNames    []string  `json:"dns_names"`
	NotAfter    time.Time `json:"not_after"`
	Fingerprint string    `json:"fingerprint"`
}

var certificates = core.Table[certificate]{Type: "certificate"}

var domainName = regexp.MustCompile(`^(\*\.)?([a-z0-9-]{1,63}\.)+[a-z]{2,63}$`)

func create(c *core.Call) (core.Answer, error) {
	var in struct {
		Name     string   `json:"name"`
		Type     string   `json:"type"`
		DNSNames []string `json:"dns_names"`
		Key      string   `json:"private_key"`
		Leaf     string   `json:"leaf_certificate"`
		Chain    string   `json:"certificate_chain"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in.Name == "" {
		return core.Answer{}, core.Unprocessable("Name can't be blank")
	}
	if _, taken := certificates.Named(c, "", in.Name); taken {
		return core.Answer{}, core.Unprocessable("certificate name already exists")
	}
	meta := core.Meta{ID: core.NewUUID(), Name: in.Name}
	switch in.Type {
	case "", "custom":
		value, err := uploaded(in.Leaf, in.Key, c.Now)
		if err != nil {
			return core.Answer{}, err
		}
		meta.State = "verified"
		return core.Created(core.Map{"certificate": view(certificates.Insert(c, meta, value))})
	case "lets_encrypt":
		if len(in.DNSNames) == 0 {
			return core.Answer{}, core.Unprocessable("dns_names can't be blank")
		}
		for _, n := range in.DNSNames {
			if !domainName.MatchString(n) {
				return core.Answer{}, core.Unprocessable("%q is not a valid domain name", n)
			}
		}
		value := certificate{Type: "lets_encrypt", DNSNames: in.DNSNames}
		issue(c, &meta)
		return core.Created(core.Map{"certificate": view(certificates.Insert(c, meta, value))})
	}
	return core.Answer{}, core.Unprocessable("type must be custom or lets_encrypt")
}

// issue plans the life of an issued certificate: verified (or error, when a
// fault says so), then a renewal every 60 days.
func issue(c *core.Call, meta *core.Meta) {
	at := c.Now.Add(time.Duration(c.Settings().ProvisionTime))
	meta.Become("pending")
	if reason := c.FailWith(); reason != "" {
		meta.Steps = []core.Step{{At: at, State: "error", Note: reason}}
		return
	}
	for range renewals {
		meta.Then(at, "verified", core.Map{"not_after": at.Add(issuedFor), "fingerprint": core.Blob(20)})
		at = at.Add(renewedAfter)
	}
}

func uploaded(leaf, key string, now time.Time) (certificate, error) {
	pair, err := tls.X509KeyPair([]byte(leaf), []byte(key))
	if err != nil {
		return certificate{}, core.Unprocessable("The certificate and private key do not match or cannot be read")
	}
	block, _ := pem.Decode([]byte(leaf))
	parsed, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil || len(pair.Certificate) == 0:
		return certificate{}, core.Unprocessable("The certificate cannot be read")
	case now.After(parsed.NotAfter):
		return certificate{}, core.Unprocessable("The certificate has expired")
	}
	sum := sha1.Sum(parsed.Raw)
	return certificate{Type: "custom", DNSNames: parsed.DNSNames, NotAfter: parsed.NotAfter.UTC(), Fingerprint: hex.EncodeToString(sum[:])}, nil
}

func list(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, r := range certificates.All(c, "") {
		if name := c.Query("name"); name != "" && r.Name != name {
			continue
		}
		views = append(views, view(r))
	}
	return core.Paged(c, "certificates", views)
}

func find(c *core.Call) (*core.Record[certificate], error) {
	r, ok := certificates.Get(c, c.Param("certificate"))
	if !ok {
		return nil, core.NotFound("The resource you were accessing could not be found.")
	}
	return r, nil
}

func get(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"certificate": view(r)})
}

func remove(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	for _, b := range balancers.Everything(c, "") {
		if b.Value.uses(r.ID) {
			return core.Answer{}, core.Forbidden("Make sure the certificate is not in use before deleting it.")
		}
	}
	certificates.Remove(c, r.ID)
	return core.NoContent()
}

func view(r *core.Record[certificate]) core.Map {
	v := core.Map{
		"id": r.ID, "name": r.Name, "type": r.Value.Type, "state": r.State,
		"dns_names": r.Value.DNSNames, "created_at": core.Time(r.CreatedAt),
		"sha1_fingerprint": r.Value.Fingerprint,
	}
	if !r.Value.NotAfter.IsZero() {
		v["not_after"] = core.Time(r.Value.NotAfter)
	}
	return v
}
