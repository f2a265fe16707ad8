package basics

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// plural maps the resource types of the tags API to the key and the path they
// have in a tag's statistics.
var plural = map[string]struct{ key, path string }{
	"droplet":         {"droplets", "droplets"},
	"image":           {"images", "images"},
	"volume":          {"volumes", "volumes"},
	"volume_snapshot": {"volume_snapshots", "snapshots"},
	"database":        {"databases", "databases"},
}

func listTags(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, tag := range core.Tags.All(c, "") {
		views = append(views, tagView(c, tag.Name))
	}
	return core.Paged(c, "tags", views)
}

func createTag(c *core.Call) (core.Answer, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	names, err := c.EnsureTags([]string{in.Name})
	if err != nil {
		cause := fmt.Sprintf("Error validating resource tag: \"tag-name %q contains invalid characters\"", in.Name)
		return core.Answer{}, &core.Problem{Status: http.StatusBadRequest, ID: "bad_request", Message: cause, Body: core.Map{
			"error": cause, "messages": nil,
			"root_causes": []string{"rpc error: code = InvalidArgument desc = " + cause},
		}}
	}
	return core.Created(core.Map{"tag": tagView(c, names[0])})
}

// findTag goes by the canonical capitalisation, as the API does in paths.
func findTag(c *core.Call) (*core.Record[core.Tag], error) {
	tag, ok := core.Tags.Get(c, strings.ToLower(c.Param("tag")))
	if !ok || tag.Name != c.Param("tag") {
		return nil, core.NotFound("The resource you were accessing could not be found.")
	}
	return tag, nil
}

func getTag(c *core.Call) (core.Answer, error) {
	tag, err := findTag(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"tag": tagView(c, tag.Name)})
}

// deleteTag takes the tag off everything that carries it.
func deleteTag(c *core.Call) (core.Answer, error) {
	tag, err := findTag(c)
	if err != nil {
		return core.Answer{}, err
	}
	for _, kind := range c.Taggables() {
		table, _ := c.TableOfTaggable(kind)
		for _, tagged := range c.Tagged(table, tag.Name) {
			c.DropTag(table, tagged.ID, tag.Name)
		}
	}
	core.Tags.Remove(c, tag.ID)
	return core.NoContent()
}

func tagResources(c *core.Call) (core.Answer, error)   { return retag(c, c.AddTag) }
func untagResources(c *core.Call) (core.Answer, error) { return retag(c, c.DropTag) }

// retag checks every resource before it touches one.
func retag(c *core.Call, change func(table, id, tag string) bool) (core.Answer, error) {
	tag, err := findTag(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Resources []struct {
			ID   string `json:"resource_id"`
			Type string `json:"resource_type"`
		} `json:"resources"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if len(in.Resources) == 0 {
		return core.Answer{}, core.Unprocessable("resources is missing")
	}
	for _, resource := range in.Resources {
		table, ok := c.TableOfTaggable(resource.Type)
		if !ok {
			return core.Answer{}, core.Unprocessable("resource_type %q is not supported", resource.Type)
		}
		if _, ok := c.Lookup(table, resource.ID); !ok {
			return core.Answer{}, core.NotFound("The resource you were accessing could not be found.")
		}
	}
	for _, resource := range in.Resources {
		table, _ := c.TableOfTaggable(resource.Type)
		change(table, resource.ID, tag.Name)
	}
	return core.NoContent()
}

func tagView(c *core.Call, name string) core.Map {
	resources := core.Map{}
	total := 0
	last := core.Meta{}
	lastURI := ""
	kinds := c.Taggables()
	slices.Sort(kinds)
	for kind, words := range plural {
		stats := core.Map{"count": 0}
		if slices.Contains(kinds, kind) {
			table, _ := c.TableOfTaggable(kind)
			tagged := c.Tagged(table, name)
			stats["count"] = len(tagged)
			total += len(tagged)
			for _, m := range tagged {
				uri := "https://api.digitalocean.com/v2/" + words.path + "/" + m.ID
				stats["last_tagged_uri"] = uri
				if m.ChangedAt.After(last.ChangedAt) {
					last, lastURI = m, uri
				}
			}
		}
		resources[words.key] = stats
	}
	resources["count"] = total
	if lastURI != "" {
		resources["last_tagged_uri"] = lastURI
	}
	return core.Map{"name": name, "resources": resources}
}
