package database_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/database"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

// fixture is a validated simulator with helpers in the words of this product.
type fixture struct {
	*spectest.Sim
	t   *testing.T
	ctx context.Context
}

func start(t *testing.T) *fixture {
	t.Parallel()
	return &fixture{Sim: spectest.Start(t, basics.Area(), database.Area()), t: t, ctx: context.Background()}
}

// settle lets everything that is under way end.
func (f *fixture) settle() { f.Clock.Advance(time.Minute) }

// request is a create that the engine takes.
func request(engine, name string) *godo.DatabaseCreateRequest {
	r := &godo.DatabaseCreateRequest{Name: name, EngineSlug: engine, Region: "nyc3", SizeSlug: "db-s-2vcpu-4gb", NumNodes: 1}
	if engine == "kafka" {
		r.NumNodes = 3
	}
	return r
}

// online creates a cluster and waits until it is online.
func (f *fixture) online(engine, name string) *godo.Database {
	made, _, err := f.Client.Databases.Create(f.ctx, request(engine, name))
	require.NoError(f.t, err)
	require.Equal(f.t, "creating", made.Status)
	f.settle()
	got := f.get(made.ID)
	require.Equal(f.t, "online", got.Status)
	return got
}

func (f *fixture) get(id string) *godo.Database {
	got, _, err := f.Client.Databases.Get(f.ctx, id)
	require.NoError(f.t, err)
	return got
}

// refused requires an error answer with the status.
func refused(t *testing.T, status int, response *godo.Response, err error) {
	t.Helper()
	require.Error(t, err)
	require.NotNil(t, response)
	require.Equal(t, status, response.StatusCode, "%v", err)
}

func TestEngines(t *testing.T) {
	for _, engine := range []string{"pg", "mysql", "valkey", "mongodb", "kafka", "opensearch", "advanced_pg", "advanced_mysql"} {
		t.Run(engine, func(t *testing.T) {
			f := start(t)
			made, response, err := f.Client.Databases.Create(f.ctx, request(engine, "one"))
			require.NoError(t, err)
			require.Equal(t, http.StatusCreated, response.StatusCode)
			require.Nil(t, made.PrivateConnection)
			require.Equal(t, "creating", f.get(made.ID).Status)
			require.Nil(t, f.get(made.ID).Connection)

			f.settle()
			got := f.get(made.ID)
			require.Equal(t, "online", got.Status)
			require.Equal(t, got.Connection.Host, "one"+got.Connection.Host[3:])
			require.Contains(t, got.PrivateConnection.Host, "private-one-")
			require.NotEmpty(t, got.Connection.URI)
			require.Equal(t, core.VPCID(spectest.Token, "nyc3"), got.PrivateNetworkUUID)
			require.Equal(t, engine == "mongodb", got.Connection.Password == "")
			require.NotEmpty(t, got.ProjectID)
			require.NotEmpty(t, got.VersionSlug)
			_, answer := f.Do(http.MethodGet, "v2/databases/"+made.ID+"/config", nil)
			require.NotEmpty(t, answer["config"])
		})
	}
}

