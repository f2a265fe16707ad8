package spectest

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/stretchr/testify/require"
)

// document is the provider's OpenAPI document with its paths as segments.
type document struct {
	spec  *openapi3.T
	paths map[string][]operation
}

// operation is one path of the document; those of a map entry have the same
// number of segments.
type operation struct {
	path     string
	segments []string
	item     *openapi3.PathItem
}

// loaded is shared by the tests of a package: reading the document takes
// seconds.
var loaded = sync.OnceValues(read)

func load(t testing.TB) *document {
	t.Helper()
	doc, err := loaded()
	require.NoError(t, err, "the provider's OpenAPI document is needed: set DIGITALOCEAN_OPENAPI to its path")
	return doc
}

func read() (*document, error) {
	path, err := location()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	spec, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return nil, err
	}
	doc := &document{spec: spec, paths: map[string][]operation{}}
	for path, item := range spec.Paths.Map() {
		segments := strings.Split(strings.Trim(path, "/"), "/")
		key := shape(len(segments))
		doc.paths[key] = append(doc.paths[key], operation{path: path, segments: segments, item: item})
	}
	return doc, nil
}

// location is DIGITALOCEAN_OPENAPI, or else the reference folder beside the
// repository.
func location() (string, error) {
	if path := os.Getenv("DIGITALOCEAN_OPENAPI"); path != "" {
		return path, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "reference", "digitalocean-openapi.yaml"), nil
		}
		if dir == filepath.Dir(dir) {
			return "", os.ErrNotExist
		}
		dir = filepath.Dir(dir)
	}
}

// find returns the operation of a request, the one with the most literal
// segments; nil when the document has none.
func (d *document) find(r *http.Request) (*routers.Route, map[string]string) {
	segments := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	var best *operation
	var bestParams map[string]string
	for i, candidate := range d.paths[shape(len(segments))] {
		params, ok := candidate.match(segments)
		if !ok || candidate.item.GetOperation(r.Method) == nil {
			continue
		}
		if best == nil || len(params) < len(bestParams) {
			best, bestParams = &d.paths[shape(len(segments))][i], params
		}
	}
	if best == nil {
		return nil, nil
	}
	return &routers.Route{Spec: d.spec, Path: best.path, PathItem: best.item, Method: r.Method,
		Operation: best.item.GetOperation(r.Method)}, bestParams
}

// knows tells whether the document has an operation with that method and shape
// of path.
func (d *document) knows(method, pattern string) bool {
	segments := strings.Split(strings.Trim(pattern, "/"), "/")
	for _, candidate := range d.paths[shape(len(segments))] {
		if normal(candidate.path) == normal(pattern) && candidate.item.GetOperation(method) != nil {
			return true
		}
	}
	return false
}

func (o *operation) match(segments []string) (map[string]string, bool) {
	params := map[string]string{}
	for i, want := range o.segments {
		if name, ok := strings.CutPrefix(want, "{"); ok {
			value, err := url.PathUnescape(segments[i])
			if err != nil || value == "" {
				return nil, false
			}
			params[strings.TrimSuffix(name, "}")] = value
		} else if want != segments[i] {
			return nil, false
		}
	}
	return params, true
}

func shape(segments int) string { return strings.Repeat("/", segments) }
