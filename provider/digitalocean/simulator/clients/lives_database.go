package main

// lives are those of the MCP server, in this order.
var lives = []named{
	{"database pg", cluster("pg", "17", "db-s-1vcpu-1gb", "db-s-1vcpu-2gb", 1)},
	{"database mysql", cluster("mysql", "8", "db-s-1vcpu-1gb", "db-s-1vcpu-2gb", 1)},
	{"database valkey", cluster("valkey", "8", "db-s-1vcpu-1gb", "db-s-1vcpu-2gb", 1)},
	{"database mongodb", cluster("mongodb", "7.0", "db-s-1vcpu-1gb", "db-s-1vcpu-2gb", 1)},
	{"database kafka", cluster("kafka", "3.8", "db-s-2vcpu-2gb", "db-s-2vcpu-4gb", 3)},
	{"database opensearch", cluster("opensearch", "2", "db-s-1vcpu-2gb", "db-s-2vcpu-4gb", 1)},
	{"database version", upgrade},
	{"database user (mysql)", user},
	{"database user (kafka)", kafkaUser},
	{"database topic", topic},
	{"database firewall", firewall},
	{"database config pg", config("pg", "17", "db-s-1vcpu-1gb", "psql", "postgresql", "timezone", "Europe/Berlin")},
	{"database config mysql", config("mysql", "8", "db-s-1vcpu-1gb", "mysql", "mysql", "sql_mode", "ANSI")},
	{"database config mongodb", config("mongodb", "7.0", "db-s-1vcpu-1gb", "mongodb", "mongodb", "default_read_concern", "majority")},
	{"database config opensearch", config("opensearch", "2", "db-s-1vcpu-2gb", "os", "opensearch", "plugins_alerting_filter_by_backend_roles_enabled", true)},
	{"database sql mode", sqlMode},
	{"vpc", vpc},
	{"certificate", certificate},
	{"load balancer", balancer},
	{"domain", domain},
	{"domain record", record},
	{"cdn", cdn},
	{"app", app},
	{"spaces key", spacesKey},
	{"uptime check", uptimeCheck},
	{"uptime alert", uptimeAlert},
	{"account, regions, sizes, 1-clicks", catalogue},
}

func newCluster(l *life, name, engine, version, size string, nodes int) any {
	made := l.do("db-cluster-create", object{"engine": engine, "version": version, "name": name, "region": "nyc3",
		"size": size, "num_nodes": nodes, "tags": "clients"})
	id := l.id(made, "id")
	l.until("db-cluster-get", object{"id": id}, is("status", "online"))
	return id
}

func endCluster(l *life, id any) {
	l.do("db-cluster-delete", object{"id": id})
	l.gone("db-cluster-get", object{"id": id})
}

func cluster(engine, version, size, larger string, nodes int) func(*life) {
	return func(l *life) {
		l.at("create")
		id := newCluster(l, "life-"+engine, engine, version, size, nodes)
		l.at("read")
		seen := l.do("db-cluster-get", object{"id": id})
		for key, want := range map[string]any{"engine": engine, "version": version, "size": size, "region": "nyc3"} {
			if seen[key] != want {
				l.fail("%s is %v, not %v", key, seen[key], want)
			}
		}
		l.do("db-cluster-get-ca", object{"id": id})
		l.at("list")
		l.shows("db-cluster-list", object{}, "life-"+engine)
		l.at("update")
		l.do("db-cluster-resize", object{"id": id, "size": larger, "num_nodes": nodes})
		l.until("db-cluster-get", object{"id": id}, func(o object) bool { return o["size"] == larger && o["status"] == "online" })
		l.at("delete")
		endCluster(l, id)
	}
}

func upgrade(l *life) {
	l.at("create")
	id := newCluster(l, "upgraded", "pg", "16", "db-s-1vcpu-1gb", 1)
	l.at("update")
	l.do("db-cluster-upgrade-major-version", object{"id": id, "version": "17"})
	l.until("db-cluster-get", object{"id": id}, is("version", "17"))
	l.at("delete")
	endCluster(l, id)
}

// inCluster is a life inside a cluster that is there before and goes after it.
func inCluster(l *life, engine, version, size string, nodes int, run func(id any)) {
	l.at("create")
	id := newCluster(l, "home", engine, version, size, nodes)
	run(id)
	endCluster(l, id)
}