func TestCreateRefusals(t *testing.T) {
	f := start(t)
	f.online("pg", "taken")
	for name, change := range map[string]func(*godo.DatabaseCreateRequest){
		"underscore in name": func(r *godo.DatabaseCreateRequest) { r.Name = "a_b" },
		"name taken":         func(r *godo.DatabaseCreateRequest) { r.Name = "taken" },
		"engine":             func(r *godo.DatabaseCreateRequest) { r.EngineSlug = "oracle" },
		"retired engine":     func(r *godo.DatabaseCreateRequest) { r.EngineSlug = "redis" },
		"region":             func(r *godo.DatabaseCreateRequest) { r.Region = "mars1" },
		"size":               func(r *godo.DatabaseCreateRequest) { r.SizeSlug = "db-huge" },
		"version":            func(r *godo.DatabaseCreateRequest) { r.Version = "14.5" },
		"nodes":              func(r *godo.DatabaseCreateRequest) { r.NumNodes = 5 },
		"size with nodes":    func(r *godo.DatabaseCreateRequest) { r.NumNodes, r.SizeSlug = 2, "db-s-1vcpu-1gb" },
		"too little storage": func(r *godo.DatabaseCreateRequest) { r.StorageSizeMib = 40_000 },
		"too much storage":   func(r *godo.DatabaseCreateRequest) { r.StorageSizeMib = 100_000_000 },
		"unknown VPC":        func(r *godo.DatabaseCreateRequest) { r.PrivateNetworkUUID = core.NewUUID() },
		"VPC elsewhere": func(r *godo.DatabaseCreateRequest) {
			r.PrivateNetworkUUID = core.VPCID(spectest.Token, "ams3")
		},
		"tag":     func(r *godo.DatabaseCreateRequest) { r.Tags = []string{"no spaces"} },
		"project": func(r *godo.DatabaseCreateRequest) { r.ProjectID = core.NewUUID() },
		"cname":   func(r *godo.DatabaseCreateRequest) { r.DOSettings = &godo.DOSettings{ServiceCnames: []string{"-"}} },
		"rule":    func(r *godo.DatabaseCreateRequest) { r.Rules = []*godo.DatabaseCreateFirewallRule{{Type: "moon"}} },
	} {
		r := request("pg", "fresh")
		change(r)
		_, response, err := f.Client.Databases.Create(f.ctx, r)
		require.Error(t, err, name)
		require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode, name)
	}
	list, _, err := f.Client.Databases.List(f.ctx, nil)
	require.NoError(t, err)
	require.Len(t, list, 1)
}

func TestTagsAreMadeAndFiltered(t *testing.T) {
	f := start(t)
	_, _, err := f.Client.Tags.Create(f.ctx, &godo.TagCreateRequest{Name: "PROD"})
	require.NoError(t, err)
	r := request("pg", "tagged")
	r.Tags = []string{"prod", "better-compute-resource:abc"}
	made, _, err := f.Client.Databases.Create(f.ctx, r)
	require.NoError(t, err)
	require.Equal(t, []string{"PROD", "better-compute-resource:abc"}, made.Tags)

	for tag, want := range map[string]int{"better-compute-resource:abc": 1, "other": 0} {
		_, answer := f.Do(http.MethodGet, "v2/databases?tag_name="+tag, nil)
		require.Len(t, answer["databases"], want)
	}
	resource := []godo.Resource{{ID: made.ID, Type: godo.DatabaseResourceType}}
	_, err = f.Client.Tags.UntagResources(f.ctx, "better-compute-resource:abc", &godo.UntagResourcesRequest{Resources: resource})
	require.NoError(t, err)
	require.Equal(t, []string{"PROD"}, f.get(made.ID).Tags)
	tag, _, err := f.Client.Tags.Get(f.ctx, "PROD")
	require.NoError(t, err)
	require.Equal(t, 1, tag.Resources.Databases.Count)
}

func TestDeleteLingers(t *testing.T) {
	f := start(t)
	vpc, _, err := f.Client.VPCs.Create(f.ctx, &godo.VPCCreateRequest{Name: "net", RegionSlug: "nyc3"})
	require.NoError(t, err)
	r := request("pg", "gone")
	r.PrivateNetworkUUID = vpc.ID
	made, _, err := f.Client.Databases.Create(f.ctx, r)
	require.NoError(t, err)
	f.settle()

	response, err := f.Client.Databases.Delete(f.ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, response.StatusCode)
	require.Equal(t, "online", f.get(made.ID).Status)
	response, err = f.Client.Databases.Delete(f.ctx, made.ID)
	refused(t, http.StatusConflict, response, err)
	_, response, err = f.Client.Databases.Create(f.ctx, r)
	refused(t, http.StatusUnprocessableEntity, response, err)
	response, err = f.Client.VPCs.Delete(f.ctx, vpc.ID)
	refused(t, http.StatusConflict, response, err)

	f.settle()
	_, response, err = f.Client.Databases.Get(f.ctx, made.ID)
	refused(t, http.StatusNotFound, response, err)
	_, response, err = f.Client.Databases.ListUsers(f.ctx, made.ID, nil)
	refused(t, http.StatusNotFound, response, err)
	_, err = f.Client.VPCs.Delete(f.ctx, vpc.ID)
	require.NoError(t, err)
	r.PrivateNetworkUUID = ""
	_, _, err = f.Client.Databases.Create(f.ctx, r)
	require.NoError(t, err)
}

