// Package simtest starts a simulator for the tests of other packages: everything
// the product would see, in milliseconds.
package simtest

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

// Settings are fast: whatever takes time takes some tens of milliseconds, and the
// rate limits are out of the way of a busy test.
func Settings() simulator.Settings {
	settings := simulator.DefaultSettings()
	settings.ProvisionTime = simulator.Duration(60 * time.Millisecond)
	settings.UpdateTime = simulator.Duration(60 * time.Millisecond)
	settings.DeleteTime = simulator.Duration(60 * time.Millisecond)
	settings.BackupAfter = simulator.Duration(60 * time.Millisecond)
	settings.OverlapTime = simulator.Duration(5 * time.Millisecond)
	settings.PerHour = 1_000_000
	settings.PerMinute = 1_000_000
	return settings
}

// Start serves a new in-memory simulator with fast settings on a free port until
// the test ends. The URL is both the API's base and the control surface's.
func Start(t testing.TB) (url string, sim *simulator.Server) {
	t.Helper()
	settings := Settings()
	return StartWith(t, simulator.Options{Settings: &settings})
}

// StartWith is Start with the caller's options.
func StartWith(t testing.TB, opts simulator.Options) (url string, sim *simulator.Server) {
	t.Helper()
	sim, err := simulator.New(opts)
	require.NoError(t, err)
	server := httptest.NewServer(sim)
	t.Cleanup(func() {
		// Close the simulator first: it ends delays that the listener waits for.
		require.NoError(t, sim.Close())
		server.Close()
	})
	return server.URL, sim
}
