package database

import (
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// Replica is a read-only copy of a cluster, with an id of its own.
type Replica struct {
	Size       string   `json:"size"`
	Region     string   `json:"region"`
	StorageMiB int      `json:"storage_size_mib"`
	Host       string   `json:"host"`
	CNAMEs     []string `json:"service_cnames,omitempty"`
}

// Replicas is the table of replicas, children of a cluster.
var Replicas = core.Table[Replica]{Type: "database.replica"}

func withReplicas(c *core.Call, get func(*core.Call) (record, error)) (record, error) {
	r, err := get(c)
	if err != nil {
		return nil, err
	}
	if !r.Value.engine().replicas {
		return nil, core.Unprocessable("replicas are not supported for engine %s", r.Value.Engine)
	}
	return r, nil
}

// findReplica goes by the name in the cluster.
func findReplica(c *core.Call, get func(*core.Call) (record, error)) (record, *core.Record[Replica], error) {
	r, err := withReplicas(c, get)
	if err != nil {
		return nil, nil, err
	}
	for _, replica := range Replicas.All(c, r.ID) {
		if replica.Name == c.Param("replica") {
			return r, replica, nil
		}
	}
	return nil, nil, core.NotFound("replica not found")
}

func listReplicas(c *core.Call) (core.Answer, error) {
	r, err := withReplicas(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, replica := range Replicas.All(c, r.ID) {
		views = append(views, replicaView(c, r, replica))
	}
	return core.OK(core.Map{"replicas": views})
}

// createReplica needs a backup to start from: 412 until the first one exists.
func createReplica(c *core.Call) (core.Answer, error) {
	r, err := withReplicas(c, idle)
	if err != nil {
		return core.Answer{}, err
	}
	if len(backupsOf(c, r)) == 0 {
		return core.Answer{}, core.PreconditionFailed("the cluster has no backup yet: its first backup is in progress")
	}
	in := struct {
		Name       string      `json:"name"`
		Size       string      `json:"size"`
		Region     string      `json:"region"`
		VPC        string      `json:"private_network_uuid"`
		Tags       []string    `json:"tags"`
		StorageMiB int         `json:"storage_size_mib"`
		DOSettings *doSettings `json:"do_settings"`
	}{}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if !clusterName.MatchString(in.Name) {
		return core.Answer{}, core.Unprocessable("invalid replica name: %q", in.Name)
	}
	if _, taken := Replicas.Named(c, r.ID, in.Name); taken {
		return core.Answer{}, core.Unprocessable("replica name is not available")
	}
	v := Replica{Size: in.Size, Region: in.Region, StorageMiB: in.StorageMiB, Host: hostOf(c, in.Name)}
	if in.DOSettings != nil {
		if err := in.DOSettings.check(); err != nil {
			return core.Answer{}, err
		}
		v.CNAMEs = in.DOSettings.CNAMEs
	}
	if err := v.complete(r.Value); err != nil {
		return core.Answer{}, err
	}
	vpc, err := basics.VPCIn(c, in.VPC, v.Region)
	if err != nil {
		return core.Answer{}, err
	}
	tags, err := c.EnsureTags(in.Tags)
	if err != nil {
		return core.Answer{}, err
	}
	meta := core.Meta{ID: core.NewUUID(), Parent: r.ID, Name: in.Name, Tags: tags, VPCs: []string{vpc.ID}}
	c.Provision(&meta, "creating", "online", "error")
	return core.Created(core.Map{"replica": replicaView(c, r, Replicas.Insert(c, meta, v))})
}

// complete fills in what was left out from the primary, and refuses less than it
// has.
func (v *Replica) complete(primary Cluster) error {
	if v.Size == "" {
		v.Size = primary.Size
	}
	if v.Region == "" {
		v.Region = primary.Region
	}
	if !basics.IsRegion(v.Region) {
		return core.Unprocessable("invalid region: %q", v.Region)
	}
	if err := primary.engine().fits(v.Size, 1); err != nil {
		return err
	}
	if baseStorage(v.Size) < baseStorage(primary.Size) {
		return core.Unprocessable("invalid size: a replica must be at least as large as its primary")
	}
	if v.StorageMiB == 0 {
		v.StorageMiB = max(primary.StorageMiB, baseStorage(v.Size))
		return nil
	}
	if err := checkStorage(v.Size, v.StorageMiB); err != nil {
		return err
	}
	if v.StorageMiB < primary.StorageMiB {
		return core.Unprocessable("invalid storage_size_mib: a replica needs at least the storage of its primary")
	}
	return nil
}

func getReplica(c *core.Call) (core.Answer, error) {
	r, replica, err := findReplica(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"replica": replicaView(c, r, replica)})
}

func deleteReplica(c *core.Call) (core.Answer, error) {
	_, replica, err := findReplica(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	if replica.Dying() {
		return core.Answer{}, core.Conflict("the replica is already being deleted")
	}
	c.Doom(&replica.Meta, "")
	Replicas.Save(c, replica)
	return core.NoContent()
}

// promoteReplica makes the replica a cluster of its own under the same id.
func promoteReplica(c *core.Call) (core.Answer, error) {
	r, replica, err := findReplica(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	if replica.Busy() {
		return core.Answer{}, core.PreconditionFailed("another operation is in progress on the replica")
	}
	Replicas.Remove(c, replica.ID)
	v := Cluster{Engine: r.Value.Engine, Version: r.Value.Version, Size: replica.Value.Size, Region: replica.Value.Region,
		Nodes: 1, StorageMiB: replica.Value.StorageMiB, Host: replica.Value.Host, OnlineAt: c.Now,
		CNAMEs: replica.Value.CNAMEs, Maintenance: r.Value.Maintenance}
	made := Clusters.Insert(c, core.Meta{ID: replica.ID, Name: replica.Name, Tags: replica.Tags, VPCs: replica.VPCs,
		State: "online"}, v)
	furnish(c, made)
	return core.NoContent()
}

func resizeReplica(c *core.Call, replica *core.Record[Replica], in resizeInput) (core.Answer, error) {
	primary, ok := Clusters.Get(c, replica.Parent)
	if !ok {
		return core.Answer{}, core.NotFound("cluster not found")
	}
	if replica.Busy() || replica.State != "online" {
		return core.Answer{}, core.PreconditionFailed("another operation is in progress on the replica")
	}
	if in.Nodes != 1 {
		return core.Answer{}, core.Unprocessable("invalid num_nodes: a replica has one node")
	}
	if err := primary.Value.engine().fits(in.Size, 1); err != nil {
		return core.Answer{}, err
	}
	storage, err := in.storage(replica.Value.Size, replica.Value.StorageMiB)
	if err != nil {
		return core.Answer{}, err
	}
	if in.Size == replica.Value.Size && storage == replica.Value.StorageMiB {
		return core.Answer{}, core.Unprocessable("the replica already has this configuration")
	}
	planResize(c, &replica.Meta, core.Map{"size": in.Size, "storage_size_mib": storage})
	Replicas.Save(c, replica)
	return core.Accepted(nil)
}

func replicaView(c *core.Call, r record, replica *core.Record[Replica]) core.Map {
	v := replica.Value
	e := r.Value.engine()
	shown := core.Map{"id": replica.ID, "name": replica.Name, "region": v.Region, "size": v.Size, "status": replica.State,
		"tags": orEmpty(replica.Tags), "created_at": core.Time(replica.CreatedAt), "private_network_uuid": replica.VPCs[0],
		"storage_size_mib": v.StorageMiB, "do_settings": core.Map{"service_cnames": orEmpty(v.CNAMEs)}}
	if replica.State == "creating" {
		return shown
	}
	at := endpoint{engine: r.Value.Engine, host: v.Host, port: e.port, user: e.primary, database: e.home}
	if user, ok := Users.Peek(c, core.ChildID(r.ID, e.primary)); ok {
		at.password = visible(c, r.Value.Engine, user.Value.Password, false)
	}
	shown["connection"] = at.view()
	shown["private_connection"] = at.on("private-" + v.Host)
	return shown
}
