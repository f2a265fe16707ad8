package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/better-compute/cloud-resources/cloud"
)

// statuses maps each code to its HTTP status.
var statuses = map[cloud.Code]int{
	cloud.CodeInvalidInput:    http.StatusBadRequest,
	cloud.CodeUnauthenticated: http.StatusUnauthorized,
	cloud.CodeAccessDenied:    http.StatusForbidden,
	cloud.CodeNotFound:        http.StatusNotFound,
	cloud.CodeConflict:        http.StatusConflict,
	cloud.CodeInvalidState:    http.StatusConflict,
	cloud.CodeUnsupported:     http.StatusUnprocessableEntity,
	cloud.CodeQuotaExceeded:   http.StatusForbidden,
	cloud.CodeBudgetExceeded:  http.StatusForbidden,
	cloud.CodeThrottled:       http.StatusTooManyRequests,
	cloud.CodeProviderError:   http.StatusBadGateway,
	cloud.CodeUnavailable:     http.StatusServiceUnavailable,
	cloud.CodeInternal:        http.StatusInternalServerError,
}

type errorBody struct {
	Error errorContent `json:"error"`
}

type errorContent struct {
	Code    cloud.Code     `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// writeError writes every error body there is.
func (s *server) writeError(err error, c echo.Context) {
	e, status := s.classify(err)
	n := noteOf(c)
	n.code = e.Code
	s.logError(c, e, err)
	if c.Response().Committed {
		return
	}
	switch e.Code {
	case cloud.CodeThrottled:
		seconds := max(1, int(math.Ceil(e.RetryAfter.Seconds())))
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(seconds))
	case cloud.CodeUnauthenticated:
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, `Bearer realm="cloud-resources"`)
	case cloud.CodeInternal, cloud.CodeUnavailable, cloud.CodeProviderError:
		e = e.With("requestId", n.id)
	}
	body := errorBody{errorContent{Code: e.Code, Message: e.Message, Details: e.Details}}
	if body.Error.Details == nil {
		body.Error.Details = map[string]any{}
	}
	if err := c.JSON(status, body); err != nil {
		s.Log.DebugContext(c.Request().Context(), "the answer could not be written", "request", n.id, "error", err)
	}
}

// classify finds the error that callers see. What Echo itself refuses (an
// unknown path, a wrong method) keeps its status.
func (s *server) classify(err error) (*cloud.Error, int) {
	var e *cloud.Error
	var refused *echo.HTTPError
	switch {
	case errors.As(err, &e):
	case errors.As(err, &refused):
		return routeError(refused)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		e = &cloud.Error{Code: cloud.CodeUnavailable, Message: "the call took too long; try again", Err: err}
	default:
		e = cloud.AsError(err)
	}
	if e.Code == cloud.CodeInternal {
		e = &cloud.Error{Code: e.Code, Message: "internal error", Err: err}
	}
	status, ok := statuses[e.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	return e, status
}

func routeError(refused *echo.HTTPError) (*cloud.Error, int) {
	switch refused.Code {
	case http.StatusNotFound:
		return cloud.Errorf(cloud.CodeNotFound, "there is no such path; GET /openapi.json lists them"), refused.Code
	case http.StatusMethodNotAllowed:
		return cloud.Errorf(cloud.CodeUnsupported, "this path is not served under this HTTP method"), refused.Code
	}
	return &cloud.Error{Code: cloud.CodeInternal, Message: "internal error", Err: refused}, http.StatusInternalServerError
}

// logError keeps what callers do not see.
func (s *server) logError(c echo.Context, e *cloud.Error, err error) {
	ctx, n := c.Request().Context(), noteOf(c)
	switch e.Code {
	case cloud.CodeInternal:
		s.Log.ErrorContext(ctx, "call failed", "request", n.id, "path", c.Path(), "principal", n.principal, "error", err.Error())
	case cloud.CodeUnavailable, cloud.CodeProviderError, cloud.CodeThrottled:
		s.Log.WarnContext(ctx, "call failed", "request", n.id, "path", c.Path(), "principal", n.principal, "code", e.Code, "error", err.Error())
	}
}
