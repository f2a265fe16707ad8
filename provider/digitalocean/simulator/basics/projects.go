package basics

import (
	"slices"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// Project groups resources of an account. A resource is in one project, which
// stands in its Meta; one that was never put anywhere is in the default project.
type Project struct {
	Description string `json:"description"`
	Purpose     string `json:"purpose"`
	Environment string `json:"environment"`
	Default     bool   `json:"is_default"`
}

// Projects is the table of projects.
var Projects = core.Table[Project]{Type: "project"}

var environments = []string{"Development", "Staging", "Production"}

func seedProject(c *core.Call) {
	Projects.Insert(c, core.Meta{ID: core.ProjectID(c.Account.Token), Name: "first-project", Seeded: true},
		Project{Description: "Update your project information under Settings", Default: true,
			Purpose: "Just trying out DigitalOcean", Environment: "Development"})
}

// ProjectFor returns the id of the project that a create asks for: the default
// one for "". A project that does not exist is a 422.
func ProjectFor(c *core.Call, id string) (string, error) {
	if id != "" {
		if _, ok := Projects.Get(c, id); !ok {
			return "", core.Unprocessable("project %s was not found", id)
		}
		return id, nil
	}
	for _, p := range Projects.All(c, "") {
		if p.Value.Default {
			return p.ID, nil
		}
	}
	return "", core.Unprocessable("the account has no default project")
}

// Assign puts a resource into a project.
func Assign(c *core.Call, projectID, urn string) { c.SetProject(urn, projectID) }

// ProjectOf returns the project that a resource is in.
func ProjectOf(c *core.Call, urn string) string {
	if project := c.ProjectOfURN(urn); project != "" {
		return project
	}
	if id, err := ProjectFor(c, ""); err == nil {
		return id
	}
	return core.ProjectID(c.Account.Token)
}

func listProjects(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, p := range Projects.All(c, "") {
		views = append(views, projectView(c, p))
	}
	return core.Paged(c, "projects", views)
}

func createProject(c *core.Call) (core.Answer, error) {
	var in struct {
		Name string `json:"name"`
		Project
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in.Name == "" || in.Purpose == "" {
		return core.Answer{}, core.Unprocessable("name and purpose are required")
	}
	if err := in.tidy(); err != nil {
		return core.Answer{}, err
	}
	if _, taken := Projects.Named(c, "", in.Name); taken {
		return core.Answer{}, core.Conflict("name is already in use")
	}
	in.Default = false
	p := Projects.Insert(c, core.Meta{ID: core.NewUUID(), Name: in.Name}, in.Project)
	return core.Created(core.Map{"project": projectView(c, p)})
}

// tidy spells the environment as answers do; requests may use any case.
func (p *Project) tidy() error {
	if p.Environment == "" {
		return nil
	}
	at := slices.IndexFunc(environments, func(known string) bool { return strings.EqualFold(known, p.Environment) })
	if at < 0 {
		return core.Unprocessable("invalid environment: %q", p.Environment)
	}
	p.Environment = environments[at]
	return nil
}

// findProject reads the path: without the parameter it is the default project.
func findProject(c *core.Call) (*core.Record[Project], error) {
	id := c.Param("project")
	if id == "" {
		found, err := ProjectFor(c, "")
		if err != nil {
			return nil, err
		}
		id = found
	}
	p, ok := Projects.Get(c, id)
	if !ok {
		return nil, core.NotFound("The resource you were accessing could not be found.")
	}
	return p, nil
}

func getProject(c *core.Call) (core.Answer, error) {
	p, err := findProject(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"project": projectView(c, p)})
}

func updateProject(c *core.Call) (core.Answer, error) {
	p, err := findProject(c)
	if err != nil {
		return core.Answer{}, err
	}
	in := struct {
		Name string `json:"name"`
		Project
	}{Name: p.Name, Project: p.Value}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := in.tidy(); err != nil {
		return core.Answer{}, err
	}
	if p.Value.Default && !in.Default {
		return core.Answer{}, core.Unprocessable("the default project cannot be unset: make another one the default")
	}
	if in.Default && !p.Value.Default {
		dethrone(c)
	}
	p.Name, p.Value = in.Name, in.Project
	Projects.Save(c, p)
	return core.OK(core.Map{"project": projectView(c, p)})
}

// dethrone makes the default project an ordinary one, which keeps what it has.
func dethrone(c *core.Call) {
	for _, old := range Projects.All(c, "") {
		if !old.Value.Default {
			continue
		}
		for _, m := range c.Select(func(m *core.Meta) bool { return m.Project == "" }) {
			if urn := c.URN(m); urn != "" {
				Assign(c, old.ID, urn)
			}
		}
		old.Value.Default = false
		Projects.Save(c, old)
	}
}

func deleteProject(c *core.Call) (core.Answer, error) {
	p, err := findProject(c)
	if err != nil {
		return core.Answer{}, err
	}
	if p.Value.Default || len(resourceViews(c, p)) > 0 {
		return core.Answer{}, core.PreconditionFailed("cannot delete a project with resources. move or remove the resources first")
	}
	Projects.Remove(c, p.ID)
	return core.NoContent()
}

func listProjectResources(c *core.Call) (core.Answer, error) {
	p, err := findProject(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.Paged(c, "resources", resourceViews(c, p))
}

func assignResources(c *core.Call) (core.Answer, error) {
	p, err := findProject(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Resources []string `json:"resources"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	for _, urn := range in.Resources {
		if !exists(c, urn) {
			return core.Answer{}, core.NotFound("resource %s was not found", urn)
		}
	}
	views := []core.Map{}
	for _, urn := range in.Resources {
		Assign(c, p.ID, urn)
		view := resourceView(urn, c.Now)
		view["status"] = "assigned"
		views = append(views, view)
	}
	return core.OK(core.Map{"resources": views})
}

// exists tells whether a URN names a visible object. A type that no area serves
// is taken on trust.
func exists(c *core.Call, urn string) bool {
	parts := strings.SplitN(urn, ":", 3)
	if len(parts) != 3 || parts[0] != "do" {
		return false
	}
	table, served := c.TableOfURN(parts[1])
	if !served {
		return true
	}
	_, ok := c.Lookup(table, parts[2])
	return ok
}

// resourceViews lists what is in the project. A VPC is no project resource.
func resourceViews(c *core.Call, p *core.Record[Project]) []core.Map {
	views := []core.Map{}
	for _, m := range c.Select(func(m *core.Meta) bool {
		return m.Type != VPCs.Type && !m.VisibleAt.After(c.Now) && (m.Project == p.ID || (m.Project == "" && p.Value.Default))
	}) {
		at := m.CreatedAt
		if m.Project != "" {
			at = m.ProjectAt
		}
		if urn := c.URN(m); urn != "" {
			views = append(views, resourceView(urn, at))
		}
	}
	return views
}

// paths is where the resource of a URN is read, for the links of the API.
var paths = map[string]string{"dbaas": "databases", "app": "apps", "loadbalancer": "load_balancers",
	"floatingip": "floating_ips", "reservedip": "reserved_ips", "kubernetes": "kubernetes/clusters"}

func resourceView(urn string, at time.Time) core.Map {
	parts := strings.SplitN(urn, ":", 3)
	path, ok := paths[parts[1]]
	if !ok {
		path = parts[1] + "s"
	}
	return core.Map{"urn": urn, "assigned_at": core.Time(at), "status": "ok",
		"links": core.Map{"self": "https://api.digitalocean.com/v2/" + path + "/" + parts[2]}}
}

func projectView(c *core.Call, p *core.Record[Project]) core.Map {
	view := core.Map{
		"id": p.ID, "owner_uuid": c.Account.UUID, "owner_id": core.StableNumber("owner", c.Account.Token),
		"name": p.Name, "description": p.Value.Description, "purpose": p.Value.Purpose,
		"is_default": p.Value.Default, "created_at": core.Time(p.CreatedAt), "updated_at": core.Time(p.ChangedAt),
	}
	if p.Value.Environment != "" {
		view["environment"] = p.Value.Environment
	}
	return view
}
