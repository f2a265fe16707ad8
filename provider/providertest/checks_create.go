package providertest

import (
	"context"
	"net/http"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
)

// checkLostAnswers: a create that was done and not answered is found again.
func checkLostAnswers(s *stage) {
	for name, f := range map[string]Fault{
		"dropped":     {On: Creates, Times: 1, Drop: true},
		"bad gateway": {On: Creates, Times: 1, Lost: http.StatusBadGateway},
	} {
		s.b.Plan(s.T, f)
		x := s.subject(name)
		x.ready()
		s.b.Clear(s.T)
		require.Equal(s, 1, s.objects(), "%s: one object", name)
		require.Empty(s, x.failures, name)
		x.complete()
		x.gone()
	}
}

// checkCrash: the answer arrived, and the run that had it died.
func checkCrash(s *stage) {
	x := s.subject("crash")
	x.crash = true
	x.ready()
	require.Equal(s, 1, s.objects())
	require.Empty(s, x.failures)
	x.complete()
	x.quiet(2)
}

// complete: every secret is there although the answer that had it was lost.
func (s *subject) complete() {
	s.t.Helper()
	for _, secret := range s.m.SecretOutputs {
		if !secret.Optional {
			require.False(s.t, s.sealed[secret.Name].Empty(), "no secret %s", secret.Name)
		}
	}
}

// checkLate: absent from reads for a while after a good create.
func checkLate(s *stage) {
	s.b.Plan(s.T, Fault{On: Creates, Times: 1, Late: settings.Settle / 4})
	x := s.subject("late")
	x.ready()
	require.Equal(s, 1, s.objects(), "no second one was made")
	require.Empty(s, x.failures, "absence inside the settle window is no failure")

	s.b.Plan(s.T, Fault{On: Creates, Times: 1, Late: settings.Settle / 4})
	y := newSubject(s.T, s.h, s.b, s.kind, s.vary(1), s.parentRef(), "late-and-lost")
	if s.m.Identity != nil && s.m.Identity.Single {
		return
	}
	y.crash = true
	y.ready()
	require.Equal(s, 2, s.objects(), "no third one was made")
	require.Empty(s, y.failures)
}

// checkStrangers: what another record or deployment has is told apart, and
// nothing is written to it.
func checkStrangers(s *stage) {
	x := s.subject("owner").ready()
	writes := s.b.Writes(s.T)
	y := s.subject("stranger")
	switch s.m.Ownership {
	case cloud.OwnedByLabels, cloud.OwnedByName:
		y.r.ProviderID, y.r.AcceptedAt = x.r.ProviderID, time.Now() // a record that points at another's object
	default:
		if s.m.IdempotentCreate {
			return
		}
	}
	y.r.CreatedAt = time.Now().Add(-time.Hour) // past waiting for a namesake to go
	y.until("told apart", func() bool { return y.r.State == cloud.StateError && y.r.ErrorClass == cloud.ClassNotManaged })
	require.Empty(s, y.sealed, "a stranger's secrets were taken")
	require.Equal(s, writes, s.b.Writes(s.T), "a stranger's object was written to")
	require.Equal(s, 1, s.objects())
	x.quiet(1)
}

// checkLabels: labels come and go, and another deployment's are respected.
func checkLabels(s *stage) {
	labeler, ok := s.kind.(cloud.Labeler)
	if !ok {
		return
	}
	ctx := context.Background()
	x := s.subject("first").ready()
	o := s.listed(x)
	require.Equal(s, cloud.LabelKey(x.r.ID), o.Owner.ResourceKey)
	require.Equal(s, s.b.Access().Deployment, o.Owner.Deployment)

	other := s.b.Access()
	other.Deployment = "another-deployment"
	opened, err := s.b.Provider().Open(other)
	require.NoError(s, err)
	theirs, _ := opened.Kind(s.h.Kind)
	y := s.subject("second")
	y.r.ProviderID = x.r.ProviderID
	err = theirs.(cloud.Labeler).Label(ctx, y.request(true))
	require.Equal(s, cloud.ClassNotManaged, cloud.ClassOf(err), "labels over another deployment's: %v", err)

	require.NoError(s, labeler.Unlabel(ctx, x.request(true)))
	require.NoError(s, labeler.Unlabel(ctx, x.request(true)), "removing labels twice")
	require.Eventually(s, func() bool { return s.listed(x).Owner == cloud.Owner{} }, 5*time.Second, 5*time.Millisecond)
	require.Equal(s, 1, s.objects(), "a release leaves the object")

	require.NoError(s, labeler.Label(ctx, y.request(true)))
	require.NoError(s, labeler.Label(ctx, y.request(true)), "labels twice")
	require.Equal(s, cloud.LabelKey(y.r.ID), s.listed(x).Owner.ResourceKey)
	y.gone()
}

// checkPaging: what stands on a later page is found, and the list is whole.
func checkPaging(s *stage) {
	many := s.h.Many
	if many == 0 {
		many = 210
	}
	single := s.m.Identity != nil && s.m.Identity.Single
	if many < 0 || single {
		return
	}
	var last *subject
	for i := range many {
		last = newSubject(s.T, s.h, s.b, s.kind, s.vary(i), s.parentRef(), "many-"+time.Duration(i).String())
		s.createOne(last)
	}
	require.Eventually(s, func() bool { return len(s.list()) >= many }, 20*time.Second, 10*time.Millisecond, "the list is not whole")
	limited, err := s.kind.List(context.Background(), cloud.Scope{Parent: s.parentRef(), Limit: 3})
	require.NoError(s, err)
	require.Len(s, limited, 3)
	q := last.request(false)
	q.ProviderID = ""
	o, err := s.kind.Find(context.Background(), q)
	require.NoError(s, err, "one on the last page")
	require.Equal(s, last.r.ProviderID, o.ProviderID)
}

// createOne sends the create, again while the provider is busy.
func (s *stage) createOne(x *subject) {
	s.Helper()
	var o *cloud.Observed
	require.Eventually(s, func() bool {
		var err error
		o, err = s.kind.Create(context.Background(), x.request(true))
		if cloud.ClassOf(err) != cloud.ClassBusy {
			require.NoError(s, err)
		}
		return err == nil
	}, 20*time.Second, 5*time.Millisecond)
	x.r.ProviderID = o.ProviderID
}
