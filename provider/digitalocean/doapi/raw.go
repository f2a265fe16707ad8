package doapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Call sends one request that godo has no method for and decodes the answer
// into out (nil reads nothing). The error is godo's: hand it to Fail. An answer
// of 204, or one without the expected object, leaves out as it was.
func (a *Account) Call(ctx context.Context, method, path string, in, out any) error {
	req, err := a.API.NewRequest(ctx, method, path, in)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	_, err = a.API.Do(ctx, req, out)
	return err
}

// Get is Call for reading.
func (a *Account) Get(ctx context.Context, path string, out any) error {
	return a.Call(ctx, http.MethodGet, path, nil, out)
}

// Path joins segments below the API's root, each escaped: a name may hold
// anything.
func Path(segments ...string) string {
	escaped := make([]string, len(segments))
	for i, s := range segments {
		escaped[i] = url.PathEscape(s)
	}
	return strings.Join(escaped, "/")
}
