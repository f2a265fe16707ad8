package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// environment is an environment; the API calls it a config.
type environment struct {
	Region string `json:"region"`
	Hash   string `json:"hash"`
	// Manifest is what is shown: without the values of secrets.
	Manifest core.Map `json:"manifest"`
	// Values are those of the secrets, by name; they are never shown.
	Values map[string]string `json:"values"`
}

var environments = core.Table[environment]{Type: "harness.environment"}

const (
	maxManifest = 512 << 10
	maxName     = 64
)

func createConfig(c *core.Call) (core.Answer, error) {
	var in struct {
		Name     string `json:"name"`
		Manifest string `json:"manifest_yaml"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	switch {
	case in.Name == "" || len(in.Name) > maxName:
		return core.Answer{}, core.BadRequest("name must have 1 to %d characters", maxName)
	case len(in.Manifest) > maxManifest:
		return core.Answer{}, core.BadRequest("manifest_yaml is too large")
	}
	for _, e := range environments.Everything(c, "") {
		if strings.EqualFold(e.Name, in.Name) {
			return core.Answer{}, core.Conflict("a config with the name %q already exists", in.Name)
		}
	}
	value, err := readManifest(in.Manifest)
	if err != nil {
		return core.Answer{}, err
	}
	value.Region = regionOf(c)
	made := environments.Insert(c, core.Meta{ID: core.NewUUID(), Name: in.Name}, value)
	view := configView(made)
	view["warnings"] = []string{}
	if value.Manifest["egress"] == nil {
		view["warnings"] = []string{"no egress list: the sandbox reaches nothing outside"}
	}
	return core.Created(core.Map{"config": view})
}

// regionOf is the region of the host that was asked: api-<region>.…, else the
// default one.
func regionOf(c *core.Call) string {
	host, _, _ := strings.Cut(c.Request.Host, ".")
	if region, ok := strings.CutPrefix(host, "api-"); ok && slices.Contains(regions, region) {
		return region
	}
	return regions[0]
}

// known are the fields of an environment spec; others are refused.
var known = []string{"name", "agent", "size", "idle_timeout", "persistent_workspace", "env", "secrets", "egress",
	"tools", "skills", "permissions", "mode", "repo", "template", "apiVersion", "kind", "metadata", "spec"}

func readManifest(text string) (environment, error) {
	var manifest core.Map
	if err := yaml.Unmarshal([]byte(text), &manifest); err != nil || manifest == nil {
		return environment{}, core.BadRequest("manifest_yaml is not a YAML mapping")
	}
	for field := range manifest {
		if !slices.Contains(known, field) {
			return environment{}, core.BadRequest("unknown field %q", field)
		}
	}
	if manifest["agent"] == nil && manifest["spec"] == nil {
		return environment{}, core.BadRequest("agent is required")
	}
	value := environment{Manifest: manifest, Values: map[string]string{}}
	secrets, ok := manifest["secrets"].(core.Map)
	if manifest["secrets"] != nil && !ok {
		return environment{}, core.BadRequest("secrets must be a mapping")
	}
	names := []string{}
	for name, v := range secrets {
		text, ok := v.(string)
		if !ok || text == "" {
			return environment{}, core.BadRequest("the secret %s has no value", name)
		}
		value.Values[name] = text
		secrets[name] = nil
		names = append(names, name)
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(text))
	value.Hash = hex.EncodeToString(sum[:])
	return value, nil
}

func listConfigs(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, e := range environments.All(c, "") {
		view := configView(e)
		delete(view, "manifest")
		delete(view, "credentials")
		views = append(views, view)
	}
	page, next, err := tokenPage(c, views)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"configs": page, "next_page_token": next})
}

func findConfig(c *core.Call) (*core.Record[environment], error) {
	e, ok := environments.Get(c, c.Param("config"))
	if !ok {
		return nil, core.NotFound("config not found")
	}
	return e, nil
}

func getConfig(c *core.Call) (core.Answer, error) {
	e, err := findConfig(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"config": configView(e)})
}

// deleteConfig takes it out of use. The trace that the provider keeps of it is
// shown nowhere, so nothing is kept.
func deleteConfig(c *core.Call) (core.Answer, error) {
	e, err := findConfig(c)
	if err != nil {
		return core.Answer{}, err
	}
	environments.Remove(c, e.ID)
	return core.NoContent()
}

func configView(e *core.Record[environment]) core.Map {
	slots := []core.Map{}
	for name := range e.Value.Values {
		slots = append(slots, core.Map{"name": name, "source": "tenantSecret"})
	}
	slices.SortFunc(slots, func(a, b core.Map) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
	return core.Map{
		"id": e.ID, "name": e.Name, "agentspec_schema_version": "agents.digitalocean.com/v1", "content_hash": e.Value.Hash,
		"created_by": "user-1", "created_at": core.Time(e.CreatedAt), "updated_at": core.Time(e.ChangedAt),
		"region": e.Value.Region, "manifest": e.Value.Manifest, "credentials": slots,
	}
}
