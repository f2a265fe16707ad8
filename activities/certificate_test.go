package activities_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

const quarter = 90 * 24 * time.Hour

func TestAnUploadedCertificateLivesAndEnds(t *testing.T) {
	t.Parallel()
	w := newCertWorld(t)
	c := w.upload("web", quarter)
	require.Equal(t, cloud.StatePending, c.State)
	require.Empty(t, c.View().Outputs)
	require.Equal(t, cloud.StepRest, w.settle(c.ID).Step)
	c = w.record(c.ID)
	v := c.View()
	require.Equal(t, cloud.StateReady, c.State)
	require.Equal(t, cloud.CertificateName(c.ID, 0), w.objects(c.ID)[0].Text("name"), "owned by its name")
	require.Equal(t, w.objects(c.ID)[0].Text("id"), v.ProviderID)
	require.Equal(t, []string{"example.com"}, v.Outputs["names"])
	require.Equal(t, w.objects(c.ID)[0].Text("fingerprint"), v.Outputs["fingerprint"])
	require.Equal(t, "verified", v.Outputs["providerState"])
	require.Equal(t, w.clock.Now().Add(-time.Hour).UnixMilli(), v.Outputs["notBefore"])
	require.Equal(t, w.clock.Now().Add(quarter).UnixMilli(), v.Outputs["notAfter"])

	w.delete(c.ID)
	require.Equal(t, cloud.StepEnd, w.settle(c.ID).Step)
	require.Empty(t, w.objects(c.ID))
	require.Equal(t, []cloud.EventType{
		cloud.EventCertificateCreated, cloud.EventCertificateReady, cloud.EventCertificateDeleting, cloud.EventCertificateDeleted,
	}, w.events(c.ID))
	w.noKey()
}

func TestTheFormerCertificateStaysUntilTheNewOneServesAndNothingUsesIt(t *testing.T) {
	t.Parallel()
	w := newCertWorld(t)
	c := w.issued("web")
	w.settle(c.ID)
	first := w.record(c.ID).Current.ProviderID
	balancer := w.balance(first)

	w.update(c.ID, cloud.CertificateMaterial{Domains: []string{"example.com"}})
	w.settle(c.ID, func(c *cloud.Certificate) bool { return c.NextID != "" })
	c = w.record(c.ID)
	require.Equal(t, cloud.StateUpdating, c.State)
	require.Len(t, w.objects(c.ID), 2)
	require.Equal(t, first, c.View().ProviderID, "the former one serves while the new one is issued")
	require.Equal(t, []string{"example.com", "www.example.com"}, c.Names, "and its names are shown")

	w.settle(c.ID, func(c *cloud.Certificate) bool { return c.State == cloud.StateReady && c.Message != "" })
	c = w.record(c.ID)
	require.NotEqual(t, first, c.Current.ProviderID)
	require.Equal(t, []string{"example.com"}, c.Names)
	require.Contains(t, c.Message, "Make sure the certificate is not in use", "a refused removal is a message")
	require.Equal(t, cloud.StepRetry, w.load(c.ID).Step, "and is tried again")
	require.Len(t, w.objects(c.ID), 2)
	require.Equal(t, cloud.StepRetry, w.step(c.ID, w.refreshed(c.ID)).Step)
	require.Equal(t, c.Message, w.record(c.ID).Message, "the message does not flap")

	w.raw(http.MethodDelete, "/v2/load_balancers/"+balancer, "")
	w.settle(c.ID)
	require.Len(t, w.objects(c.ID), 1)
	require.Empty(t, w.record(c.ID).Message)
	require.Equal(t, []cloud.EventType{
		cloud.EventCertificateCreated, cloud.EventCertificateReady, cloud.EventCertificateUpdating, cloud.EventCertificateUpdated,
	}, w.events(c.ID))
}

// refreshed lets the time until the next retry pass.
func (w *certWorld) refreshed(id string) cloud.Next {
	w.t.Helper()
	next := w.load(id)
	require.Equal(w.t, cloud.StepRetry, next.Step)
	w.clock.Advance(next.RetryAt.Sub(w.clock.Now()))
	return w.load(id)
}

