package digitalocean

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/certificates"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// account is one opened account.
type account struct {
	*doapi.Account
	kinds map[string]cloud.Kind
}

func (a *account) Kind(name string) (cloud.Kind, bool) {
	k, ok := a.kinds[name]
	return k, ok
}

// Healthy asks for the account itself: one request, which also tells a lock.
func (a *account) Healthy(ctx context.Context) error {
	const op = "check account"
	got, _, err := a.API.Account.Get(ctx)
	switch {
	case err != nil:
		return a.Fail(op, doapi.Look, err)
	case got == nil:
		return &cloud.ProviderError{Class: cloud.ClassUnknown, Op: op, Message: "the answer holds no account"}
	case got.Status == "locked":
		return &cloud.ProviderError{Class: cloud.ClassUnreachable, Op: op, Message: "the account is locked"}
	}
	return nil
}

// Certificates is the account's certificate ability.
func (a *account) Certificates() cloud.Certificates { return certificates.Account{Account: a.Account} }
