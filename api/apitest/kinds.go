package apitest

import (
	"encoding/json"

	"github.com/better-compute/cloud-resources/cloud"
)

// Kinds of the provider.
const (
	Cluster  = "test.cluster"          // labels, regional, secret output, account-wide fields, instances, networks
	User     = "test.cluster.user"     // lives in a cluster, identity name
	Firewall = "test.cluster.firewall" // lives in a cluster, one of it
	Site     = "test.site"             // owned by name, a product's own region words
	GPU      = "test.gpu"              // books capacity
	Agent    = "test.agent"            // a preview
	Hidden   = "test.hidden"           // the provider cannot list it
)

const clusterSpec = `{
	"type": "object", "additionalProperties": false, "required": ["region", "size"],
	"properties": {
		"region": {"type": "string"},
		"size": {"type": "string", "enum": ["small", "large"], "x-updatable": true},
		"engine": {"type": "string"},
		"nodes": {"type": "integer", "minimum": 1, "maximum": 9223372036854775807, "x-updatable": true},
		"window": {"type": "object", "additionalProperties": false, "x-updatable": true, "properties": {"day": {"type": "string"}, "hour": {"type": "integer"}}},
		"notes": {"type": "array", "x-updatable": true, "items": {"type": "object", "additionalProperties": false, "required": ["name"],
			"properties": {"name": {"type": "string", "maxLength": 70000}, "text": {"type": "string", "x-secret-ref-allowed": true}}}},
		"vpc": {"type": "string", "x-account-wide": true, "x-updatable": true},
		"instances": {"type": "array", "items": {"type": "string"}, "x-instances": true, "x-updatable": true},
		"network": {"type": "string", "x-networks": true, "x-updatable": true},
		"token": {"type": "string", "x-secret-ref": true, "x-updatable": true}
	}
}`

var manifests = []*cloud.Manifest{
	manifest(Cluster, `"family": "data", "regional": true, "ownership": "labels", "outputs": [{"name": "host", "description": "Host."}],
		"secretOutputs": [{"name": "password", "description": "Password."}], "meters": ["test.cluster.nodes"], "spec": `+clusterSpec),
	manifest(User, `"family": "data", "parent": "test.cluster", "ownership": "parent", "identity": {"fields": ["name"]},
		"secretOutputs": [{"name": "password", "description": "Password."}],
		"spec": {"type": "object", "additionalProperties": false, "required": ["name"], "properties": {"name": {"type": "string"}, "rights": {"type": "array", "items": {"type": "string"}, "x-updatable": true}}}`),
	manifest(Firewall, `"family": "data", "parent": "test.cluster", "ownership": "parent", "identity": {"single": true},
		"spec": {"type": "object", "additionalProperties": false, "properties": {"instances": {"type": "array", "items": {"type": "string"}, "x-instances": true, "x-updatable": true}}}`),
	manifest(Site, `"family": "platform", "regional": true, "ownership": "name", "regionMap": {"nyc": ["nyc1", "nyc2", "nyc3"], "ams": ["ams3"], "sfo": ["sfo3"]},
		"spec": {"type": "object", "additionalProperties": false, "required": ["region"],
			"properties": {"region": {"type": "string", "x-updatable": true}, "network": {"type": "string", "x-networks": true, "x-updatable": true}, "repository": {"type": "string", "x-account-wide-values": ["linked"]}}}`),
	manifest(GPU, `"family": "ai", "ownership": "labels", "books": "gpu",
		"spec": {"type": "object", "additionalProperties": false, "required": ["replicas"], "properties": {"replicas": {"type": "integer", "minimum": 1, "x-updatable": true}, "model": {"type": "string"}}}`),
	manifest(Agent, `"family": "ai", "ownership": "labels", "preview": true, "spec": {"type": "object", "additionalProperties": false, "properties": {"model": {"type": "string"}}}`),
	manifest(Hidden, `"family": "edge", "ownership": "record", "noDiscover": true, "spec": {"type": "object", "additionalProperties": false, "properties": {}}`),
}

func manifest(kind, rest string) *cloud.Manifest {
	title, err := json.Marshal(kind)
	if err != nil {
		panic(err)
	}
	return cloud.MustManifest([]byte(`{"kind": "` + kind + `", "title": ` + string(title) + `, "description": "For tests.", "examples": [{}], ` + rest + `}`))
}

// ManifestOf is the manifest of a kind.
func ManifestOf(kind string) *cloud.Manifest {
	for _, m := range manifests {
		if m.Kind == kind {
			return m
		}
	}
	panic("no kind " + kind)
}
