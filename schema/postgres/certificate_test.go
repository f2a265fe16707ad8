package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// newCertificate is one of acme's that passed the checks which need no lock.
func newCertificate(name string) *cloud.Certificate {
	return &cloud.Certificate{
		ID: cloud.DeriveID(cloud.PrefixCertificate, pgtest.Acme, "acme/alice", name), TenantID: pgtest.Acme, PoolID: pgtest.PoolAcme,
		AccountID: pgtest.AccountAcme, Provider: "digitalocean", Name: name, Owner: "acme/alice", Type: cloud.CertificateLetsEncrypt,
		Material: cloud.CertificateMaterial{Domains: []string{"example.com"}},
	}
}

func insertCertificate(t *testing.T, db *pgtest.DB, c *cloud.Certificate) *cloud.Certificate {
	t.Helper()
	out, err := db.InsertCertificate(context.Background(), c, []byte(c.ID), c.Owner)
	require.NoError(t, err)
	return out
}

// readyCertificate is one in service that ends at a time.
func readyCertificate(t *testing.T, db *pgtest.DB, name string, end time.Time) *cloud.Certificate {
	t.Helper()
	c := insertCertificate(t, db, newCertificate(name))
	changeCertificate(t, db, c.ID, func(c *cloud.Certificate) *cloud.CertificateChange {
		return c.Serve(&cloud.ObservedCertificate{ProviderID: "p-" + name, Phase: cloud.PhaseReady, State: "verified", NotAfter: end.UTC().Truncate(time.Second)}, 0, time.Now())
	})
	c, err := db.LoadCertificate(context.Background(), c.ID)
	require.NoError(t, err)
	return c
}

func changeCertificate(t *testing.T, db *pgtest.DB, id string, fn func(c *cloud.Certificate) *cloud.CertificateChange) {
	t.Helper()
	require.NoError(t, db.HoldCertificate(context.Background(), id, func(ctx context.Context, h activities.CertificateHold) error {
		return h.Commit(ctx, fn)
	}))
}

func TestCertificateIsRecordedOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	c := insertCertificate(t, db, newCertificate("web"))
	require.Equal(t, cloud.StatePending, c.State)
	read, err := db.Certificate(ctx, pgtest.Acme, c.ID)
	require.NoError(t, err)
	require.Equal(t, c, read)
	require.Equal(t, c, insertCertificate(t, db, newCertificate("web")), "a repeat returns what it made")
	_, err = db.InsertCertificate(ctx, newCertificate("web"), []byte("other"), "acme/alice")
	refused(t, err, cloud.CodeConflict, cloud.ReasonIdempotencyKey)
	require.Equal(t, 1, pgtest.Value[int](db, "SELECT count(*) FROM events WHERE type = 'provider.certificate.created'"))
	require.Equal(t, 1, pgtest.Value[int](db, "SELECT count(*) FROM outbox WHERE workflow_id = $1 AND workflow_type = 'Certificate'", c.ID))
	require.Equal(t, 1, pgtest.Value[int](db, "SELECT count(*) FROM authorization_rows WHERE resource_id = $1", c.ID))

	twin := newCertificate("web")
	twin.ID = cloud.DeriveID(cloud.PrefixCertificate, "another key")
	_, err = db.InsertCertificate(ctx, twin, []byte("x"), "acme/alice")
	refused(t, err, cloud.CodeConflict, cloud.ReasonName)
	_, err = db.Certificate(ctx, pgtest.Globex, c.ID)
	refused(t, err, cloud.CodeNotFound, "")
	_, err = db.ChangeCertificate(ctx, pgtest.Globex, c.ID, "globex/bob", "delete", func(*cloud.Certificate) (*cloud.CertificateChange, error) {
		panic("not reached")
	})
	refused(t, err, cloud.CodeNotFound, "")

	changeCertificate(t, db, c.ID, func(c *cloud.Certificate) *cloud.CertificateChange { return c.Deleted(time.Now()) })
	_, err = db.InsertCertificate(ctx, twin, []byte("x"), "acme/alice")
	require.NoError(t, err, "the name is free again (D10)")
	require.Zero(t, pgtest.Value[int](db, "SELECT count(*) FROM authorization_rows WHERE resource_id = $1", c.ID))
	again := insertCertificate(t, db, newCertificate("web"))
	require.Equal(t, cloud.StateDeleted, again.State, "a key holds for ever (D1)")
}

