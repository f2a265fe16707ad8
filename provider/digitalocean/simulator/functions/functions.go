// Package functions simulates Functions namespaces. Their quirks are kept: a
// bad request is answered 404, the key travels in every answer, the list has no
// pages.
package functions

import (
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

const root = "/v2/functions/namespaces"

// Area is the product's routes.
func Area() core.Area {
	return core.Area{
		Name: "functions",
		Routes: []core.Route{
			{Method: "GET", Pattern: root, Handle: list},
			{Method: "POST", Pattern: root, Handle: create},
			{Method: "GET", Pattern: root + "/{namespace}", Handle: get},
			{Method: "DELETE", Pattern: root + "/{namespace}", Handle: remove},
		},
	}
}

// limit is how many namespaces an account may have; the real one differs by
// account.
const limit = 500

var regions = []string{"nyc1", "nyc3", "ams3", "sfo3", "sgp1", "lon1", "fra1", "tor1", "blr1", "syd1"}

type namespace struct {
	Region string `json:"region"`
	UUID   string `json:"uuid"`
	Key    string `json:"key"`
}

var namespaces = core.Table[namespace]{Type: "functions.namespace"}

// badRequest is 404 with the id of a 400, as this product answers.
func badRequest(message string) error {
	return &core.Problem{Status: 404, ID: "bad_request", Message: message}
}

func create(c *core.Call) (core.Answer, error) {
	var in struct {
		Label  string `json:"label"`
		Region string `json:"region"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if strings.TrimSpace(in.Label) == "" {
		return core.Answer{}, badRequest("label is required")
	}
	if !slices.Contains(regions, in.Region) {
		return core.Answer{}, badRequest("region is not valid")
	}
	if _, taken := namespaces.Named(c, "", in.Label); taken {
		return core.Answer{}, core.Unprocessable("a namespace with that label already exists")
	}
	if len(namespaces.Everything(c, "")) >= limit {
		return core.Answer{}, core.Unprocessable("namespace limit reached")
	}
	uuid := core.NewUUID()
	made := namespaces.Insert(c, core.Meta{ID: "fn-" + uuid, Name: in.Label},
		namespace{Region: in.Region, UUID: uuid, Key: core.Secret("", 32)})
	return core.OK(core.Map{"namespace": view(c, made)})
}

func list(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, n := range namespaces.All(c, "") {
		views = append(views, view(c, n))
	}
	return core.OK(core.Map{"namespaces": views})
}

func find(c *core.Call) (*core.Record[namespace], error) {
	n, ok := namespaces.Get(c, c.Param("namespace"))
	if !ok {
		return nil, core.NotFound("namespace not found")
	}
	return n, nil
}

func get(c *core.Call) (core.Answer, error) {
	n, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"namespace": view(c, n)})
}

func remove(c *core.Call) (core.Answer, error) {
	n, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	namespaces.Remove(c, n.ID)
	return core.NoContent()
}

func view(c *core.Call, n *core.Record[namespace]) core.Map {
	v := core.Map{
		"namespace": n.ID, "uuid": n.Value.UUID, "label": n.Name, "region": n.Value.Region,
		"api_host":   "https://faas-" + n.Value.Region + "-2ef2e6cc.doserverless.co",
		"created_at": core.Time(n.CreatedAt), "updated_at": core.Time(n.ChangedAt),
	}
	if !c.Account.HideCredentials {
		v["key"] = n.Value.Key
	}
	return v
}
