package simulator_test

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"testing"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/simtest"
)

// The tests of these files make the calls that DigitalOcean's Terraform provider
// makes, in its order, and demand of the answers what its code relies on: fields
// that it reads without looking whether they are there, states it waits for, and
// values that must be what was configured, or the next plan is not empty. They
// were written from the provider's published source.

// terraform is an account with one client.
type terraform struct {
	*testing.T
	ctx context.Context
	api *godo.Client
}

// newTerraform starts a simulator of its own, with settings other than the tests'
// where there are any.
func newTerraform(t *testing.T, settings ...simulator.Settings) terraform {
	t.Parallel()
	opts := simulator.Options{Settings: godo.PtrTo(simtest.Settings())}
	for _, s := range settings {
		opts.Settings = &s
	}
	url, _ := simtest.StartWith(t, opts)
	return terraform{T: t, ctx: t.Context(), api: client(t, url)}
}

// cluster creates one and waits until it is online.
func (t terraform) cluster(engine, size string, nodes int) *godo.Database {
	t.Helper()
	made, _, err := t.api.Databases.Create(t.ctx, &godo.DatabaseCreateRequest{Name: "tf-" + engine, EngineSlug: engine,
		Region: "nyc3", SizeSlug: size, NumNodes: nodes, Tags: []string{"env:test"}})
	require.NoError(t, err)
	return t.online(made.ID)
}

func (t terraform) online(id string) *godo.Database {
	t.Helper()
	var got *godo.Database
	require.Eventually(t, func() bool {
		var err error
		got, _, err = t.api.Databases.Get(t.ctx, id)
		return err == nil && got.Status == "online"
	}, patience, step)
	return got
}

// gone demands a 404, by which Terraform drops an object from its state.
func (t terraform) gone(read func() (*godo.Response, error)) {
	t.Helper()
	require.Eventually(t, func() bool {
		response, err := read()
		return err != nil && response != nil && response.StatusCode == http.StatusNotFound
	}, patience, step)
}

func TestTerraformDatabaseCluster(tt *testing.T) {
	t := newTerraform(tt)
	db := t.cluster("pg", "db-s-1vcpu-2gb", 1)
	require.Equal(t, []string{"env:test"}, db.Tags)
	require.NotEmpty(t, db.PrivateNetworkUUID)
	require.NotEmpty(t, db.ProjectID)
	require.Positive(t, db.StorageSizeMib)
	for _, connection := range []*godo.DatabaseConnection{db.Connection, db.PrivateConnection} {
		uri, err := url.Parse(connection.URI)
		require.NoError(t, err)
		require.Equal(t, connection.Host, uri.Hostname())
		require.NotEmpty(t, connection.Password)
	}

	_, err := t.api.Databases.UpdateMaintenance(t.ctx, db.ID, &godo.DatabaseUpdateMaintenanceRequest{Day: "friday", Hour: "13:00"})
	require.NoError(t, err)
	db = t.online(db.ID)
	require.Equal(t, "friday", db.MaintenanceWindow.Day)
	require.Contains(t, db.MaintenanceWindow.Hour, "13:00")

	// A size is sent with the number of nodes; storage only when it changed.
	_, err = t.api.Databases.Resize(t.ctx, db.ID, &godo.DatabaseResizeRequest{SizeSlug: "db-s-2vcpu-4gb", NumNodes: 2})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		db = t.online(db.ID)
		return db.SizeSlug == "db-s-2vcpu-4gb" && db.NumNodes == 2
	}, patience, step)

	// Tags are made before they are used, whether they exist or not.
	resource := []godo.Resource{{ID: db.ID, Type: godo.DatabaseResourceType}}
	_, err = t.api.Tags.UntagResources(t.ctx, "env:test", &godo.UntagResourcesRequest{Resources: resource})
	require.NoError(t, err)
	for range 2 {
		tag, _, err := t.api.Tags.Create(t.ctx, &godo.TagCreateRequest{Name: "env:prod"})
		require.NoError(t, err)
		_, err = t.api.Tags.TagResources(t.ctx, tag.Name, &godo.TagResourcesRequest{Resources: resource})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"env:prod"}, t.online(db.ID).Tags)

	_, err = t.api.Databases.Delete(t.ctx, db.ID)
	require.NoError(t, err)
	t.gone(func() (*godo.Response, error) { _, r, err := t.api.Databases.Get(t.ctx, db.ID); return r, err })
}

