package database

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

const (
	root    = "/v2/databases"
	cluster = root + "/{cluster}"
)

// Area is the product's routes.
func Area() core.Area {
	var routes []core.Route
	for _, group := range [][]core.Route{
		clusterRoutes, settingRoutes, userRoutes, childRoutes, kafkaRoutes, logRoutes,
	} {
		routes = append(routes, group...)
	}
	return core.Area{
		Name:     "database",
		Routes:   routes,
		Taggable: map[string]string{"database": Clusters.Type},
		URNs:     map[string]string{"dbaas": Clusters.Type},
		// Client keys of log sinks; user passwords are masked anyway.
		SecretFields: []string{"datadog_api_key", "sd"},
	}
}

var clusterRoutes = []core.Route{
	{Method: "GET", Pattern: root + "/options", Handle: getOptions},
	{Method: "GET", Pattern: root + "/metrics/credentials", Handle: getMetricsCredentials},
	{Method: "PUT", Pattern: root + "/metrics/credentials", Handle: putMetricsCredentials},
	{Method: "GET", Pattern: root, Handle: listClusters},
	{Method: "POST", Pattern: root, Handle: createCluster},
	{Method: "GET", Pattern: cluster, Handle: getCluster},
	{Method: "DELETE", Pattern: cluster, Handle: deleteCluster},
	{Method: "PUT", Pattern: cluster + "/resize", Handle: resize},
	{Method: "PUT", Pattern: cluster + "/migrate", Handle: migrate},
	{Method: "PUT", Pattern: cluster + "/upgrade", Handle: upgrade},
	{Method: "GET", Pattern: cluster + "/ca", Handle: getCA},
	{Method: "GET", Pattern: cluster + "/backups", Handle: listBackups},
	{Method: "GET", Pattern: cluster + "/events", Handle: listEvents},
	{Method: "GET", Pattern: cluster + "/online-migration", Handle: getOnlineMigration},
	{Method: "PUT", Pattern: cluster + "/online-migration", Handle: putOnlineMigration},
	{Method: "DELETE", Pattern: cluster + "/online-migration/{migration}", Handle: deleteOnlineMigration},
}

var settingRoutes = []core.Route{
	{Method: "GET", Pattern: cluster + "/config", Handle: getConfig},
	{Method: "PATCH", Pattern: cluster + "/config", Handle: patchConfig},
	{Method: "PUT", Pattern: cluster + "/maintenance", Handle: putMaintenance},
	{Method: "PUT", Pattern: cluster + "/install_update", Handle: installUpdate},
	{Method: "GET", Pattern: cluster + "/autoscale", Handle: getAutoscale},
	{Method: "PUT", Pattern: cluster + "/autoscale", Handle: putAutoscale},
	{Method: "GET", Pattern: cluster + "/eviction_policy", Handle: getEvictionPolicy},
	{Method: "PUT", Pattern: cluster + "/eviction_policy", Handle: putEvictionPolicy},
	{Method: "GET", Pattern: cluster + "/sql_mode", Handle: getSQLMode},
	{Method: "PUT", Pattern: cluster + "/sql_mode", Handle: putSQLMode},
	{Method: "GET", Pattern: cluster + "/do_settings", Handle: getDOSettings},
	{Method: "PUT", Pattern: cluster + "/do_settings", Handle: putDOSettings},
	{Method: "GET", Pattern: cluster + "/firewall", Handle: getFirewall},
	{Method: "PUT", Pattern: cluster + "/firewall", Handle: putFirewall},
}

var userRoutes = []core.Route{
	{Method: "GET", Pattern: cluster + "/users", Handle: listUsers},
	{Method: "POST", Pattern: cluster + "/users", Handle: createUser, OneAtATime: oneChild},
	{Method: "GET", Pattern: cluster + "/users/{user}", Handle: getUser},
	{Method: "PUT", Pattern: cluster + "/users/{user}", Handle: updateUser},
	{Method: "DELETE", Pattern: cluster + "/users/{user}", Handle: deleteUser},
	{Method: "POST", Pattern: cluster + "/users/{user}/reset_auth", Handle: resetAuth},
}

