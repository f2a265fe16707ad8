package doapi

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"time"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
)

// Verb is what a call does; the same status means different things for
// different verbs.
type Verb string

// The verbs.
const (
	Look    Verb = "observe"
	List    Verb = "list"
	Create  Verb = "create"
	Change  Verb = "update"
	Delete  Verb = "delete"
	Label   Verb = "label"
	Unlabel Verb = "unlabel"
)

// Meaning changes what Fail makes of an error, where a product means something
// of its own by a status.
type Meaning func(*failure)

type failure struct {
	classes map[int]cloud.Class
	hidden  []string
	fields  []string
}

// Means gives a status another class (403 as busy, say). A status that tells
// of the account keeps its meaning: see Account.Fail.
func Means(status int, class cloud.Class) Meaning {
	return func(f *failure) { f.classes[status] = class }
}

// Fields names the spec fields that a refusal of this call is about, without
// "spec." before them.
func Fields(names ...string) Meaning {
	return func(f *failure) {
		for _, n := range names {
			f.fields = append(f.fields, "spec."+n)
		}
	}
}

// Hide scrubs these values from the message.
func Hide(secrets map[string]cloud.Secret) Meaning {
	return func(f *failure) {
		for _, s := range secrets {
			f.hidden = append(f.hidden, s.Reveal())
		}
	}
}

// HideText scrubs a value that was sent and is secret in itself.
func HideText(values ...string) Meaning {
	return func(f *failure) { f.hidden = append(f.hidden, values...) }
}

// What the provider's words tell where its status does not. They are narrow: a
// size or region that "is not available" is a refusal, not a name that is taken.
var (
	wordsBusy = regexp.MustCompile(`(?i)in progress|already (being )?(delet|destroy|resiz|migrat|upgrad)` +
		`|being (created|deleted|updated|resized|migrated|upgraded)|pending (action|operation|event)` +
		`|is (currently )?(locked|resizing|migrating|creating|upgrading|busy|provisioning|updating)` +
		`|not (yet )?(ready|online|active)\b|another operation|try again|(under|during) maintenance`)
	wordsExists = regexp.MustCompile(`(?i)already (exists|in use|taken|used)|name exists|\bname\b.*\bnot available` +
		`|must be unique|has (already )?been taken|duplicate|\bname\b.*\bin use`)
	wordsAccount = regexp.MustCompile(`(?i)account\b.*\block|lock.*\baccount|\bscope|suspend|not authorized|unauthorized` +
		`|unable to authenticate|do not have access|missing permission|(access|api|invalid) token`)
)

// Fail turns any error of a call into a *cloud.ProviderError; nil stays nil.
//
//	401, 402, and 403 unless Means says otherwise   Unreachable (the account)
//	403 on Unlabel                                  Refused (of the release)
//	404 Create                                      Refused; else NotFound
//	409, 422 "exists" on Create                     Exists
//	409, 412, 423, and 422 "operation running"      Busy
//	410                                             Unsupported
//	429                                             Throttled, with RetryAfter
//	other 4xx                                       Refused
//	5xx, 408, time-out, no or unreadable answer     Unknown
func (a *Account) Fail(op string, v Verb, err error, how ...Meaning) error {
	if err == nil {
		return nil
	}
	f := failure{classes: map[int]cloud.Class{}}
	for _, h := range how {
		h(&f)
	}
	if a != nil {
		f.hidden = append(f.hidden, a.Access.Token.Reveal())
	}
	var known *cloud.ProviderError
	if errors.As(err, &known) { // the budget's, or one that passed here before
		e := *known
		if e.Op == "" {
			e.Op = op
		}
		return &e
	}
	var answer *godo.ErrorResponse
	if !errors.As(err, &answer) || answer.Response == nil {
		return noAnswer(op, err)
	}
	e := &cloud.ProviderError{
		Op: op, Status: answer.Response.StatusCode,
		Message: clean(answer.Message, f.hidden), RequestID: clean(answer.RequestID, f.hidden),
	}
	e.Class = f.class(v, e.Status, e.Message)
	if e.Message == "" {
		e.Message = http.StatusText(e.Status)
	}
	if e.Class == cloud.ClassThrottled {
		e.RetryAfter = retryAfter(answer.Response.Header, time.Now())
	}
	if e.Class == cloud.ClassRefused {
		e.Fields = f.fields
	}
	return e
}

func (f failure) class(v Verb, status int, message string) cloud.Class {
	if status == http.StatusForbidden && wordsAccount.MatchString(message) && v != Unlabel {
		return cloud.ClassUnreachable
	}
	if c, ok := f.classes[status]; ok {
		return c
	}
	exists := v == Create && wordsExists.MatchString(message)
	busy := wordsBusy.MatchString(message)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired:
		return cloud.ClassUnreachable
	case status == http.StatusForbidden && v == Unlabel:
		return cloud.ClassRefused
	case status == http.StatusForbidden:
		return cloud.ClassUnreachable
	case status == http.StatusNotFound && v == Create:
		return cloud.ClassRefused
	case status == http.StatusNotFound:
		return cloud.ClassNotFound
	case status == http.StatusConflict && v == Create && !busy,
		status == http.StatusUnprocessableEntity && exists:
		return cloud.ClassExists
	case status == http.StatusConflict, status == http.StatusPreconditionFailed, status == http.StatusLocked,
		status == http.StatusUnprocessableEntity && busy:
		return cloud.ClassBusy
	case status == http.StatusGone:
		return cloud.ClassUnsupported
	case status == http.StatusTooManyRequests:
		return cloud.ClassThrottled
	case status == http.StatusRequestTimeout, status < 400, status >= 500:
		return cloud.ClassUnknown
	}
	return cloud.ClassRefused
}

// noAnswer is an error without an answer that we understand. Whether a change
// was made is not known, whatever went wrong.
func noAnswer(op string, err error) error {
	e := &cloud.ProviderError{Class: cloud.ClassUnknown, Op: op, Message: "no usable answer from the provider"}
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		e.Message, e.Err = "the call was cancelled", context.Canceled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		e.Message, e.Err = "no answer in time", context.DeadlineExceeded
	case isBodyError(err):
		e.Message = "the provider's answer cannot be read"
	}
	return e
}
