// Package spaces simulates Spaces access keys: the secret half is shown once,
// names are not unique, and a key cannot change between full and scoped access.
// Buckets live behind another API, so any name is taken.
//
// Where sources disagree: Terraform updates a key's grants in place, the OpenAPI
// document says that only the name can change. Believed: the document; grants that
// are sent with an update are checked and left as they were.
package spaces

import (
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

const root = "/v2/spaces/keys"

// Area is the product's routes.
func Area() core.Area {
	return core.Area{
		Name: "spaces",
		Routes: []core.Route{
			{Method: "GET", Pattern: root, Handle: list},
			{Method: "POST", Pattern: root, Handle: create},
			{Method: "GET", Pattern: root + "/{key}", Handle: get},
			{Method: "PUT", Pattern: root + "/{key}", Handle: update},
			{Method: "PATCH", Pattern: root + "/{key}", Handle: update},
			{Method: "DELETE", Pattern: root + "/{key}", Handle: remove},
		},
	}
}

type grant struct {
	Bucket     string `json:"bucket"`
	Permission string `json:"permission"`
}

type key struct {
	Grants []grant `json:"grants"`
	Secret string  `json:"secret"`
}

func (k key) full() bool {
	return slices.ContainsFunc(k.Grants, func(g grant) bool { return g.Permission == "fullaccess" })
}

var keys = core.Table[key]{Type: "spaces.key"}

type input struct {
	Name   *string  `json:"name"`
	Grants *[]grant `json:"grants"`
}

func read(c *core.Call) (input, error) {
	var in input
	if err := c.Decode(&in); err != nil {
		return in, err
	}
	if in.Grants == nil {
		return in, nil
	}
	full := 0
	for _, g := range *in.Grants {
		switch g.Permission {
		case "fullaccess":
			full++
		case "read", "readwrite", "":
			if g.Bucket == "" {
				return in, core.BadRequest("a bucket is required for the permission %q", g.Permission)
			}
		default:
			return in, core.BadRequest("invalid permission %q", g.Permission)
		}
	}
	if full > 0 && full < len(*in.Grants) {
		return in, core.BadRequest("Cannot mix fullaccess permission with scoped permissions")
	}
	return in, nil
}

func create(c *core.Call) (core.Answer, error) {
	in, err := read(c)
	if err != nil {
		return core.Answer{}, err
	}
	if in.Name == nil || *in.Name == "" {
		return core.Answer{}, core.BadRequest("name is required")
	}
	made := key{Grants: []grant{}, Secret: core.Secret("", 21)}
	if in.Grants != nil {
		made.Grants = *in.Grants
	}
	id := "DO" + strings.ToUpper(core.Secret("", 9))
	k := keys.Insert(c, core.Meta{ID: id, Name: *in.Name}, made)
	shown := view(k)
	shown["secret_key"] = made.Secret
	return core.Created(core.Map{"key": shown})
}

// list filters by name, bucket and permission; the newest comes first.
func list(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	all := keys.All(c, "")
	slices.Reverse(all)
	for _, k := range all {
		if name := c.Query("name"); name != "" && k.Name != name {
			continue
		}
		if !k.Value.grants(c.Query("bucket"), c.Query("permission")) {
			continue
		}
		views = append(views, view(k))
	}
	return core.Paged(c, "keys", views)
}

// grants reports whether a grant matches; empty words match all.
func (k key) grants(bucket, permission string) bool {
	if bucket == "" && permission == "" {
		return true
	}
	return slices.ContainsFunc(k.Grants, func(g grant) bool {
		return (bucket == "" || g.Bucket == bucket) && (permission == "" || g.Permission == permission)
	})
}

func find(c *core.Call) (*core.Record[key], error) {
	k, ok := keys.Get(c, c.Param("key"))
	if !ok {
		return nil, core.NotFound("key not found")
	}
	return k, nil
}

func get(c *core.Call) (core.Answer, error) {
	k, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"key": view(k)})
}

func update(c *core.Call) (core.Answer, error) {
	k, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	in, err := read(c)
	if err != nil {
		return core.Answer{}, err
	}
	if in.Grants != nil && len(*in.Grants) > 0 && (key{Grants: *in.Grants}).full() != k.Value.full() {
		return core.Answer{}, core.BadRequest("Cannot convert between fullaccess and scoped keys")
	}
	if in.Name != nil && *in.Name != "" {
		k.Name = *in.Name
	}
	keys.Save(c, k)
	return core.OK(core.Map{"key": view(k)})
}

func remove(c *core.Call) (core.Answer, error) {
	k, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	keys.Remove(c, k.ID)
	return core.NoContent()
}

func view(k *core.Record[key]) core.Map {
	return core.Map{"name": k.Name, "access_key": k.ID, "grants": k.Value.Grants, "created_at": core.Time(k.CreatedAt)}
}
