package harness_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/harness"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

const manifest = "name: reviewer\nagent: codex\nsecrets:\n  OPENAI_API_KEY: sk-canary\n"

var ctx = context.Background()

func environment(t *testing.T, s *spectest.Sim, name string) *godo.HostedEnvironment {
	t.Helper()
	made, _, err := s.Client.HostedAgents.CreateEnvironment(ctx, &godo.HostedEnvironmentCreateRequest{Name: name, ManifestYAML: manifest})
	require.NoError(t, err)
	return made
}

func TestEnvironments(t *testing.T) {
	t.Parallel()
	s := spectest.Start(t, harness.Area())
	api := s.Client.HostedAgents
	regions, _, err := api.ListRegions(ctx)
	require.NoError(t, err)
	slug, ok := regions.DefaultRegion()
	require.True(t, ok)

	made := environment(t, s, "one")
	require.Equal(t, slug, made.Region)
	require.NotEmpty(t, made.ContentHash)
	require.Len(t, made.Warnings, 1)
	require.Equal(t, []godo.HostedEnvironmentCredentialSlot{{Name: "OPENAI_API_KEY", Source: "tenantSecret"}}, made.Credentials)
	got, _, err := api.GetEnvironment(ctx, made.ID)
	require.NoError(t, err)
	require.NotContains(t, string(got.Manifest), "canary")
	require.Empty(t, got.Warnings, "told at creation only")

	_, response, err := api.CreateEnvironment(ctx, &godo.HostedEnvironmentCreateRequest{Name: "ONE", ManifestYAML: manifest})
	require.ErrorContains(t, err, "already exists")
	require.Equal(t, http.StatusConflict, response.StatusCode)
	for name, text := range map[string]string{"no mapping": "- a\n", "no YAML": "a: b: c", "unknown field": "agent: codex\nx: 1\n", "no agent": "name: a\n", "empty secret": "agent: codex\nsecrets: {A: ''}\n"} {
		_, response, err = api.CreateEnvironment(ctx, &godo.HostedEnvironmentCreateRequest{Name: "two", ManifestYAML: text})
		require.Error(t, err, name)
		require.Equal(t, http.StatusBadRequest, response.StatusCode, name)
	}

	environment(t, s, "two")
	page, _, err := api.ListEnvironments(ctx, &godo.HostedEnvironmentListOptions{PageSize: 1})
	require.NoError(t, err)
	require.Len(t, page.Configs, 1)
	page, _, err = api.ListEnvironments(ctx, &godo.HostedEnvironmentListOptions{PageSize: 1, PageToken: page.NextPageToken})
	require.NoError(t, err)
	require.Equal(t, "two", page.Configs[0].Name)
	require.Empty(t, page.NextPageToken)

	_, err = api.DeleteEnvironment(ctx, made.ID)
	require.NoError(t, err)
	_, response, err = api.GetEnvironment(ctx, made.ID)
	require.Error(t, err)
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	environment(t, s, "one")
}

func TestSessions(t *testing.T) {
	t.Parallel()
	s := spectest.Start(t, harness.Area())
	api := s.Client.HostedAgents
	e := environment(t, s, "one")
	made, _, err := api.CreateSessionFromEnvironment(ctx, &godo.HostedAgentSessionFromEnvironmentRequest{Name: "talk", ConfigID: e.ID})
	require.NoError(t, err)
	require.Equal(t, godo.HostedAgentSessionStatusProvisioning, made.Status)
	s.Clock.Advance(time.Hour)
	got, _, err := api.GetSession(ctx, made.SessionID)
	require.NoError(t, err)
	require.Equal(t, godo.HostedAgentSessionStatusReady, got.Status)
	_, err = api.PauseSession(ctx, made.SessionID)
	require.NoError(t, err)
	_, err = api.PauseSession(ctx, made.SessionID)
	require.Error(t, err)
	list, _, err := api.ListEnvironmentSessions(ctx, e.ID, &godo.HostedAgentSessionListOptions{Status: godo.HostedAgentSessionStatusPaused})
	require.NoError(t, err)
	require.Len(t, list.Sessions, 1)
	require.Equal(t, godo.HostedAgentSessionPauseReasonManual, list.Sessions[0].PauseReason)
	_, err = api.ResumeSession(ctx, made.SessionID)
	require.NoError(t, err)
	_, err = api.DestroySession(ctx, made.SessionID)
	require.NoError(t, err)
	s.Clock.Advance(time.Hour)
	list, _, err = api.ListSessions(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, list.Sessions)
}

func TestSignals(t *testing.T) {
	t.Parallel()
	s := spectest.Start(t, harness.Area())
	e := environment(t, s, "one")
	raise := func(kind string, malformed bool) int {
		status, _ := s.Do("POST", "_simulator/signals", core.Signal{Account: spectest.Token, Environment: e.ID, Type: kind, Malformed: malformed})
		return status
	}
	consent, _, err := s.Client.Signals.GetAgentConsent(ctx, e.ID)
	require.NoError(t, err)
	require.False(t, consent.Enabled, "denied until somebody consents")
	require.Equal(t, http.StatusNoContent, raise("DisengagementEscalation", false))
	require.Equal(t, http.StatusNoContent, raise("RunFailed", false))
	require.Equal(t, http.StatusNoContent, raise("SessionFailed", false))
	require.Equal(t, http.StatusBadRequest, raise("", false))

	sessions, _, err := s.Client.Signals.ListAgentSessions(ctx, e.ID, nil)
	require.NoError(t, err)
	require.Len(t, sessions.Edges, 1)
	require.Equal(t, 1, sessions.Edges[0].Node.SignalCount)
	said, _, err := s.Client.Signals.ListSessionDialogues(ctx, sessions.Edges[0].Node.SessionID, nil)
	require.NoError(t, err)
	require.Len(t, said.Edges, 2)
	require.Equal(t, "failed", said.Edges[0].Node.RunStatus)
	require.Equal(t, "User asked for a human", said.Edges[1].Node.Signals[0].Label)
	failed, _, err := s.Client.HostedAgents.ListEnvironmentSessions(ctx, e.ID, &godo.HostedAgentSessionListOptions{Status: godo.HostedAgentSessionStatusFailed})
	require.NoError(t, err)
	require.Len(t, failed.Sessions, 1)

	future := s.Clock.Now().Add(time.Hour).Unix()
	sessions, _, err = s.Client.Signals.ListAgentSessions(ctx, e.ID, &godo.SignalsListAgentSessionsOptions{StartTime: &future})
	require.NoError(t, err)
	require.Empty(t, sessions.Edges)
	options, _, err := s.Client.Signals.GetExportOptions(ctx)
	require.NoError(t, err)
	require.Contains(t, options.Filters.SignalType, "DisengagementEscalation")

	_, _, err = s.Client.Signals.SetAgentConsent(ctx, e.ID, false)
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, raise("DisengagementQuit", false), "nothing is collected")
	consents, _, err := s.Client.Signals.ListConsents(ctx)
	require.NoError(t, err)
	require.Len(t, consents.Consents, 1)
	_, _, err = s.Client.Signals.SetAgentConsent(ctx, e.ID, true)
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, raise("anything", true))
	_, _, err = s.Client.Signals.ListSessionDialogues(ctx, failed.Sessions[0].SessionID, nil)
	require.NoError(t, err)
}
