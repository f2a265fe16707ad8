package main

func vpc(l *life) {
	l.at("create")
	id := l.id(l.do("vpc-create", object{"Name": "net", "Region": "nyc3", "Description": "of clients"}), "id")
	l.at("read")
	l.shows("vpc-get", object{"ID": id}, "of clients")
	l.do("vpc-list-members", object{"ID": id})
	l.at("list")
	l.shows("vpc-list", object{"PerPage": 100}, id.(string))
	l.at("delete")
	l.do("vpc-delete", object{"ID": id})
	l.gone("vpc-get", object{"ID": id})
}

func newCertificate(l *life, name string) any {
	id := l.id(l.do("lets-encrypt-certificate-create", object{"Name": name, "DnsNames": []string{"example.com"}}), "id")
	l.until("certificate-get", object{"ID": id}, is("state", "verified"))
	return id
}

func certificate(l *life) {
	l.at("create")
	id := newCertificate(l, "web")
	l.at("read")
	l.shows("certificate-get", object{"ID": id}, "sha1_fingerprint")
	l.at("list")
	l.shows("certificate-list", object{}, "web")
	l.at("delete")
	l.do("certificate-delete", object{"ID": id})
	l.gone("certificate-get", object{"ID": id})
}

func balancer(l *life) {
	rule := func(port int) []object {
		return []object{{"EntryProtocol": "http", "EntryPort": port, "TargetProtocol": "http", "TargetPort": port}}
	}
	l.at("create")
	id := l.id(l.do("lb-create", object{"Name": "front", "Region": "nyc3", "ForwardingRules": rule(80)}), "id")
	one := object{"LoadBalancerID": id}
	l.until("lb-get", one, is("status", "active"))
	l.at("read")
	l.shows("lb-get", one, "health_check")
	l.at("list")
	l.shows("lb-list", object{}, "front")
	l.at("update")
	l.do("lb-update", object{"LoadBalancerID": id, "Name": "front", "Region": "nyc3", "Type": "REGIONAL", "SizeUnit": 2, "ForwardingRules": rule(80)})
	l.shows("lb-get", one, `"size_unit": 2`)
	l.do("lb-add-fwd-rules", object{"LoadBalancerID": id, "ForwardingRules": rule(8080)})
	l.shows("lb-get", one, "8080")
	l.do("lb-remove-fwd-rules", object{"LoadBalancerID": id, "ForwardingRules": rule(8080)})
	l.at("delete")
	l.do("lb-delete", one)
	l.gone("lb-get", one)
}

func domain(l *life) {
	name := object{"Name": "clients.example"}
	l.at("create")
	l.do("domain-create", object{"Name": "clients.example", "IPAddress": "192.0.2.10"})
	l.at("read")
	l.shows("domain-get", name, "clients.example")
	l.at("list")
	l.shows("domain-list", object{}, "clients.example")
	l.at("delete")
	l.do("domain-delete", name)
	l.gone("domain-get", name)
}

func record(l *life) {
	l.at("create")
	l.do("domain-create", object{"Name": "records.example", "IPAddress": "192.0.2.10"})
	made := l.do("domain-record-create", object{"Domain": "records.example", "Type": "A", "Name": "www", "Data": "192.0.2.11"})
	id := l.id(made, "id")
	one := object{"Domain": "records.example", "RecordID": id}
	l.at("read")
	l.shows("domain-record-get", one, "192.0.2.11")
	l.at("list")
	l.shows("domain-record-list", object{"Domain": "records.example"}, "www")
	l.at("update")
	l.do("domain-record-edit", object{"Domain": "records.example", "RecordID": id, "Type": "A", "Name": "www", "Data": "192.0.2.12"})
	l.shows("domain-record-get", one, "192.0.2.12")
	l.at("delete")
	l.do("domain-record-delete", one)
	l.gone("domain-record-get", one)
	l.do("domain-delete", object{"Name": "records.example"})
}

func cdn(l *life) {
	l.at("create")
	made := l.do("spaces-cdn-create", object{"Origin": "assets.nyc3.digitaloceanspaces.com", "TTL": 3600})
	one := object{"ID": l.id(made, "id")}
	l.at("read")
	l.shows("spaces-cdn-get", one, "assets.nyc3.cdn.digitaloceanspaces.com")
	l.at("list")
	l.shows("spaces-cdn-list", object{}, "assets.nyc3")
	l.at("update")
	l.do("spaces-cdn-flush-cache", object{"ID": one["ID"], "Files": []string{"*"}})
	l.at("delete")
	l.do("spaces-cdn-delete", one)
	l.gone("spaces-cdn-get", one)
}

