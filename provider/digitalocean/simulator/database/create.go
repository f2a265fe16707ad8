package database

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// createInput is the body of a create. Autoscaling goes by the documented key;
// the client library's own spelling of it is ignored, as unknown fields are.
type createInput struct {
	Name       string       `json:"name"`
	Engine     string       `json:"engine"`
	Version    string       `json:"version"`
	Size       string       `json:"size"`
	Region     string       `json:"region"`
	Nodes      int          `json:"num_nodes"`
	StorageMiB int          `json:"storage_size_mib"`
	VPC        string       `json:"private_network_uuid"`
	ProjectID  string       `json:"project_id"`
	Tags       []string     `json:"tags"`
	Rules      []ruleInput  `json:"rules"`
	DOSettings *doSettings  `json:"do_settings"`
	Restore    *restore     `json:"backup_restore"`
	Autoscale  *storageRoot `json:"autoscale"`
}

type restore struct {
	Name string `json:"database_name"`
	At   string `json:"backup_created_at"`
}

// clusterName is what the provider takes: no underscore, no capital.
var clusterName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

func createCluster(c *core.Call) (core.Answer, error) {
	var in createInput
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	v, err := in.check(c)
	if err != nil {
		return core.Answer{}, err
	}
	vpc, err := basics.VPCIn(c, in.VPC, in.Region)
	if err != nil {
		return core.Answer{}, err
	}
	project, err := basics.ProjectFor(c, in.ProjectID)
	if err != nil {
		return core.Answer{}, err
	}
	if v.Rules, err = makeRules(c, nil, in.Rules); err != nil {
		return core.Answer{}, err
	}
	tags, err := c.EnsureTags(in.Tags)
	if err != nil {
		return core.Answer{}, err
	}
	meta := core.Meta{ID: core.NewUUID(), Name: in.Name, Tags: tags, VPCs: []string{vpc.ID}}
	busy := "creating"
	if in.Restore != nil {
		busy = "forking"
	}
	c.Provision(&meta, busy, "online", "error")
	v.OnlineAt = c.Now.Add(time.Duration(c.Settings().ProvisionTime))
	v.Host = hostOf(c, in.Name)
	v.note(c, "cluster_create")
	made := Clusters.Insert(c, meta, v)
	basics.Assign(c, project, "do:dbaas:"+made.ID)
	furnish(c, made)
	return core.Created(core.Map{"database": view(c, made, true)})
}

// check validates what needs no other product and fills in defaults.
func (in *createInput) check(c *core.Call) (Cluster, error) {
	if in.Engine == "redis" {
		return Cluster{}, core.Unprocessable("Caching cluster creates are no longer supported")
	}
	e, ok := engines[in.Engine]
	if !ok {
		return Cluster{}, core.Unprocessable("invalid engine: %q", in.Engine)
	}
	if !clusterName.MatchString(in.Name) {
		return Cluster{}, core.Unprocessable("invalid name: %q must be 3 to 63 lower-case letters, digits and dashes", in.Name)
	}
	if _, taken := Clusters.Named(c, "", in.Name); taken {
		return Cluster{}, core.Unprocessable("cluster name is not available")
	}
	if !basics.IsRegion(in.Region) {
		return Cluster{}, core.Unprocessable("invalid region: %q", in.Region)
	}
	if in.Version == "" {
		in.Version = e.usual
	}
	if e.rank(in.Version) < 0 {
		return Cluster{}, core.Unprocessable("invalid version: %q is not available for %s", in.Version, in.Engine)
	}
	if err := e.fits(in.Size, in.Nodes); err != nil {
		return Cluster{}, err
	}
	v := Cluster{Engine: in.Engine, Version: in.Version, Size: in.Size, Region: in.Region, Nodes: in.Nodes,
		StorageMiB: baseStorage(in.Size), Maintenance: maintenance{Day: "tuesday", Hour: "04:31:00"}}
	if in.StorageMiB != 0 {
		if err := checkStorage(in.Size, in.StorageMiB); err != nil {
			return Cluster{}, err
		}
		v.StorageMiB = in.StorageMiB
	}
	if in.DOSettings != nil {
		if err := in.DOSettings.check(); err != nil {
			return Cluster{}, err
		}
		v.CNAMEs = in.DOSettings.CNAMEs
	}
	if in.Autoscale != nil && in.Autoscale.Storage != nil {
		if err := in.Autoscale.Storage.check(); err != nil {
			return Cluster{}, err
		}
		v.Autoscale = in.Autoscale.Storage
	}
	return v, in.checkRestore(c, e)
}

func (in *createInput) checkRestore(c *core.Call, e *engine) error {
	if in.Restore == nil {
		return nil
	}
	source, ok := Clusters.Named(c, "", in.Restore.Name)
	if !ok {
		return core.NotFound("cluster %q to restore from was not found", in.Restore.Name)
	}
	if !e.backups || source.Value.Engine != in.Engine {
		return core.Unprocessable("a %s cluster cannot be restored from this backup", in.Engine)
	}
	taken := backupsOf(c, source)
	if len(taken) == 0 {
		return core.PreconditionFailed("the cluster to restore from has no backup yet")
	}
	if in.Restore.At == "" {
		return nil
	}
	for _, at := range taken {
		if core.Time(at) == in.Restore.At {
			return nil
		}
	}
	return core.Unprocessable("no backup was created at %s", in.Restore.At)
}

// furnish adds what a new cluster has from the start: its primary user and its
// default database.
func furnish(c *core.Call, r record) {
	e := r.Value.engine()
	Users.Insert(c, core.Meta{ID: core.ChildID(r.ID, e.primary), Parent: r.ID, Name: e.primary},
		newUser(r.Value.Engine, "primary"))
	if e.databases {
		DBs.Insert(c, core.Meta{ID: core.ChildID(r.ID, e.home), Parent: r.ID, Name: e.home}, DB{})
	}
	switch r.Value.Engine {
	case "mysql":
		r.Value.SQLMode = defaultSQLMode
		Clusters.Save(c, r)
	case "valkey":
		r.Value.EvictionPolicy = "noeviction"
		Clusters.Save(c, r)
	case "opensearch":
		Indexes.Insert(c, core.Meta{ID: core.ChildID(r.ID, ".kibana_1"), Parent: r.ID, Name: ".kibana_1"}, Index{Shards: 1})
	}
}

func hostOf(c *core.Call, name string) string {
	return fmt.Sprintf("%s-do-user-%d-0.%s.db.ondigitalocean.com", name,
		core.StableNumber("owner", c.Account.Token)%10_000_000, strings.ToLower(core.StableUUID(name)[:1]))
}