func TestACertificateInUseIsDeletedWhenNothingUsesItAnyMore(t *testing.T) {
	t.Parallel()
	w := newCertWorld(t)
	c := w.upload("web", quarter)
	w.settle(c.ID)
	balancer := w.balance(w.record(c.ID).Current.ProviderID)
	w.delete(c.ID)
	w.settle(c.ID, func(c *cloud.Certificate) bool { return c.Message != "" })
	require.Equal(t, cloud.StateDeleting, w.record(c.ID).State)
	require.Contains(t, w.record(c.ID).Message, "load balancer")
	require.Len(t, w.objects(c.ID), 1)
	w.raw(http.MethodDelete, "/v2/load_balancers/"+balancer, "")
	require.Equal(t, cloud.StepEnd, w.settle(c.ID).Step)
	require.Empty(t, w.objects(c.ID))
}

func TestAnIssueThatFailedIsTriedAgainAfterAnHourOrAtOnceByHand(t *testing.T) {
	t.Parallel()
	w := newCertWorld(t)
	w.fault(http.MethodPost, "/v2/certificates", 2, simulator.Effect{Fail: "no DNS"})
	c := w.issued("web")
	began := w.clock.Now()
	failed := func(c *cloud.Certificate) bool { return c.State == cloud.StateError }
	w.settle(c.ID, failed)
	require.Contains(t, w.record(c.ID).Message, "could not issue")
	for w.clock.Now().Before(began.Add(50 * time.Minute)) {
		w.step(c.ID, w.refreshed(c.ID))
		require.Equal(t, []string{http.MethodPost}, w.writes(), "issuers count failures")
	}
	w.settle(c.ID, func(c *cloud.Certificate) bool { return c.Serial == 1 && c.NextID != "" })
	require.Len(t, w.objects(c.ID), 1, "the failed one is gone")
	w.clock.Advance(issueTime)
	w.step(c.ID, w.load(c.ID))
	require.Equal(t, cloud.StepRetry, w.load(c.ID).Step, "it failed again")

	require.NoError(t, w.rules.OperatorRefreshCertificate(context.Background(), c.ID))
	require.Equal(t, cloud.StepRest, w.settle(c.ID).Step)
	require.Less(t, w.clock.Now(), began.Add(2*time.Hour))
	require.Len(t, w.objects(c.ID), 1)
	require.Equal(t, []cloud.EventType{cloud.EventCertificateCreated, cloud.EventCertificateFailed, cloud.EventCertificateReady}, w.events(c.ID), "told once")
}

func TestMaterialThatWentBadIsAnErrorUntilItIsReplaced(t *testing.T) {
	t.Parallel()
	w := newCertWorld(t)
	c := w.upload("web", time.Hour)
	w.clock.Advance(2 * time.Hour) // it expired before the worker came
	require.Equal(t, cloud.StepRetry, w.step(c.ID, w.load(c.ID)).Step)
	require.Equal(t, "the certificate has expired", w.record(c.ID).Message)
	require.Empty(t, w.writes())
	w.update(c.ID, w.material("new", quarter))
	require.Equal(t, cloud.StepRest, w.settle(c.ID).Step)
	w.update(c.ID, w.material("newer", quarter))
	w.material("newer", quarter) // somebody puts another key in its place
	w.settle(c.ID, func(c *cloud.Certificate) bool { return c.State == cloud.StateError })
	require.Equal(t, "the private key is not the one of the leaf", w.record(c.ID).Message, "the key is opened just before the call")
	require.Len(t, w.objects(c.ID), 1, "the former one serves on")
}

func (w *certWorld) sweep() activities.SweepResult {
	w.t.Helper()
	w.clock.Advance(settings.Refresh)
	sweeps := &activities.Sweeps{
		Store: w.db.Store, Certificates: w.db.Store, Records: w.db.Store, Accounts: certAccounts{w}, Settings: settings, Now: w.clock.Now, Log: w.acts.Log,
	}
	result, err := sweeps.SweepAccount(context.Background(), activities.SweepInput{Account: pgtest.AccountAcme})
	require.NoError(w.t, err)
	return result
}

