package database

import (
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// Index is an OpenSearch index. The API cannot make one, so each OpenSearch
// cluster starts with one.
type Index struct {
	Shards int `json:"number_of_shards"`
}

// metricsLogin is the one credential for the metrics of all clusters of an
// account.
type metricsLogin struct {
	User     string `json:"basic_auth_username"`
	Password string `json:"basic_auth_password"`
}

var (
	// Indexes is the table of indexes, children of a cluster by name.
	Indexes = core.Table[Index]{Type: "database.index"}
	logins  = core.Table[metricsLogin]{Type: "database.metrics", Steady: true}
)

func listIndexes(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if err := only(r, "indexes are", "opensearch"); err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, i := range Indexes.All(c, r.ID) {
		views = append(views, core.Map{"index_name": i.Name, "number_of_shards": i.Value.Shards, "number_of_replicas": 1,
			"size": 208, "created_time": i.CreatedAt.UTC().Format(time.RFC3339), "status": "open", "health": "green"})
	}
	return core.OK(core.Map{"indexes": views})
}

func deleteIndex(c *core.Call) (core.Answer, error) {
	r, err := usable(c)
	if err != nil {
		return core.Answer{}, err
	}
	i, ok := Indexes.Get(c, core.ChildID(r.ID, c.Param("index")))
	if !ok {
		return core.Answer{}, core.NotFound("index not found")
	}
	Indexes.Remove(c, i.ID)
	return core.NoContent()
}

// getMetricsCredentials answers as documented, one object in another, and also
// flat, as the provider's client library reads it.
func getMetricsCredentials(c *core.Call) (core.Answer, error) {
	login, ok := logins.Get(c, "login")
	if !ok {
		login = logins.Insert(c, core.Meta{ID: "login", Seeded: true}, metricsLogin{User: "metrics", Password: core.Secret("", 12)})
	}
	return core.OK(core.Map{"credentials": core.Map{"credentials": login.Value,
		"basic_auth_username": login.Value.User, "basic_auth_password": login.Value.Password}})
}

func putMetricsCredentials(c *core.Call) (core.Answer, error) {
	var in struct {
		Credentials metricsLogin `json:"credentials"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in.Credentials.User == "" || in.Credentials.Password == "" {
		return core.Answer{}, core.Unprocessable("credentials are required")
	}
	logins.Remove(c, "login")
	logins.Insert(c, core.Meta{ID: "login", Seeded: true}, in.Credentials)
	return core.NoContent()
}
