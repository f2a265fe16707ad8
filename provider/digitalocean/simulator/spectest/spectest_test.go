package spectest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

func TestUnknownPathIsAnErrorOfTheDocument(t *testing.T) {
	sim := spectest.Start(t)
	_, response, err := sim.Client.Account.Get(context.Background())
	require.Error(t, err)
	require.Equal(t, 404, response.StatusCode)
}
