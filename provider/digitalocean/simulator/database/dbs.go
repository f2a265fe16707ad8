package database

import (
	"regexp"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// DB is a database in a cluster; it has nothing but its name.
type DB struct{}

// DBs is the table of databases, children of a cluster by name.
var DBs = core.Table[DB]{Type: "database.db"}

var dbName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_$-]{0,62}$`)

func withDBs(c *core.Call, get func(*core.Call) (record, error)) (record, error) {
	r, err := get(c)
	if err != nil {
		return nil, err
	}
	if !r.Value.engine().databases {
		return nil, core.Unprocessable("databases are not supported for engine %s", r.Value.Engine)
	}
	return r, nil
}

func listDBs(c *core.Call) (core.Answer, error) {
	r, err := withDBs(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, db := range DBs.All(c, r.ID) {
		views = append(views, core.Map{"name": db.Name})
	}
	return core.OK(core.Map{"dbs": views})
}

// dbNames is what a cluster shows of its databases; null where it has none.
func dbNames(c *core.Call, r record) []string {
	if !r.Value.engine().databases {
		return nil
	}
	names := []string{}
	for _, db := range within(c, DBs, r) {
		names = append(names, db.Name)
	}
	return names
}

func createDB(c *core.Call) (core.Answer, error) {
	r, err := withDBs(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Name string `json:"name"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if !dbName.MatchString(in.Name) {
		return core.Answer{}, core.Unprocessable("invalid database name: %q", in.Name)
	}
	if DBs.Exists(c, core.ChildID(r.ID, in.Name)) {
		return core.Answer{}, core.Unprocessable("database name is not available")
	}
	DBs.Insert(c, core.Meta{ID: core.ChildID(r.ID, in.Name), Parent: r.ID, Name: in.Name}, DB{})
	return core.Created(core.Map{"db": core.Map{"name": in.Name}})
}

func findDB(c *core.Call, get func(*core.Call) (record, error)) (*core.Record[DB], error) {
	r, err := withDBs(c, get)
	if err != nil {
		return nil, err
	}
	db, ok := DBs.Get(c, core.ChildID(r.ID, c.Param("db")))
	if !ok {
		return nil, core.NotFound("database not found")
	}
	return db, nil
}

func getDB(c *core.Call) (core.Answer, error) {
	db, err := findDB(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"db": core.Map{"name": db.Name}})
}

func deleteDB(c *core.Call) (core.Answer, error) {
	db, err := findDB(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	DBs.Remove(c, db.ID)
	return core.NoContent()
}