func TestASweepSeesEveryCertificateForOneList(t *testing.T) {
	t.Parallel()
	w := newCertWorld(t)
	issued, uploaded, lost := w.issued("issued"), w.upload("uploaded", 2*quarter), w.upload("lost", 2*quarter)
	for _, c := range []*cloud.Certificate{issued, uploaded, lost} {
		w.settle(c.ID)
	}
	require.NoError(t, w.sim.ClearRequests(context.Background()))
	w.db.Exec("DELETE FROM outbox")
	result := w.sweep()
	require.Equal(t, activities.SweepResult{Lists: 1, Compared: 3, NextIn: result.NextIn}, result, "what did not change is not written")
	requests, err := w.sim.Requests(context.Background(), "", 0)
	require.NoError(t, err)
	require.Len(t, requests, 1)

	// A renewal by the provider is recorded by the sweep itself.
	before := w.record(issued.ID).NotAfter
	w.clock.Advance(61 * 24 * time.Hour)
	require.Equal(t, 1, w.sweep().Changed)
	require.Greater(t, w.record(issued.ID).NotAfter, before)
	require.Zero(t, w.sweep().Changed)
	require.Equal(t, cloud.EventCertificateUpdated, w.events(issued.ID)[2])
	require.Empty(t, w.nudged())

	// One that vanished is doubted by the sweep and judged by its own look (D4).
	w.raw(http.MethodDelete, "/v2/certificates/"+w.record(lost.ID).Current.ProviderID, "")
	require.Equal(t, 1, w.sweep().Suspect)
	require.Equal(t, cloud.StateReady, w.record(lost.ID).State)
	require.Equal(t, []string{lost.ID}, w.nudged())
	require.Equal(t, cloud.StepRetry, w.step(lost.ID, w.load(lost.ID)).Step)
	require.Contains(t, w.record(lost.ID).Message, "no longer exists")
	require.NoError(t, w.sim.ClearRequests(context.Background()))
	w.delete(lost.ID)
	require.Equal(t, cloud.StepEnd, w.settle(lost.ID).Step)
	require.Empty(t, w.writes(), "its end needs no call that changes anything")
}

func (w *certWorld) nudged() []string {
	w.t.Helper()
	ids := pgtest.Value[[]string](w.db, "SELECT coalesce(array_agg(workflow_id ORDER BY workflow_id), '{}') FROM outbox WHERE workflow_type = 'Certificate'")
	w.db.Exec("DELETE FROM outbox")
	return ids
}

func TestAnUnreachableAccountKeepsCertificatesAsTheyAre(t *testing.T) {
	t.Parallel()
	w := newCertWorld(t)
	c, waiting := w.upload("web", quarter), w.upload("later", quarter)
	w.settle(c.ID)
	w.fault("*", "/v2/**", 1000, simulator.Effect{Status: http.StatusUnauthorized, Body: map[string]any{"id": "unauthorized", "message": "Unable to authenticate you"}})
	require.True(t, w.sweep().Unreachable)
	require.Contains(t, w.record(c.ID).Message, "does not answer for us")
	require.Equal(t, cloud.StateReady, w.record(c.ID).State)
	for range 20 {
		w.step(waiting.ID, w.load(waiting.ID))
	}
	require.Equal(t, cloud.StatePending, w.record(waiting.ID).State, "D8")
	require.NoError(t, w.sim.ClearFaults(context.Background()))
	w.settle(waiting.ID)
	require.Equal(t, cloud.StateReady, w.record(waiting.ID).State)
}

func TestAnObjectThatIsNotOursIsNeverTouched(t *testing.T) {
	t.Parallel()
	w := newCertWorld(t)
	theirs := w.raw(http.MethodPost, "/v2/certificates", `{"name":"theirs","type":"lets_encrypt","dns_names":["example.org"]}`)["certificate"].(map[string]any)["id"].(string)
	c := w.upload("web", quarter)
	w.settle(c.ID)
	w.db.Exec("UPDATE certificates SET provider_id = $2 WHERE id = $1", c.ID, theirs) // a wrong record, as from a mixed-up backup
	w.delete(c.ID)
	require.Equal(t, cloud.StepRetry, w.step(c.ID, w.load(c.ID)).Step)
	require.Equal(t, cloud.StateError, w.record(c.ID).State)
	require.Contains(t, w.record(c.ID).Message, "nothing was deleted there")
	require.Equal(t, []string{http.MethodPost, http.MethodPost}, w.writes())
}
