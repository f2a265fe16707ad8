package worker

import (
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
)

// Connect makes a client from the SDK's usual environment (TEMPORAL_ADDRESS,
// TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS..., or a profile of its
// configuration file). It does not connect yet, so that a process starts while
// Temporal is down. The SDK's metrics go to reg (nil: nowhere), its log to log.
// It returns the namespace, too.
func Connect(log *slog.Logger, reg prometheus.Registerer) (client.Client, string, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, "", fmt.Errorf("temporal settings: %w", err)
	}
	if options.HostPort == "" {
		options.HostPort = client.DefaultHostPort
	}
	if options.Namespace == "" {
		options.Namespace = client.DefaultNamespace
	}
	options.Logger = sdklog.NewStructuredLogger(log.With("part", "temporal"))
	if reg != nil {
		options.MetricsHandler = NewMetricsHandler(reg)
	}
	c, err := client.NewLazyClient(options)
	if err != nil {
		return nil, "", fmt.Errorf("temporal client: %w", err)
	}
	return c, options.Namespace, nil
}
