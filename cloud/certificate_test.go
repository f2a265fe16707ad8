package cloud_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/certtest"
)

func TestCheckCertificateNamesTheFieldThatIsWrong(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	from, to := now.Add(-time.Hour), now.Add(90*24*time.Hour)
	root := certtest.Issue(t, nil, true, nil, from, to.Add(time.Hour))
	middle := certtest.Issue(t, root, true, nil, from, to.Add(time.Hour))
	leaf := certtest.Issue(t, middle, false, []string{"example.com", "*.example.com"}, from, to)
	other := certtest.Issue(t, nil, true, nil, from, to)
	expired := certtest.Issue(t, middle, false, []string{"example.com"}, from.Add(-time.Hour), now.Add(-time.Minute))
	early := certtest.Issue(t, middle, false, []string{"example.com"}, now.Add(time.Hour), to)
	nameless := certtest.Issue(t, middle, false, nil, from, to)
	badName := certtest.Issue(t, middle, false, []string{"not a name"}, from, to)
	key := cloud.NewSecret(leaf.Key)
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
		"leaf with its whole chain":      {cloud.CertificateCustom, custom(leaf.PEM, middle.PEM+root.PEM), key, ""},
		"chain in another order":         {cloud.CertificateCustom, custom(leaf.PEM, root.PEM+middle.PEM), key, ""},
		"chain without its root":         {cloud.CertificateCustom, custom(leaf.PEM, middle.PEM), key, ""},
		"no chain":                       {cloud.CertificateCustom, custom(leaf.PEM, ""), key, ""},
		"chain of somebody else":         {cloud.CertificateCustom, custom(leaf.PEM, middle.PEM+other.PEM), key, "chain"},
		"chain that skips one":           {cloud.CertificateCustom, custom(leaf.PEM, root.PEM), key, "chain"},
		"key of somebody else":           {cloud.CertificateCustom, custom(leaf.PEM, middle.PEM), cloud.NewSecret(other.Key), "privateKey"},
		"key that is no PEM":             {cloud.CertificateCustom, custom(leaf.PEM, middle.PEM), cloud.NewSecret("hello"), "privateKey"},
		"no key":                         {cloud.CertificateCustom, custom(leaf.PEM, middle.PEM), cloud.Secret{}, "privateKey"},
		"leaf that is no PEM":            {cloud.CertificateCustom, custom("hello", ""), key, "leaf"},
		"two leaves":                     {cloud.CertificateCustom, custom(leaf.PEM+middle.PEM, ""), key, "leaf"},
		"a key in the place of a leaf":   {cloud.CertificateCustom, custom(key.Reveal(), ""), key, "leaf"},
		"a key in the chain":             {cloud.CertificateCustom, custom(leaf.PEM, key.Reveal()), key, "chain"},
		"expired":                        {cloud.CertificateCustom, custom(expired.PEM, ""), cloud.NewSecret(expired.Key), "leaf"},
		"not valid yet":                  {cloud.CertificateCustom, custom(early.PEM, ""), cloud.NewSecret(early.Key), "leaf"},
		"names no host":                  {cloud.CertificateCustom, custom(nameless.PEM, ""), cloud.NewSecret(nameless.Key), "leaf"},
		"a name that is none":            {cloud.CertificateCustom, custom(badName.PEM, ""), cloud.NewSecret(badName.Key), "leaf"},
		"custom with domains":            {cloud.CertificateCustom, cloud.CertificateMaterial{Leaf: leaf.PEM, Domains: []string{"a.com"}}, key, "domains"},
		"issued":                         {cloud.CertificateLetsEncrypt, issued("example.com", "*.example.com"), cloud.Secret{}, ""},
		"issued for nothing":             {cloud.CertificateLetsEncrypt, issued(), cloud.Secret{}, "domains"},
		"issued twice for one":           {cloud.CertificateLetsEncrypt, issued("a.com", "a.com"), cloud.Secret{}, "domains[1]"},
		"issued for an address":          {cloud.CertificateLetsEncrypt, issued("a.com", "203.0.113.1"), cloud.Secret{}, "domains[1]"},
		"issued for a star in the midst": {cloud.CertificateLetsEncrypt, issued("a.*.com"), cloud.Secret{}, "domains[0]"},
		"issued with a leaf":             {cloud.CertificateLetsEncrypt, cloud.CertificateMaterial{Leaf: leaf.PEM, Domains: []string{"a.com"}}, cloud.Secret{}, "type"},
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
	require.Equal(t, []cloud.CertificateObject{{Serial: 0, ProviderID: "one", AttemptedAt: now}}, c.Former)

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

func TestWhatMayExistAtTheProviderIsNeverForgotten(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	later := now.Add(time.Minute)
	c := &cloud.Certificate{ID: "crt_x"}
	c.Created(now)
	c.Attempt(now) // its answer is lost
	c.WantMaterial(cloud.CertificateMaterial{Leaf: "new"}, now)
	require.Equal(t, []cloud.CertificateObject{{Serial: 0, AttemptedAt: now}}, c.Former, "only its name is known")
	require.Zero(t, c.AttemptedAt, "the new one was not asked for yet")
	c.Attempt(later)
	require.Equal(t, []cloud.CertificateObject{{Serial: 0, AttemptedAt: now}, {Serial: 1, AttemptedAt: later}}, c.Objects())
	c.Accept(&cloud.ObservedCertificate{ProviderID: "old"}, 0, later)
	require.Equal(t, "old", c.Former[0].ProviderID, "the answer came after all")
	require.Len(t, c.Former, 1)
	c.Unattempt(1, later)
	require.Len(t, c.Objects(), 1, "what the provider certainly refused does not exist")
}

func TestAFailureOfWhatNobodyWantsAnyMoreIsNone(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	c := &cloud.Certificate{ID: "crt_x"}
	c.Created(now)
	seen := c.Generation
	c.WantDelete(now)
	require.Nil(t, c.Fail("late", seen, cloud.DefaultSettings, now))
	require.Equal(t, cloud.StateDeleting, c.State)
	require.Equal(t, cloud.StepDelete, cloud.DecideCertificate(c, now).Step)
	for range 20 {
		c.Unknown("502", 10, c.Generation, cloud.DefaultSettings, now)
	}
	require.Equal(t, cloud.StateError, c.State, "an unknown outcome that goes on is told in the end")
	require.Equal(t, cloud.StepRetry, cloud.DecideCertificate(c, now).Step)
	c.WantRefresh(now)
	require.Equal(t, cloud.StepDelete, cloud.DecideCertificate(c, now).Step)
}

func TestSweepCertificate(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	seen := func(edit func(o *cloud.ObservedCertificate)) *cloud.ObservedCertificate {
		o := &cloud.ObservedCertificate{ProviderID: "one", Name: cloud.CertificateName("crt_x", 0), Phase: cloud.PhaseReady, State: "verified",
			Fingerprint: "f", NotAfter: now, Domains: []string{"a.com"}}
		edit(o)
		return o
	}
	same := func(*cloud.ObservedCertificate) {}
	c := &cloud.Certificate{ID: "crt_x"}
	c.Created(now)
	c.Serve(seen(same), 0, now)
	require.Equal(t, cloud.CertificateSuspect, cloud.SweepCertificate(c, nil))
	for want, edits := range map[cloud.CertificateFinding][]func(o *cloud.ObservedCertificate){
		cloud.CertificateSame: {same, func(o *cloud.ObservedCertificate) { o.Domains, o.NotAfter, o.Fingerprint = nil, time.Time{}, "" }},
		cloud.CertificateMoved: {
			func(o *cloud.ObservedCertificate) { o.NotAfter = now.Add(time.Hour) },
			func(o *cloud.ObservedCertificate) { o.Fingerprint = "g" },
			func(o *cloud.ObservedCertificate) { o.State, o.Phase = "pending", cloud.PhaseBusy },
		},
		cloud.CertificateSuspect: {
			func(o *cloud.ObservedCertificate) { o.Phase = cloud.PhaseFailed },
			func(o *cloud.ObservedCertificate) { o.Name = "another" },
		},
	} {
		for i, edit := range edits {
			require.Equal(t, want, cloud.SweepCertificate(c, seen(edit)), "%s %d", want, i)
		}
	}
}
