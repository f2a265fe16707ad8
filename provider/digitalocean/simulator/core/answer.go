package core

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Answer is what a handler returns: a status and a body that is written as JSON.
// A nil Body writes none.
type Answer struct {
	Status  int
	Body    any
	Headers map[string]string
}

// Map is a JSON object in an answer.
type Map = map[string]any

// OK answers 200 with the body.
func OK(body any) (Answer, error) { return Answer{Status: http.StatusOK, Body: body}, nil }

// Created answers 201 with the body.
func Created(body any) (Answer, error) { return Answer{Status: http.StatusCreated, Body: body}, nil }

// Accepted answers 202 with the body, or none when it is nil.
func Accepted(body any) (Answer, error) { return Answer{Status: http.StatusAccepted, Body: body}, nil }

// NoContent answers 204.
func NoContent() (Answer, error) { return Answer{Status: http.StatusNoContent}, nil }

// Problem is an error answer. ID is the slug that the API sends beside the
// message.
type Problem struct {
	Status  int
	ID      string
	Message string
	// Body replaces the usual error body where an operation has its own.
	Body any
}

// Error makes a Problem usable as the error of a handler.
func (p *Problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.ID, p.Message) }

// Refuse builds a problem of any status; the id is the API's slug of the status.
// A format is filled in as by fmt.Sprintf.
func Refuse(status int, format string, args ...any) *Problem {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	return &Problem{Status: status, ID: slug(status), Message: message}
}

// BadRequest is 400: a body or parameter that cannot be read.
func BadRequest(format string, args ...any) *Problem {
	return Refuse(http.StatusBadRequest, format, args...)
}

// Forbidden is 403: missing rights, or a product's own way of saying busy.
func Forbidden(format string, args ...any) *Problem {
	return Refuse(http.StatusForbidden, format, args...)
}

// NotFound is 404: absent, not yet visible, or of another account.
func NotFound(format string, args ...any) *Problem {
	return Refuse(http.StatusNotFound, format, args...)
}

// Conflict is 409: a name is taken or the object is in use.
func Conflict(format string, args ...any) *Problem {
	return Refuse(http.StatusConflict, format, args...)
}

// PreconditionFailed is 412: something must happen first.
func PreconditionFailed(format string, args ...any) *Problem {
	return Refuse(http.StatusPreconditionFailed, format, args...)
}

// Unprocessable is 422: a value that the product does not take.
func Unprocessable(format string, args ...any) *Problem {
	return Refuse(http.StatusUnprocessableEntity, format, args...)
}

var slugs = map[int]string{
	http.StatusBadRequest:          "bad_request",
	http.StatusUnauthorized:        "unauthorized",
	http.StatusForbidden:           "forbidden",
	http.StatusNotFound:            "not_found",
	http.StatusConflict:            "conflict",
	http.StatusGone:                "gone",
	http.StatusPreconditionFailed:  "precondition_failed",
	http.StatusUnprocessableEntity: "unprocessable_entity",
	http.StatusLocked:              "locked",
	http.StatusTooManyRequests:     "too_many_requests",
	http.StatusInternalServerError: "server_error",
	http.StatusServiceUnavailable:  "service_unavailable",
}

func slug(status int) string {
	if id, ok := slugs[status]; ok {
		return id
	}
	if status >= 500 {
		return "server_error"
	}
	return "bad_request"
}

func errorBody(area *Area, p *Problem, requestID string) any {
	if p.Body != nil {
		return p.Body
	}
	if area != nil && area.ErrorBody != nil {
		return area.ErrorBody(p, requestID)
	}
	return Map{"id": p.ID, "message": p.Message, "request_id": requestID}
}

// writeAnswer writes the answer; a string body goes out as it is, so that a
// fault can answer a proxy's HTML page.
func writeAnswer(w http.ResponseWriter, a Answer) {
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	if a.Body == nil {
		w.WriteHeader(a.Status)
		return
	}
	raw, isText := a.Body.(string)
	data := []byte(raw)
	if !isText {
		encoded, err := json.Marshal(a.Body)
		if err != nil {
			http.Error(w, "the answer cannot be encoded: "+err.Error(), http.StatusInternalServerError)
			return
		}
		data = encoded
	}
	if w.Header().Get("Content-Type") == "" {
		kind := "application/json; charset=utf-8"
		if isText {
			kind = "text/html; charset=utf-8"
		}
		w.Header().Set("Content-Type", kind)
	}
	w.WriteHeader(a.Status)
	// A client that has gone is no concern of the simulator.
	_, _ = w.Write(data)
}
