package database_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/database"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

// TestEveryOperation sees each operation of the area succeed once, so that every kind of answer is held against the OpenAPI document.
func TestEveryOperation(t *testing.T) {
	f := start(t)
	pg, mysql, kafka := f.online("pg", "pg-one"), f.online("mysql", "my-one"), f.online("kafka", "kafka-one")
	for _, step := range []func(*testing.T, *fixture, *godo.Database){settings, firewall, users, poolsAndDBs, replicas, history} {
		step(t, f, pg)
		f.settle()
	}
	mysqlSettings(t, f, mysql)
	valkeySettings(t, f, f.online("valkey", "cache"))
	topics(t, f, kafka)
	schemas(t, f, kafka)
	sinks(t, f, f.online("opensearch", "search"))
	f.RequireCovered(database.Area())
}

func settings(t *testing.T, f *fixture, db *godo.Database) {
	_, _, err := f.Client.Databases.ListOptions(f.ctx)
	require.NoError(t, err)
	_, err = f.Client.Databases.UpdateMaintenance(f.ctx, db.ID, &godo.DatabaseUpdateMaintenanceRequest{Day: "Friday", Hour: "18:00"})
	require.NoError(t, err)
	window := f.get(db.ID).MaintenanceWindow
	require.Equal(t, "friday", window.Day)
	require.Equal(t, "18:00:00", window.Hour)
	for _, bad := range []godo.DatabaseUpdateMaintenanceRequest{{Day: "freitag", Hour: "18:00"}, {Day: "friday", Hour: "24:00"}, {Day: "friday", Hour: "6pm"}} {
		response, err := f.Client.Databases.UpdateMaintenance(f.ctx, db.ID, &bad)
		refused(t, http.StatusUnprocessableEntity, response, err)
	}
	_, err = f.Client.Databases.InstallUpdate(f.ctx, db.ID)
	require.NoError(t, err)
	f.settle()

	_, err = f.Client.Databases.UpdatePostgreSQLConfig(f.ctx, db.ID, &godo.PostgreSQLConfig{
		WorkMem: new(16), PgBouncer: &godo.PostgreSQLBouncerConfig{ServerLifetime: new(600)}})
	require.NoError(t, err)
	config, _, err := f.Client.Databases.GetPostgreSQLConfig(f.ctx, db.ID)
	require.NoError(t, err)
	require.Equal(t, 16, *config.WorkMem)
	require.Equal(t, 600, *config.PgBouncer.ServerLifetime)
	require.NotNil(t, config.BackupHour)
	response, err := f.Client.Databases.UpdatePostgreSQLConfig(f.ctx, db.ID, &godo.PostgreSQLConfig{WorkMem: new(5000)})
	refused(t, http.StatusUnprocessableEntity, response, err)

	_, err = f.Client.Databases.UpdateStorageAutoscale(f.ctx, db.ID, &godo.DatabaseStorageAutoscale{Enabled: true,
		ThresholdPercent: new(80), IncrementGib: new(uint64(20))})
	require.NoError(t, err)
	scale, _, err := f.Client.Databases.GetStorageAutoscale(f.ctx, db.ID)
	require.NoError(t, err)
	require.Equal(t, 80, *scale.ThresholdPercent)
	f.get(db.ID)

	_, err = f.Client.Databases.UpdateDOSettings(f.ctx, db.ID, &godo.DatabaseUpdateDOSettingsRequest{
		DOSettings: &godo.DOSettings{ServiceCnames: []string{"db.example.com"}}})
	require.NoError(t, err)
	status, _ := f.Do(http.MethodGet, "v2/databases/"+db.ID+"/do_settings", nil)
	require.Equal(t, http.StatusOK, status)
	_, err = f.Client.Databases.UpgradeMajorVersion(f.ctx, db.ID, &godo.UpgradeVersionRequest{Version: "18"})
	require.NoError(t, err)
	f.settle()
	_, err = f.Client.Databases.Migrate(f.ctx, db.ID, &godo.DatabaseMigrateRequest{Region: "fra1"})
	require.NoError(t, err)
	f.settle()
	_, err = f.Client.Databases.Resize(f.ctx, db.ID, &godo.DatabaseResizeRequest{SizeSlug: "db-s-2vcpu-4gb", NumNodes: 2})
	require.NoError(t, err)
}