func user(l *life) {
	inCluster(l, "mysql", "8", "db-s-1vcpu-1gb", 1, func(id any) {
		l.do("db-cluster-create-user", object{"id": id, "name": "app", "mysql_auth_plugin": "mysql_native_password"})
		l.at("read")
		l.shows("db-cluster-get-user", object{"id": id, "user": "app"}, "mysql_native_password")
		l.at("list")
		l.shows("db-cluster-list-users", object{"id": id}, "doadmin")
		l.at("delete")
		l.do("db-cluster-delete-user", object{"id": id, "user": "app"})
		l.gone("db-cluster-get-user", object{"id": id, "user": "app"})
	})
}

func kafkaUser(l *life) {
	acl := func(word string) object {
		return object{"acl": []object{{"topic": "orders", "permission": word}}}
	}
	inCluster(l, "kafka", "3.8", "db-s-2vcpu-2gb", 3, func(id any) {
		l.shows("db-cluster-create-user", object{"id": id, "name": "app", "settings": acl("consume")}, "consume")
		l.at("read")
		l.shows("db-cluster-get-user", object{"id": id, "user": "app"}, "access_cert")
		l.at("update")
		l.shows("db-cluster-update-user", object{"id": id, "user": "app", "settings": acl("produce")}, "produce")
		l.at("delete")
		l.do("db-cluster-delete-user", object{"id": id, "user": "app"})
	})
}

func topic(l *life) {
	inCluster(l, "kafka", "3.8", "db-s-2vcpu-2gb", 3, func(id any) {
		l.do("db-cluster-create-topic", object{"id": id, "name": "orders", "partition_count": "3", "replication_factor": "2"})
		l.at("list")
		l.until("db-cluster-list-topics", object{"id": id}, func(object) bool {
			_, err := l.client.call("db-cluster-get-topic", object{"id": id, "name": "orders"})
			return err == nil
		})
		l.at("read")
		l.until("db-cluster-get-topic", object{"id": id, "name": "orders"}, is("state", "active"))
		l.at("update")
		l.do("db-cluster-update-topic", object{"id": id, "name": "orders", "partition_count": "4", "replication_factor": "2"})
		l.until("db-cluster-get-topic", object{"id": id, "name": "orders"}, func(o object) bool {
			partitions, _ := o["partitions"].([]any)
			return len(partitions) == 4
		})
		l.at("delete")
		l.do("db-cluster-delete-topic", object{"id": id, "name": "orders"})
		l.gone("db-cluster-get-topic", object{"id": id, "name": "orders"})
	})
}

func firewall(l *life) {
	inCluster(l, "pg", "17", "db-s-1vcpu-1gb", 1, func(id any) {
		rule := object{"type": "ip_addr", "value": "192.0.2.1"}
		l.do("db-cluster-update-firewall-rules", object{"id": id, "rules": []object{rule}})
		l.at("read")
		l.shows("db-cluster-get-firewall-rules", object{"id": id}, "192.0.2.1")
		l.at("update")
		l.do("db-cluster-update-firewall-rules", object{"id": id, "rules": []object{rule, {"type": "ip_addr", "value": "192.0.2.2"}}})
		l.shows("db-cluster-get-firewall-rules", object{"id": id}, "192.0.2.2")
		l.at("delete")
	})
}

// config is a life of a cluster's settings; the tools call some engines by other
// words when they write than when they read.
func config(engine, version, size, writes, reads, key string, value any) func(*life) {
	return func(l *life) {
		inCluster(l, engine, version, size, 1, func(id any) {
			l.at("update")
			l.do("db-cluster-update-"+writes+"-config", object{"id": id, "config": object{key: value}})
			l.at("read")
			answer := l.do("db-cluster-get-"+reads+"-config", object{"id": id})
			if answer[key] != value {
				l.fail("%s is %v, not %v", key, answer[key], value)
			}
			l.at("delete")
		})
	}
}

func sqlMode(l *life) {
	inCluster(l, "mysql", "8", "db-s-1vcpu-1gb", 1, func(id any) {
		l.at("update")
		l.do("db-cluster-set-sql-mode", object{"id": id, "modes": "ANSI"})
		l.at("read")
		l.shows("db-cluster-get-sql-mode", object{"id": id}, "ANSI")
		l.at("delete")
	})
}