func TestResizeShowsLate(t *testing.T) {
	f := start(t)
	made := f.online("pg", "grow")
	resize := func(size string, nodes int, storage uint64) (*godo.Response, error) {
		return f.Client.Databases.Resize(f.ctx, made.ID,
			&godo.DatabaseResizeRequest{SizeSlug: size, NumNodes: nodes, StorageSizeMib: storage})
	}
	response, err := resize("db-s-4vcpu-8gb", 2, 0)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, response.StatusCode)
	got := f.get(made.ID)
	require.Equal(t, "online", got.Status)
	require.Equal(t, "db-s-2vcpu-4gb", got.SizeSlug)
	response, err = resize("db-s-4vcpu-8gb", 3, 0)
	refused(t, http.StatusPreconditionFailed, response, err)

	f.Clock.Advance(1500 * time.Millisecond)
	got = f.get(made.ID)
	require.Equal(t, "resizing", got.Status)
	require.Equal(t, "db-s-2vcpu-4gb", got.SizeSlug)

	f.settle()
	got = f.get(made.ID)
	require.Equal(t, "online", got.Status)
	require.Equal(t, "db-s-4vcpu-8gb", got.SizeSlug)
	require.Equal(t, 2, got.NumNodes)
	require.EqualValues(t, 115*1024, got.StorageSizeMib)
	require.NotNil(t, got.StandbyConnection)

	for name, again := range map[string]func() (*godo.Response, error){
		"same":         func() (*godo.Response, error) { return resize("db-s-4vcpu-8gb", 2, 0) },
		"smaller size": func() (*godo.Response, error) { return resize("db-s-2vcpu-4gb", 2, 0) },
		"less storage": func() (*godo.Response, error) { return resize("db-s-4vcpu-8gb", 2, 100*1024) },
		"nodes":        func() (*godo.Response, error) { return resize("db-s-4vcpu-8gb", 4, 0) },
	} {
		response, err = again()
		require.Error(t, err, name)
		require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode, name)
	}
	_, err = resize("db-s-4vcpu-8gb", 1, 200*1024)
	require.NoError(t, err)
	f.settle()
	require.Equal(t, 1, f.get(made.ID).NumNodes)
	require.EqualValues(t, 200*1024, f.get(made.ID).StorageSizeMib)
}

func TestCreatingRefusesChanges(t *testing.T) {
	f := start(t)
	made, _, err := f.Client.Databases.Create(f.ctx, request("pg", "young"))
	require.NoError(t, err)
	_, response, err := f.Client.Databases.CreateUser(f.ctx, made.ID, &godo.DatabaseCreateUserRequest{Name: "app"})
	refused(t, http.StatusPreconditionFailed, response, err)
	response, err = f.Client.Databases.UpdateMaintenance(f.ctx, made.ID, &godo.DatabaseUpdateMaintenanceRequest{Day: "friday", Hour: "18:00"})
	refused(t, http.StatusPreconditionFailed, response, err)
	_, err = f.Client.Databases.Delete(f.ctx, made.ID)
	require.NoError(t, err)
}

func TestMongoPasswordIsSeenOnce(t *testing.T) {
	f := start(t)
	made, _, err := f.Client.Databases.Create(f.ctx, request("mongodb", "mongo"))
	require.NoError(t, err)
	require.NotEmpty(t, made.Connection.Password)
	require.Empty(t, made.Connection.Host)
	f.settle()
	require.Empty(t, f.get(made.ID).Connection.Password)
	require.NotContains(t, f.get(made.ID).Connection.URI, made.Connection.Password)

	settings := &godo.DatabaseUserSettings{MongoUserSettings: &godo.MongoUserSettings{Databases: []string{"a"}, Role: "readWrite"}}
	user, _, err := f.Client.Databases.CreateUser(f.ctx, made.ID, &godo.DatabaseCreateUserRequest{Name: "app", Settings: settings})
	require.NoError(t, err)
	require.NotEmpty(t, user.Password)
	read, _, err := f.Client.Databases.GetUser(f.ctx, made.ID, "app")
	require.NoError(t, err)
	require.Empty(t, read.Password)
	reset, _, err := f.Client.Databases.ResetUserAuth(f.ctx, made.ID, "app", &godo.DatabaseResetUserAuthRequest{})
	require.NoError(t, err)
	require.NotEmpty(t, reset.Password)
	require.NotEqual(t, user.Password, reset.Password)
	primary, _, err := f.Client.Databases.ResetUserAuth(f.ctx, made.ID, "doadmin", &godo.DatabaseResetUserAuthRequest{})
	require.NoError(t, err)
	require.NotEmpty(t, primary.Password)
}

