package api

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/better-compute/cloud-resources/cloud"
)

// note is what is learned about a request on its way, for log and metrics.
type note struct {
	id        string
	principal string
	code      cloud.Code
}

const noteKey = "note"

// noteOf is the request's note; never nil.
func noteOf(c echo.Context) *note {
	if n, ok := c.Get(noteKey).(*note); ok {
		return n
	}
	n := &note{id: rand.Text()}
	c.Set(noteKey, n)
	return n
}

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// requestID takes a caller's own id when it is a plain one, and answers with it.
func (s *server) requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		n := noteOf(c)
		if id := c.Request().Header.Get(echo.HeaderXRequestID); requestIDPattern.MatchString(id) {
			n.id = id
		}
		c.Response().Header().Set(echo.HeaderXRequestID, n.id)
		return next(c)
	}
}

// observe writes the access log and the metrics. It handles the error itself,
// so that the status is the one that was sent.
func (s *server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		if err := next(c); err != nil {
			c.Error(err)
		}
		n, took := noteOf(c), time.Since(start)
		route := c.Path()
		if route == "" {
			route = "unknown"
		}
		s.metrics.note(route, c.Response().Status, n.code, took)
		level := slog.LevelInfo
		if c.Request().Method == http.MethodGet {
			level = slog.LevelDebug // probes and scrapes
		}
		s.Log.LogAttrs(c.Request().Context(), level, "http",
			slog.String("request", n.id), slog.String("method", c.Request().Method), slog.String("path", route),
			slog.Int("status", c.Response().Status), slog.String("code", string(n.code)),
			slog.String("principal", n.principal), slog.Duration("took", took))
		return nil
	}
}

// recover turns a panic into an INTERNAL error; the log gets the stack.
func (s *server) recover(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				if e, ok := v.(error); ok && errors.Is(e, http.ErrAbortHandler) {
					panic(v)
				}
				err = &cloud.Error{Code: cloud.CodeInternal, Message: "internal error", Err: fmt.Errorf("panic: %v\n%s", v, debug.Stack())}
			}
		}()
		return next(c)
	}
}
