package database

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
)

// Engine is the word of an engine in kind names and in the provider's API.
type Engine string

// The engines.
const (
	PG         Engine = "pg"
	MySQL      Engine = "mysql"
	Valkey     Engine = "valkey"
	MongoDB    Engine = "mongodb"
	Kafka      Engine = "kafka"
	OpenSearch Engine = "opensearch"
)

type engineFacts struct {
	title string
	// primary is the user that a cluster is born with.
	primary string
	// uri is the form of a connection URI: user and password, host, port,
	// database. "" means that the engine has none.
	uri string
}

var engines = map[string]engineFacts{
	"pg":         {title: "PostgreSQL", primary: "doadmin", uri: "postgresql://%[1]s@%[2]s:%[3]d/%[4]s?sslmode=require"},
	"mysql":      {title: "MySQL", primary: "doadmin", uri: "mysql://%[1]s@%[2]s:%[3]d/%[4]s?ssl-mode=REQUIRED"},
	"valkey":     {title: "Valkey", primary: "default", uri: "rediss://%[1]s@%[2]s:%[3]d"},
	"mongodb":    {title: "MongoDB", primary: "doadmin", uri: "mongodb+srv://%[1]s@%[2]s/%[4]s?tls=true&authSource=admin"},
	"kafka":      {title: "Kafka", primary: "doadmin"},
	"opensearch": {title: "OpenSearch", primary: "doadmin", uri: "https://%[1]s@%[2]s:%[3]d"},
}

func (e Engine) facts() engineFacts { return engines[string(e)] }

// where is an endpoint of a cluster or pool.
type where struct {
	host     string
	port     int64
	database string
}

// endpoint reads where a cluster is from its outputs, as a child's request
// carries them.
func endpoint(outputs map[string]any, hostKey string) where {
	o := cloud.Spec(outputs)
	port, _ := o.Int("port")
	return where{host: o.String(hostKey), port: port, database: o.String("database")}
}

// uri builds a connection URI. It is empty while the password or the host is
// not known: half a credential is worth nothing.
func (e Engine) uri(user, password string, w where) cloud.Secret {
	form := e.facts().uri
	if form == "" || user == "" || password == "" || w.host == "" {
		return cloud.Secret{}
	}
	return cloud.NewSecret(fmt.Sprintf(form, url.UserPassword(user, password), w.host, w.port, w.database))
}

// connectionURI is a connection's URI with its password: the provider's own
// where it has one, else built (some answers leave the password out of it).
func (e Engine) connectionURI(c *godo.DatabaseConnection, user, password string) cloud.Secret {
	if c == nil || password == "" {
		return cloud.Secret{}
	}
	if u, err := url.Parse(c.URI); err == nil && u.Hostname() != "" {
		if given, ok := u.User.Password(); ok && given == password {
			return cloud.NewSecret(c.URI)
		}
	}
	if c.User != "" {
		user = c.User
	}
	return e.uri(user, password, where{c.Host, int64(c.Port), c.Database})
}

// setSecret adds a secret output when there is a value and the manifest has
// such an output.
func setSecret(o *cloud.Observed, m *cloud.Manifest, name string, value cloud.Secret) {
	if value.Empty() || !slices.Contains(m.SecretNames(), name) {
		return
	}
	if o.Secrets == nil {
		o.Secrets = map[string]cloud.Secret{}
	}
	o.Secrets[name] = value
}

// statusPhase reads the word of a cluster's or replica's status. Many more
// words exist than are documented; an unknown one means busy.
func statusPhase(status string) cloud.Phase {
	switch status {
	case "online", "active":
		return cloud.PhaseReady
	case "error", "errored", "failed":
		return cloud.PhaseFailed
	case "deleting", "destroying":
		return cloud.PhaseDeleting
	}
	return cloud.PhaseBusy
}

func statusMessage(status string) string {
	if status == "" || status == "online" {
		return ""
	}
	return "the provider says: " + status
}