func TestTerraformSQLMode(tt *testing.T) {
	t := newTerraform(tt)
	db := t.cluster("mysql", "db-s-1vcpu-1gb", 1)
	_, err := t.api.Databases.SetSQLMode(t.ctx, db.ID, "ANSI,STRICT_ALL_TABLES")
	require.NoError(t, err)
	mode, _, err := t.api.Databases.GetSQLMode(t.ctx, db.ID)
	require.NoError(t, err)
	require.Equal(t, "ANSI,STRICT_ALL_TABLES", mode)
}

func TestTerraformDatabaseUsers(tt *testing.T) {
	t := newTerraform(tt)
	db := t.cluster("mysql", "db-s-1vcpu-1gb", 1)
	user, _, err := t.api.Databases.CreateUser(t.ctx, db.ID, &godo.DatabaseCreateUserRequest{Name: "app"})
	require.NoError(t, err)
	require.Equal(t, godo.SQLAuthPluginCachingSHA2, user.MySQLSettings.AuthPlugin, "the default that Terraform knows")
	require.Nil(t, user.Settings, "a block that nobody configured would be planned away")
	_, _, err = t.api.Databases.ResetUserAuth(t.ctx, db.ID, "app", &godo.DatabaseResetUserAuthRequest{
		MySQLSettings: &godo.DatabaseMySQLUserSettings{AuthPlugin: godo.SQLAuthPluginNative}})
	require.NoError(t, err)
	user, _, err = t.api.Databases.GetUser(t.ctx, db.ID, "app")
	require.NoError(t, err)
	require.Equal(t, godo.SQLAuthPluginNative, user.MySQLSettings.AuthPlugin)
	_, err = t.api.Databases.DeleteUser(t.ctx, db.ID, "app")
	require.NoError(t, err)
	t.gone(func() (*godo.Response, error) {
		_, r, err := t.api.Databases.GetUser(t.ctx, db.ID, "app")
		return r, err
	})

	kafka := t.cluster("kafka", "db-s-2vcpu-2gb", 3)
	acl := func(word string) *godo.DatabaseUserSettings {
		return &godo.DatabaseUserSettings{ACL: []*godo.KafkaACL{{Topic: "orders", Permission: word}}}
	}
	user, _, err = t.api.Databases.CreateUser(t.ctx, kafka.ID, &godo.DatabaseCreateUserRequest{Name: "app", Settings: acl("produceconsume")})
	require.NoError(t, err)
	require.Equal(t, "produceconsume", user.Settings.ACL[0].Permission)
	require.NotEmpty(t, user.Settings.ACL[0].ID)
	require.NotEmpty(t, user.AccessCert)
	user, _, err = t.api.Databases.UpdateUser(t.ctx, kafka.ID, "app", &godo.DatabaseUpdateUserRequest{Settings: acl("consume")})
	require.NoError(t, err)
	require.Equal(t, "consume", user.Settings.ACL[0].Permission)
}

func TestTerraformPoolAndReplica(tt *testing.T) {
	t := newTerraform(tt)
	db := t.cluster("pg", "db-s-1vcpu-2gb", 1)
	_, _, err := t.api.Databases.CreateDB(t.ctx, db.ID, &godo.DatabaseCreateDBRequest{Name: "shop"})
	require.NoError(t, err)
	asked := &godo.DatabaseCreatePoolRequest{Name: "shop-pool", User: "doadmin", Mode: "transaction", Size: 10, Database: "shop"}
	_, _, err = t.api.Databases.CreatePool(t.ctx, db.ID, asked)
	require.NoError(t, err)
	pool, _, err := t.api.Databases.GetPool(t.ctx, db.ID, asked.Name)
	require.NoError(t, err)
	shown := godo.DatabaseCreatePoolRequest{Name: pool.Name, User: pool.User, Mode: pool.Mode, Size: pool.Size, Database: pool.Database}
	require.Equal(t, *asked, shown)
	require.NotEmpty(t, pool.Connection.Password)
	require.NotEmpty(t, pool.PrivateConnection.URI)

	var replica *godo.DatabaseReplica
	require.Eventually(t, func() bool {
		made, response, err := t.api.Databases.CreateReplica(t.ctx, db.ID, &godo.DatabaseCreateReplicaRequest{
			Name: "copy", Region: "nyc3", Size: "db-s-1vcpu-2gb"})
		if err != nil {
			require.Equal(t, http.StatusPreconditionFailed, response.StatusCode, "the one refusal after which Terraform tries again")
		}
		replica = made
		return err == nil
	}, patience, step)
	require.NotEmpty(t, replica.Name)
	read := func() bool {
		replica, _, err = t.api.Databases.GetReplica(t.ctx, db.ID, "copy")
		return err == nil && replica.Status == "online"
	}
	require.Eventually(t, read, patience, step)
	require.NotEmpty(t, replica.Connection.Host)
	require.NotEmpty(t, replica.PrivateConnection.Host)
	require.Equal(t, "nyc3", replica.Region)

	// A replica is resized like a cluster, under its own id.
	_, err = t.api.Databases.Resize(t.ctx, replica.ID, &godo.DatabaseResizeRequest{SizeSlug: "db-s-2vcpu-4gb", NumNodes: 1})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return read() && replica.Size == "db-s-2vcpu-4gb" }, patience, step)
	_, err = t.api.Databases.DeleteReplica(t.ctx, db.ID, "copy")
	require.NoError(t, err)
	t.gone(func() (*godo.Response, error) {
		_, r, err := t.api.Databases.GetReplica(t.ctx, db.ID, "copy")
		return r, err
	})
}