func firewall(t *testing.T, f *fixture, db *godo.Database) {
	droplet := fmt.Sprint(core.DropletID(spectest.Token, "acme"))
	put := func(rules ...*godo.DatabaseFirewallRule) (*godo.Response, error) {
		return f.Client.Databases.UpdateFirewallRules(f.ctx, db.ID, &godo.DatabaseUpdateFirewallRulesRequest{Rules: rules})
	}
	_, err := put(&godo.DatabaseFirewallRule{Type: "ip_addr", Value: "203.0.113.1"}, &godo.DatabaseFirewallRule{Type: "droplet", Value: droplet})
	require.NoError(t, err)
	rules, _, err := f.Client.Databases.GetFirewallRules(f.ctx, db.ID)
	require.NoError(t, err)
	require.Len(t, rules, 2)
	_, err = put(&godo.DatabaseFirewallRule{Type: "ip_addr", Value: "203.0.113.1"}, &godo.DatabaseFirewallRule{Type: "ip_addr", Value: "10.0.0.0/8"})
	require.NoError(t, err)
	again, _, err := f.Client.Databases.GetFirewallRules(f.ctx, db.ID)
	require.NoError(t, err)
	require.Equal(t, rules[0].UUID, again[0].UUID)

	many := []*godo.DatabaseFirewallRule{}
	for i := range 101 {
		many = append(many, &godo.DatabaseFirewallRule{Type: "ip_addr", Value: fmt.Sprintf("203.0.113.%d", i)})
	}
	for _, bad := range [][]*godo.DatabaseFirewallRule{
		many, {{Type: "ip_addr", Value: "2001:db8::1"}}, {{Type: "droplet", Value: "1"}}, {{Type: "tag", Value: "absent"}},
		{{Type: "ip_addr", Value: "203.0.113.1"}, {Type: "ip_addr", Value: "203.0.113.1"}},
	} {
		response, err := put(bad...)
		refused(t, http.StatusUnprocessableEntity, response, err)
	}
	_, err = put()
	require.NoError(t, err)
	rules, _, err = f.Client.Databases.GetFirewallRules(f.ctx, db.ID)
	require.NoError(t, err)
	require.Empty(t, rules)
}

func users(t *testing.T, f *fixture, db *godo.Database) {
	made, response, err := f.Client.Databases.CreateUser(f.ctx, db.ID, &godo.DatabaseCreateUserRequest{Name: "app"})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, response.StatusCode)
	require.Equal(t, "normal", made.Role)
	_, response, err = f.Client.Databases.CreateUser(f.ctx, db.ID, &godo.DatabaseCreateUserRequest{Name: "app"})
	refused(t, http.StatusUnprocessableEntity, response, err)
	read, _, err := f.Client.Databases.GetUser(f.ctx, db.ID, "app")
	require.NoError(t, err)
	require.Equal(t, made.Password, read.Password)
	list, _, err := f.Client.Databases.ListUsers(f.ctx, db.ID, nil)
	require.NoError(t, err)
	require.Len(t, list, 2)
	status, answer := f.Do(http.MethodPut, "v2/databases/"+db.ID+"/users/app", core.Map{"settings": core.Map{"pg_allow_replication": true}})
	require.Equal(t, http.StatusCreated, status)
	require.Equal(t, core.Map{"pg_allow_replication": true}, answer["user"].(core.Map)["settings"])
	reset, _, err := f.Client.Databases.ResetUserAuth(f.ctx, db.ID, "app", &godo.DatabaseResetUserAuthRequest{})
	require.NoError(t, err)
	require.NotEqual(t, made.Password, reset.Password)
	response, err = f.Client.Databases.DeleteUser(f.ctx, db.ID, "doadmin")
	refused(t, http.StatusUnprocessableEntity, response, err)
	_, err = f.Client.Databases.DeleteUser(f.ctx, db.ID, "app")
	require.NoError(t, err)
	response, err = f.Client.Databases.DeleteUser(f.ctx, db.ID, "app")
	refused(t, http.StatusNotFound, response, err)
}

