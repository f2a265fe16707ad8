package database

import (
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// engine is what one database product offers.
type engine struct {
	// versions are those that can be created, oldest first.
	versions []version
	// usual is the version of a create that names none.
	usual string
	// nodes maps a number of nodes to the size slugs that may have it.
	nodes map[int][]string
	// primary is the user and home the database that a new cluster has.
	primary, home string
	port          int

	users, databases, pools, replicas, backups bool
}

// version is a version as requests and answers name it, and in full.
type version struct{ slug, semantic string }

var (
	shared1 = []string{"db-s-1vcpu-1gb"}
	shared2 = []string{"db-s-1vcpu-2gb"}
	shared4 = []string{"db-s-2vcpu-4gb", "db-s-4vcpu-8gb", "db-s-6vcpu-16gb", "db-s-8vcpu-32gb", "db-s-16vcpu-64gb"}
	general = []string{"gd-2vcpu-8gb", "gd-4vcpu-16gb", "gd-8vcpu-32gb", "gd-16vcpu-64gb", "gd-32vcpu-128gb", "gd-40vcpu-160gb"}
	storage = []string{"so1_5-2vcpu-16gb", "so1_5-4vcpu-32gb", "so1_5-8vcpu-64gb", "so1_5-16vcpu-128gb",
		"so1_5-24vcpu-192gb", "so1_5-32vcpu-256gb"}
	memory  = []string{"m3-2vcpu-16gb", "m3-4vcpu-32gb", "m3-8vcpu-64gb"}
	tiny    = []string{"db-intel-1vcpu-1gb", "db-amd-1vcpu-1gb"}
	branded = []string{"db-intel-1vcpu-2gb", "db-amd-1vcpu-2gb", "db-intel-2vcpu-4gb", "db-amd-2vcpu-4gb",
		"db-intel-2vcpu-8gb", "db-amd-2vcpu-8gb", "db-intel-4vcpu-8gb", "db-amd-4vcpu-8gb", "db-intel-4vcpu-16gb",
		"db-amd-4vcpu-16gb", "db-intel-8vcpu-32gb", "db-amd-8vcpu-32gb", "db-intel-16vcpu-64gb", "db-amd-16vcpu-64gb"}
	kafkaSmall = []string{"db-s-2vcpu-2gb", "db-s-2vcpu-4gb"}
	kafkaLarge = []string{"gd-2vcpu-8gb", "gd-4vcpu-16gb"}

	single     = slices.Concat(shared1, tiny, shared2, shared4, branded, general, storage)
	several    = slices.Concat(shared2, shared4, branded, general, storage)
	searchMany = slices.Concat(general[:2], memory)
	searchFew  = slices.Concat([]string{"db-s-2vcpu-4gb", "db-s-4vcpu-8gb"}, searchMany)
	advanced   = slices.Concat([]string{"db-s-2vcpu-4gb"}, general, storage)
)

var engines = map[string]*engine{
	"pg": {
		versions: []version{{"13", "13.23"}, {"14", "14.20"}, {"15", "15.15"}, {"16", "16.11"}, {"17", "17.7"}, {"18", "18.1"}},
		usual:    "17", nodes: map[int][]string{1: single, 2: several, 3: several},
		primary: "doadmin", home: "defaultdb", port: 25060,
		users: true, databases: true, pools: true, replicas: true, backups: true,
	},
	"mysql": {
		versions: []version{{"8", "8.0.44"}, {"8.4", "8.4.7"}},
		usual:    "8", nodes: map[int][]string{1: single, 2: several, 3: several},
		primary: "doadmin", home: "defaultdb", port: 25060,
		users: true, databases: true, replicas: true, backups: true,
	},
	"valkey": {
		versions: []version{{"8", "8.1.4"}, {"9", "9.0.0"}},
		usual:    "8", nodes: map[int][]string{1: single, 2: several, 3: several},
		primary: "default", port: 25061,
	},
	"mongodb": {
		versions: []version{{"6.0", "6.0.26"}, {"7.0", "7.0.26"}, {"8.0", "8.0.16"}},
		usual:    "7.0", nodes: map[int][]string{1: single, 3: single},
		primary: "doadmin", home: "admin", port: 27017,
		users: true, databases: true, backups: true,
	},
	"kafka": {
		versions: []version{{"3.8", "3.8.1"}, {"3.9", "3.9.1"}, {"4.0", "4.0.1"}},
		usual:    "3.8",
		nodes:    map[int][]string{3: slices.Concat(kafkaSmall, kafkaLarge), 6: kafkaLarge, 9: kafkaLarge, 15: kafkaLarge},
		primary:  "doadmin", port: 25073, users: true,
	},
	"opensearch": {
		versions: []version{{"1", "1.3.20"}, {"2", "2.19.3"}, {"3", "3.3.2"}},
		usual:    "2",
		nodes: map[int][]string{1: slices.Concat(shared2, searchFew), 3: searchFew, 6: searchMany,
			9: searchMany, 15: searchMany},
		primary: "doadmin", port: 25060, users: true, backups: true,
	},
	"advanced_pg": {
		versions: []version{{"17", "17.7"}, {"18", "18.1"}},
		usual:    "18", nodes: map[int][]string{1: advanced, 2: advanced, 3: advanced},
		primary: "doadmin", home: "defaultdb", port: 25060, users: true, databases: true, backups: true,
	},
	"advanced_mysql": {
		versions: []version{{"8.4.8", "8.4.8"}},
		usual:    "8.4.8", nodes: map[int][]string{1: advanced, 3: advanced},
		primary: "doadmin", home: "defaultdb", port: 25060, users: true, databases: true, backups: true,
	},
}

// rank is the place of a version among those offered, -1 when it is not.
func (e *engine) rank(slug string) int {
	return slices.IndexFunc(e.versions, func(v version) bool { return v.slug == slug })
}

func (e *engine) semantic(slug string) string {
	if i := e.rank(slug); i >= 0 {
		return e.versions[i].semantic
	}
	return slug
}

// fits checks a size and a number of nodes together.
func (e *engine) fits(size string, nodes int) error {
	sizes, ok := e.nodes[nodes]
	if !ok {
		return core.Unprocessable("invalid num_nodes: %d nodes are not available for this engine", nodes)
	}
	if !slices.Contains(sizes, size) {
		return core.Unprocessable("invalid size: %q is not available with %d nodes for this engine", size, nodes)
	}
	return nil
}

func getOptions(*core.Call) (core.Answer, error) {
	options, availability := core.Map{}, core.Map{}
	for name, e := range engines {
		slugs, dates := []string{}, []core.Map{}
		for _, v := range e.versions {
			slugs = append(slugs, v.slug)
			dates = append(dates, core.Map{"version": v.slug, "end_of_life": nil, "end_of_availability": nil})
		}
		layouts := []core.Map{}
		for _, nodes := range []int{1, 2, 3, 6, 9, 15} {
			if sizes, ok := e.nodes[nodes]; ok {
				layouts = append(layouts, core.Map{"num_nodes": nodes, "sizes": sizes})
			}
		}
		options[name] = core.Map{"regions": basics.RegionSlugs(), "versions": slugs, "layouts": layouts,
			"default_version": e.usual}
		availability[name] = dates
	}
	return core.OK(core.Map{"options": options, "version_availability": availability})
}
