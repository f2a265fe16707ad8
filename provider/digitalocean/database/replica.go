package database

import (
	"context"
	_ "embed"
	"net/http"
	"slices"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed replica.json
var replicaJSON []byte

var replicaManifests = manifests(replicaJSON)

// replica is a read-only copy of a cluster. It is found by its name in the
// cluster and changed by an id of its own.
type replica struct{ child }

// Replica is the kind of an engine's read replicas.
func Replica(a *doapi.Account, e Engine) cloud.Kind {
	return &replica{child{doapi.NewBase(a, replicaManifests[string(e)]), e, "replicas", "replicas", "replica"}}
}

// byName lets child's methods, which go by id, find a replica by its name.
func byName(r cloud.Request) cloud.Request {
	r.ProviderID = r.Spec.String("name")
	return r
}

func (k *replica) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	r.ProviderID = ""
	return k.Observe(ctx, r)
}

// Create is busy while the cluster has no backup to start from (412).
func (k *replica) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	parent, err := k.ParentID(doapi.Create, r.Parent)
	if err != nil {
		return nil, err
	}
	network, err := networkID(k.Base, doapi.Create, r, r.Spec.String("region"))
	if err != nil {
		return nil, err
	}
	storage, _ := r.Spec.Int("storage_size_mib")
	in := &godo.DatabaseCreateReplicaRequest{
		Name: r.Spec.String("name"), Region: r.Spec.String("region"), Size: r.Spec.String("size"),
		PrivateNetworkUUID: network, StorageSizeMib: uint64(max(storage, 0)),
	}
	if names := r.Spec.Strings("service_cnames"); len(names) > 0 {
		in.DOSettings = &godo.DOSettings{ServiceCnames: names}
	}
	var made godo.DatabaseReplica
	err = k.send(ctx, doapi.Create, http.MethodPost, k.path(parent), r, in, &made, unready(r.Parent))
	if err != nil {
		return nil, err
	}
	return k.observed(doapi.Create, &made)
}

// Observe reads the replica of the name; under another id it is another one.
func (k *replica) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	var seen godo.DatabaseReplica
	if err := k.read(ctx, byName(r), &seen); err != nil {
		return nil, err
	}
	if seen.ID != "" && r.ProviderID != "" && seen.ID != r.ProviderID {
		return nil, cloud.NotFound(k.Op(doapi.Look))
	}
	return k.observed(doapi.Look, &seen)
}

func (k *replica) observed(v doapi.Verb, rep *godo.DatabaseReplica) (*cloud.Observed, error) {
	if rep.ID == "" || rep.Name == "" {
		return nil, k.Missing(v)
	}
	return k.seen(rep), nil
}

func (k *replica) seen(rep *godo.DatabaseReplica) *cloud.Observed {
	o := k.named(rep.Name)
	o.ProviderID, o.Region, o.CreatedAt = rep.ID, rep.Region, rep.CreatedAt
	o.Phase, o.Message = statusPhase(rep.Status), statusMessage(rep.Status)
	o.Spec["region"], o.Spec["size"] = rep.Region, rep.Size
	if rep.StorageSizeMib > 0 {
		o.Spec["storage_size_mib"] = int64(rep.StorageSizeMib)
	}
	if rep.DOSettings != nil {
		o.Spec["service_cnames"] = anyList(rep.DOSettings.ServiceCnames)
	}
	o.Outputs = map[string]any{
		"id": rep.ID, "status": rep.Status, "storage_size_mib": int64(rep.StorageSizeMib),
		"private_network_uuid": rep.PrivateNetworkUUID,
	}
	c := rep.Connection
	if c == nil || c.Host == "" {
		return o
	}
	o.Outputs["host"], o.Outputs["port"], o.Outputs["database"], o.Outputs["user"] = c.Host, int64(c.Port), c.Database, c.User
	setSecret(o, k.Manifest(), "password", cloud.NewSecret(c.Password))
	setSecret(o, k.Manifest(), "uri", k.engine.connectionURI(c, c.User, c.Password))
	if p := rep.PrivateConnection; p != nil && p.Host != "" {
		o.Outputs["private_host"] = p.Host
		setSecret(o, k.Manifest(), "private_uri", k.engine.connectionURI(p, c.User, c.Password))
	}
	return o
}

func (k *replica) Diff(r cloud.Request, o *cloud.Observed) []string {
	var out []string
	for _, f := range []string{"size", "storage_size_mib", "service_cnames"} {
		if differs(f, r, o) {
			out = append(out, f)
		}
	}
	return out
}

// Update resizes, then sets the host names. Both go by the replica's own id.
func (k *replica) Update(ctx context.Context, r cloud.Request, o *cloud.Observed, fields []string) (*cloud.Updated, error) {
	var settles []string
	for _, f := range []string{"size", "storage_size_mib"} {
		if slices.Contains(fields, f) {
			settles = append(settles, f)
		}
	}
	var err error
	switch {
	case len(settles) > 0:
		err = resize(ctx, k.Account, r, o, 1)
	case slices.Contains(fields, "service_cnames"):
		settles = []string{"service_cnames"}
		err = putCNAMEs(ctx, k.Account, r, o)
	default:
		return &cloud.Updated{Settles: fields}, nil
	}
	return &cloud.Updated{Settles: settles}, k.Fail(doapi.Change, r, err, doapi.Fields(settles...))
}

func (k *replica) Delete(ctx context.Context, r cloud.Request) error {
	return k.child.Delete(ctx, byName(r))
}

func (k *replica) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	return list(ctx, &k.child, s, func(rep *godo.DatabaseReplica, _ *cloud.ParentRef) *cloud.Observed { return k.seen(rep) })
}

// CheckSpec refuses a network named twice.
func (k *replica) CheckSpec(s cloud.Spec) error { return oneNetwork(s) }
