package database

import (
	"context"
	_ "embed"
	"net/http"
	"regexp"
	"time"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed pool.json
var poolJSON []byte

var poolManifests = manifests(poolJSON)

// pool is a connection pool of a PostgreSQL cluster.
type pool struct{ child }

// Pool is the kind of an engine's connection pools.
func Pool(a *doapi.Account, e Engine) cloud.Kind {
	return &pool{child{doapi.NewBase(a, poolManifests[string(e)]), e, "pools", "pools", "pool"}}
}

// poolBody is the whole pool, as create and update take it. It is not godo's
// because that drops an empty user, which is how a user is taken away.
func poolBody(r cloud.Request) map[string]any {
	return map[string]any{
		"name": r.Spec["name"], "mode": r.Spec["mode"], "size": r.Spec["size"], "db": r.Spec["db"],
		"user": r.Spec.String("user"),
	}
}

func (k *pool) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	return k.Observe(ctx, r)
}

func (k *pool) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	parent, err := k.ParentID(doapi.Create, r.Parent)
	if err != nil {
		return nil, err
	}
	var p godo.DatabasePool
	err = k.send(ctx, doapi.Create, http.MethodPost, k.path(parent), r, poolBody(r), &p, unready(r.Parent))
	if err != nil {
		return nil, k.awaited(r, err)
	}
	return k.observed(doapi.Create, &p)
}

func (k *pool) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	var p godo.DatabasePool
	if err := k.read(ctx, r, &p); err != nil {
		return nil, err
	}
	return k.observed(doapi.Look, &p)
}

func (k *pool) observed(v doapi.Verb, p *godo.DatabasePool) (*cloud.Observed, error) {
	if p.Name == "" {
		return nil, k.Missing(v)
	}
	return k.seen(p), nil
}

func (k *pool) seen(p *godo.DatabasePool) *cloud.Observed {
	o := k.named(p.Name)
	o.Spec["mode"], o.Spec["db"], o.Spec["size"], o.Spec["user"] = p.Mode, p.Database, int64(p.Size), p.User
	c := p.Connection
	if c == nil || c.Host == "" {
		return o
	}
	o.Outputs["host"], o.Outputs["port"], o.Outputs["database"], o.Outputs["user"] = c.Host, int64(c.Port), c.Database, c.User
	setSecret(o, k.Manifest(), "password", cloud.NewSecret(c.Password))
	if p.PrivateConnection != nil && p.PrivateConnection.Host != "" {
		o.Outputs["private_host"] = p.PrivateConnection.Host
	}
	for name, at := range map[string]*godo.DatabaseConnection{
		"uri": c, "private_uri": p.PrivateConnection, "standby_uri": p.StandbyConnection,
	} {
		setSecret(o, k.Manifest(), name, k.engine.connectionURI(at, c.User, c.Password))
	}
	return o
}

func (k *pool) Diff(r cloud.Request, o *cloud.Observed) []string {
	var out []string
	for _, f := range []string{"mode", "size", "db"} {
		if want, have := r.Spec[f], o.Spec[f]; want != nil && have != nil && !cloud.SameValue(want, have) {
			out = append(out, f)
		}
	}
	asked := r.Spec["user"] != nil || r.Applied["user"] != nil // or taken out of the spec
	if asked && r.Spec.String("user") != o.Spec.String("user") {
		out = append(out, "user")
	}
	return out
}

// Update writes the whole pool.
func (k *pool) Update(ctx context.Context, r cloud.Request, o *cloud.Observed, fields []string) (*cloud.Updated, error) {
	parent, err := k.ParentID(doapi.Change, r.Parent)
	if err != nil || len(fields) == 0 {
		return &cloud.Updated{}, err
	}
	err = k.Call(ctx, http.MethodPut, k.path(parent, o.ProviderID), poolBody(r), nil)
	return &cloud.Updated{Settles: fields}, k.awaited(r, k.Fail(doapi.Change, r, err, doapi.Fields(fields...)))
}

// How long a pool waits for the database and the user that it names: they are
// often asked for at the same time as the pool.
const (
	patience    = 10 * time.Minute
	memoWaiting = "waitingSince"
)

var wordsAwaited = regexp.MustCompile(`(?i)(database|user|db)\b.*(does not exist|not found|unknown|invalid)`)

// awaited makes a refusal for want of the database or user a reason to wait.
func (k *pool) awaited(r cloud.Request, err error) error {
	if cloud.ClassOf(err) != cloud.ClassRefused || !wordsAwaited.MatchString(err.Error()) || r.Memo == nil {
		return err
	}
	since, parseErr := time.Parse(time.RFC3339, r.Memo[memoWaiting])
	if parseErr != nil {
		since = r.Now
		r.Memo[memoWaiting] = r.Now.UTC().Format(time.RFC3339)
	}
	if r.Now.Sub(since) > patience {
		return err
	}
	return &cloud.ProviderError{Class: cloud.ClassBusy, Op: k.Op(doapi.Create), Message: "waiting for its database and user: " + err.Error(), Err: err}
}

func (k *pool) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	return list(ctx, &k.child, s, func(p *godo.DatabasePool, _ *cloud.ParentRef) *cloud.Observed { return k.seen(p) })
}
