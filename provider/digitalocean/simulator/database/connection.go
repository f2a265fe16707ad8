package database

import (
	"fmt"
	"net/url"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// endpoint is where and as whom a client connects.
type endpoint struct {
	engine, host, user, password, database string
	port                                   int
}

var protocols = map[string]string{
	"pg": "postgresql", "advanced_pg": "postgresql", "mysql": "mysql", "advanced_mysql": "mysql",
	"valkey": "rediss", "mongodb": "mongodb+srv", "kafka": "kafka", "opensearch": "https",
}

func (e endpoint) view() core.Map {
	return core.Map{
		"protocol": protocols[e.engine], "uri": e.uri(), "database": e.database, "host": e.host, "port": e.port,
		"user": e.user, "password": e.password, "ssl": true,
	}
}

// uri is in the form that the engine's own client takes; without a password it
// names the user only.
func (e endpoint) uri() string {
	who := url.User(e.user)
	if e.password != "" {
		who = url.UserPassword(e.user, e.password)
	}
	at := fmt.Sprintf("%s:%d", e.host, e.port)
	switch e.engine {
	case "pg", "advanced_pg":
		return fmt.Sprintf("postgresql://%s@%s/%s?sslmode=require", who, at, e.database)
	case "mysql", "advanced_mysql":
		return fmt.Sprintf("mysql://%s@%s/%s?ssl-mode=REQUIRED", who, at, e.database)
	case "valkey":
		return fmt.Sprintf("rediss://%s@%s", who, at)
	case "mongodb":
		return fmt.Sprintf("mongodb+srv://%s@%s/%s?tls=true&authSource=admin", who, e.host, e.database)
	case "opensearch":
		return fmt.Sprintf("https://%s@%s", who, at)
	}
	return at
}

// addConnections adds the connection objects of a cluster. While it is created
// there are none, but MongoDB's creation answers with the only sight of its
// password.
func addConnections(c *core.Call, r record, shown core.Map, made bool) {
	v := r.Value
	e := v.engine()
	at := endpoint{engine: v.Engine, host: v.Host, port: e.port, user: e.primary, database: e.home}
	if user, ok := Users.Peek(c, core.ChildID(r.ID, e.primary)); ok {
		at.password = visible(c, v.Engine, user.Value.Password, made)
	}
	if r.State == "creating" || r.State == "forking" {
		if v.Engine == "mongodb" && made {
			shown["connection"] = core.Map{"protocol": protocols[v.Engine], "uri": "", "database": "", "host": "", "port": 0,
				"user": at.user, "password": at.password, "ssl": true}
		}
		return
	}
	shown["connection"] = at.view()
	shown["private_connection"] = at.on("private-" + v.Host)
	if v.Nodes > 1 && e.replicas {
		shown["standby_connection"] = at.on("replica-" + v.Host)
		shown["standby_private_connection"] = at.on("private-replica-" + v.Host)
	}
	ui := at
	switch v.Engine {
	case "opensearch":
		ui.port = 443
		shown["ui_connection"] = ui.view()
	case "kafka":
		ui.engine, ui.port = "opensearch", 25065
		shown["schema_registry_connection"] = ui.view()
	}
}

func (e endpoint) on(host string) core.Map {
	e.host = host
	return e.view()
}

// visible is a password as an answer shows it. made is true in the answers that
// create or reset it.
func visible(c *core.Call, engine, password string, made bool) string {
	if c.Account.HideCredentials || (engine == "mongodb" && !made) {
		return ""
	}
	return password
}
