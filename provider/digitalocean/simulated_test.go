package digitalocean_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

// TestSignalsOfTheSimulator: from a raised signal to the attention list, over
// the kind's own environments.
func TestSignalsOfTheSimulator(t *testing.T) {
	opened, control := kindtest.Open(t)
	kind, _ := opened.Kind("do.harness.environment")
	ctx := context.Background()
	create := func(name string) string {
		id := cloud.ResourceID("acme", "tester", name)
		o, err := kind.Create(ctx, cloud.Request{ResourceID: id, ProviderName: cloud.ProviderName(id), Spec: cloud.Spec{"manifest_yaml": "agent: codex\n"}})
		require.NoError(t, err)
		return o.ProviderID
	}
	loud, quiet := create("loud"), create("quiet")
	at := time.Now().UTC().Truncate(time.Second)
	for i, kind := range []string{"SatisfactionGratitude", "ExecutionLoopsRetry", "RunFailed", "DisengagementEscalation"} {
		when := at.Add(time.Duration(i-10) * time.Minute)
		require.NoError(t, control.Raise(ctx, simulator.Signal{Account: kindtest.Token, Environment: loud, Type: kind, At: &when}))
	}
	old := at.Add(-30 * 24 * time.Hour)
	for _, s := range []simulator.Signal{
		{Environment: quiet, Type: "RunFailed"},                         // in a session without any hit
		{Environment: loud, Type: "ExecutionLoopsRetry", At: &old},      // too old
		{Environment: loud, Type: "DisengagementQuit", Malformed: true}, // dropped, alone
		{Environment: quiet, Type: "SessionFailed"},
	} {
		s.Account = kindtest.Token
		require.NoError(t, control.Raise(ctx, s))
	}
	require.NoError(t, control.ClearRequests(ctx))
	first, err := opened.Signals(ctx)
	require.NoError(t, err)
	again, err := opened.Signals(ctx)
	require.NoError(t, err)
	require.Equal(t, first, again, "ids and order stay")
	requests, err := control.Requests(ctx, kindtest.Token, 0)
	require.NoError(t, err)
	for _, r := range requests {
		require.Equal(t, "GET", r.Method)
	}
	type line struct {
		about, title string
		severity     cloud.Severity
	}
	var got []line
	for i, s := range first {
		if i > 0 {
			require.LessOrEqual(t, s.At, first[i-1].At, "newest first")
		}
		require.Equal(t, "do.harness.environment", s.Kind)
		require.NotContains(t, s.Detail, "\n")
		got = append(got, line{s.ProviderID, s.Title, s.Severity})
	}
	require.ElementsMatch(t, []line{
		{quiet, "A session failed", cloud.SeverityCritical},
		{quiet, "A run failed", cloud.SeverityCritical},
		{loud, "User asked for a human", cloud.SeverityCritical},
		{loud, "A run failed", cloud.SeverityCritical},
		{loud, "Retrying in a loop", cloud.SeverityWarning},
		{loud, "User said thanks", cloud.SeverityInfo},
	}, got)
}

// TestCatalogOfTheSimulator: what the embedded provider lists is installable on
// one of the two.
func TestCatalogOfTheSimulator(t *testing.T) {
	opened, _ := kindtest.Open(t)
	all, err := opened.Catalog(context.Background(), "")
	require.NoError(t, err)
	count := 0
	for _, on := range []string{"instance", "kubernetes"} {
		some, err := opened.Catalog(context.Background(), on)
		require.NoError(t, err)
		require.NotEmpty(t, some)
		for _, item := range some {
			require.Equal(t, on, item.InstallsOn)
		}
		count += len(some)
	}
	require.Len(t, all, count)
}