func TestCertificateKeyMustBeTheTenants(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	theirs, err := db.PutSecret(ctx, pgtest.Globex, "key", cloud.NewSecret("k"), "globex/bob")
	require.NoError(t, err)
	for _, ref := range []cloud.SecretRef{theirs, "secret://acme/none"} {
		c := newCertificate("web")
		c.Type, c.Material = cloud.CertificateCustom, cloud.CertificateMaterial{Leaf: "l", PrivateKey: ref}
		_, err := db.InsertCertificate(ctx, c, []byte("x"), "acme/alice")
		refused(t, err, cloud.CodeInvalidInput, cloud.ReasonSecretRef)
		_, err = db.UnsealRef(ctx, pgtest.Acme, ref)
		refused(t, err, cloud.CodeInvalidInput, cloud.ReasonSecretRef)
	}
	require.Zero(t, pgtest.Value[int](db, "SELECT count(*) FROM certificates"))
}

func TestATenantHasAHundredLiveCertificates(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	var wg sync.WaitGroup
	errs := make([]error, cloud.MaxCertificates+5)
	for i := range errs {
		wg.Go(func() {
			c := newCertificate(fmt.Sprintf("c%d", i))
			_, errs[i] = db.InsertCertificate(context.Background(), c, []byte(c.ID), c.Owner)
		})
	}
	wg.Wait()
	over := 0
	for _, err := range errs {
		if err != nil {
			refused(t, err, cloud.CodeQuotaExceeded, "")
			require.EqualValues(t, cloud.MaxCertificates, cloud.AsError(err).Details["limit"])
			over++
		}
	}
	require.Equal(t, 5, over)
	theirs := newCertificate("theirs")
	theirs.ID, theirs.TenantID, theirs.PoolID, theirs.AccountID = "crt_theirs", pgtest.Globex, pgtest.PoolShared, pgtest.AccountShared
	insertCertificate(t, db, theirs)
	list, err := db.ListCertificates(context.Background(), postgres.CertificateFilter{Tenant: pgtest.Acme}, "", 1000)
	require.NoError(t, err)
	require.Len(t, list, cloud.MaxCertificates)
	rest, err := db.ListCertificates(context.Background(), postgres.CertificateFilter{Tenant: pgtest.Acme, Pool: pgtest.PoolAcme}, list[9].ID, 1000)
	require.NoError(t, err)
	require.Equal(t, list[10:], rest)
}

func TestCertificateChangeNudgesForNewsOnly(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	c := readyCertificate(t, db, "web", time.Now().Add(time.Hour))
	db.Exec("DELETE FROM outbox")
	for want, fn := range map[int]func(c *cloud.Certificate) (*cloud.CertificateChange, error){
		0: func(c *cloud.Certificate) (*cloud.CertificateChange, error) {
			c.Description = "new"
			return &cloud.CertificateChange{}, nil
		},
		1: func(c *cloud.Certificate) (*cloud.CertificateChange, error) {
			return c.WantMaterial(cloud.CertificateMaterial{Domains: []string{"b.com"}}, time.Now()), nil
		},
	} {
		_, err := db.ChangeCertificate(context.Background(), pgtest.Acme, c.ID, "acme/alice", "update", fn)
		require.NoError(t, err)
		require.Equal(t, want, pgtest.Value[int](db, "SELECT count(*) FROM outbox WHERE workflow_id = $1", c.ID))
		db.Exec("DELETE FROM outbox")
	}
}

func TestOneWorksOnACertificate(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	other := db.Another()
	c := insertCertificate(t, db, newCertificate("web"))
	ctx := context.Background()
	none := func(context.Context, activities.CertificateHold) error { return nil }
	require.NoError(t, db.HoldCertificate(ctx, c.ID, func(ctx context.Context, h activities.CertificateHold) error {
		require.ErrorIs(t, other.HoldCertificate(ctx, c.ID, none), activities.ErrHeld)
		_, err := other.ChangeCertificate(ctx, pgtest.Acme, c.ID, "acme/alice", "delete", func(c *cloud.Certificate) (*cloud.CertificateChange, error) {
			return c.WantDelete(time.Now()), nil
		})
		require.NoError(t, err, "callers do not wait for a worker")
		return h.Commit(ctx, func(c *cloud.Certificate) *cloud.CertificateChange {
			require.Equal(t, cloud.IntentDelete, c.Intent, "a commit sees the fresh record")
			return nil
		})
	}))
	require.NoError(t, other.HoldCertificate(ctx, c.ID, none))
	refused(t, db.HoldCertificate(ctx, "crt_none", none), cloud.CodeNotFound, "")
}