var childRoutes = []core.Route{
	{Method: "GET", Pattern: cluster + "/dbs", Handle: listDBs},
	{Method: "POST", Pattern: cluster + "/dbs", Handle: createDB, OneAtATime: oneChild},
	{Method: "GET", Pattern: cluster + "/dbs/{db}", Handle: getDB},
	{Method: "DELETE", Pattern: cluster + "/dbs/{db}", Handle: deleteDB},
	{Method: "GET", Pattern: cluster + "/pools", Handle: listPools},
	{Method: "POST", Pattern: cluster + "/pools", Handle: createPool, OneAtATime: oneChild},
	{Method: "GET", Pattern: cluster + "/pools/{pool}", Handle: getPool},
	{Method: "PUT", Pattern: cluster + "/pools/{pool}", Handle: updatePool},
	{Method: "DELETE", Pattern: cluster + "/pools/{pool}", Handle: deletePool},
	{Method: "GET", Pattern: cluster + "/replicas", Handle: listReplicas},
	{Method: "POST", Pattern: cluster + "/replicas", Handle: createReplica},
	{Method: "GET", Pattern: cluster + "/replicas/{replica}", Handle: getReplica},
	{Method: "DELETE", Pattern: cluster + "/replicas/{replica}", Handle: deleteReplica},
	{Method: "PUT", Pattern: cluster + "/replicas/{replica}/promote", Handle: promoteReplica},
	{Method: "GET", Pattern: cluster + "/indexes", Handle: listIndexes},
	{Method: "DELETE", Pattern: cluster + "/indexes/{index}", Handle: deleteIndex},
}

var kafkaRoutes = []core.Route{
	{Method: "GET", Pattern: cluster + "/topics", Handle: listTopics},
	{Method: "POST", Pattern: cluster + "/topics", Handle: createTopic},
	{Method: "GET", Pattern: cluster + "/topics/{topic}", Handle: getTopic},
	{Method: "PUT", Pattern: cluster + "/topics/{topic}", Handle: updateTopic},
	{Method: "DELETE", Pattern: cluster + "/topics/{topic}", Handle: deleteTopic},
	{Method: "GET", Pattern: cluster + "/schema-registry", Handle: listSchemas},
	{Method: "POST", Pattern: cluster + "/schema-registry", Handle: createSchema},
	{Method: "GET", Pattern: cluster + "/schema-registry/config", Handle: getRegistryConfig},
	{Method: "PUT", Pattern: cluster + "/schema-registry/config", Handle: putRegistryConfig},
	{Method: "GET", Pattern: cluster + "/schema-registry/config/{subject}", Handle: getSubjectConfig},
	{Method: "PUT", Pattern: cluster + "/schema-registry/config/{subject}", Handle: putSubjectConfig},
	{Method: "GET", Pattern: cluster + "/schema-registry/{subject}", Handle: getSchema},
	{Method: "DELETE", Pattern: cluster + "/schema-registry/{subject}", Handle: deleteSchema},
	{Method: "GET", Pattern: cluster + "/schema-registry/{subject}/versions/{version}", Handle: getSchema},
}

var logRoutes = []core.Route{
	{Method: "GET", Pattern: cluster + "/logsink", Handle: listSinks},
	{Method: "POST", Pattern: cluster + "/logsink", Handle: createSink},
	{Method: "GET", Pattern: cluster + "/logsink/{sink}", Handle: getSink},
	{Method: "PUT", Pattern: cluster + "/logsink/{sink}", Handle: updateSink},
	{Method: "DELETE", Pattern: cluster + "/logsink/{sink}", Handle: deleteSink},
}

// oneChild keeps creations in one cluster apart: the provider answers 500 to one
// that overlaps another.
func oneChild(c *core.Call) string { return "database " + c.Param("cluster") }
