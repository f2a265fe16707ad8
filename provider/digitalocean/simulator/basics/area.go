// Package basics simulates what every account has whatever it uses: itself,
// regions, sizes, projects, tags, VPCs and Droplets. Other areas use its tables
// of VPCs and Droplets and its projects.
//
// Where sources disagree: the OpenAPI document has a VPC with members refuse its
// deletion by a 403; reports of users show a 409 with these words, and Terraform
// retries after both. Believed: the 409.
package basics

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

// Area is the routes and the seeds.
func Area() core.Area {
	return core.Area{
		Name: "basics",
		Routes: []core.Route{
			{Method: "GET", Pattern: "/v2/account", Handle: getAccount},
			{Method: "GET", Pattern: "/v2/regions", Handle: listRegions},
			{Method: "GET", Pattern: "/v2/sizes", Handle: listSizes},
			{Method: "GET", Pattern: "/v2/1-clicks", Handle: listOneClicks},

			{Method: "GET", Pattern: "/v2/projects", Handle: listProjects},
			{Method: "POST", Pattern: "/v2/projects", Handle: createProject},
			{Method: "GET", Pattern: "/v2/projects/{project}", Handle: getProject},
			{Method: "PUT", Pattern: "/v2/projects/{project}", Handle: updateProject},
			{Method: "PATCH", Pattern: "/v2/projects/{project}", Handle: updateProject},
			{Method: "DELETE", Pattern: "/v2/projects/{project}", Handle: deleteProject},
			{Method: "GET", Pattern: "/v2/projects/{project}/resources", Handle: listProjectResources},
			{Method: "POST", Pattern: "/v2/projects/{project}/resources", Handle: assignResources},
			{Method: "GET", Pattern: "/v2/projects/default", Handle: getProject},
			{Method: "PUT", Pattern: "/v2/projects/default", Handle: updateProject},
			{Method: "PATCH", Pattern: "/v2/projects/default", Handle: updateProject},
			{Method: "GET", Pattern: "/v2/projects/default/resources", Handle: listProjectResources},
			{Method: "POST", Pattern: "/v2/projects/default/resources", Handle: assignResources},

			{Method: "GET", Pattern: "/v2/tags", Handle: listTags},
			{Method: "POST", Pattern: "/v2/tags", Handle: createTag},
			{Method: "GET", Pattern: "/v2/tags/{tag}", Handle: getTag},
			{Method: "DELETE", Pattern: "/v2/tags/{tag}", Handle: deleteTag},
			{Method: "POST", Pattern: "/v2/tags/{tag}/resources", Handle: tagResources},
			{Method: "DELETE", Pattern: "/v2/tags/{tag}/resources", Handle: untagResources},

			{Method: "GET", Pattern: "/v2/vpcs", Handle: listVPCs},
			{Method: "POST", Pattern: "/v2/vpcs", Handle: createVPC},
			{Method: "GET", Pattern: "/v2/vpcs/{vpc}", Handle: getVPC},
			{Method: "PUT", Pattern: "/v2/vpcs/{vpc}", Handle: updateVPC},
			{Method: "PATCH", Pattern: "/v2/vpcs/{vpc}", Handle: updateVPC},
			{Method: "DELETE", Pattern: "/v2/vpcs/{vpc}", Handle: deleteVPC},
			{Method: "GET", Pattern: "/v2/vpcs/{vpc}/members", Handle: listVPCMembers},

			{Method: "GET", Pattern: "/v2/droplets", Handle: listDroplets},
			{Method: "GET", Pattern: "/v2/droplets/{droplet}", Handle: getDroplet},
			{Method: "DELETE", Pattern: "/v2/droplets/{droplet}", Handle: deleteDroplet},
		},
		Seed: func(c *core.Call) {
			seedProject(c)
			seedVPCs(c)
			seedDroplets(c)
		},
		Taggable: map[string]string{"droplet": Droplets.Type},
		URNs:     map[string]string{"droplet": Droplets.Type, "vpc": VPCs.Type},
	}
}
