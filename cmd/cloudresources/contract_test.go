package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The periods of the contract are what a deployment has that sets none.
func TestPeriodsOfTheContract(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://example")
	for _, name := range []string{"CONVERGE_INTERVAL", "REFRESH_INTERVAL", "SETTLE_WINDOW"} {
		t.Setenv(name, "")
	}
	c, err := readConfig()
	require.NoError(t, err)
	s := c.settings()
	require.Equal(t, 30*time.Second, s.Converge, "what is on its way is looked at so often")
	require.Equal(t, 5*time.Minute, s.Refresh, "what is ready or failed so often")
	require.Equal(t, 2*time.Minute, s.Settle, "how long absence means not yet (D3)")
}
