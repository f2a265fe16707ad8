package api

import (
	"errors"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/contract"
)

// readBody reads the whole input, up to the contract's bound.
func readBody(c echo.Context) ([]byte, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, contract.MaxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, cloud.Errorf(cloud.CodeInvalidInput, "the input has more than %d bytes", contract.MaxBody)
	case err != nil:
		return nil, &cloud.Error{Code: cloud.CodeInvalidInput, Message: "the input could not be read", Err: err}
	}
	return raw, nil
}
