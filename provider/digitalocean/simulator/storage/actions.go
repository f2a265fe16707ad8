package storage

import (
	"strconv"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

type action struct {
	Type   string `json:"type"`
	Region string `json:"region"`
}

// actions live in their volume; an ID is the action's number.
var actions = core.Table[action]{Type: "volume.action", Steady: true}

func act(c *core.Call) (core.Answer, error) {
	v, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Type string `json:"type"`
		Size int64  `json:"size_gigabytes"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	switch {
	case in.Type != "resize":
		return core.Answer{}, core.Unprocessable("action type %q is not served", in.Type)
	case v.Busy():
		return core.Answer{}, core.Unprocessable("Volume already has a pending event")
	case in.Size <= v.Value.SizeGigabytes:
		return core.Answer{}, core.Unprocessable("size_gigabytes must be greater than the present size")
	case in.Size > maxSize:
		return core.Answer{}, core.Unprocessable("invalid size_gigabytes: must be at most %d", maxSize)
	}
	c.Change(&v.Meta, "", "", "", core.Map{"size_gigabytes": in.Size})
	volumes.Save(c, v)
	id := strconv.Itoa(core.StableNumber("action", v.ID, core.NewUUID()))
	meta := core.Meta{ID: id, Parent: v.ID}
	c.Change(&meta, "in-progress", "completed", "errored", nil)
	return core.Accepted(core.Map{"action": actionView(actions.Insert(c, meta, action{Type: "resize_volume", Region: v.Value.Region}))})
}

// listActions lists those of one volume or, outside a volume, those of all.
func listActions(c *core.Call) (core.Answer, error) {
	parent := c.Param("volume")
	if parent != "" {
		if _, err := find(c); err != nil {
			return core.Answer{}, err
		}
	}
	views := []core.Map{}
	for _, a := range actions.All(c, parent) {
		views = append(views, actionView(a))
	}
	return core.Paged(c, "actions", views)
}

func getAction(c *core.Call) (core.Answer, error) {
	a, ok := actions.Get(c, c.Param("action"))
	volume := c.Param("volume")
	if !ok || (volume != "" && a.Parent != volume) {
		return core.Answer{}, core.NotFound("action not found")
	}
	return core.OK(core.Map{"action": actionView(a)})
}

func actionView(a *core.Record[action]) core.Map {
	id, err := strconv.Atoi(a.ID)
	if err != nil { // made by act, always a number
		id = 0
	}
	v := core.Map{
		"id": id, "status": a.State, "type": a.Value.Type, "started_at": core.Time(a.CreatedAt), "completed_at": nil,
		"resource_id": nil, "resource_type": "volume", "region": basics.RegionView(a.Value.Region), "region_slug": a.Value.Region,
	}
	if a.State != "in-progress" {
		v["completed_at"] = core.Time(a.ChangedAt)
	}
	return v
}
