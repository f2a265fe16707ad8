package providertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
)

const (
	tenant   = "Acme.Corp:EU_1" // has what provider tags cannot hold
	maxStage = 12
)

// settings are the periods of a test: long enough that lateness stays inside
// the settle window, short enough to see its end.
var settings = cloud.Settings{Converge: time.Millisecond, Refresh: 50 * time.Millisecond, Settle: 1500 * time.Millisecond}

// subject is one record and the code of its kind, driven as activities do.
type subject struct {
	t        *testing.T
	h        Harness
	backend  Backend
	kind     cloud.Kind
	m        *cloud.Manifest
	r        *cloud.Resource
	parent   *cloud.ParentRef
	sealed   map[string]cloud.Secret
	failures []string
	// crash forgets everything that the next create answered.
	crash bool
	// onSeal hears of every secret, so that leaks can be searched for.
	onSeal func(cloud.Secret)
}

func newSubject(t *testing.T, h Harness, b Backend, kind cloud.Kind, spec cloud.Spec, parent *cloud.ParentRef, key string) *subject {
	m := kind.Manifest()
	if n, ok := kind.(cloud.SpecNormaliser); ok {
		spec = n.NormaliseSpec(spec)
	}
	if c, ok := kind.(cloud.SpecChecker); ok {
		require.NoError(t, c.CheckSpec(spec), "the spec under test is refused")
	}
	r := &cloud.Resource{
		ID: cloud.ResourceID(tenant, "tester", key), TenantID: tenant, Kind: m.Kind, Family: m.Family,
		Name: "subject-" + key, Spec: spec, Identity: m.IdentityOf(spec), Memo: map[string]string{},
	}
	r.Created(time.Now())
	return &subject{t: t, h: h, backend: b, kind: kind, m: m, r: r, parent: parent, sealed: map[string]cloud.Secret{}}
}

func digest(value string) string {
	sum := sha256.Sum256([]byte("test key" + value))
	return hex.EncodeToString(sum[:8])
}

func (s *subject) request(mutating bool) cloud.Request {
	q := cloud.Request{
		ResourceID: s.r.ID, TenantID: s.r.TenantID, Name: s.r.Name, ProviderName: cloud.ProviderName(s.r.ID),
		ProviderID: s.r.ProviderID, Parent: s.parent, Spec: s.r.Spec, Applied: s.r.AppliedSpec,
		Instances: s.h.Instances, Networks: s.h.Networks, Digest: digest, SecretVersions: map[string]string{},
		Memo: s.r.Memo, Now: time.Now(),
	}
	for ref, v := range s.h.Secrets {
		q.SecretVersions[ref] = digest(v.Reveal())
	}
	if mutating {
		q.Secrets = s.h.Secrets
	}
	return q
}

// seal keeps what a real run would seal.
func (s *subject) seal(c *cloud.Change) {
	if c == nil {
		return
	}
	for name, v := range c.Seal {
		s.sealed[name] = v
		if s.onSeal != nil {
			s.onSeal(v)
		}
	}
	for _, e := range c.Events {
		if e.Type == cloud.EventFailed {
			s.failures = append(s.failures, fmt.Sprint(e.Data["message"]))
		}
	}
}

func (s *subject) look() (*cloud.Observed, error) {
	q := s.request(false)
	find := s.kind.Find
	if q.ProviderID != "" {
		find = s.kind.Observe
	}
	o, err := find(context.Background(), q)
	if cloud.IsNotFound(err) || err == nil && (o == nil || o.Phase == cloud.PhaseGone) {
		return nil, nil
	}
	return o, err
}

// pass looks and acts until the record is at rest or has to wait.
func (s *subject) pass() {
	var seen *cloud.Observed
	for range maxStage {
		o, err := seen, error(nil)
		if o == nil {
			o, err = s.look()
		}
		if err != nil {
			s.trouble(err)
			return
		}
		l := cloud.Look{Observed: o}
		if o != nil && !s.r.ObservedOnly {
			l.Diff = s.kind.Diff(s.request(false), o)
		}
		now := time.Now()
		action := cloud.Reconcile(s.r, s.m, l, s.backend.Access().Deployment, settings, now)
		if o != nil && action.Class != cloud.ClassNotManaged && (s.r.ProviderID == "" || s.r.AcceptedAt.IsZero()) && (o.Phase != cloud.PhaseDeleting || s.r.ProviderID != "") {
			s.seal(s.r.Accept(o, now))
		}
		var done bool
		if seen, done = s.act(action, o, now); done {
			return
		}
	}
}

func (s *subject) act(action cloud.Action, o *cloud.Observed, now time.Time) (seen *cloud.Observed, done bool) {
	ctx := context.Background()
	switch action.Kind {
	case cloud.ActCreate:
		return s.create()
	case cloud.ActWait:
		if action.Class == cloud.ClassNotManaged {
			o = nil
		}
		s.seal(s.r.Wait(o, action.Message, now))
	case cloud.ActMissing:
		s.r.Missing(now)
	case cloud.ActLabel:
		return nil, s.failed(s.kind.(cloud.Labeler).Label(ctx, s.request(false)))
	case cloud.ActUpdate:
		u, err := s.kind.Update(ctx, s.request(true), o, action.Fields)
		if s.failed(err) {
			return nil, true
		}
		settles := action.Fields
		if u != nil && u.Settles != nil {
			settles = u.Settles
		}
		require.NotEmpty(s.t, append(settles, action.Fields...), "an update that asks for nothing")
		s.r.SentChange(settles, s.r.Generation, now)
		if u != nil {
			seen = u.Observed
		}
		return seen, false
	case cloud.ActRecover:
		return s.recoverSecrets(o)
	case cloud.ActRecreate:
		s.r.ForgetObject(now)
		return nil, false
	case cloud.ActReady:
		s.seal(s.r.Ready(o, s.r.Generation, now))
	default:
		s.seal(s.r.Fail(o, action.Class, action.Message, s.r.Generation, settings, now))
	}
	return nil, true
}

