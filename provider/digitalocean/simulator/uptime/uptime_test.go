package uptime_test

import (
	"context"
	"testing"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/uptime"
)

func TestChecksHaveAlertsThatGoWithThem(t *testing.T) {
	ctx := context.Background()
	s := spectest.Start(t, uptime.Area())
	c, _, err := s.Client.UptimeChecks.Create(ctx, &godo.CreateUptimeCheckRequest{
		Name: "site", Type: "https", Target: "https://example.com", Regions: []string{"us_east"}, Enabled: true,
	})
	require.NoError(t, err)
	_, _, err = s.Client.UptimeChecks.Create(ctx, &godo.CreateUptimeCheckRequest{Name: "site", Type: "smtp", Target: "x", Regions: []string{"us_east"}})
	require.ErrorContains(t, err, "type must be")
	c, _, err = s.Client.UptimeChecks.Update(ctx, c.ID, &godo.UpdateUptimeCheckRequest{
		Name: "site", Type: "http", Target: "http://example.com", Regions: []string{"eu_west", "us_east"}, Enabled: false,
	})
	require.NoError(t, err)
	require.False(t, c.Enabled)
	_, _, err = s.Client.UptimeChecks.GetState(ctx, c.ID)
	require.NoError(t, err)

	to := &godo.Notifications{Email: []string{"ops@example.com"}, Slack: []godo.SlackDetails{}}
	a, _, err := s.Client.UptimeChecks.CreateAlert(ctx, c.ID, &godo.CreateUptimeAlertRequest{
		Name: "slow", Type: "latency", Threshold: 300, Comparison: godo.UptimeAlertGreaterThan, Period: "2m", Notifications: to,
	})
	require.NoError(t, err)
	a, _, err = s.Client.UptimeChecks.UpdateAlert(ctx, c.ID, a.ID, &godo.UpdateUptimeAlertRequest{
		Name: "slow", Type: "latency", Threshold: 500, Comparison: godo.UptimeAlertGreaterThan, Period: "5m", Notifications: to,
	})
	require.NoError(t, err)
	require.Equal(t, 500, a.Threshold)
	_, _, err = s.Client.UptimeChecks.GetAlert(ctx, c.ID, a.ID)
	require.NoError(t, err)
	list, _, err := s.Client.UptimeChecks.ListAlerts(ctx, c.ID, nil)
	require.NoError(t, err)
	require.Len(t, list, 1)
	_, err = s.Client.UptimeChecks.DeleteAlert(ctx, c.ID, a.ID)
	require.NoError(t, err)
	_, _, err = s.Client.UptimeChecks.List(ctx, nil)
	require.NoError(t, err)
	_, _, err = s.Client.UptimeChecks.Get(ctx, c.ID)
	require.NoError(t, err)
	_, err = s.Client.UptimeChecks.Delete(ctx, c.ID)
	require.NoError(t, err)
	s.RequireCovered(uptime.Area())
}
