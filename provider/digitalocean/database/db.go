package database

import (
	"context"
	_ "embed"
	"net/http"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed db.json
var dbJSON []byte

var dbManifests = manifests(dbJSON)

// db is a database in a cluster. It has nothing but its name.
type db struct{ child }

// DB is the kind of an engine's databases.
func DB(a *doapi.Account, e Engine) cloud.Kind {
	return &db{child{doapi.NewBase(a, dbManifests[string(e)]), e, "dbs", "dbs", "db"}}
}

type wireDB struct {
	Name string `json:"name"`
}

func (k *db) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	return k.Observe(ctx, r)
}

func (k *db) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	parent, err := k.ParentID(doapi.Create, r.Parent)
	if err != nil {
		return nil, err
	}
	var made wireDB
	in := wireDB{r.Spec.String("name")}
	err = k.send(ctx, doapi.Create, http.MethodPost, k.path(parent), r, in, &made, unready(r.Parent), doapi.Fields("name"))
	if err != nil {
		return nil, err
	}
	return k.observed(doapi.Create, made)
}

func (k *db) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	var seen wireDB
	if err := k.read(ctx, r, &seen); err != nil {
		return nil, err
	}
	return k.observed(doapi.Look, seen)
}

func (k *db) observed(v doapi.Verb, d wireDB) (*cloud.Observed, error) {
	if d.Name == "" {
		return nil, k.Missing(v)
	}
	return k.named(d.Name), nil
}

func (k *db) Diff(cloud.Request, *cloud.Observed) []string { return nil }

// Update has nothing to change.
func (k *db) Update(_ context.Context, _ cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	return &cloud.Updated{Settles: fields}, nil
}

func (k *db) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	return list(ctx, &k.child, s, func(d *wireDB, _ *cloud.ParentRef) *cloud.Observed { return k.named(d.Name) })
}
