// Package certtest makes TLS certificates for tests.
package certtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// Certificate is a certificate with its key, in PEM.
type Certificate struct {
	PEM  string
	Key  string
	Cert *x509.Certificate

	signer crypto.Signer
}

// Issue makes a certificate that by signed; nil signs itself. ca may sign others.
func Issue(t testing.TB, by *Certificate, ca bool, names []string, from, to time.Time) *Certificate {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	must(err)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "test " + serial.String()}, DNSNames: names,
		NotBefore: from, NotAfter: to, IsCA: ca, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	parent, signer := template, crypto.Signer(key)
	if by != nil {
		parent, signer = by.Cert, by.signer
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	must(err)
	cert, err := x509.ParseCertificate(der)
	must(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	return &Certificate{PEM: encode("CERTIFICATE", der), Key: encode("PRIVATE KEY", private), Cert: cert, signer: key}
}

// Self is a certificate for names that signs itself and holds from an hour
// before now for so long.
func Self(t testing.TB, now time.Time, validity time.Duration, names ...string) *Certificate {
	t.Helper()
	return Issue(t, nil, false, names, now.Add(-time.Hour), now.Add(validity))
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
