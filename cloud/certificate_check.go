package cloud

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"
)

// maxChain is how many certificates a chain may have; real ones have one to three.
const maxChain = 10

var domainPattern = regexp.MustCompile(`^(\*\.)?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z]([-a-z0-9]{0,61}[a-z0-9])$`)

// CheckCertificate checks material before anything is recorded: PEM parses,
// the key is the leaf's, the chain leads to the leaf, nothing is expired, the
// names are valid. key is the resolved private key of a custom one. The error
// is INVALID_INPUT naming the field; the parsed leaf is nil for lets_encrypt.
func CheckCertificate(t CertificateType, m CertificateMaterial, key Secret, now time.Time) (*x509.Certificate, error) {
	switch t {
	case CertificateLetsEncrypt:
		return nil, checkIssued(m)
	case CertificateCustom:
		return checkCustom(m, key, now)
	}
	return nil, InvalidField("type is custom or lets_encrypt", "type")
}

func checkIssued(m CertificateMaterial) error {
	if m.Leaf != "" || m.Chain != "" || m.PrivateKey != "" {
		return InvalidField("an issued certificate takes domains, not PEM texts or a key", "type")
	}
	if len(m.Domains) == 0 {
		return InvalidField("at least one domain is required", "domains")
	}
	if len(m.Domains) > 100 {
		return InvalidField("at most 100 domains", "domains")
	}
	seen := map[string]bool{}
	for i, d := range m.Domains {
		field := fmt.Sprintf("domains[%d]", i)
		switch {
		case len(d) > 253 || !domainPattern.MatchString(d):
			return InvalidField("not a domain name in lower case, such as example.com or *.example.com", field)
		case seen[d]:
			return InvalidField("a domain is named twice", field)
		}
		seen[d] = true
	}
	return nil
}

func checkCustom(m CertificateMaterial, key Secret, now time.Time) (*x509.Certificate, error) {
	if len(m.Domains) > 0 {
		return nil, InvalidField("the names of a custom certificate come from its leaf", "domains")
	}
	leaves, err := parseChain(m.Leaf)
	switch {
	case err != nil:
		return nil, InvalidField(err.Error(), "leaf")
	case len(leaves) != 1:
		return nil, InvalidField("exactly one certificate in PEM is required; the others belong into chain", "leaf")
	}
	leaf := leaves[0]
	switch {
	case now.After(leaf.NotAfter):
		return nil, InvalidField("the certificate has expired", "leaf")
	case now.Before(leaf.NotBefore):
		return nil, InvalidField("the certificate is not valid yet", "leaf")
	}
	if err := checkNames(leaf); err != nil {
		return nil, InvalidField(err.Error(), "leaf")
	}
	if err := checkKey(leaf, key); err != nil {
		return nil, InvalidField(err.Error(), "privateKey")
	}
	if err := checkChain(leaf, m.Chain, now); err != nil {
		return nil, InvalidField(err.Error(), "chain")
	}
	return leaf, nil
}

func parseChain(text string) ([]*x509.Certificate, error) {
	// The decoder skips what it cannot read, so a damaged key would pass it.
	if strings.Contains(text, "PRIVATE KEY") {
		return nil, fmt.Errorf("a private key stands here; store it as a secret and name its reference in privateKey")
	}
	var out []*x509.Certificate
	rest := []byte(text)
	for len(strings.TrimSpace(string(rest))) > 0 {
		block, more := pem.Decode(rest)
		switch {
		case block == nil:
			return nil, fmt.Errorf("not PEM")
		case block.Type != "CERTIFICATE":
			return nil, fmt.Errorf("a PEM block that is no certificate")
		case len(out) == maxChain:
			return nil, fmt.Errorf("more than %d certificates", maxChain)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("a PEM block that is no readable certificate")
		}
		out, rest = append(out, c), more
	}
	return out, nil
}

func checkNames(leaf *x509.Certificate) error {
	if len(leaf.DNSNames) == 0 && len(leaf.IPAddresses) == 0 {
		return fmt.Errorf("the certificate names no host (no subject alternative names)")
	}
	for _, n := range leaf.DNSNames {
		if !domainPattern.MatchString(strings.ToLower(n)) && net.ParseIP(n) == nil {
			return fmt.Errorf("the certificate has a subject alternative name that is no domain name")
		}
	}
	return nil
}

func checkKey(leaf *x509.Certificate, key Secret) error {
	block, rest := pem.Decode([]byte(key.Reveal()))
	if block == nil || len(strings.TrimSpace(string(rest))) > 0 {
		return fmt.Errorf("the secret is not one private key in PEM")
	}
	var private any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		private, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		private, err = x509.ParseECPrivateKey(block.Bytes)
	case "PRIVATE KEY":
		private, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	default:
		return fmt.Errorf("the secret is no unencrypted private key in PEM")
	}
	if err != nil {
		return fmt.Errorf("the secret is no readable private key")
	}
	matches := false
	switch k := private.(type) {
	case *rsa.PrivateKey:
		matches = k.PublicKey.Equal(leaf.PublicKey)
	case *ecdsa.PrivateKey:
		matches = k.PublicKey.Equal(leaf.PublicKey)
	case ed25519.PrivateKey:
		public, ok := k.Public().(ed25519.PublicKey)
		matches = ok && public.Equal(leaf.PublicKey)
	}
	if !matches {
		return fmt.Errorf("the private key is not the one of the leaf")
	}
	return nil
}

// checkChain: each certificate of the chain, in any order, must be needed to
// lead from the leaf upwards: the leaf is signed by one, that by the next.
func checkChain(leaf *x509.Certificate, text string, now time.Time) error {
	chain, err := parseChain(text)
	if err != nil {
		return err
	}
	at := leaf
	for len(chain) > 0 {
		next := -1
		for i, c := range chain {
			if at.CheckSignatureFrom(c) == nil {
				next = i
				break
			}
		}
		if next < 0 {
			return fmt.Errorf("the chain does not lead to the leaf")
		}
		at = chain[next]
		if now.After(at.NotAfter) {
			return fmt.Errorf("a certificate of the chain has expired")
		}
		chain = append(chain[:next:next], chain[next+1:]...)
	}
	return nil
}
