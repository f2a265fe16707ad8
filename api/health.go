package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/better-compute/cloud-resources/schema/contract"
)

// healthTimeout bounds one check.
const healthTimeout = 3 * time.Second

// health answers 200 when every check passes, else 503 with the names of those
// that do not. The reasons go to the log: anybody may ask here.
func (s *server) health(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), healthTimeout)
	defer cancel()
	errs := make([]error, len(s.Health))
	var wg sync.WaitGroup
	for i, check := range s.Health {
		wg.Go(func() { errs[i] = check.Run(ctx) })
	}
	wg.Wait()
	status, checks := http.StatusOK, map[string]string{}
	for i, check := range s.Health {
		checks[check.Name] = "ok"
		if errs[i] != nil {
			status, checks[check.Name] = http.StatusServiceUnavailable, "failing"
			s.Log.WarnContext(ctx, "health check failed", "check", check.Name, "error", errs[i].Error())
		}
	}
	word := "ok"
	if status != http.StatusOK {
		word = "failing"
	}
	return c.JSON(status, map[string]any{"status": word, "checks": checks})
}

func (s *server) openAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, contract.OpenAPI())
}