func TestTerraformDatabaseFirewall(tt *testing.T) {
	t := newTerraform(tt)
	db := t.cluster("valkey", "db-s-1vcpu-1gb", 1)
	put := func(rules ...*godo.DatabaseFirewallRule) []godo.DatabaseFirewallRule {
		_, err := t.api.Databases.UpdateFirewallRules(t.ctx, db.ID, &godo.DatabaseUpdateFirewallRulesRequest{Rules: rules})
		require.NoError(t, err)
		got, _, err := t.api.Databases.GetFirewallRules(t.ctx, db.ID)
		require.NoError(t, err)
		return got
	}
	first := put(&godo.DatabaseFirewallRule{Type: "ip_addr", Value: "192.0.2.1"})
	require.Len(t, first, 1)
	require.NotEmpty(t, first[0].UUID)
	require.False(t, first[0].CreatedAt.IsZero())
	// A rule that stays is sent with its id.
	both := put(&godo.DatabaseFirewallRule{Type: "ip_addr", Value: "192.0.2.1", UUID: first[0].UUID},
		&godo.DatabaseFirewallRule{Type: "ip_addr", Value: "192.0.2.2"})
	require.Len(t, both, 2)
	require.Contains(t, both, first[0])
	require.Empty(t, put())
}

func TestTerraformKafkaTopic(tt *testing.T) {
	t := newTerraform(tt)
	db := t.cluster("kafka", "db-s-2vcpu-2gb", 3)
	three, two := uint32(3), uint32(2)
	_, _, err := t.api.Databases.CreateTopic(t.ctx, db.ID, &godo.DatabaseCreateTopicRequest{Name: "orders",
		PartitionCount: &three, ReplicationFactor: &two, Config: &godo.TopicConfig{CleanupPolicy: "compact"}})
	require.NoError(t, err)
	var topic *godo.DatabaseTopic
	require.Eventually(t, func() bool {
		read, response, err := t.api.Databases.GetTopic(t.ctx, db.ID, "orders")
		if err != nil {
			require.Equal(t, http.StatusNotFound, response.StatusCode, "the one refusal after which Terraform tries again")
			return false
		}
		topic = read
		return read.State == "active"
	}, patience, step)
	complete(t.T, topic.Config, "every one of them was read unchecked in some release")

	// What was read is sent back whole with every later change.
	four := uint32(4)
	_, err = t.api.Databases.UpdateTopic(t.ctx, db.ID, "orders", &godo.DatabaseUpdateTopicRequest{PartitionCount: &four,
		ReplicationFactor: &two, Config: topic.Config})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		again, _, err := t.api.Databases.GetTopic(t.ctx, db.ID, "orders")
		require.NoError(t, err)
		return len(again.Partitions) == 4 && again.State == "active"
	}, patience, step)
	again, _, err := t.api.Databases.GetTopic(t.ctx, db.ID, "orders")
	require.NoError(t, err)
	require.Equal(t, topic.Config, again.Config)

	schema := &godo.DatabaseKafkaSchemaRegistryRequest{SubjectName: "order", SchemaType: "AVRO", Schema: `{"type":"string"}`}
	subject, _, err := t.api.Databases.CreateKafkaSchemaRegistry(t.ctx, db.ID, schema)
	require.NoError(t, err)
	read, _, err := t.api.Databases.GetKafkaSchemaRegistry(t.ctx, db.ID, subject.SubjectName)
	require.NoError(t, err)
	require.Equal(t, schema.Schema, read.Schema, "letter by letter")
	require.Equal(t, schema.SchemaType, read.SchemaType)
	_, err = t.api.Databases.DeleteKafkaSchemaRegistry(t.ctx, db.ID, "order")
	require.NoError(t, err)
	_, err = t.api.Databases.DeleteTopic(t.ctx, db.ID, "orders")
	require.NoError(t, err)
	t.gone(func() (*godo.Response, error) {
		_, r, err := t.api.Databases.GetTopic(t.ctx, db.ID, "orders")
		return r, err
	})
}

