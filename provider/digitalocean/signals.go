package digitalocean

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// Signals are not served before there is a kind that raises them.
func (a *account) Signals(context.Context) ([]cloud.Signal, error) {
	return nil, &cloud.ProviderError{Class: cloud.ClassUnsupported, Op: "list signals", Message: "this provider raises no signals"}
}