func TestKafkaSettingsAreUnorderedAndUnread(t *testing.T) {
	f := start(t)
	made := f.online("kafka", "stream")
	settings := &godo.DatabaseUserSettings{ACL: []*godo.KafkaACL{{Topic: "a", Permission: "produce_consume"}, {Topic: "b", Permission: "consume"}}}
	user, _, err := f.Client.Databases.CreateUser(f.ctx, made.ID, &godo.DatabaseCreateUserRequest{Name: "app", Settings: settings})
	require.NoError(t, err)
	require.Equal(t, "b", user.Settings.ACL[0].Topic)
	require.Equal(t, "produceconsume", user.Settings.ACL[1].Permission)
	require.NotEmpty(t, user.Settings.ACL[1].ID)
	require.NotEmpty(t, user.AccessCert)
	require.NotEmpty(t, user.AccessKey)
	read, _, err := f.Client.Databases.GetUser(f.ctx, made.ID, "app")
	require.NoError(t, err)
	require.Nil(t, read.Settings)

	settings.ACL = append(settings.ACL, &godo.KafkaACL{Topic: "c", Permission: "admin"})
	changed, _, err := f.Client.Databases.UpdateUser(f.ctx, made.ID, "app", &godo.DatabaseUpdateUserRequest{Settings: settings})
	require.NoError(t, err)
	require.Len(t, changed.Settings.ACL, 3)
	require.Equal(t, user.Settings.ACL[0].ID, changed.Settings.ACL[1].ID)
	require.Equal(t, user.Password, changed.Password)

	settings.ACL[0].Permission = "describe"
	_, response, err := f.Client.Databases.UpdateUser(f.ctx, made.ID, "app", &godo.DatabaseUpdateUserRequest{Settings: settings})
	refused(t, http.StatusUnprocessableEntity, response, err)
}

func TestHiddenCredentials(t *testing.T) {
	f := start(t)
	made := f.online("pg", "secretive")
	require.NotEmpty(t, made.Connection.Password)
	f.SetAccount(map[string]any{"hideCredentials": true})
	got := f.get(made.ID)
	require.Empty(t, got.Connection.Password)
	require.Contains(t, got.Connection.URI, "postgresql://doadmin@secretive-")
	user, _, err := f.Client.Databases.CreateUser(f.ctx, made.ID, &godo.DatabaseCreateUserRequest{Name: "app"})
	require.NoError(t, err)
	require.Empty(t, user.Password)
}

func TestReplicaWaitsForTheFirstBackup(t *testing.T) {
	f := start(t)
	made, _, err := f.Client.Databases.Create(f.ctx, request("pg", "primary"))
	require.NoError(t, err)
	f.Clock.Advance(5 * time.Second)
	require.Equal(t, "online", f.get(made.ID).Status)
	create := &godo.DatabaseCreateReplicaRequest{Name: "copy", Size: "db-s-2vcpu-4gb", Region: "ams3"}
	_, response, err := f.Client.Databases.CreateReplica(f.ctx, made.ID, create)
	refused(t, http.StatusPreconditionFailed, response, err)
	f.Clock.Advance(2 * time.Second)
	replica, _, err := f.Client.Databases.CreateReplica(f.ctx, made.ID, create)
	require.NoError(t, err)
	require.Equal(t, "creating", replica.Status)
	_, response, err = f.Client.Databases.CreateReplica(f.ctx, made.ID, create)
	refused(t, http.StatusUnprocessableEntity, response, err)
	f.settle()

	_, err = f.Client.Databases.Resize(f.ctx, replica.ID, &godo.DatabaseResizeRequest{SizeSlug: "db-s-4vcpu-8gb", NumNodes: 1})
	require.NoError(t, err)
	f.settle()
	replica, _, err = f.Client.Databases.GetReplica(f.ctx, made.ID, "copy")
	require.NoError(t, err)
	require.Equal(t, "db-s-4vcpu-8gb", replica.Size)
	require.Equal(t, f.get(made.ID).Connection.Password, replica.Connection.Password)
}