// complete demands that no field is missing.
func complete(t *testing.T, config any, why string) {
	t.Helper()
	v := reflect.ValueOf(config).Elem()
	for i := range v.NumField() {
		if kind := v.Field(i).Kind(); kind == reflect.Pointer || kind == reflect.String {
			require.False(t, v.Field(i).IsZero(), "%s is missing: %s", v.Type().Field(i).Name, why)
		}
	}
}

func TestTerraformLogsinks(tt *testing.T) {
	t := newTerraform(tt)
	db := t.cluster("pg", "db-s-1vcpu-1gb", 1)
	for kind, config := range map[string]*godo.DatabaseLogsinkConfig{
		// godo leaves a false out, so that a sink without TLS says nothing of it.
		"rsyslog":    {Server: "logs.example.com", Port: 514, Format: "rfc5424"},
		"opensearch": {URL: "https://user:password@logs.example.com:9200", IndexPrefix: "db"},
	} {
		made, _, err := t.api.Databases.CreateLogsink(t.ctx, db.ID, &godo.DatabaseCreateLogsinkRequest{Name: kind, Type: kind, Config: config})
		require.NoError(t, err, kind)
		read, _, err := t.api.Databases.GetLogsink(t.ctx, db.ID, made.ID)
		require.NoError(t, err)
		require.Equal(t, kind, read.Name)
		require.Equal(t, config, read.Config, "nothing that was not asked for")
		config.Timeout = 20
		_, err = t.api.Databases.UpdateLogsink(t.ctx, db.ID, made.ID, &godo.DatabaseUpdateLogsinkRequest{Config: config})
		require.NoError(t, err)
		read, _, err = t.api.Databases.GetLogsink(t.ctx, db.ID, made.ID)
		require.NoError(t, err)
		require.Equal(t, config, read.Config)
		_, err = t.api.Databases.DeleteLogsink(t.ctx, db.ID, made.ID)
		require.NoError(t, err)
		t.gone(func() (*godo.Response, error) {
			_, r, err := t.api.Databases.GetLogsink(t.ctx, db.ID, made.ID)
			return r, err
		})
	}
}

// TestTerraformConfigs: a configuration resource takes all values that it read
// into its state and sends them back with any change.
func TestTerraformConfigs(tt *testing.T) {
	t := newTerraform(tt)
	for engine, size := range map[string]string{"pg": "db-s-1vcpu-1gb", "mysql": "db-s-1vcpu-1gb", "valkey": "db-s-1vcpu-1gb",
		"mongodb": "db-s-1vcpu-1gb", "kafka": "db-s-2vcpu-2gb", "opensearch": "db-s-2vcpu-4gb"} {
		nodes := 1
		if engine == "kafka" {
			nodes = 3
		}
		id := t.cluster(engine, size, nodes).ID
		var before, after any
		var errs [3]error
		d := t.api.Databases
		switch engine {
		case "pg":
			before, after, errs = roundTrip(t, id, d.GetPostgreSQLConfig, d.UpdatePostgreSQLConfig)
		case "mysql":
			before, after, errs = roundTrip(t, id, d.GetMySQLConfig, d.UpdateMySQLConfig)
		case "valkey":
			before, after, errs = roundTrip(t, id, d.GetValkeyConfig, d.UpdateValkeyConfig)
		case "mongodb":
			before, after, errs = roundTrip(t, id, d.GetMongoDBConfig, d.UpdateMongoDBConfig)
		case "kafka":
			before, after, errs = roundTrip(t, id, d.GetKafkaConfig, d.UpdateKafkaConfig)
		case "opensearch":
			before, after, errs = roundTrip(t, id, d.GetOpensearchConfig, d.UpdateOpensearchConfig)
		}
		for _, err := range errs {
			require.NoError(t, err, engine)
		}
		require.Equal(t, before, after, engine)
	}
}

func roundTrip[C any](t terraform, id string, get func(context.Context, string) (*C, *godo.Response, error),
	put func(context.Context, string, *C) (*godo.Response, error),
) (before, after any, errs [3]error) {
	read, _, err := get(t.ctx, id)
	_, sent := put(t.ctx, id, read)
	again, _, last := get(t.ctx, id)
	return read, again, [3]error{err, sent, last}
}
