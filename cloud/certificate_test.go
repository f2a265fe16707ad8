package cloud_test

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

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/stretchr/testify/require"
)

// authority issues certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  string
}

func encodePEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func issue(t *testing.T, by *authority, ca bool, names []string, from, to time.Time) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "test " + serial.String()}, DNSNames: names,
		NotBefore: from, NotAfter: to, IsCA: ca, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	parent, signer := template, crypto.Signer(key)
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{cert: cert, key: key, pem: encodePEM("CERTIFICATE", der)}
}

func (a *authority) keyPEM(t *testing.T) cloud.Secret {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(a.key)
	require.NoError(t, err)
	return cloud.NewSecret(encodePEM("PRIVATE KEY", der))
}

func TestCheckCertificateNamesTheFieldThatIsWrong(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	from, to := now.Add(-time.Hour), now.Add(90*24*time.Hour)
	root := issue(t, nil, true, nil, from, to.Add(time.Hour))
	middle := issue(t, root, true, nil, from, to.Add(time.Hour))
	leaf := issue(t, middle, false, []string{"example.com", "*.example.com"}, from, to)
	other := issue(t, nil, true, nil, from, to)
	expired := issue(t, middle, false, []string{"example.com"}, from.Add(-time.Hour), now.Add(-time.Minute))
	early := issue(t, middle, false, []string{"example.com"}, now.Add(time.Hour), to)
	nameless := issue(t, middle, false, nil, from, to)
	badName := issue(t, middle, false, []string{"not a name"}, from, to)
	key := leaf.keyPEM(t)
	custom := func(leaf, chain string) cloud.CertificateMaterial {
		return cloud.CertificateMaterial{Leaf: leaf, Chain: chain}
	}
	issued := func(domains ...string) cloud.CertificateMaterial {
		return cloud.CertificateMaterial{Domains: domains}
	}
	for name, c := range map[string]struct {
		kind  cloud.CertificateType
		m     cloud.CertificateMaterial
		key   cloud.Secret
		field string
	}{
		"leaf with its whole chain":      {cloud.CertificateCustom, custom(leaf.pem, middle.pem+root.pem), key, ""},
		"chain in another order":         {cloud.CertificateCustom, custom(leaf.pem, root.pem+middle.pem), key, ""},
		"chain without its root":         {cloud.CertificateCustom, custom(leaf.pem, middle.pem), key, ""},
		"no chain":                       {cloud.CertificateCustom, custom(leaf.pem, ""), key, ""},
		"chain of somebody else":         {cloud.CertificateCustom, custom(leaf.pem, middle.pem+other.pem), key, "chain"},
		"chain that skips one":           {cloud.CertificateCustom, custom(leaf.pem, root.pem), key, "chain"},
		"key of somebody else":           {cloud.CertificateCustom, custom(leaf.pem, middle.pem), other.keyPEM(t), "privateKey"},
		"key that is no PEM":             {cloud.CertificateCustom, custom(leaf.pem, middle.pem), cloud.NewSecret("hello"), "privateKey"},
		"no key":                         {cloud.CertificateCustom, custom(leaf.pem, middle.pem), cloud.Secret{}, "privateKey"},
		"leaf that is no PEM":            {cloud.CertificateCustom, custom("hello", ""), key, "leaf"},
		"two leaves":                     {cloud.CertificateCustom, custom(leaf.pem+middle.pem, ""), key, "leaf"},
		"a key in the place of a leaf":   {cloud.CertificateCustom, custom(key.Reveal(), ""), key, "leaf"},
		"a key in the chain":             {cloud.CertificateCustom, custom(leaf.pem, key.Reveal()), key, "chain"},
		"expired":                        {cloud.CertificateCustom, custom(expired.pem, ""), expired.keyPEM(t), "leaf"},
		"not valid yet":                  {cloud.CertificateCustom, custom(early.pem, ""), early.keyPEM(t), "leaf"},
		"names no host":                  {cloud.CertificateCustom, custom(nameless.pem, ""), nameless.keyPEM(t), "leaf"},
		"a name that is none":            {cloud.CertificateCustom, custom(badName.pem, ""), badName.keyPEM(t), "leaf"},
		"custom with domains":            {cloud.CertificateCustom, cloud.CertificateMaterial{Leaf: leaf.pem, Domains: []string{"a.com"}}, key, "domains"},
		"issued":                         {cloud.CertificateLetsEncrypt, issued("example.com", "*.example.com"), cloud.Secret{}, ""},
		"issued for nothing":             {cloud.CertificateLetsEncrypt, issued(), cloud.Secret{}, "domains"},
		"issued twice for one":           {cloud.CertificateLetsEncrypt, issued("a.com", "a.com"), cloud.Secret{}, "domains[1]"},
		"issued for an address":          {cloud.CertificateLetsEncrypt, issued("a.com", "203.0.113.1"), cloud.Secret{}, "domains[1]"},
		"issued for a star in the midst": {cloud.CertificateLetsEncrypt, issued("a.*.com"), cloud.Secret{}, "domains[0]"},
		"issued with a leaf":             {cloud.CertificateLetsEncrypt, cloud.CertificateMaterial{Leaf: leaf.pem, Domains: []string{"a.com"}}, cloud.Secret{}, "type"},
		"another type":                   {"self", issued("a.com"), cloud.Secret{}, "type"},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := cloud.CheckCertificate(c.kind, c.m, c.key, now)
			if c.field == "" {
				require.NoError(t, err)
				require.Equal(t, c.kind == cloud.CertificateCustom, parsed != nil)
				return
			}
			e := cloud.AsError(err)
			require.NotNil(t, e)
			require.Equal(t, cloud.CodeInvalidInput, e.Code)
			require.Equal(t, []string{c.field}, e.Details["fields"], e.Message)
			require.NotContains(t, e.Error(), "PRIVATE KEY")
		})
	}
}

