package intent_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/certtest"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// certs are the rules of certificates in a world, with keys to ask with.
type certs struct {
	*apitest.World
	*intent.CertificateService
	t *testing.T
}

func newCerts(t *testing.T) *certs {
	w := apitest.New(t)
	return &certs{w, &intent.CertificateService{Store: w.Store, Accounts: w.Provider, Now: time.Now}, t}
}

// pair is a leaf and the reference of its key.
func (c *certs) pair(name string, validity time.Duration) (leaf string, key cloud.SecretRef, made *certtest.Certificate) {
	c.t.Helper()
	made = certtest.Self(c.t, time.Now(), validity, "example.com")
	ref, err := c.PutSecret(context.Background(), "acme", name, cloud.NewSecret(made.Key), apitest.Alice.ID)
	require.NoError(c.t, err)
	return made.PEM, ref, made
}

func (c *certs) upload(name string) (*cloud.Certificate, *certtest.Certificate) {
	c.t.Helper()
	leaf, key, made := c.pair("key-"+name, time.Hour)
	cert, err := c.Create(context.Background(), apitest.Alice, intent.NewCertificate{
		TenantID: "acme", PoolID: apitest.PoolAcme, Name: name, Type: cloud.CertificateCustom, IdempotencyKey: name,
		Material: cloud.CertificateMaterial{Leaf: leaf, PrivateKey: key},
	})
	require.NoError(c.t, err)
	return cert, made
}

func TestACertificateIsCheckedBeforeItIsRecorded(t *testing.T) {
	t.Parallel()
	c := newCerts(t)
	ctx := context.Background()
	leaf, key, _ := c.pair("key", time.Hour)
	_, other, _ := c.pair("other", time.Hour)
	expired, expiredKey, _ := c.pair("expired", -time.Minute)
	theirs, err := c.PutSecret(ctx, "globex", "key", cloud.NewSecret("x"), apitest.Bob.ID)
	require.NoError(t, err)
	c.Apply(func(f *platform.File) {
		for i := range f.Pools {
			if f.Pools[i].ID == apitest.PoolFree {
				f.Pools[i].Withdrawn = true
			}
		}
	})
	for name, k := range map[string]struct {
		edit   func(n *intent.NewCertificate)
		code   cloud.Code
		reason string
		fields []string
	}{
		"no such pool":     {func(n *intent.NewCertificate) { n.PoolID = "pool_none" }, cloud.CodeNotFound, "", nil},
		"withdrawn pool":   {func(n *intent.NewCertificate) { n.PoolID = apitest.PoolFree }, cloud.CodeNotFound, "", []string{"poolId"}},
		"no provider pool": {func(n *intent.NewCertificate) { n.PoolID = apitest.PoolOther }, cloud.CodeUnsupported, "", nil},
		"no such project":  {func(n *intent.NewCertificate) { n.ProjectID = "prj_none" }, cloud.CodeNotFound, "", []string{"projectId"}},
		"suspended offer": {func(n *intent.NewCertificate) { n.TenantID, n.PoolID = "hooli", apitest.PoolShared },
			cloud.CodeAccessDenied, cloud.ReasonOfferSuspended, nil},
		"key of another":    {func(n *intent.NewCertificate) { n.Material.PrivateKey = other }, cloud.CodeInvalidInput, "", []string{"privateKey"}},
		"key of a stranger": {func(n *intent.NewCertificate) { n.Material.PrivateKey = theirs }, cloud.CodeInvalidInput, cloud.ReasonSecretRef, []string{"privateKey"}},
		"no such key":       {func(n *intent.NewCertificate) { n.Material.PrivateKey = "secret://acme/none" }, cloud.CodeInvalidInput, cloud.ReasonSecretRef, []string{"privateKey"}},
		"a key, no reference": {func(n *intent.NewCertificate) { n.Material.PrivateKey = "-----BEGIN PRIVATE KEY-----" },
			cloud.CodeInvalidInput, cloud.ReasonSecretRef, []string{"privateKey"}},
		"expired": {func(n *intent.NewCertificate) {
			n.Material = cloud.CertificateMaterial{Leaf: expired, PrivateKey: expiredKey}
		},
			cloud.CodeInvalidInput, "", []string{"leaf"}},
	} {
		n := intent.NewCertificate{TenantID: "acme", PoolID: apitest.PoolAcme, Name: "web", Type: cloud.CertificateCustom, IdempotencyKey: name,
			Material: cloud.CertificateMaterial{Leaf: leaf, PrivateKey: key}}
		k.edit(&n)
		_, err := c.Create(ctx, apitest.Alice, n)
		t.Run(name, func(t *testing.T) { apitest.Refused(t, err, k.code, k.reason, k.fields...) })
	}
	require.Zero(t, c.Count("certificates"))
}

func TestAPrivateKeyStaysInTheSecretStore(t *testing.T) {
	t.Parallel()
	c := newCerts(t)
	cert, made := c.upload("web")
	view, err := json.Marshal(cert.View())
	require.NoError(t, err)
	require.Contains(t, string(view), `"privateKey":"secret://acme/key-web"`)
	line := strings.Split(made.Key, "\n")[1]
	require.NotContains(t, string(view), line)
	require.NotContains(t, c.Dump(), line)
}

func TestAnUpdateReplacesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	c := newCerts(t)
	ctx := context.Background()
	cert, made := c.upload("web")
	text := "for the shop"
	got, err := c.Update(ctx, "acme", cert.ID, "acme/alice", intent.CertificateUpdate{Description: &text, Leaf: &made.PEM})
	require.NoError(t, err)
	require.Equal(t, text, got.Description)
	require.Equal(t, []int64{2, 1, 0}, []int64{got.Version, got.Generation, got.Serial}, "equal material is no change (D33)")

	leaf, key, _ := c.pair("second", time.Hour)
	_, err = c.Update(ctx, "acme", cert.ID, "acme/alice", intent.CertificateUpdate{Leaf: &leaf})
	apitest.Refused(t, err, cloud.CodeInvalidInput, "", "privateKey")
	_, err = c.Update(ctx, "acme", cert.ID, "acme/alice", intent.CertificateUpdate{})
	require.Equal(t, cloud.CodeInvalidInput, cloud.AsError(err).Code)
	stale := int64(1)
	_, err = c.Update(ctx, "acme", cert.ID, "acme/alice", intent.CertificateUpdate{Leaf: &leaf, PrivateKey: &key, ExpectedVersion: &stale})
	apitest.Refused(t, err, cloud.CodeConflict, cloud.ReasonVersion)
	got, err = c.Update(ctx, "acme", cert.ID, "acme/alice", intent.CertificateUpdate{Leaf: &leaf, PrivateKey: &key})
	require.NoError(t, err)
	require.Equal(t, []int64{3, 2, 1}, []int64{got.Version, got.Generation, got.Serial})

	_, err = c.Delete(ctx, "acme", cert.ID, "acme/alice", &stale)
	apitest.Refused(t, err, cloud.CodeConflict, cloud.ReasonVersion)
	got, err = c.Delete(ctx, "acme", cert.ID, "acme/alice", nil)
	require.NoError(t, err)
	require.Equal(t, cloud.StateDeleting, got.State)
	again, err := c.Delete(ctx, "acme", cert.ID, "acme/alice", &stale)
	require.NoError(t, err)
	require.Equal(t, got.UpdatedAt.UnixMicro(), again.UpdatedAt.UnixMicro(), "unchanged")
	_, err = c.Update(ctx, "acme", cert.ID, "acme/alice", intent.CertificateUpdate{Description: &text})
	apitest.Refused(t, err, cloud.CodeInvalidState, "")
}

// Many change the certificate at once. Whatever is recorded in the end was
// checked as a whole: a leaf with the key of another update never is.
func TestConcurrentUpdatesNeverMixKeys(t *testing.T) {
	t.Parallel()
	c := newCerts(t)
	cert, _ := c.upload("web")
	matching := map[string]cloud.SecretRef{cert.Material.Leaf: cert.Material.PrivateKey}
	var wg sync.WaitGroup
	for i := range 6 {
		leaf, key, _ := c.pair("pair-"+string(rune('a'+i)), time.Hour)
		matching[leaf] = key
		wg.Go(func() {
			u := intent.CertificateUpdate{Leaf: &leaf, PrivateKey: &key}
			if i%2 == 1 {
				u.PrivateKey = nil // fits only if another's key were to stay
			}
			if _, err := c.Update(context.Background(), "acme", cert.ID, "acme/alice", u); (err == nil) == (i%2 == 1) {
				t.Errorf("update %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	got, err := c.Certificate(context.Background(), "acme", cert.ID)
	require.NoError(t, err)
	require.Equal(t, matching[got.Material.Leaf], got.Material.PrivateKey)
	require.EqualValues(t, 4, got.Version)
	require.EqualValues(t, 3, got.Serial)
}

func TestAnOperatorChangesACertificateByHand(t *testing.T) {
	t.Parallel()
	c := newCerts(t)
	ctx := context.Background()
	cert, _ := c.upload("web")
	for _, payload := range []string{"", "null", `"x"`, `[]`, `{"leaf": 3}`, `{"lief": "x"}`, `{} {}`, `{}`, `{"leaf": "x"}`} {
		require.Equal(t, cloud.CodeInvalidInput, cloud.AsError(c.OperatorUpdateCertificate(ctx, cert.ID, []byte(payload))).Code, payload)
	}
	require.NoError(t, c.OperatorUpdateCertificate(ctx, cert.ID, []byte(`{"description": "by hand", "chain": null, "expectedVersion": 1}`)))
	got, err := c.Certificate(ctx, "acme", cert.ID)
	require.NoError(t, err)
	require.Equal(t, "by hand", got.Description)
	require.EqualValues(t, 1, got.Generation)
	apitest.Refused(t, c.OperatorUpdateCertificate(ctx, "crt_none", []byte(`{"description": "x"}`)), cloud.CodeNotFound, "")
	require.NoError(t, c.OperatorRefreshCertificate(ctx, cert.ID))
	require.NoError(t, c.OperatorDeleteCertificate(ctx, cert.ID))
	events, err := c.ListEvents(ctx, "acme", 0, 100)
	require.NoError(t, err)
	require.Equal(t, cloud.ActorOperator, events[len(events)-1].Actor)
}
