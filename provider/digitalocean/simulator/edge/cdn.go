package edge

import (
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

const window = 10 * time.Second

// calls are the times of the last requests for CDN endpoints, one object for
// each account.
type calls struct {
	At []time.Time `json:"at"`
}

var counted = core.Table[calls]{Type: "cdn.calls", Steady: true}

// limited counts a request for CDN endpoints, or refuses it when there were too
// many.
func limited(handle core.Handler) core.Handler {
	return func(c *core.Call) (core.Answer, error) {
		r, ok := counted.Get(c, "all")
		if !ok {
			r = counted.Insert(c, core.Meta{ID: "all", Seeded: true}, calls{})
		}
		r.Value.At = slices.DeleteFunc(r.Value.At, func(at time.Time) bool { return !at.After(c.Now.Add(-window)) })
		most := c.Settings().CDNPerTenSeconds
		if n := len(r.Value.At); n >= most {
			free := r.Value.At[n-most].Add(window).Sub(c.Now)
			return core.Answer{
				Status:  http.StatusTooManyRequests,
				Body:    core.Map{"id": "too_many_requests", "message": "CDN endpoints take no more requests for now", "request_id": c.RequestID},
				Headers: map[string]string{"retry-after": strconv.Itoa(int(math.Ceil(free.Seconds())))},
			}, nil
		}
		r.Value.At = append(r.Value.At, c.Now)
		counted.Save(c, r)
		return handle(c)
	}
}

type cdn struct {
	Origin      string `json:"origin"`
	TTL         int    `json:"ttl"`
	Domain      string `json:"custom_domain"`
	Certificate string `json:"certificate_id"`
}

var cdns = core.Table[cdn]{Type: "cdn"}

var spaceHost = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*\.[a-z]{3}[0-9]\.digitaloceanspaces\.com$`)

func (v cdn) check() error {
	switch {
	case !spaceHost.MatchString(v.Origin):
		return core.Unprocessable("origin must be the host name of a Space")
	case !slices.Contains([]int{60, 600, 3600, 86400, 604800}, v.TTL):
		return core.Unprocessable("ttl %d is invalid", v.TTL)
	case (v.Domain == "") != (v.Certificate == ""):
		return core.Unprocessable("custom_domain and certificate_id go together")
	case v.Domain != "" && !domainName.MatchString(v.Domain):
		return core.Unprocessable("custom_domain is not a valid domain name")
	}
	return nil
}

func createEndpoint(c *core.Call) (core.Answer, error) {
	var in cdn
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in.TTL == 0 { // godo sends 0 for a TTL left out
		in.TTL = 3600
	}
	if err := in.check(); err != nil {
		return core.Answer{}, err
	}
	if _, taken := cdns.Named(c, "", in.Origin); taken {
		return core.Answer{}, core.Conflict("a CDN endpoint for this origin already exists")
	}
	return core.Created(core.Map{"endpoint": cdnView(cdns.Insert(c, core.Meta{ID: core.NewUUID(), Name: in.Origin}, in))})
}

func listEndpoints(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, e := range cdns.All(c, "") {
		views = append(views, cdnView(e))
	}
	return core.Paged(c, "endpoints", views)
}

func findEndpoint(c *core.Call) (*core.Record[cdn], error) {
	e, ok := cdns.Get(c, c.Param("cdn"))
	if !ok {
		return nil, core.NotFound("The resource you were accessing could not be found.")
	}
	return e, nil
}

func getEndpoint(c *core.Call) (core.Answer, error) {
	e, err := findEndpoint(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"endpoint": cdnView(e)})
}

// updateEndpoint changes what is sent; an empty custom_domain takes it away.
func updateEndpoint(c *core.Call) (core.Answer, error) {
	e, err := findEndpoint(c)
	if err != nil {
		return core.Answer{}, err
	}
	in := e.Value
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	in.Origin = e.Value.Origin
	if err := in.check(); err != nil {
		return core.Answer{}, err
	}
	e.Value = in
	cdns.Save(c, e)
	return core.OK(core.Map{"endpoint": cdnView(e)})
}

func removeEndpoint(c *core.Call) (core.Answer, error) {
	e, err := findEndpoint(c)
	if err != nil {
		return core.Answer{}, err
	}
	cdns.Remove(c, e.ID)
	return core.NoContent()
}

// purge takes files out of the cache, of which nothing is seen here.
func purge(c *core.Call) (core.Answer, error) {
	if _, err := findEndpoint(c); err != nil {
		return core.Answer{}, err
	}
	return core.NoContent()
}

func cdnView(e *core.Record[cdn]) core.Map {
	v := core.Map{
		"id": e.ID, "origin": e.Value.Origin, "ttl": e.Value.TTL, "created_at": core.Time(e.CreatedAt),
		"endpoint": strings.Replace(e.Value.Origin, ".digitaloceanspaces.com", ".cdn.digitaloceanspaces.com", 1),
	}
	if e.Value.Domain != "" {
		v["custom_domain"], v["certificate_id"] = e.Value.Domain, e.Value.Certificate
	}
	return v
}
