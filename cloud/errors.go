package cloud

import (
	"errors"
	"fmt"
	"maps"
	"time"
)

// Code is what kind of refusal a caller gets; the HTTP layer maps it to a
// status in one table.
type Code string

// The codes callers see.
const (
	CodeInvalidInput    Code = "INVALID_INPUT"
	CodeUnauthenticated Code = "UNAUTHENTICATED"
	CodeAccessDenied    Code = "ACCESS_DENIED"
	CodeNotFound        Code = "NOT_FOUND"
	CodeConflict        Code = "CONFLICT"
	CodeInvalidState    Code = "INVALID_STATE"
	CodeUnsupported     Code = "UNSUPPORTED"
	CodeQuotaExceeded   Code = "QUOTA_EXCEEDED"
	CodeBudgetExceeded  Code = "BUDGET_EXCEEDED"
	CodeThrottled       Code = "THROTTLED"
	CodeProviderError   Code = "PROVIDER_ERROR"
	CodeUnavailable     Code = "UNAVAILABLE"
	CodeInternal        Code = "INTERNAL"
)

// Reasons that callers branch on, in details.reason.
const (
	ReasonAccountWide      = "accountWide"
	ReasonInstance         = "instance"
	ReasonNetwork          = "network"
	ReasonIdentity         = "identity"
	ReasonName             = "name"
	ReasonIdempotencyKey   = "idempotencyKey"
	ReasonReplaceRequired  = "replaceRequired"
	ReasonAdopting         = "adopting"
	ReasonPreview          = "preview"
	ReasonSecretStore      = "secretStore"
	ReasonNotAccountOwner  = "notAccountOwner"
	ReasonManagedByAnother = "managedByAnother"
	ReasonQuotaBooked      = "quotaBooked"
	ReasonRelease          = "release"
	ReasonAdopt            = "adopt"
	ReasonVersion          = "version"
	ReasonOfferSuspended   = "offerSuspended"
	ReasonRegionExcluded   = "regionExcluded"
	ReasonRecorded         = "recorded"
	ReasonParent           = "parent"
	ReasonSecretRef        = "secretRef"
	ReasonChildren         = "children"
	ReasonDeleting         = "deleting"
	ReasonNotAccepted      = "notAccepted"
)

// Error is the one error type that reaches a caller. Details hold only what
// the caller may know (D22): never another tenant's ids, never a secret.
type Error struct {
	Code    Code
	Message string
	Details map[string]any
	// RetryAfter is set with CodeThrottled.
	RetryAfter time.Duration
	// Err is what happened underneath; it goes to the log, never to a caller.
	Err error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// Reason is details.reason, or "".
func (e *Error) Reason() string { r, _ := e.Details["reason"].(string); return r }

// With returns a copy with one more detail.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Details = maps.Clone(e.Details)
	if c.Details == nil {
		c.Details = map[string]any{}
	}
	c.Details[key] = value
	return &c
}

// Because returns a copy with details.reason set.
func (e *Error) Because(reason string) *Error { return e.With("reason", reason) }

// Errorf makes an Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// InvalidField is CODE INVALID_INPUT naming the fields that are wrong.
func InvalidField(message string, fields ...string) *Error {
	return Errorf(CodeInvalidInput, "%s", message).With("fields", fields)
}

// AsError finds the *Error in err. Anything else becomes CodeInternal with
// err kept for the log; nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInternal, Message: "internal error", Err: err}
}

// Class says what a provider's failure means for the work, whatever status or
// body it came with. Workflow code branches on the class only.
type Class string

// The classes of provider failures.
const (
	// ClassNotFound: the object is not there (or not yet; the caller knows the age).
	ClassNotFound Class = "NotFound"
	// ClassBusy: something else runs on the object or its parent; try at the next look.
	ClassBusy Class = "Busy"
	// ClassRefused: final for this spec until it changes or the 5-minute retry (D6).
	ClassRefused Class = "Refused"
	// ClassExists: a create found the name or identity taken; look up whose it is.
	ClassExists Class = "Exists"
	// ClassNotManaged: the object is not ours; nothing was done to it.
	ClassNotManaged Class = "NotManaged"
	// ClassThrottled: not processed; RetryAfter says when to come back.
	ClassThrottled Class = "Throttled"
	// ClassUnreachable: the account (token, lock, rights) does not answer for us (D8).
	ClassUnreachable Class = "Unreachable"
	// ClassUnknown: the outcome is not known (time-out, 5xx, lost connection):
	// look before doing it again.
	ClassUnknown Class = "Unknown"
	// ClassUnsupported: the provider has no such ability.
	ClassUnsupported Class = "Unsupported"
)

// ProviderError is what a provider answered, without any body or secret.
type ProviderError struct {
	Class Class
	// Op is the verb and kind, e.g. "create do.app".
	Op string
	// Status is the HTTP status, 0 when no answer arrived.
	Status int
	// Message is the provider's words, cut to 500 characters and scrubbed.
	Message string
	// RequestID is the provider's own id of the request, for a support ticket.
	RequestID string
	// Fields names the spec fields that the provider refused, where known.
	Fields []string
	// RetryAfter is how long to wait, for ClassThrottled.
	RetryAfter time.Duration
	Err        error
}

func (e *ProviderError) Error() string {
	s := fmt.Sprintf("%s: %s", e.Op, e.Message)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.RequestID != "" {
		s += fmt.Sprintf(" (request %s)", e.RequestID)
	}
	return s
}

func (e *ProviderError) Unwrap() error { return e.Err }

// ClassOf is the class of err: ClassUnknown for an error that carries none,
// "" for nil.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	var p *ProviderError
	if errors.As(err, &p) {
		return p.Class
	}
	return ClassUnknown
}

// IsNotFound reports whether err says that the object is not there.
func IsNotFound(err error) bool { return ClassOf(err) == ClassNotFound }

// NotFound is a ProviderError of ClassNotFound, for kinds whose list has no
// such object.
func NotFound(op string) *ProviderError {
	return &ProviderError{Class: ClassNotFound, Op: op, Message: "not found"}
}

// Refuse is a ProviderError of ClassRefused for what a kind can tell without
// asking the provider.
func Refuse(op, message string, fields ...string) *ProviderError {
	return &ProviderError{Class: ClassRefused, Op: op, Message: message, Fields: fields}
}