func app(l *life) {
	spec := func(count int) object {
		return object{"name": "shop", "region": "nyc", "services": []object{{"name": "web", "instance_count": count,
			"instance_size_slug": "apps-s-1vcpu-1gb", "http_port": 80,
			"image": object{"registry_type": "DOCKER_HUB", "registry": "library", "repository": "nginx", "tag": "1"}}}}
	}
	l.at("create")
	id := l.id(l.do("apps-create-app-from-spec", object{"spec": spec(1)}), "id")
	one := object{"AppID": id}
	deployed(l, one)
	l.at("read")
	l.shows("apps-get-info", one, "nginx")
	l.at("list")
	l.shows("apps-list", object{}, "shop")
	l.at("update")
	l.do("apps-update", object{"update": object{"app_id": id, "request": object{"spec": spec(2)}}})
	deployed(l, one)
	l.shows("apps-get-info", one, `"instance_count": 2`)
	l.at("delete")
	l.do("apps-delete", one)
	l.gone("apps-get-info", one)
}

func deployed(l *life, app object) {
	l.until("apps-get-deployment-status", app, func(o object) bool {
		deployment, _ := o["deployment"].(object)
		return deployment["phase"] == "ACTIVE"
	})
}

func spacesKey(l *life) {
	l.at("create")
	made := l.do("spaces-key-create", object{"Name": "assets"})
	l.id(made, "secret_key")
	one := object{"AccessKey": l.id(made, "access_key")}
	l.at("read")
	l.shows("spaces-key-get", one, "fullaccess")
	l.at("list")
	l.shows("spaces-key-list", object{"Page": 1, "PerPage": 50}, "assets")
	l.at("update")
	l.do("spaces-key-update", object{"AccessKey": one["AccessKey"], "Name": "other"})
	l.shows("spaces-key-get", one, "other")
	l.at("delete")
	l.do("spaces-key-delete", one)
	l.gone("spaces-key-get", one)
}

func newCheck(l *life) any {
	return l.id(l.do("uptimecheck-create", object{"Name": "home", "Type": "https", "Target": "https://example.com", "Enabled": true,
		"Regions": []string{"us_east"}}), "id")
}

func uptimeCheck(l *life) {
	l.at("create")
	one := object{"ID": newCheck(l)}
	l.at("read")
	l.shows("uptimecheck-get", one, "us_east")
	l.shows("uptimecheck-get-state", one, "UP")
	l.at("list")
	l.shows("uptimecheck-list", object{}, "home")
	l.at("update")
	l.do("uptimecheck-update", object{"ID": one["ID"], "Name": "home", "Type": "https", "Target": "https://example.com",
		"Enabled": false, "Regions": []string{"eu_west"}})
	l.shows("uptimecheck-get", one, "eu_west")
	l.at("delete")
	l.do("uptimecheck-delete", one)
	l.gone("uptimecheck-get", one)
}

func uptimeAlert(l *life) {
	l.at("create")
	check := newCheck(l)
	alert := func(threshold int) object {
		return object{"CheckID": check, "Name": "slow", "Type": "latency", "Threshold": threshold, "Comparison": "greater_than",
			"Period": "2m", "Emails": []string{"sammy@example.com"}, "SlackDetails": []object{}}
	}
	id := l.id(l.do("uptimecheck-alert-create", alert(300)), "id")
	one := object{"CheckID": check, "AlertID": id}
	l.at("read")
	l.shows("uptimecheck-alert-get", one, "sammy@example.com")
	l.at("list")
	l.shows("uptimecheck-alert-list", object{"CheckID": check}, "slow")
	l.at("update")
	change := alert(500)
	change["AlertID"] = id
	l.do("uptimecheck-alert-update", change)
	l.shows("uptimecheck-alert-get", one, "500")
	l.at("delete")
	l.do("uptimecheck-alert-delete", one)
	l.gone("uptimecheck-alert-get", one)
	l.do("uptimecheck-delete", object{"ID": check})
}

// catalogue reads what every account has.
func catalogue(l *life) {
	l.at("read")
	l.shows("account-get-information", object{}, "droplet_limit")
	l.shows("db-cluster-list-options", object{}, "layouts")
	l.at("list")
	l.shows("region-list", object{}, "nyc3")
	l.shows("size-list", object{}, "s-1vcpu-1gb")
	l.shows("droplet-list", object{}, "acme")
	l.shows("marketplace-1-click-list", object{"Type": "kubernetes"}, "monitoring")
}