func (s *subject) create() (*cloud.Observed, bool) {
	prior := s.r.AttemptedAt
	q := s.request(true)
	s.r.Attempt(time.Now())
	o, err := s.kind.Create(context.Background(), q)
	if s.crash && err == nil {
		s.crash = false
		return nil, true
	}
	switch cloud.ClassOf(err) {
	case "":
		require.NotNil(s.t, o, "create answered neither an object nor an error")
		require.NotEmpty(s.t, o.ProviderID, "create answered an object without an id")
		s.seal(s.r.Accept(o, time.Now()))
		return o, false
	case cloud.ClassExists:
		s.r.Unattempt(prior, time.Now())
		again, err := s.look()
		if s.failed(err) || again == nil || again.Phase == cloud.PhaseDeleting {
			return nil, true
		}
		return again, false
	case cloud.ClassUnknown:
	default:
		s.r.Unattempt(prior, time.Now())
	}
	s.trouble(err)
	return nil, true
}

func (s *subject) recoverSecrets(o *cloud.Observed) (*cloud.Observed, bool) {
	recoverer, ok := s.kind.(cloud.SecretRecoverer)
	if !ok {
		return nil, true
	}
	s.r.Recovering(time.Now())
	again, err := recoverer.RecoverSecrets(context.Background(), s.request(true), o)
	switch {
	case s.failed(err), again == nil:
		return nil, true
	case again.Phase == cloud.PhaseGone:
		s.r.ForgetObject(time.Now())
		return nil, false
	}
	s.seal(s.r.Accept(again, time.Now()))
	return again, false
}

func (s *subject) failed(err error) bool {
	if err != nil {
		s.trouble(err)
	}
	return err != nil
}

func (s *subject) trouble(err error) {
	now := time.Now()
	s.noLeak(err.Error())
	switch class := cloud.ClassOf(err); class {
	case cloud.ClassBusy, cloud.ClassExists:
		s.r.Wait(nil, err.Error(), now)
	case cloud.ClassThrottled, cloud.ClassUnreachable, cloud.ClassUnknown:
		s.r.Message = err.Error()
	default:
		s.seal(s.r.Fail(nil, class, err.Error(), s.r.Generation, settings, now))
	}
}

// until passes again and again until the condition holds.
func (s *subject) until(what string, holds func() bool) {
	s.t.Helper()
	patience := s.h.Patience
	if patience == 0 {
		patience = 20 * time.Second
	}
	if poll(patience, func() bool { s.pass(); return holds() }) {
		return
	}
	o, err := s.look()
	s.t.Fatalf("%s: not %s within %s: state %s, %q, failures %v, observed %s, %v", s.m.Kind, what, patience, s.r.State, s.r.Message, s.failures, text(o), err)
}

// poll tries until it holds, at most for so long. Unlike require.Eventually it
// tries on the caller's goroutine, so that a try may fail the test.
func poll(patience time.Duration, try func() bool) bool {
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		if try() {
			return true
		}
		select {
		case <-end:
			return false
		case <-tick.C:
		}
	}
}

func (s *subject) ready() *subject {
	s.t.Helper()
	s.until("ready", func() bool { return s.r.State == cloud.StateReady && !s.r.Pending() })
	return s
}

// want asks for a merged spec.
func (s *subject) want(patch cloud.Spec) {
	spec := s.r.Spec.Merge(patch)
	if n, ok := s.kind.(cloud.SpecNormaliser); ok {
		spec = n.NormaliseSpec(spec)
	}
	if c, ok := s.kind.(cloud.SpecChecker); ok {
		require.NoError(s.t, c.CheckSpec(spec))
	}
	require.NotEmpty(s.t, s.r.Spec.Changed(spec), "the patch %v changes nothing", patch)
	s.r.WantSpec(spec, time.Now())
}

// gone deletes the object and looks until it is absent.
func (s *subject) gone() {
	s.t.Helper()
	s.r.WantDelete(time.Now())
	sent := false
	ended := poll(20*time.Second, func() bool {
		o, err := s.look()
		if err == nil && o == nil {
			return true
		}
		if err != nil || sent {
			return false
		}
		require.Empty(s.t, cloud.Foreign(s.r, s.m, o, s.backend.Access().Deployment))
		err = s.kind.Delete(context.Background(), s.request(true))
		if err != nil && !cloud.IsNotFound(err) {
			require.Contains(s.t, []cloud.Class{cloud.ClassBusy, cloud.ClassUnknown}, cloud.ClassOf(err), "delete: %v", err)
		}
		sent = err == nil
		return cloud.IsNotFound(err)
	})
	require.True(s.t, ended, "%s: still there after its delete", s.m.Kind)
}

// noLeak fails when a text holds a secret.
func (s *subject) noLeak(texts ...string) {
	s.t.Helper()
	known := []cloud.Secret{s.backend.Access().Token}
	for _, v := range s.sealed {
		known = append(known, v)
	}
	for _, v := range s.h.Secrets {
		known = append(known, v)
	}
	for _, text := range texts {
		leaked := slices.ContainsFunc(known, func(k cloud.Secret) bool { return len(k.Reveal()) > 3 && strings.Contains(text, k.Reveal()) })
		require.False(s.t, leaked, "%s: a secret leaked into a text of %d characters", s.m.Kind, len(text))
	}
}

// text is an object as JSON, in which secrets are placeholders.
func text(o *cloud.Observed) string {
	b, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
