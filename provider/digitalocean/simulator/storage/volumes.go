package storage

import (
	"regexp"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// The provider's bounds of a volume's size, in GiB.
const (
	minSize = 1
	maxSize = 16384
)

type volume struct {
	Region          string `json:"region"`
	SizeGigabytes   int64  `json:"size_gigabytes"`
	Description     string `json:"description"`
	FilesystemType  string `json:"filesystem_type"`
	FilesystemLabel string `json:"filesystem_label"`
}

var volumes = core.Table[volume]{Type: "volume"}

var volumeName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

func create(c *core.Call) (core.Answer, error) {
	var in struct {
		Name       string   `json:"name"`
		Tags       []string `json:"tags"`
		SnapshotID string   `json:"snapshot_id"`
		volume
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := check(c, in.Name, in.SnapshotID, in.volume); err != nil {
		return core.Answer{}, err
	}
	tags, err := c.EnsureTags(in.Tags)
	if err != nil {
		return core.Answer{}, err
	}
	v := volumes.Insert(c, core.Meta{ID: core.NewUUID(), Name: in.Name, Tags: tags}, in.volume)
	return core.Created(core.Map{"volume": view(v)})
}

func check(c *core.Call, name, snapshot string, v volume) error {
	switch {
	case !volumeName.MatchString(name):
		return core.Unprocessable("name must be lowercase, begin with a letter and hold only letters, numbers and dashes, at most 64")
	case !basics.IsRegion(v.Region):
		return core.Unprocessable("region %q is invalid", v.Region)
	case snapshot != "":
		return core.NotFound("snapshot not found")
	case v.SizeGigabytes < minSize || v.SizeGigabytes > maxSize:
		return core.Unprocessable("invalid size_gigabytes: must be between %d and %d", minSize, maxSize)
	case v.FilesystemType != "" && v.FilesystemType != "ext4" && v.FilesystemType != "xfs":
		return core.Unprocessable("filesystem_type must be ext4 or xfs")
	case v.FilesystemLabel != "" && v.FilesystemType == "":
		return core.Unprocessable("filesystem_label needs a filesystem_type")
	}
	for _, other := range volumes.Everything(c, "") {
		if other.Name == name && other.Value.Region == v.Region {
			return core.Conflict("a volume with the name %q already exists in region %s", name, v.Region)
		}
	}
	return nil
}

func list(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, v := range volumes.All(c, "") {
		if name := c.Query("name"); name != "" && name != v.Name {
			continue
		}
		if region := c.Query("region"); region != "" && region != v.Value.Region {
			continue
		}
		views = append(views, view(v))
	}
	return core.Paged(c, "volumes", views)
}

func find(c *core.Call) (*core.Record[volume], error) {
	v, ok := volumes.Get(c, c.Param("volume"))
	if !ok {
		return nil, core.NotFound("volume not found")
	}
	return v, nil
}

func get(c *core.Call) (core.Answer, error) {
	v, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"volume": view(v)})
}

func remove(c *core.Call) (core.Answer, error) {
	v, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if v.Busy() {
		return core.Answer{}, core.Conflict("volume has a pending event")
	}
	volumes.Remove(c, v.ID)
	return core.NoContent()
}

func view(v *core.Record[volume]) core.Map {
	tags := v.Tags
	if tags == nil {
		tags = []string{}
	}
	return core.Map{
		"id": v.ID, "name": v.Name, "region": basics.RegionView(v.Value.Region),
		"size_gigabytes": v.Value.SizeGigabytes, "description": v.Value.Description, "droplet_ids": []int{},
		"filesystem_type": v.Value.FilesystemType, "filesystem_label": v.Value.FilesystemLabel,
		"created_at": core.Time(v.CreatedAt), "tags": tags,
	}
}
