package database

import (
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// Pool is a connection pool of a PostgreSQL cluster.
type Pool struct {
	Mode string `json:"mode"`
	Size int    `json:"size"`
	DB   string `json:"db"`
	User string `json:"user"`
}

// Pools is the table of pools, children of a cluster by name.
var Pools = core.Table[Pool]{Type: "database.pool"}

// poolPort is where the pools listen.
const poolPort = 25061

func withPools(c *core.Call, get func(*core.Call) (record, error)) (record, error) {
	r, err := get(c)
	if err != nil {
		return nil, err
	}
	if !r.Value.engine().pools {
		return nil, core.Unprocessable("connection pools are not supported for engine %s", r.Value.Engine)
	}
	return r, nil
}

func findPool(c *core.Call, get func(*core.Call) (record, error)) (record, *core.Record[Pool], error) {
	r, err := withPools(c, get)
	if err != nil {
		return nil, nil, err
	}
	p, ok := Pools.Get(c, core.ChildID(r.ID, c.Param("pool")))
	if !ok {
		return nil, nil, core.NotFound("pool not found")
	}
	return r, p, nil
}

func listPools(c *core.Call) (core.Answer, error) {
	r, err := withPools(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, p := range Pools.All(c, r.ID) {
		views = append(views, poolView(c, r, p))
	}
	return core.OK(core.Map{"pools": views})
}

func createPool(c *core.Call) (core.Answer, error) {
	r, err := withPools(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Name string `json:"name"`
		Pool
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if len(in.Name) < 3 || len(in.Name) > 60 {
		return core.Answer{}, core.Unprocessable("invalid pool name: must be between 3 and 60 characters")
	}
	if Pools.Exists(c, core.ChildID(r.ID, in.Name)) {
		return core.Answer{}, core.Unprocessable("pool name is not available")
	}
	if err := in.check(c, r, in.Name); err != nil {
		return core.Answer{}, err
	}
	p := Pools.Insert(c, core.Meta{ID: core.ChildID(r.ID, in.Name), Parent: r.ID, Name: in.Name}, in.Pool)
	return core.Created(core.Map{"pool": poolView(c, r, p)})
}

// check refuses what does not exist in the cluster and more connections than its
// memory allows: 25 for each GB less 3, shared by all pools.
func (p Pool) check(c *core.Call, r record, name string) error {
	if !slices.Contains([]string{"session", "transaction", "statement"}, p.Mode) {
		return core.Unprocessable("invalid pool mode: %q", p.Mode)
	}
	if _, ok := DBs.Get(c, core.ChildID(r.ID, p.DB)); !ok {
		return core.Unprocessable("database %q does not exist", p.DB)
	}
	if p.User != "" {
		if _, ok := Users.Get(c, core.ChildID(r.ID, p.User)); !ok {
			return core.Unprocessable("user %q does not exist", p.User)
		}
	}
	left := 25*gigabytes(r.Value.Size) - 3
	for _, other := range Pools.Everything(c, r.ID) {
		if other.Name != name {
			left -= other.Value.Size
		}
	}
	if p.Size < 1 || p.Size > left {
		return core.Unprocessable("invalid pool size: %d connections are available", left)
	}
	return nil
}

func getPool(c *core.Call) (core.Answer, error) {
	r, p, err := findPool(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"pool": poolView(c, r, p)})
}

func updatePool(c *core.Call) (core.Answer, error) {
	r, p, err := findPool(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	var in Pool
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := in.check(c, r, p.Name); err != nil {
		return core.Answer{}, err
	}
	p.Value = in
	Pools.Save(c, p)
	return core.NoContent()
}

func deletePool(c *core.Call) (core.Answer, error) {
	_, p, err := findPool(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	Pools.Remove(c, p.ID)
	return core.NoContent()
}

func poolView(c *core.Call, r record, p *core.Record[Pool]) core.Map {
	name := p.Value.User
	if name == "" {
		name = r.Value.engine().primary
	}
	at := endpoint{engine: r.Value.Engine, host: r.Value.Host, port: poolPort, user: name, database: p.Name}
	if user, ok := Users.Peek(c, core.ChildID(r.ID, name)); ok {
		at.password = visible(c, r.Value.Engine, user.Value.Password, false)
	}
	shown := core.Map{"name": p.Name, "mode": p.Value.Mode, "size": p.Value.Size, "db": p.Value.DB, "user": p.Value.User,
		"connection": at.view(), "private_connection": at.on("private-" + r.Value.Host)}
	if r.Value.Nodes > 1 {
		shown["standby_connection"] = at.on("replica-" + r.Value.Host)
		shown["standby_private_connection"] = at.on("private-replica-" + r.Value.Host)
	}
	return shown
}
