package apps_test

import (
	"testing"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

type object = map[string]any

const secretRef = "secret://acme/token"

var nginx = object{"registry_type": "DOCKER_HUB", "registry": "library", "repository": "nginx"}

// part is a component that runs nginx.
func part(name string, more object) object {
	p := object{"name": name, "image": nginx}
	for k, v := range more {
		p[k] = v
	}
	return p
}

func one(parts ...any) []any { return parts }

func TestApp(t *testing.T) {
	rule := func(prefix, name string, more object) object {
		r := object{"match": object{"path": object{"prefix": prefix}}, "component": object{"name": name}}
		for k, v := range more {
			r[k] = v
		}
		return r
	}
	secret := object{"key": "TOKEN", "type": "SECRET", "value": secretRef}
	kindtest.Run(t, kindtest.Case{
		Kind: "do.app", Create: "POST /v2/apps", Objects: "app",
		Spec: cloud.Spec{
			"region": "nyc",
			"services": one(part("web", object{
				"image":              object{"registry_type": "GHCR", "registry": "acme", "repository": "web", "registry_credentials": secretRef},
				"instance_size_slug": "apps-s-1vcpu-0.5gb", "http_port": 80,
				"envs": one(object{"key": "MODE", "value": "blue", "type": "GENERAL"}, secret),
			})),
		},
		Secrets:  map[string]cloud.Secret{secretRef: cloud.NewSecret("plain-text-of-the-token")},
		Networks: map[string]cloud.NetworkRef{"net_a": {"ams3": simulator.VPCID(kindtest.Token, "ams3"), "nyc3": simulator.VPCID(kindtest.Token, "nyc3")}},
		Updates: []cloud.Spec{
			{"region": "ams"},
			{"network": "net_a"},
			{"network": nil},
			{"vpc": object{"id": simulator.VPCID(kindtest.Token, "ams3")}},
			{"vpc": nil},
			{"services": one(part("web", object{"routes": one(object{"path": "/web"}), "cors": object{"allow_origins": one(object{"prefix": "https://a."}), "allow_methods": one("get")}}))},
			{"services": one(part("web", object{"routes": one(object{"path": "/web"}, object{"path": "/w", "preserve_path_prefix": true})}))},
			{"services": one(part("web", object{"instance_count": 2, "health_check": object{"http_path": "/", "initial_delay_seconds": 0}}))},
			{"services": one(part("web", object{"autoscaling": object{"min_instance_count": 1, "max_instance_count": 3, "metrics": object{"cpu": object{"percent": 70}}}}))},
			{"services": one(part("web", nil), part("api", object{"internal_ports": one(9000, 8000)}))},
			{"services": one(part("web", object{"image": nil, "git": object{"repo_clone_url": "https://example.com/a.git", "branch": "main"}}))},
			{"services": one(part("web", nil))},
			{"ingress": object{"rules": one(rule("/v1", "web", object{"cors": object{"allow_credentials": true, "max_age": "90m"}}), object{"match": object{"authority": object{"exact": ""}}, "redirect": object{"uri": "/x"}})}},
			{"ingress": object{"rules": one(rule("/v2", "web", nil))}},
			{"ingress": object{"rules": one()}},
			{"ingress": nil, "envs": one(secret, object{"key": "A", "value": "1", "scope": "RUN_TIME"})},
			{"envs": one(object{"key": "A", "value": ""})},
			{"envs": one()},
			{"static_sites": one(object{"name": "site", "git": object{"repo_clone_url": "https://example.com/s.git", "branch": "main"}, "index_document": "index.html"})},
			{"workers": one(part("work", object{"termination": object{"grace_period_seconds": 30}}))},
			{"jobs": one(part("later", nil), part("nightly", object{"kind": "SCHEDULED", "schedule": object{"cron": "0 3 * * *"}}))},
			{"jobs": one()},
			{"functions": one(object{"name": "fn", "git": object{"repo_clone_url": "https://example.com/f.git", "branch": "main"}})},
			{"databases": one(object{"name": "db", "engine": "PG"})},
			{"domains": one(object{"domain": "WWW.example.com"}, object{"domain": "example.com", "minimum_tls_version": "1.3"})},
			{"domains": one(object{"domain": "example.com"})},
			{"egress": object{"type": "DEDICATED_IP"}},
			{"egress": nil, "alerts": one(object{"rule": "DEPLOYMENT_FAILED"}, object{"rule": "DOMAIN_LIVE", "disabled": true})},
			{"features": one("buildpack-stack=ubuntu-22", "other")},
			{"features": one("buildpack-stack=ubuntu-22")},
			{"maintenance": object{"enabled": true}},
			{"maintenance": object{"enabled": false, "offline_page_url": "https://example.com/off"}},
			{"disable_edge_cache": true, "disable_email_obfuscation": true, "enhanced_threat_control_enabled": true},
			{"disable_edge_cache": false},
			{"services": one(part("web", object{"log_destinations": one(object{"name": "logs", "logtail": object{"token": secretRef}}, object{"name": "dd", "datadog": object{"api_key": secretRef}})}))},
		},
	})
}
