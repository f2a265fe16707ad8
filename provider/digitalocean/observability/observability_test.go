package observability_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/observability"
)

func TestCheck(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind:    "do.uptime.check",
		Create:  "POST /v2/uptime/checks",
		Objects: "uptime.check",
		Updates: []cloud.Spec{
			{"type": "http", "target": "http://example.com"}, {"regions": []any{"se_asia", "us_west"}},
			{"enabled": false}, {"enabled": nil},
		},
	})
}

func TestAlert(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind:    "do.uptime.alert",
		Create:  "POST /v2/uptime/checks/*/alerts",
		Objects: "uptime.alert",
		Updates: []cloud.Spec{
			{"threshold": 500, "comparison": "less_than", "period": "10m"}, {"type": "ssl_expiry"},
			{"notifications": map[string]any{"email": []any{"a@example.com", "B@example.com"}}},
			{"notifications": map[string]any{"slack": []any{map[string]any{"channel": "#ops", "url": "secret://acme/hook"}}}},
		},
		Secrets: map[string]cloud.Secret{"secret://acme/hook": cloud.NewSecret("https://hooks.example.com/CANARY")},
	})
}

func TestAnAlertNeedsWhatItsTypeCompares(t *testing.T) {
	check := observability.Alert(nil).(cloud.SpecChecker).CheckSpec
	to := map[string]any{"email": []any{"ops@example.com"}}
	require.NoError(t, check(cloud.Spec{"type": "down", "notifications": to}))
	for field, spec := range map[string]cloud.Spec{
		"spec.threshold":     {"type": "latency", "comparison": "greater_than", "notifications": to},
		"spec.comparison":    {"type": "ssl_expiry", "threshold": 7, "notifications": to},
		"spec.notifications": {"type": "down", "notifications": map[string]any{"email": []any{}}},
	} {
		t.Run(field, func(t *testing.T) {
			require.Equal(t, []string{field}, cloud.AsError(check(spec)).Details["fields"])
		})
	}
}
