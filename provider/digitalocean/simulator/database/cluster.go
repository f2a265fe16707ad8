package database

import (
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// Cluster is the value of a database cluster. Its VPC is in Meta.VPCs, its
// passwords are its users'.
type Cluster struct {
	Engine     string `json:"engine"`
	Version    string `json:"version"`
	Size       string `json:"size"`
	Region     string `json:"region"`
	Nodes      int    `json:"num_nodes"`
	StorageMiB int    `json:"storage_size_mib"`
	Host       string `json:"host"`
	// OnlineAt is when the creation ends or ended; backups count from it.
	OnlineAt       time.Time   `json:"online_at"`
	Maintenance    maintenance `json:"maintenance_window"`
	Autoscale      *autoscale  `json:"autoscale,omitempty"`
	EvictionPolicy string      `json:"eviction_policy,omitempty"`
	SQLMode        string      `json:"sql_mode,omitempty"`
	CNAMEs         []string    `json:"service_cnames,omitempty"`
	Config         values      `json:"config,omitempty"`
	Rules          []rule      `json:"rules,omitempty"`
	Events         []event     `json:"events,omitempty"`
	Compatibility  string      `json:"compatibility,omitempty"`
	Migration      *migration  `json:"migration,omitempty"`
}

// Clusters is the table of clusters.
var Clusters = core.Table[Cluster]{Type: "database"}

type record = *core.Record[Cluster]

// find returns the cluster of the path.
func find(c *core.Call) (record, error) {
	r, ok := Clusters.Get(c, c.Param("cluster"))
	if !ok {
		return nil, core.NotFound("cluster not found")
	}
	return r, nil
}

// usable returns the cluster of the path if its settings and children may be
// changed now.
func usable(c *core.Call) (record, error) {
	r, err := find(c)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Dying():
		return nil, core.Conflict("the cluster is being deleted")
	case r.State == "creating" || r.State == "forking":
		return nil, core.PreconditionFailed("the cluster is not online yet: its creation is in progress")
	}
	return r, nil
}

// idle is usable, and no resize, migration or upgrade runs.
func idle(c *core.Call) (record, error) {
	r, err := usable(c)
	if err != nil {
		return nil, err
	}
	if r.Busy() {
		return nil, core.PreconditionFailed("another operation is in progress on the cluster")
	}
	return r, nil
}

func (v Cluster) engine() *engine {
	if e, ok := engines[v.Engine]; ok {
		return e
	}
	return engines["valkey"]
}

func getCluster(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"database": view(c, r, false)})
}

// listClusters is unpaged at the provider.
func listClusters(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, r := range Clusters.All(c, "") {
		if tag := c.Query("tag_name"); tag != "" && !r.HasTag(tag) {
			continue
		}
		if name := c.Query("name"); name != "" && r.Name != name {
			continue
		}
		views = append(views, view(c, r, false))
	}
	return core.OK(core.Map{"databases": views})
}

func deleteCluster(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if r.Dying() {
		return core.Answer{}, core.Conflict("the cluster is already being deleted")
	}
	c.Doom(&r.Meta, "")
	r.Value.note(c, "cluster_delete")
	Clusters.Save(c, r)
	return core.NoContent()
}

// view is a cluster as the API shows it; made is the answer of its creation.
func view(c *core.Call, r record, made bool) core.Map {
	v := r.Value
	shown := core.Map{
		"id": r.ID, "name": r.Name, "engine": v.Engine, "version": v.Version,
		"semantic_version": v.engine().semantic(v.Version), "num_nodes": v.Nodes, "size": v.Size,
		"region": v.Region, "status": r.State, "created_at": core.Time(r.CreatedAt),
		"private_network_uuid": r.VPCs[0], "tags": r.Tags, "db_names": dbNames(c, r), "users": userViews(c, r),
		"maintenance_window": v.Maintenance.view(), "project_id": basics.ProjectOf(c, "do:dbaas:"+r.ID),
		"rules": ruleViews(r), "storage_size_mib": v.StorageMiB,
		"do_settings": core.Map{"service_cnames": orEmpty(v.CNAMEs)},
	}
	if v.Autoscale != nil {
		shown["autoscale"] = core.Map{"storage": v.Autoscale}
	}
	if r.State != "creating" && r.State != "forking" {
		endpoints := []core.Map{{"host": v.Host, "port": 9273}}
		if v.Nodes > 1 {
			endpoints = append(endpoints, core.Map{"host": "replica-" + v.Host, "port": 9273})
		}
		shown["metrics_endpoints"] = endpoints
	}
	addConnections(c, r, shown, made)
	return shown
}

func orEmpty[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// within returns the children that the cluster's own view shows: the visible
// ones, or all in the answer that made a cluster which is not visible itself yet.
func within[T any](c *core.Call, table core.Table[T], r record) []*core.Record[T] {
	if r.VisibleAt.After(c.Now) {
		return table.Everything(c, r.ID)
	}
	return table.All(c, r.ID)
}