func poolsAndDBs(t *testing.T, f *fixture, db *godo.Database) {
	_, _, err := f.Client.Databases.CreateDB(f.ctx, db.ID, &godo.DatabaseCreateDBRequest{Name: "orders"})
	require.NoError(t, err)
	_, response, err := f.Client.Databases.CreateDB(f.ctx, db.ID, &godo.DatabaseCreateDBRequest{Name: "orders"})
	refused(t, http.StatusUnprocessableEntity, response, err)
	_, _, err = f.Client.Databases.GetDB(f.ctx, db.ID, "orders")
	require.NoError(t, err)
	dbs, _, err := f.Client.Databases.ListDBs(f.ctx, db.ID, nil)
	require.NoError(t, err)
	require.Len(t, dbs, 2)

	create := godo.DatabaseCreatePoolRequest{Name: "pool", Mode: "transaction", Size: 60, Database: "orders", User: "doadmin"}
	pool, _, err := f.Client.Databases.CreatePool(f.ctx, db.ID, &create)
	require.NoError(t, err)
	require.NotEmpty(t, pool.Connection.Password)
	for _, change := range []func(*godo.DatabaseCreatePoolRequest){
		func(p *godo.DatabaseCreatePoolRequest) { p.Size = 10 },
		func(p *godo.DatabaseCreatePoolRequest) { p.Name = "big" },
		func(p *godo.DatabaseCreatePoolRequest) { p.Name, p.Size, p.Database = "none", 1, "absent" },
		func(p *godo.DatabaseCreatePoolRequest) { p.Name, p.Size, p.User = "none", 1, "absent" },
		func(p *godo.DatabaseCreatePoolRequest) { p.Name, p.Size, p.Mode = "none", 1, "swimming" },
		func(p *godo.DatabaseCreatePoolRequest) { p.Name, p.Size = "no", 1 },
	} {
		bad := create
		change(&bad)
		_, response, err = f.Client.Databases.CreatePool(f.ctx, db.ID, &bad)
		refused(t, http.StatusUnprocessableEntity, response, err)
	}
	_, err = f.Client.Databases.UpdatePool(f.ctx, db.ID, "pool", &godo.DatabaseUpdatePoolRequest{Mode: "session", Size: 97, Database: "orders"})
	require.NoError(t, err)
	pool, _, err = f.Client.Databases.GetPool(f.ctx, db.ID, "pool")
	require.NoError(t, err)
	require.Equal(t, 97, pool.Size)
	_, _, err = f.Client.Databases.ListPools(f.ctx, db.ID, nil)
	require.NoError(t, err)
	_, err = f.Client.Databases.DeletePool(f.ctx, db.ID, "pool")
	require.NoError(t, err)
	_, err = f.Client.Databases.DeleteDB(f.ctx, db.ID, "orders")
	require.NoError(t, err)
}

func replicas(t *testing.T, f *fixture, db *godo.Database) {
	for _, name := range []string{"copy-one", "copy-two"} {
		_, _, err := f.Client.Databases.CreateReplica(f.ctx, db.ID, &godo.DatabaseCreateReplicaRequest{Name: name, Size: "db-s-2vcpu-4gb"})
		require.NoError(t, err)
	}
	f.settle()
	list, _, err := f.Client.Databases.ListReplicas(f.ctx, db.ID, nil)
	require.NoError(t, err)
	require.Len(t, list, 2)
	one, _, err := f.Client.Databases.GetReplica(f.ctx, db.ID, "copy-one")
	require.NoError(t, err)
	_, err = f.Client.Databases.PromoteReplicaToPrimary(f.ctx, db.ID, "copy-one")
	require.NoError(t, err)
	require.Equal(t, "online", f.get(one.ID).Status)
	_, err = f.Client.Databases.DeleteReplica(f.ctx, db.ID, "copy-two")
	require.NoError(t, err)
	f.settle()
	list, _, err = f.Client.Databases.ListReplicas(f.ctx, db.ID, nil)
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = f.Client.Databases.Delete(f.ctx, one.ID)
	require.NoError(t, err)
}

