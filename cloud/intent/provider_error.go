package intent

import (
	"errors"

	"github.com/better-compute/cloud-resources/cloud"
)

// providerError tells a caller what a provider answered to a read. What is a
// *cloud.Error already (the account cannot be opened) stays.
func providerError(what string, err error) error {
	var known *cloud.Error
	if errors.As(err, &known) {
		return known
	}
	var p *cloud.ProviderError
	if !errors.As(err, &p) {
		return &cloud.Error{Code: cloud.CodeProviderError, Message: what + ": the provider gave no usable answer", Err: err}
	}
	e := &cloud.Error{Code: cloud.CodeProviderError, Message: what + ": " + p.Message, Err: err}
	switch p.Class {
	case cloud.ClassThrottled:
		e.Code, e.Message = cloud.CodeThrottled, what+": the provider account's allowance of requests is used up for now"
		e.RetryAfter = p.RetryAfter
	case cloud.ClassUnsupported:
		e.Code = cloud.CodeUnsupported
	case cloud.ClassUnreachable:
		e.Message = what + ": the provider account does not answer for us"
	case cloud.ClassUnknown:
		e.Message = what + ": the provider did not answer"
	}
	if p.RequestID != "" {
		e = e.With("providerRequestId", p.RequestID)
	}
	return e
}
