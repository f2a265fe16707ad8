package basics

import (
	"strconv"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// Droplet is a virtual machine as far as other products need it.
type Droplet struct {
	Number int    `json:"number"`
	Region string `json:"region"`
	Size   string `json:"size"`
}

// Droplets is the table of Droplets; an ID is the number in decimal.
var Droplets = core.Table[Droplet]{Type: "droplet"}

func seedDroplets(c *core.Call) {
	for _, name := range c.Droplets() {
		number := core.DropletID(c.Account.Token, name)
		Droplets.Insert(c, core.Meta{
			ID: strconv.Itoa(number), Name: name, State: "active", Seeded: true,
			VPCs: []string{core.VPCID(c.Account.Token, "nyc3")},
		}, Droplet{Number: number, Region: "nyc3", Size: "s-1vcpu-1gb"})
	}
}

func listDroplets(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, d := range Droplets.All(c, "") {
		if tag := c.Query("tag_name"); tag != "" && !d.HasTag(tag) {
			continue
		}
		if name := c.Query("name"); name != "" && d.Name != name {
			continue
		}
		views = append(views, dropletView(d))
	}
	return core.Paged(c, "droplets", views)
}

func getDroplet(c *core.Call) (core.Answer, error) {
	d, ok := Droplets.Get(c, c.Param("droplet"))
	if !ok {
		return core.Answer{}, core.NotFound("The resource you were accessing could not be found.")
	}
	return core.OK(core.Map{"droplet": dropletView(d)})
}

func deleteDroplet(c *core.Call) (core.Answer, error) {
	d, ok := Droplets.Get(c, c.Param("droplet"))
	if !ok {
		return core.Answer{}, core.NotFound("The resource you were accessing could not be found.")
	}
	Droplets.Remove(c, d.ID)
	return core.NoContent()
}

func dropletView(d *core.Record[Droplet]) core.Map {
	at := sizes[0]
	for _, s := range sizes {
		if s.slug == d.Value.Size {
			at = s
		}
	}
	where := regions[0]
	for _, r := range regions {
		if r.slug == d.Value.Region {
			where = r
		}
	}
	host := strconv.Itoa(1 + d.Value.Number%250)
	tags := d.Tags
	if tags == nil {
		tags = []string{}
	}
	return core.Map{
		"id": d.Value.Number, "name": d.Name, "memory": at.memory, "vcpus": at.vcpus, "disk": at.disk,
		"locked": false, "status": d.State, "created_at": core.Time(d.CreatedAt),
		"features": []string{"private_networking"}, "backup_ids": []int{}, "snapshot_ids": []int{},
		// Required and not nullable as documented, so empty for no backups.
		"next_backup_window": core.Map{}, "volume_ids": []string{}, "size": at.view(), "size_slug": at.slug,
		"image": core.Map{
			"id": 195932981, "name": "24.04 (LTS) x64", "distribution": "Ubuntu", "slug": "ubuntu-24-04-x64",
			"public": true, "regions": []string{"nyc3", "ams3"}, "created_at": "2026-01-10T00:00:00Z", "min_disk_size": 10,
			"type": "base", "size_gigabytes": 0.6, "description": "Ubuntu 24.04 (LTS) x64", "tags": []string{},
			"status": "available",
		},
		"networks": core.Map{"v6": []core.Map{}, "v4": []core.Map{
			{"ip_address": "10.10.0." + host, "netmask": "255.255.240.0", "gateway": "10.10.0.1", "type": "private"},
			{"ip_address": "203.0.113." + host, "netmask": "255.255.255.0", "gateway": "203.0.113.1", "type": "public"},
		}},
		"region": where.view(), "tags": tags, "vpc_uuid": d.VPCs[0],
	}
}