func certificateTypes(changes ...*cloud.CertificateChange) []cloud.EventType {
	var out []cloud.EventType
	for _, c := range changes {
		if c != nil {
			for _, e := range c.Events {
				out = append(out, e.Type)
			}
		}
	}
	return out
}

func TestACertificateIsReplacedBeforeTheFormerOneGoes(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	settings := cloud.DefaultSettings
	object := func(id string) *cloud.ObservedCertificate {
		return &cloud.ObservedCertificate{ProviderID: id, Phase: cloud.PhaseReady, NotAfter: now.Add(1000 * time.Hour)}
	}
	c := &cloud.Certificate{ID: "crt_x", Type: cloud.CertificateCustom}
	created := c.Created(now)
	require.Equal(t, cloud.StepProvision, cloud.DecideCertificate(c, now).Step)
	c.Attempt(now)
	ready := c.Serve(object("one"), 0, now)
	require.Equal(t, cloud.StepRest, cloud.DecideCertificate(c, now).Step)

	updating := c.WantMaterial(cloud.CertificateMaterial{Leaf: "new"}, now)
	require.Equal(t, cloud.StateUpdating, c.State)
	require.Equal(t, "one", c.Current.ProviderID, "the former one serves until the new one is ready")
	require.Equal(t, cloud.StepUpdate, cloud.DecideCertificate(c, now).Step)
	updated := c.Serve(object("two"), 1, now)
	require.Equal(t, cloud.StateReady, c.State)
	require.Equal(t, []cloud.CertificateObject{{Serial: 0, ProviderID: "one"}}, c.Former)

	c.InUse("in use", settings, now)
	next := cloud.DecideCertificate(c, now)
	require.Equal(t, cloud.StepRetry, next.Step, "a refused removal is tried again")
	require.Equal(t, now.Add(settings.Refresh), next.RetryAt)
	require.Equal(t, cloud.StepUpdate, cloud.DecideCertificate(c, next.RetryAt).Step)
	c.Removed(cloud.CertificateObject{Serial: 0}, now)
	require.Equal(t, cloud.StepRest, cloud.DecideCertificate(c, next.RetryAt).Step)
	require.Empty(t, c.Message)
	require.Equal(t, []cloud.EventType{
		cloud.EventCertificateCreated, cloud.EventCertificateReady, cloud.EventCertificateUpdating, cloud.EventCertificateUpdated,
	}, certificateTypes(created, ready, updating, updated))
}

func TestAnAnswerForFormerMaterialIsNotPutInService(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	c := &cloud.Certificate{ID: "crt_x", Type: cloud.CertificateCustom}
	c.Created(now)
	c.Attempt(now)
	c.WantMaterial(cloud.CertificateMaterial{Leaf: "new"}, now)
	c.Serve(&cloud.ObservedCertificate{ProviderID: "old", Phase: cloud.PhaseReady}, 0, now)
	require.True(t, c.Replacing())
	require.Equal(t, []cloud.CertificateObject{{Serial: 0, ProviderID: "old", AttemptedAt: now}}, c.Former, "it is removed later, not forgotten")
}

func TestExpiryIsToldOnceAtEachMark(t *testing.T) {
	end := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	c := &cloud.Certificate{State: cloud.StateReady, NotAfter: end}
	var told []any
	for at := end.Add(-40 * 24 * time.Hour); at.Before(end.Add(48 * time.Hour)); at = at.Add(time.Hour) {
		if ch := c.Notice(at); ch != nil {
			for _, e := range ch.Events {
				told = append(told, e.Data["days"], e.Type)
			}
		}
	}
	require.Equal(t, []any{
		30, cloud.EventCertificateExpiring, 7, cloud.EventCertificateExpiring, 1, cloud.EventCertificateExpiring,
		nil, cloud.EventCertificateExpired,
	}, told)

	late := &cloud.Certificate{State: cloud.StateReady, NotAfter: end}
	ch := late.Notice(end.Add(-5 * 24 * time.Hour))
	require.Equal(t, 7, ch.Events[0].Data["days"], "after an outage only the nearest mark is told")
	require.Nil(t, late.Notice(end.Add(-5*24*time.Hour)))

	late.Current.ProviderID = "one"
	renewed := late.Refreshed(&cloud.ObservedCertificate{ProviderID: "one", NotAfter: end.Add(90 * 24 * time.Hour)}, end)
	require.Equal(t, "renewed", renewed.Events[0].Data["reason"])
	require.Nil(t, late.Notice(end), "a renewal starts the marks anew")
}