// Two workers watch; time passes an hour at a time. Each mark is told once.
func TestExpiryIsToldOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	at := time.Now().UTC().Truncate(time.Second)
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return at }
	db := pgtest.New(t, postgres.WithClock(clock)).World()
	end := at.Add(33 * 24 * time.Hour)
	c := readyCertificate(t, db, "web", end)
	readyCertificate(t, db, "far", at.Add(1000*24*time.Hour))
	deleting := readyCertificate(t, db, "going", end)
	changeCertificate(t, db, deleting.ID, func(c *cloud.Certificate) *cloud.CertificateChange { return c.WantDelete(clock()) })
	workers := []*postgres.Store{db.Store, db.Another(postgres.WithClock(clock))}
	for clock().Before(end.Add(50 * time.Hour)) {
		var wg sync.WaitGroup
		for _, s := range workers {
			wg.Go(func() {
				if _, err := s.NoticeExpiry(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		mu.Lock()
		at = at.Add(5 * time.Hour)
		mu.Unlock()
	}
	require.Equal(t, []string{"expiring 30", "expiring 7", "expiring 1", "expired "}, pgtest.Value[[]string](db,
		`SELECT array_agg(replace(type, 'provider.certificate.', '') || ' ' || coalesce(data->>'days', '') ORDER BY sequence)
		FROM events WHERE type LIKE 'provider.certificate.expir%'`))
	require.Equal(t, -1, pgtest.Value[int](db, "SELECT noticed FROM certificates WHERE id = $1", c.ID))
	n, err := db.NoticeExpiry(context.Background())
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestSignalsSayWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	c := insertCertificate(t, db, newCertificate("web"))
	b := insertBatch(t, db, "b", 2)
	want := map[string]map[string]string{
		c.ID: {"TenantId": "acme", "PoolId": pgtest.PoolAcme, "ProviderAccountId": pgtest.AccountAcme, "ResourceKind": "certificate", "ResourceState": "pending"},
		b.ID: {"TenantId": "acme", "ResourceKind": "command-batch", "ResourceState": "dispatching"},
	}
	for id, attributes := range want {
		m, done, err := db.ClaimOne(ctx, id)
		require.NoError(t, err)
		require.Equal(t, attributes, m.Attributes)
		require.NoError(t, done(false))
	}
	db.Exec("UPDATE outbox SET due_at = now()")
	got := map[string]map[string]string{}
	_, err := db.Claim(ctx, 10, func(_ context.Context, m activities.Message) error { got[m.WorkflowID] = m.Attributes; return nil })
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Every combination of what a certificate can be: exactly those that have work
// due and have not moved for a while are nudged.
func TestNudgeStalledAgreesWithDecideCertificate(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	now := time.Now().UTC()
	long, soon := now.Add(-time.Hour), now.Add(time.Hour)
	want, i := map[string]bool{}, 0
	for _, state := range []cloud.State{cloud.StatePending, cloud.StateProvisioning, cloud.StateReady, cloud.StateUpdating, cloud.StateDeleting, cloud.StateError} {
		for name, edit := range map[string]func(c *cloud.Certificate){
			"plain":     func(*cloud.Certificate) {},
			"replacing": func(c *cloud.Certificate) { c.Serial = 1 },
			"former":    func(c *cloud.Certificate) { c.Former = []cloud.CertificateObject{{Serial: 7, ProviderID: "x"}} },
			"refresh":   func(c *cloud.Certificate) { c.RefreshWanted = true },
			"deleting":  func(c *cloud.Certificate) { c.Intent = cloud.IntentDelete },
			"later":     func(c *cloud.Certificate) { c.RetryAt = soon },
			"in use":    func(c *cloud.Certificate) { c.RetryAt, c.Former = soon, []cloud.CertificateObject{{ProviderID: "x"}} },
		} {
			if state == cloud.StateDeleting && name != "deleting" {
				continue
			}
			i++
			c := newCertificate(fmt.Sprintf("c%d", i))
			c.Description = fmt.Sprintf("%s %s", state, name)
			insertCertificate(t, db, c)
			changeCertificate(t, db, c.ID, func(c *cloud.Certificate) *cloud.CertificateChange {
				c.State, c.Message, c.Current, c.RetryAt, c.UpdatedAt = state, "m", cloud.CertificateObject{ProviderID: "p"}, long, long
				edit(c)
				switch cloud.DecideCertificate(c, now).Step {
				case cloud.StepRest, cloud.StepRetry, cloud.StepEnd:
				default:
					want[c.Description] = true
				}
				return &cloud.CertificateChange{}
			})
		}
	}
	db.Exec("UPDATE certificates SET stepped_at = $1", long)
	db.Exec("UPDATE provider_accounts SET swept_at = now()")
	db.Exec("DELETE FROM outbox")
	n, err := db.NudgeStalled(ctx, 10*time.Minute, 1000)
	require.NoError(t, err)
	got := map[string]bool{}
	for _, d := range pgtest.Value[[]string](db, "SELECT array_agg(description) FROM certificates c JOIN outbox o ON o.workflow_id = c.id WHERE o.signal = 'refresh'") {
		got[d] = true
	}
	require.Equal(t, want, got)
	require.Equal(t, len(want), n)
	n, err = db.NudgeStalled(ctx, 10*time.Minute, 1000)
	require.NoError(t, err)
	require.Zero(t, n, "what has an open row is left to the relay")
	db.Exec("DELETE FROM outbox")
	db.Exec("UPDATE certificates SET stepped_at = now()")
	n, err = db.NudgeStalled(ctx, 10*time.Minute, 1000)
	require.NoError(t, err)
	require.Zero(t, n, "a worker came by a moment ago")
}

func TestSweepSavesWhatIsStillAtRest(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	a, b := readyCertificate(t, db, "a", time.Now().Add(time.Hour)), readyCertificate(t, db, "b", time.Now().Add(time.Hour))
	list, err := db.SweepCertificates(ctx, pgtest.AccountAcme)
	require.NoError(t, err)
	require.Len(t, list, 2)
	changeCertificate(t, db, b.ID, func(c *cloud.Certificate) *cloud.CertificateChange { return c.WantDelete(time.Now()) })
	db.Exec("DELETE FROM outbox")
	item := func(c *cloud.Certificate) ports.CertificateItem {
		return ports.CertificateItem{ID: c.ID, Generation: c.Generation, Nudge: true, Apply: func(c *cloud.Certificate) *cloud.CertificateChange { return c.WantRefresh(time.Now()) }}
	}
	n, err := db.SaveCertificates(ctx, []ports.CertificateItem{item(b), item(a)})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{a.ID}, pgtest.Value[[]string](db, "SELECT array_agg(workflow_id) FROM outbox"))
	n, err = db.SaveCertificates(ctx, []ports.CertificateItem{item(a)})
	require.NoError(t, err)
	require.Zero(t, n, "asked for already")
}

func TestAccountMessageReachesCertificatesAtRest(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	rest, busy := readyCertificate(t, db, "a", time.Now().Add(time.Hour)), readyCertificate(t, db, "b", time.Now().Add(time.Hour))
	changeCertificate(t, db, busy.ID, func(c *cloud.Certificate) *cloud.CertificateChange {
		c.Former = []cloud.CertificateObject{{ProviderID: "x"}}
		return c.InUse("in use", cloud.DefaultSettings, time.Now())
	})
	for _, message := range []string{"no answer", ""} {
		require.NoError(t, db.AccountMessage(ctx, pgtest.AccountAcme, message))
		c, err := db.LoadCertificate(ctx, rest.ID)
		require.NoError(t, err)
		require.Equal(t, message, c.Message)
		c, err = db.LoadCertificate(ctx, busy.ID)
		require.NoError(t, err)
		require.Equal(t, "in use", c.Message)
	}
}
