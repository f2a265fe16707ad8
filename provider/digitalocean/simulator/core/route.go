package core

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// router is a tree of path segments. A node knows its literal children and at
// most one parameter child; the names of parameters belong to the route.
type router struct {
	root node
}

type node struct {
	literal map[string]*node
	param   *node
	methods map[string]*target
}

type target struct {
	route  Route
	area   *Area
	params []string
}

func (t *router) add(area *Area) error {
	for _, route := range area.Routes {
		at := &t.root
		var params []string
		for _, segment := range split(route.Pattern) {
			if name, ok := strings.CutPrefix(segment, "{"); ok {
				params = append(params, strings.TrimSuffix(name, "}"))
				if at.param == nil {
					at.param = &node{}
				}
				at = at.param
				continue
			}
			if at.literal == nil {
				at.literal = map[string]*node{}
			}
			if at.literal[segment] == nil {
				at.literal[segment] = &node{}
			}
			at = at.literal[segment]
		}
		if at.methods == nil {
			at.methods = map[string]*target{}
		}
		if at.methods[route.Method] != nil {
			return fmt.Errorf("simulator: %s %s is served twice (area %s)", route.Method, route.Pattern, area.Name)
		}
		at.methods[route.Method] = &target{route: route, area: area, params: params}
	}
	return nil
}

// find returns the route of a request and its decoded parameters. The problem is
// 404 for an unknown path and 405 for a known path with another method.
func (t *router) find(r *http.Request) (*target, map[string]string, *Problem) {
	at, values := t.root.walk(split(r.URL.EscapedPath()))
	if at == nil {
		return nil, nil, NotFound("The resource you were accessing could not be found.")
	}
	found := at.methods[r.Method]
	if found == nil && r.Method == http.MethodHead {
		found = at.methods[http.MethodGet]
	}
	if found == nil {
		return nil, nil, &Problem{Status: http.StatusMethodNotAllowed, ID: "method_not_allowed",
			Message: "The method is not allowed for this path."}
	}
	params := make(map[string]string, len(values))
	for i, value := range values {
		decoded, err := url.PathUnescape(value)
		if err != nil {
			decoded = value
		}
		params[found.params[i]] = decoded
	}
	return found, params, nil
}

func (n *node) walk(segments []string) (*node, []string) {
	if len(segments) == 0 {
		if n.methods == nil {
			return nil, nil
		}
		return n, nil
	}
	if next := n.literal[segments[0]]; next != nil {
		if at, values := next.walk(segments[1:]); at != nil {
			return at, values
		}
	}
	if n.param != nil && segments[0] != "" {
		if at, values := n.param.walk(segments[1:]); at != nil {
			return at, append([]string{segments[0]}, values...)
		}
	}
	return nil, nil
}

func split(path string) []string {
	return strings.Split(strings.Trim(path, "/"), "/")
}
