package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/contract"
)

// Time-outs.
const (
	// callTimeout bounds a call. Longer than a read of the provider.
	callTimeout = 30 * time.Second
	// nudgeTimeout bounds the attempt to tell a workflow; nudgesAtOnce how many
	// are under way. What is not told is the relay's.
	nudgeTimeout = 2 * time.Second
	nudgesAtOnce = 64
)

type server struct {
	Deps
	contract *contract.Contract
	callers  *authenticator
	metrics  *metrics
	nudges   chan struct{}
}

// New returns the API, ready to be served or given to a test server.
func New(d Deps) *echo.Echo {
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	s := &server{
		Deps: d, contract: contract.New(), callers: newAuthenticator(d.Platform, d.HTTP, d.Now),
		metrics: newMetrics(d.Registry), nudges: make(chan struct{}, nudgesAtOnce),
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.writeError
	e.Use(s.requestID, s.observe, s.recover)
	s.routes(e)
	return e
}

// post serves a method of the contract: fn gets the input as a struct and what
// it returns is the answer.
func post[In any](s *server, e *echo.Echo, name string, fn func(ctx context.Context, p intent.Principal, in In) (any, error)) {
	method, ok := s.contract.Method(name)
	if !ok {
		panic("no method " + name + " in the contract")
	}
	e.POST(method.Path(), func(c echo.Context) error {
		ctx, p, err := s.callers.authenticate(c.Request().Context(), c.Request().Header.Get(echo.HeaderAuthorization))
		if err != nil {
			return err
		}
		noteOf(c).principal = p.ID
		raw, err := readBody(c)
		if err != nil {
			return err
		}
		var in In
		if err := s.contract.Decode(name, raw, &in); err != nil {
			return err
		}
		if method.Mutation { // the caller may go away now, what it asked for stays asked
			ctx = context.WithoutCancel(ctx)
		}
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		out, err := fn(ctx, p, in)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, out)
	})
}

// nudge tells a workflow that there is something to do, and does not wait.
func (s *server) nudge(ctx context.Context, workflowID string) {
	if s.Nudge == nil {
		return
	}
	select {
	case s.nudges <- struct{}{}:
	default:
		return // many are under way or Temporal hangs: the relay delivers it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nudgeTimeout)
	go func() {
		defer func() {
			cancel()
			<-s.nudges
			if v := recover(); v != nil {
				s.Log.ErrorContext(ctx, "nudge panicked", "workflow", workflowID, "panic", v)
			}
		}()
		s.Nudge(ctx, workflowID)
	}()
}

// unserved refuses a method whose port is not wired.
func unserved(what string) error {
	return cloud.Errorf(cloud.CodeUnsupported, "this deployment serves no %s", what)
}

// items is the answer of lists.
type items[T any] struct {
	Items     []T    `json:"items"`
	Truncated bool   `json:"truncated,omitempty"`
	Next      string `json:"next,omitempty"`
}

// page cuts a list of one more than fits, and says where it goes on.
func page[T, V any](rows []T, id func(T) string, view func(T) V) items[V] {
	out := items[V]{Items: make([]V, 0, min(len(rows), intent.MaxList))}
	for i, row := range rows {
		if i == intent.MaxList {
			out.Truncated, out.Next = true, id(rows[i-1])
			break
		}
		out.Items = append(out.Items, view(row))
	}
	return out
}