func history(t *testing.T, f *fixture, db *godo.Database) {
	backups, _, err := f.Client.Databases.ListBackups(f.ctx, db.ID, nil)
	require.NoError(t, err)
	require.NotEmpty(t, backups)
	events, _, err := f.Client.Databases.ListDatabaseEvents(f.ctx, db.ID, nil)
	require.NoError(t, err)
	require.NotEmpty(t, events)
	ca, _, err := f.Client.Databases.GetCA(f.ctx, db.ID)
	require.NoError(t, err)
	require.Contains(t, string(ca.Certificate), "BEGIN CERTIFICATE")
	restored := request("pg", "restored")
	restored.BackupRestore = &godo.DatabaseBackupRestore{DatabaseName: db.Name}
	made, _, err := f.Client.Databases.Create(f.ctx, restored)
	require.NoError(t, err)
	require.Equal(t, "forking", made.Status)
	f.settle()

	migration, _, err := f.Client.Databases.StartOnlineMigration(f.ctx, made.ID, &godo.DatabaseStartOnlineMigrationRequest{
		Source: &godo.DatabaseOnlineMigrationConfig{Host: "old.example.com", Port: 5432, Username: "u", Password: "p"}})
	require.NoError(t, err)
	_, _, err = f.Client.Databases.GetOnlineMigrationStatus(f.ctx, made.ID)
	require.NoError(t, err)
	_, err = f.Client.Databases.StopOnlineMigration(f.ctx, made.ID, migration.ID)
	require.NoError(t, err)

	_, err = f.Client.Databases.UpdateMetricsCredentials(f.ctx, &godo.DatabaseUpdateMetricsCredentialsRequest{
		Credentials: &godo.DatabaseMetricsCredentials{BasicAuthUsername: "u", BasicAuthPassword: "p"}})
	require.NoError(t, err)
	login, _, err := f.Client.Databases.GetMetricsCredentials(f.ctx)
	require.NoError(t, err)
	require.Equal(t, "p", login.BasicAuthPassword)
}

func mysqlSettings(t *testing.T, f *fixture, db *godo.Database) {
	_, err := f.Client.Databases.SetSQLMode(f.ctx, db.ID, "ANSI", "TRADITIONAL")
	require.NoError(t, err)
	mode, _, err := f.Client.Databases.GetSQLMode(f.ctx, db.ID)
	require.NoError(t, err)
	require.Equal(t, "ANSI,TRADITIONAL", mode)
	plugin := &godo.DatabaseMySQLUserSettings{AuthPlugin: "mysql_native_password"}
	user, _, err := f.Client.Databases.CreateUser(f.ctx, db.ID, &godo.DatabaseCreateUserRequest{Name: "app", MySQLSettings: plugin})
	require.NoError(t, err)
	require.Equal(t, "mysql_native_password", user.MySQLSettings.AuthPlugin)
	plugin.AuthPlugin = "caching_sha2_password"
	reset, _, err := f.Client.Databases.ResetUserAuth(f.ctx, db.ID, "app", &godo.DatabaseResetUserAuthRequest{MySQLSettings: plugin})
	require.NoError(t, err)
	require.Equal(t, "caching_sha2_password", reset.MySQLSettings.AuthPlugin)
	require.NotEqual(t, user.Password, reset.Password)
}

func valkeySettings(t *testing.T, f *fixture, db *godo.Database) {
	_, err := f.Client.Databases.SetEvictionPolicy(f.ctx, db.ID, "allkeys_lru")
	require.NoError(t, err)
	policy, _, err := f.Client.Databases.GetEvictionPolicy(f.ctx, db.ID)
	require.NoError(t, err)
	require.Equal(t, "allkeys_lru", policy)
	response, err := f.Client.Databases.SetEvictionPolicy(f.ctx, db.ID, "always")
	refused(t, http.StatusUnprocessableEntity, response, err)
}

