package database

import (
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

type resizeInput struct {
	Size       string `json:"size"`
	Nodes      int    `json:"num_nodes"`
	StorageMiB int    `json:"storage_size_mib"`
}

// resize changes size, nodes and storage of a cluster, or size and storage of a
// replica, which the API resizes under the replica's own id.
func resize(c *core.Call) (core.Answer, error) {
	var in resizeInput
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if replica, ok := Replicas.Get(c, c.Param("cluster")); ok {
		return resizeReplica(c, replica, in)
	}
	r, err := idle(c)
	if err != nil {
		return core.Answer{}, err
	}
	v := r.Value
	if err := v.engine().fits(in.Size, in.Nodes); err != nil {
		return core.Answer{}, err
	}
	storage, err := in.storage(v.Size, v.StorageMiB)
	if err != nil {
		return core.Answer{}, err
	}
	if in.Size == v.Size && in.Nodes == v.Nodes && storage == v.StorageMiB {
		return core.Answer{}, core.Unprocessable("the cluster already has this configuration")
	}
	r.Value.note(c, "cluster_update")
	planResize(c, &r.Meta, core.Map{"size": in.Size, "num_nodes": in.Nodes, "storage_size_mib": storage})
	Clusters.Save(c, r)
	return core.Accepted(nil)
}

// storage is the storage after a resize, in MiB: what was asked for, else what
// there is or what the new size brings, whichever is more. Disks never shrink.
func (in resizeInput) storage(size string, now int) (int, error) {
	if baseStorage(in.Size) < baseStorage(size) {
		return 0, core.Unprocessable("invalid size: changing %s to the smaller %s is not supported", size, in.Size)
	}
	if in.StorageMiB == 0 {
		return max(now, baseStorage(in.Size)), nil
	}
	if err := checkStorage(in.Size, in.StorageMiB); err != nil {
		return 0, err
	}
	if in.StorageMiB < now {
		return 0, core.Unprocessable("invalid storage_size_mib: storage cannot be reduced from %d to %d", now, in.StorageMiB)
	}
	return in.StorageMiB, nil
}

// planResize keeps the object online with its old values for a while, as the
// provider does, before it shows as resizing.
func planResize(c *core.Call, m *core.Meta, patch core.Map) {
	d := time.Duration(c.Settings().UpdateTime)
	if c.FailWith() != "" {
		patch = nil
	}
	m.Become("online")
	m.Then(c.Now.Add(d/3), "resizing", nil)
	if patch == nil {
		m.Then(c.Now.Add(d), "online", nil)
		return
	}
	m.Then(c.Now.Add(d), "online", patch)
}

// migrate moves a cluster to another region; it is a member of both VPCs until
// it has arrived.
func migrate(c *core.Call) (core.Answer, error) {
	r, err := idle(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Region string `json:"region"`
		VPC    string `json:"private_network_uuid"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if !basics.IsRegion(in.Region) {
		return core.Answer{}, core.Unprocessable("invalid region: %q", in.Region)
	}
	if in.Region == r.Value.Region {
		return core.Answer{}, core.Unprocessable("the cluster is already in region %s", in.Region)
	}
	vpc, err := basics.VPCIn(c, in.VPC, in.Region)
	if err != nil {
		return core.Answer{}, err
	}
	r.Value.note(c, "cluster_update")
	c.Change(&r.Meta, "migrating", "online", "online", core.Map{"region": in.Region})
	if c.FailWith() == "" {
		r.VPCs = []string{r.VPCs[0], vpc.ID}
		r.Steps[0].VPCs = []string{vpc.ID}
	}
	Clusters.Save(c, r)
	return core.Accepted(nil)
}

// upgrade raises the version. The cluster answers online with the old version
// until it is done.
func upgrade(c *core.Call) (core.Answer, error) {
	r, err := idle(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Version string `json:"version"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	e := r.Value.engine()
	switch {
	case e.rank(in.Version) < 0:
		return core.Answer{}, core.Unprocessable("invalid version: %q is not available for %s", in.Version, r.Value.Engine)
	case e.rank(in.Version) <= e.rank(r.Value.Version):
		return core.Answer{}, core.Unprocessable("invalid version: %s can only be upgraded to a newer version", r.Value.Version)
	}
	r.Value.note(c, "cluster_update")
	c.Change(&r.Meta, "online", "online", "online", core.Map{"version": in.Version})
	Clusters.Save(c, r)
	return core.NoContent()
}
