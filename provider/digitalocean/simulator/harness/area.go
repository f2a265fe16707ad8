package harness

import (
	"net/http"
	"strconv"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

const (
	root     = "/v2/harness-runtime"
	config   = root + "/configs/{config}"
	session  = root + "/sessions/{session}"
	consents = "/v1/consent"
	signals  = "/v1/signals"
)

// Area is the product's routes.
func Area() core.Area {
	return core.Area{
		Name: "harness",
		Routes: []core.Route{
			{Method: "GET", Pattern: root + "/regions", Handle: listRegions},
			{Method: "GET", Pattern: root + "/configs", Handle: listConfigs},
			{Method: "POST", Pattern: root + "/configs", Handle: createConfig},
			{Method: "GET", Pattern: config, Handle: getConfig},
			{Method: "DELETE", Pattern: config, Handle: deleteConfig},
			{Method: "GET", Pattern: config + "/sessions", Handle: listConfigSessions},
			{Method: "GET", Pattern: root + "/sessions", Handle: listSessions},
			{Method: "POST", Pattern: root + "/sessions", Handle: createSession},
			{Method: "GET", Pattern: root + "/sessions/sandbox/sizes", Handle: listSizes},
			{Method: "GET", Pattern: session, Handle: getSession},
			{Method: "DELETE", Pattern: session, Handle: destroySession},
			{Method: "POST", Pattern: session + "/pause", Handle: pauseSession},
			{Method: "POST", Pattern: session + "/resume", Handle: resumeSession},

			{Method: "GET", Pattern: consents, Handle: listConsents},
			{Method: "GET", Pattern: consents + "/{config}", Handle: getConsent},
			{Method: "PUT", Pattern: consents + "/{config}", Handle: setConsent},
			{Method: "GET", Pattern: signals + "/agents/{config}/sessions", Handle: signalSessions},
			{Method: "GET", Pattern: signals + "/sessions/{session}/dialogues", Handle: signalDialogues},
			{Method: "GET", Pattern: signals + "/exports/options", Handle: signalOptions},
		},
		// A manifest holds secrets in plain text on its way in.
		SecretFields: []string{"manifest_yaml"},
		ErrorBody:    errorBody,
		Raise:        raise,
	}
}

// codes are the numbers that the product's errors carry.
var codes = map[int]int{
	http.StatusBadRequest: 3, http.StatusNotFound: 5, http.StatusConflict: 6, http.StatusForbidden: 7,
	http.StatusTooManyRequests: 8, http.StatusPreconditionFailed: 9, http.StatusUnauthorized: 16,
}

func errorBody(p *core.Problem, _ string) any {
	code := codes[p.Status]
	if code == 0 {
		code = 13
	}
	return core.Map{"error": core.Map{"code": code, "message": p.Message}}
}

// regions of Harness Runtime; the first is the default.
var regions = []string{"ric1", "ams3", "atl1", "nyc3"}

func listRegions(*core.Call) (core.Answer, error) {
	views := []core.Map{}
	for i, slug := range regions {
		view := core.Map{"slug": slug}
		if i == 0 {
			view["is_default"] = true
		}
		views = append(views, view)
	}
	return core.OK(core.Map{"regions": views})
}

func listSizes(*core.Call) (core.Answer, error) {
	return core.OK(core.Map{"sizes": []core.Map{{"slug": "mars-1vcpu-2gb"}, {"slug": "mars-2vcpu-4gb"}}})
}

// tokenPage cuts a page by page_token and page_size (20, 100 at most). The token
// is the number of items before the page.
func tokenPage[T any](c *core.Call, items []T) (page []T, next string, err error) {
	size, from := 20, 0
	if n, e := strconv.Atoi(c.Query("page_size")); e == nil && n > 0 {
		size = min(n, 100)
	}
	if token := c.Query("page_token"); token != "" {
		if from, err = strconv.Atoi(token); err != nil || from < 0 || from > len(items) {
			return nil, "", core.BadRequest("invalid page_token")
		}
	}
	to := min(from+size, len(items))
	if to < len(items) {
		next = strconv.Itoa(to)
	}
	return append([]T{}, items[from:to]...), next, nil
}
