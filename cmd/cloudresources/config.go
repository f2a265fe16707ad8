package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/better-compute/cloud-resources/cloud"
)

// config is what the api and the worker read from their environment; the
// TEMPORAL_* variables are the SDK's own. docs/development.md has the table.
type config struct {
	DatabaseURL string `env:"DATABASE_URL,required,notEmpty"`
	APIAddr     string `env:"API_ADDR" envDefault:"127.0.0.1:8080"`
	MetricsAddr string `env:"METRICS_ADDR" envDefault:"127.0.0.1:9090"`
	// SecretsKeyset is the file of the keys that seal secrets; without one the
	// deployment has no secret store.
	SecretsKeyset string        `env:"SECRETS_KEYSET"`
	Converge      time.Duration `env:"CONVERGE_INTERVAL" envDefault:"30s"`
	Refresh       time.Duration `env:"REFRESH_INTERVAL" envDefault:"5m"`
	Settle        time.Duration `env:"SETTLE_WINDOW" envDefault:"2m"`
	LogLevel      slog.Level    `env:"LOG_LEVEL" envDefault:"INFO"`
}

func readConfig() (config, error) {
	c, err := env.ParseAs[config]()
	if err != nil {
		return c, fmt.Errorf("settings: %w", err)
	}
	if addr, set := os.LookupEnv("METRICS_ADDR"); set {
		c.MetricsAddr = addr // an empty one serves no metrics
	}
	for name, d := range map[string]time.Duration{
		"CONVERGE_INTERVAL": c.Converge, "REFRESH_INTERVAL": c.Refresh, "SETTLE_WINDOW": c.Settle,
	} {
		if d < 10*time.Millisecond || d > 24*time.Hour {
			return c, fmt.Errorf("settings: %s is %s; it must lie between 10ms and 24h", name, d)
		}
	}
	return c, nil
}

func (c config) settings() cloud.Settings {
	return cloud.Settings{Converge: c.Converge, Refresh: c.Refresh, Settle: c.Settle}
}

func (c config) logger(w io.Writer, part string) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: c.LogLevel})).With("part", part)
}
