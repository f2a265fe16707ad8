package activities_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/certtest"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/provider/digitalocean"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/simtest"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// issueTime is how long the simulated provider takes to issue a certificate.
const issueTime = 45 * time.Second

// certWorld is a database, the simulated provider over HTTP and the activities
// between them, all on one clock.
type certWorld struct {
	t       *testing.T
	db      *pgtest.DB
	clock   *clock
	url     string
	sim     simulator.Control
	account cloud.ProviderResources
	acts    *activities.CertificateActivities
	rules   *intent.CertificateService
	faults  *faults
	log     *bytes.Buffer
	keys    []string
	ran     []cloud.Step
}

func newCertWorld(t *testing.T) *certWorld {
	c := newClock()
	s := simtest.Settings()
	s.ProvisionTime = simulator.Duration(issueTime)
	url, _ := simtest.StartWith(t, simulator.Options{Settings: &s, Now: c.Now})
	w := &certWorld{
		t: t, clock: c, db: pgtest.New(t, postgres.WithClock(c.Now)).World(), url: url,
		sim: simulator.Control{URL: url}, faults: &faults{}, log: &bytes.Buffer{},
	}
	var err error
	w.account, err = digitalocean.New().Open(cloud.AccountAccess{
		ID: pgtest.AccountAcme, Provider: digitalocean.Name, Token: cloud.NewSecret("dop_v1_acme"), APIURL: url, Deployment: "test",
	})
	require.NoError(t, err)
	w.rules = &intent.CertificateService{Store: w.db.Store, Accounts: certAccounts{w}, Now: c.Now}
	w.acts = &activities.CertificateActivities{
		Records: faultyCertificateRecords{w.db.Store, w.faults}, Accounts: certAccounts{w}, Intents: w.rules, Settings: settings, Now: c.Now,
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	return w
}

// certAccounts opens the one account, its certificates behind the faults.
type certAccounts struct{ w *certWorld }

func (a certAccounts) Manifests(string) []*cloud.Manifest         { return nil }
func (a certAccounts) Deployment(context.Context) (string, error) { return "test", nil }
func (a certAccounts) Open(context.Context, string) (cloud.ProviderResources, error) {
	return faultyAccount{a.w.account, a.w.faults}, nil
}

type faultyAccount struct {
	cloud.ProviderResources
	faults *faults
}

func (a faultyAccount) Certificates() cloud.Certificates {
	return faultyCertificates{a.ProviderResources.Certificates(), a.faults}
}

// faultyCertificates makes every call a point of a life.
type faultyCertificates struct {
	cloud.Certificates
	faults *faults
}

var errReset = &cloud.ProviderError{Class: cloud.ClassUnknown, Op: "call", Message: "connection reset"}

func (f faultyCertificates) look(name string, do func() (*cloud.ObservedCertificate, error)) (o *cloud.ObservedCertificate, err error) {
	err = f.faults.pass(name, func() (err error) { o, err = do(); return err }, errReset)
	return o, err
}

func (f faultyCertificates) Create(ctx context.Context, r cloud.CertificateRequest) (*cloud.ObservedCertificate, error) {
	return f.look("create", func() (*cloud.ObservedCertificate, error) { return f.Certificates.Create(ctx, r) })
}

func (f faultyCertificates) Find(ctx context.Context, name string) (*cloud.ObservedCertificate, error) {
	return f.look("find", func() (*cloud.ObservedCertificate, error) { return f.Certificates.Find(ctx, name) })
}

func (f faultyCertificates) Observe(ctx context.Context, id string) (*cloud.ObservedCertificate, error) {
	return f.look("observe", func() (*cloud.ObservedCertificate, error) { return f.Certificates.Observe(ctx, id) })
}

func (f faultyCertificates) Delete(ctx context.Context, id string) error {
	return f.faults.pass("delete", func() error { return f.Certificates.Delete(ctx, id) }, errReset)
}

// faultyCertificateRecords lets commits fail.
type faultyCertificateRecords struct {
	*postgres.Store
	faults *faults
}

func (f faultyCertificateRecords) HoldCertificate(ctx context.Context, id string, fn func(ctx context.Context, h activities.CertificateHold) error) error {
	return f.Store.HoldCertificate(ctx, id, func(ctx context.Context, h activities.CertificateHold) error {
		return fn(ctx, faultyCertificateHold{h, f.faults})
	})
}

type faultyCertificateHold struct {
	activities.CertificateHold
	faults *faults
}

func (h faultyCertificateHold) Commit(ctx context.Context, fn func(c *cloud.Certificate) *cloud.CertificateChange) error {
	return h.faults.pass("commit", func() error { return h.CertificateHold.Commit(ctx, fn) },
		cloud.Errorf(cloud.CodeUnavailable, "the database does not answer"))
}

var alice = intent.Principal{Tenant: pgtest.Acme, User: "alice", ID: "acme/alice"}

// upload asks for a custom certificate with a key of its own.
func (w *certWorld) upload(name string, validity time.Duration) *cloud.Certificate {
	w.t.Helper()
	c, err := w.rules.Create(context.Background(), alice, intent.NewCertificate{
		TenantID: pgtest.Acme, PoolID: pgtest.PoolAcme, Name: name, Type: cloud.CertificateCustom, Material: w.material(name, validity), IdempotencyKey: name,
	})
	require.NoError(w.t, err)
	return c
}

// material makes a leaf and puts its key into the secret store.
func (w *certWorld) material(name string, validity time.Duration) cloud.CertificateMaterial {
	w.t.Helper()
	made := certtest.Self(w.t, w.clock.Now(), validity, "example.com")
	ref, err := w.db.PutSecret(context.Background(), pgtest.Acme, "keys/"+name, cloud.NewSecret(made.Key), "acme/alice")
	require.NoError(w.t, err)
	w.keys = append(w.keys, made.Key)
	return cloud.CertificateMaterial{Leaf: made.PEM, PrivateKey: ref}
}

func (w *certWorld) issued(name string) *cloud.Certificate {
	w.t.Helper()
	c, err := w.rules.Create(context.Background(), alice, intent.NewCertificate{
		TenantID: pgtest.Acme, PoolID: pgtest.PoolAcme, Name: name, Type: cloud.CertificateLetsEncrypt,
		Material: cloud.CertificateMaterial{Domains: []string{"example.com", "www.example.com"}}, IdempotencyKey: name,
	})
	require.NoError(w.t, err)
	return c
}

func (w *certWorld) update(id string, m cloud.CertificateMaterial) {
	w.t.Helper()
	u := intent.CertificateUpdate{Leaf: &m.Leaf, PrivateKey: &m.PrivateKey}
	if len(m.Domains) > 0 {
		u = intent.CertificateUpdate{Domains: m.Domains}
	}
	_, err := w.rules.Update(context.Background(), pgtest.Acme, id, "acme/alice", u)
	require.NoError(w.t, err)
}

func (w *certWorld) delete(id string) {
	w.t.Helper()
	_, err := w.rules.Delete(context.Background(), pgtest.Acme, id, "acme/alice", nil)
	require.NoError(w.t, err)
}

func (w *certWorld) record(id string) *cloud.Certificate {
	w.t.Helper()
	c, err := w.db.LoadCertificate(context.Background(), id)
	require.NoError(w.t, err)
	return c
}

func (w *certWorld) load(id string) cloud.Next {
	w.t.Helper()
	next, err := w.acts.LoadCertificate(context.Background(), id)
	require.NoError(w.t, err)
	return next
}

// step runs the activity of a step once, as a worker and the server would.
func (w *certWorld) step(id string, next cloud.Next) cloud.Next {
	w.t.Helper()
	run := w.acts.ConvergeCertificate
	if next.Step == cloud.StepDelete {
		run = w.acts.DeleteCertificate
	}
	w.ran = append(w.ran, next.Step)
	answer, err := alive(run, id)
	var app *temporal.ApplicationError
	switch {
	case err == nil:
		return answer
	case errors.Is(err, errKilled):
		w.clock.Advance(20 * time.Second)
	case errors.As(err, &app):
		w.clock.Advance(max(app.NextRetryDelay(), time.Second))
	default:
		require.NoError(w.t, err)
	}
	return next
}

// settle does what the workflow does until it would wait for a signal; until
// says when to stop earlier.
func (w *certWorld) settle(id string, until ...func(c *cloud.Certificate) bool) cloud.Next {
	w.t.Helper()
	next := w.load(id)
	for range 400 {
		if len(until) > 0 && until[0](w.record(id)) {
			return next
		}
		switch next.Step {
		case cloud.StepRest, cloud.StepEnd:
			return next
		case cloud.StepRetry:
			w.clock.Advance(max(next.RetryAt.Sub(w.clock.Now()), time.Second))
			next = w.load(id)
		default:
			next = w.step(id, next)
		}
	}
	w.t.Fatalf("%s does not come to rest: %+v", id, next)
	return next
}

// objects are the provider's certificates of a record.
func (w *certWorld) objects(id string) []simulator.Object {
	w.t.Helper()
	all, err := w.sim.Objects(context.Background(), "")
	require.NoError(w.t, err)
	var own []simulator.Object
	for _, o := range all {
		if o.Text("type") == "certificate" && strings.HasPrefix(o.Text("name"), cloud.CertificateName(id, 0)) {
			own = append(own, o)
		}
	}
	return own
}

// writes are the provider's requests that change something.
func (w *certWorld) writes() []string {
	w.t.Helper()
	all, err := w.sim.Requests(context.Background(), "", 0)
	require.NoError(w.t, err)
	var out []string
	for _, r := range all {
		if r.Method != http.MethodGet {
			out = append(out, r.Method)
		}
	}
	return out
}

func (w *certWorld) fault(method, path string, times int, e simulator.Effect) {
	w.t.Helper()
	_, err := w.sim.AddFault(context.Background(), simulator.Fault{Method: method, Path: path, Times: &times, Effect: e})
	require.NoError(w.t, err)
}

func (w *certWorld) events(id string) []cloud.EventType {
	w.t.Helper()
	all, err := w.db.ListEvents(context.Background(), pgtest.Acme, 0, 100000)
	require.NoError(w.t, err)
	types := []cloud.EventType{}
	for _, e := range all {
		if e.Subject == id {
			types = append(types, cloud.EventType(e.Type))
		}
	}
	return types
}

// noKey searches everything that was kept for the private keys.
func (w *certWorld) noKey() {
	w.t.Helper()
	dump := w.db.Dump()
	requests, err := w.sim.Requests(context.Background(), "", 0)
	require.NoError(w.t, err)
	for _, key := range w.keys {
		line := strings.Split(key, "\n")[1]
		require.NotContains(w.t, dump, line)
		require.NotContains(w.t, w.log.String(), line)
		for _, r := range requests {
			require.NotContains(w.t, string(r.Body), line)
		}
	}
}

// balance makes a load balancer that uses a certificate, and returns its id.
func (w *certWorld) balance(certificate string) string {
	w.t.Helper()
	body := `{"name":"lb","region":"nyc3","forwarding_rules":[{"entry_protocol":"https","entry_port":443,"target_protocol":"http","target_port":80,"certificate_id":"` + certificate + `"}]}`
	return w.raw(http.MethodPost, "/v2/load_balancers", body)["load_balancer"].(map[string]any)["id"].(string)
}

// raw asks the simulated provider itself, as a console would.
func (w *certWorld) raw(method, path, body string) map[string]any {
	w.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, w.url+path, strings.NewReader(body))
	require.NoError(w.t, err)
	req.Header.Set("Authorization", "Bearer dop_v1_acme")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	require.Less(w.t, resp.StatusCode, 300, path)
	answer := map[string]any{}
	if resp.StatusCode != http.StatusNoContent {
		require.NoError(w.t, json.NewDecoder(resp.Body).Decode(&answer))
	}
	return answer
}
