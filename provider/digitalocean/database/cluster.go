package database

import (
	"context"
	_ "embed"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed cluster.json
var clusterJSON []byte

var clusterManifests = manifests(clusterJSON, withConfig)

// cluster is a database cluster of one engine.
type cluster struct {
	doapi.Base
	engine Engine
}

// Cluster is the kind of an engine's clusters.
func Cluster(a *doapi.Account, e Engine) cloud.Kind {
	return &cluster{doapi.NewBase(a, clusterManifests[string(e)]), e}
}

// Find looks through all clusters for the record's tag or name: the tag is
// ours, the name may be a stranger's, and the caller tells them apart.
func (k *cluster) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	all, err := clusters(ctx, k.Account, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	key := cloud.LabelKey(r.ResourceID)
	for i := range all {
		db := &all[i]
		if db.Name != r.ProviderName && k.Owner(db.Tags, key).ResourceKey != key || db.ID == "" {
			continue
		}
		r.ProviderID = db.ID
		o, err := k.Observe(ctx, r)
		if cloud.IsNotFound(err) { // listed, and not readable yet
			o, err = k.observed(db, r), nil
			o.Phase = cloud.PhaseBusy
		}
		return o, err
	}
	return nil, cloud.NotFound(k.Op(doapi.Look))
}

// Create makes the cluster with what the call takes; the rest (maintenance,
// configuration, ...) shows as a difference once it is online.
func (k *cluster) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	network, err := networkID(k.Base, doapi.Create, r, r.Spec.String("region"))
	if err != nil {
		return nil, err
	}
	nodes, _ := r.Spec.Int("num_nodes")
	storage, _ := r.Spec.Int("storage_size_mib")
	in := &godo.DatabaseCreateRequest{
		Name: r.ProviderName, EngineSlug: string(k.engine), Version: r.Spec.String("version"),
		SizeSlug: r.Spec.String("size"), Region: r.Spec.String("region"), NumNodes: int(nodes),
		StorageSizeMib: uint64(max(storage, 0)), PrivateNetworkUUID: network, ProjectID: r.Spec.String("project_id"),
		Tags: append(k.Tags(r), doapi.Foreign(r.Spec.Strings("tags"))...),
	}
	if names := r.Spec.Strings("service_cnames"); len(names) > 0 {
		in.DOSettings = &godo.DOSettings{ServiceCnames: names}
	}
	if from := r.Spec.Object("backup_restore"); from != nil {
		in.BackupRestore = &godo.DatabaseBackupRestore{DatabaseName: from.String("database_name"), BackupCreatedAt: from.String("backup_created_at")}
	}
	db, _, err := k.API.Databases.Create(ctx, in)
	if err != nil {
		return nil, k.Fail(doapi.Create, r, err)
	}
	if db == nil || db.ID == "" {
		return nil, k.Missing(doapi.Create)
	}
	return k.observed(db, r), nil
}

// Observe reads the cluster. Settings that only endpoints of their own tell are
// read too, if the spec sets them and the cluster is online.
func (k *cluster) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	db, _, err := k.API.Databases.Get(ctx, r.ProviderID)
	if err != nil {
		err = k.Fail(doapi.Look, r, err)
		if cloud.IsNotFound(err) && doapi.DeleteNoted(r) {
			k.DropTag(ctx, r)
		}
		return nil, err
	}
	if db == nil || db.ID == "" {
		return nil, k.Missing(doapi.Look)
	}
	o := k.observed(db, r)
	if o.Phase != cloud.PhaseReady {
		return o, nil
	}
	if err := k.readSettings(ctx, r, o); err != nil {
		return nil, err
	}
	return o, k.readCA(ctx, r, o)
}

// Delete asks for the cluster's end.
func (k *cluster) Delete(ctx context.Context, r cloud.Request) error {
	_, err := k.API.Databases.Delete(ctx, r.ProviderID)
	err = k.Fail(doapi.Delete, r, err)
	if cloud.IsNotFound(err) {
		k.DropTag(ctx, r)
		return err
	}
	doapi.NoteDelete(r)
	return err
}

// List returns the engine's clusters. What it tells of each is less than
// Observe does.
func (k *cluster) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	all, err := clusters(ctx, k.Account, 0)
	if err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	out := []*cloud.Observed{}
	for i := range all {
		if all[i].EngineSlug == string(k.engine) && (s.Limit == 0 || len(out) < s.Limit) {
			out = append(out, k.observed(&all[i], cloud.Request{}))
		}
	}
	return out, nil
}

// Label writes our tags on a fresh look, so that a cluster that another
// deployment took meanwhile is left alone.
func (k *cluster) Label(ctx context.Context, r cloud.Request) error {
	db, _, err := k.API.Databases.Get(ctx, r.ProviderID)
	if err != nil {
		return k.Fail(doapi.Label, r, err)
	}
	if db == nil {
		return k.Missing(doapi.Label)
	}
	return k.LabelObject(ctx, r, godo.DatabaseResourceType, k.Owner(db.Tags, cloud.LabelKey(r.ResourceID)))
}

// Unlabel removes our tags and leaves those of others.
func (k *cluster) Unlabel(ctx context.Context, r cloud.Request) error {
	return k.UnlabelObject(ctx, r, godo.DatabaseResourceType)
}

// clusters reads every cluster of the account. The documentation knows no
// paging here and the client sends it anyway, so both answers are understood.
func clusters(ctx context.Context, a *doapi.Account, limit int) ([]godo.Database, error) {
	return doapi.Pages[godo.Database](ctx, a, "v2/databases", "databases", nil, limit)
}

// networkID is the provider's id of the network that the spec names, in a
// region; "" means the region's default network.
func networkID(k doapi.Base, v doapi.Verb, r cloud.Request, region string) (string, error) {
	name := r.Spec.String("network")
	if name == "" {
		return r.Spec.String("private_network_uuid"), nil
	}
	id := r.Networks[name][region]
	if id == "" {
		return "", cloud.Refuse(k.Op(v), "the network reaches no VPC in region "+region, "spec.network")
	}
	return id, nil
}