func topics(t *testing.T, f *fixture, db *godo.Database) {
	_, _, err := f.Client.Databases.CreateTopic(f.ctx, db.ID, &godo.DatabaseCreateTopicRequest{Name: "t1", PartitionCount: new(uint32(4)),
		Config: &godo.TopicConfig{CleanupPolicy: "compact", RetentionMS: new(int64(1000))}})
	require.NoError(t, err)
	f.settle()
	_, err = f.Client.Databases.UpdateTopic(f.ctx, db.ID, "t1", &godo.DatabaseUpdateTopicRequest{PartitionCount: new(uint32(6))})
	require.NoError(t, err)
	f.settle()
	topic, _, err := f.Client.Databases.GetTopic(f.ctx, db.ID, "t1")
	require.NoError(t, err)
	require.Len(t, topic.Partitions, 6)
	require.Equal(t, "compact", topic.Config.CleanupPolicy)
	require.EqualValues(t, 1000, *topic.Config.RetentionMS)
	response, err := f.Client.Databases.UpdateTopic(f.ctx, db.ID, "t1", &godo.DatabaseUpdateTopicRequest{PartitionCount: new(uint32(2))})
	refused(t, http.StatusUnprocessableEntity, response, err)
	_, _, err = f.Client.Databases.ListTopics(f.ctx, db.ID, nil)
	require.NoError(t, err)
	_, err = f.Client.Databases.DeleteTopic(f.ctx, db.ID, "t1")
	require.NoError(t, err)
}

func schemas(t *testing.T, f *fixture, db *godo.Database) {
	base := "v2/databases/" + db.ID + "/schema-registry"
	for _, schema := range []string{`{"type":"string"}`, `{"type":"int"}`} {
		status, _ := f.Do(http.MethodPost, base, core.Map{"subject_name": "s", "schema_type": "AVRO", "schema": schema})
		require.Equal(t, http.StatusCreated, status)
	}
	_, answer := f.Do(http.MethodGet, base+"/s", nil)
	require.Equal(t, "2", answer["version"])
	_, answer = f.Do(http.MethodGet, base+"/s/versions/1", nil)
	require.JSONEq(t, `{"type":"string"}`, answer["schema"].(string))
	_, answer = f.Do(http.MethodGet, base, nil)
	require.Len(t, answer["subjects"], 1)
	_, answer = f.Do(http.MethodGet, base+"/config", nil)
	require.Equal(t, "BACKWARD", answer["compatibility_level"])
	_, answer = f.Do(http.MethodPut, base+"/config", core.Map{"compatibility_level": "FULL"})
	require.Equal(t, "FULL", answer["compatibility_level"])
	_, answer = f.Do(http.MethodGet, base+"/config/s", nil)
	require.Equal(t, "FULL", answer["compatibility_level"])
	_, answer = f.Do(http.MethodPut, base+"/config/s", core.Map{"compatibility_level": "NONE"})
	require.Equal(t, "NONE", answer["compatibility_level"])
	status, _ := f.Do(http.MethodDelete, base+"/s", nil)
	require.Equal(t, http.StatusNoContent, status)
}

func sinks(t *testing.T, f *fixture, db *godo.Database) {
	sink, _, err := f.Client.Databases.CreateLogsink(f.ctx, db.ID, &godo.DatabaseCreateLogsinkRequest{Name: "logs", Type: "rsyslog",
		Config: &godo.DatabaseLogsinkConfig{Server: "192.0.2.1", Port: 514, Format: "rfc5424"}})
	require.NoError(t, err)
	_, err = f.Client.Databases.UpdateLogsink(f.ctx, db.ID, sink.ID, &godo.DatabaseUpdateLogsinkRequest{
		Config: &godo.DatabaseLogsinkConfig{Server: "192.0.2.2", Port: 514, TLS: true, Format: "rfc3164"}})
	require.NoError(t, err)
	sink, _, err = f.Client.Databases.GetLogsink(f.ctx, db.ID, sink.ID)
	require.NoError(t, err)
	require.Equal(t, "192.0.2.2", sink.Config.Server)
	_, _, err = f.Client.Databases.ListLogsinks(f.ctx, db.ID, nil)
	require.NoError(t, err)
	_, err = f.Client.Databases.DeleteLogsink(f.ctx, db.ID, sink.ID)
	require.NoError(t, err)

	indexes, _, err := f.Client.Databases.ListIndexes(f.ctx, db.ID, nil)
	require.NoError(t, err)
	require.Len(t, indexes, 1)
	_, err = f.Client.Databases.DeleteIndex(f.ctx, db.ID, indexes[0].IndexName)
	require.NoError(t, err)
	list, _, err := f.Client.Databases.List(f.ctx, nil)
	require.NoError(t, err)
	require.NotEmpty(t, list)
	_, err = f.Client.Databases.Delete(f.ctx, db.ID)
	require.NoError(t, err)
}