func TestTopicAppearsLate(t *testing.T) {
	f := start(t)
	made := f.online("kafka", "stream")
	topic, response, err := f.Client.Databases.CreateTopic(f.ctx, made.ID, &godo.DatabaseCreateTopicRequest{Name: "t1"})
	require.NoError(t, err)
	require.Nil(t, topic)
	require.Equal(t, http.StatusAccepted, response.StatusCode)
	_, response, err = f.Client.Databases.GetTopic(f.ctx, made.ID, "t1")
	refused(t, http.StatusNotFound, response, err)
	_, response, err = f.Client.Databases.CreateTopic(f.ctx, made.ID, &godo.DatabaseCreateTopicRequest{Name: "t1"})
	refused(t, http.StatusUnprocessableEntity, response, err)
	f.Clock.Advance(2 * time.Second)
	topic, _, err = f.Client.Databases.GetTopic(f.ctx, made.ID, "t1")
	require.NoError(t, err)
	require.Equal(t, "configuring", topic.State)
	f.settle()
	topic, _, err = f.Client.Databases.GetTopic(f.ctx, made.ID, "t1")
	require.NoError(t, err)
	require.Equal(t, "active", topic.State)
	_, err = f.Client.Databases.DeleteTopic(f.ctx, made.ID, "t1")
	require.NoError(t, err)
	topic, _, err = f.Client.Databases.GetTopic(f.ctx, made.ID, "t1")
	require.NoError(t, err)
	require.Equal(t, "deleting", topic.State)
}

func TestUnsupportedChildrenAreRefused(t *testing.T) {
	f := start(t)
	mysql, valkey := f.online("mysql", "sql"), f.online("valkey", "cache")
	_, response, err := f.Client.Databases.ListPools(f.ctx, mysql.ID, nil)
	refused(t, http.StatusUnprocessableEntity, response, err)
	_, response, err = f.Client.Databases.ListUsers(f.ctx, valkey.ID, nil)
	refused(t, http.StatusUnprocessableEntity, response, err)
	_, response, err = f.Client.Databases.GetSQLMode(f.ctx, valkey.ID)
	refused(t, http.StatusUnprocessableEntity, response, err)
	_, response, err = f.Client.Databases.GetEvictionPolicy(f.ctx, mysql.ID)
	refused(t, http.StatusUnprocessableEntity, response, err)
}

func TestUpgradeOnlyUpward(t *testing.T) {
	f := start(t)
	r := request("pg", "old")
	r.Version = "14"
	made, _, err := f.Client.Databases.Create(f.ctx, r)
	require.NoError(t, err)
	f.settle()
	response, err := f.Client.Databases.UpgradeMajorVersion(f.ctx, made.ID, &godo.UpgradeVersionRequest{Version: "13"})
	refused(t, http.StatusUnprocessableEntity, response, err)
	_, err = f.Client.Databases.UpgradeMajorVersion(f.ctx, made.ID, &godo.UpgradeVersionRequest{Version: "16"})
	require.NoError(t, err)
	require.Equal(t, "14", f.get(made.ID).VersionSlug)
	f.settle()
	require.Equal(t, "16", f.get(made.ID).VersionSlug)
}

func TestMigrateMovesTheNetworkToo(t *testing.T) {
	f := start(t)
	made := f.online("pg", "mover")
	_, err := f.Client.Databases.Migrate(f.ctx, made.ID, &godo.DatabaseMigrateRequest{Region: "ams3"})
	require.NoError(t, err)
	require.Equal(t, "migrating", f.get(made.ID).Status)
	f.settle()
	got := f.get(made.ID)
	require.Equal(t, "ams3", got.RegionSlug)
	require.Equal(t, core.VPCID(spectest.Token, "ams3"), got.PrivateNetworkUUID)
}
