package apps

import (
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// The phases of a deployment. One that is no longer the newest active one shows
// as superseded without being stored so.
const (
	pendingBuild = "PENDING_BUILD"
	building     = "BUILDING"
	deploying    = "DEPLOYING"
	active       = "ACTIVE"
	superseded   = "SUPERSEDED"
	failed       = "ERROR"
	canceled     = "CANCELED"
)

type deployment struct {
	Spec  core.Map `json:"spec"`
	Cause string   `json:"cause"`
}

var deployments = core.Table[deployment]{Type: "app.deployment"}

// deploy starts a deployment of the app's spec that takes d, and supersedes the
// one that still runs.
func deploy(c *core.Call, a *core.Record[App], cause string, d core.Duration) *core.Record[deployment] {
	for _, old := range deployments.Everything(c, a.ID) {
		if old.Busy() {
			old.Become(superseded)
			deployments.Save(c, old)
		}
	}
	meta := core.Meta{ID: core.NewUUID(), Parent: a.ID, Name: a.Name}
	meta.Become(pendingBuild)
	took := time.Duration(d)
	meta.Then(c.Now.Add(took/4), building, nil)
	if reason := c.FailWith(); reason != "" {
		meta.Steps = append(meta.Steps, core.Step{At: c.Now.Add(took), State: failed, Note: reason})
	} else {
		meta.Then(c.Now.Add(took*3/4), deploying, nil)
		meta.Then(c.Now.Add(took), active, nil)
	}
	return deployments.Insert(c, meta, deployment{Spec: a.Value.Spec, Cause: cause})
}

// activeOf is the newest deployment that became active; nil when none did.
func activeOf(deployed []*core.Record[deployment]) *core.Record[deployment] {
	var found *core.Record[deployment]
	for _, d := range deployed {
		if d.State == active {
			found = d
		}
	}
	return found
}

func listDeployments(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	all := deployments.All(c, a.ID)
	newest := activeOf(all)
	views := []core.Map{}
	for i := len(all) - 1; i >= 0; i-- { // newest first
		views = append(views, deploymentView(all[i], newest))
	}
	page, links, meta := core.Page(c, views)
	return core.OK(core.Map{"deployments": page, "links": links, "meta": meta})
}

func createDeployment(c *core.Call) (core.Answer, error) { return again(c, "manual") }

func restart(c *core.Call) (core.Answer, error) { return again(c, "restart") }

func again(c *core.Call, cause string) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	d := deploy(c, a, cause, c.Settings().UpdateTime)
	return core.OK(core.Map{"deployment": deploymentView(d, nil)})
}

func findDeployment(c *core.Call) (*core.Record[deployment], error) {
	a, err := find(c)
	if err != nil {
		return nil, err
	}
	d, ok := deployments.Get(c, c.Param("deployment"))
	if !ok || d.Parent != a.ID {
		return nil, core.NotFound("Deployment not found")
	}
	return d, nil
}

func getDeployment(c *core.Call) (core.Answer, error) {
	d, err := findDeployment(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"deployment": deploymentView(d, activeOf(deployments.All(c, d.Parent)))})
}

func cancelDeployment(c *core.Call) (core.Answer, error) {
	d, err := findDeployment(c)
	if err != nil {
		return core.Answer{}, err
	}
	if !d.Busy() {
		return core.Answer{}, core.BadRequest("deployment is not in progress")
	}
	d.Become(canceled)
	deployments.Save(c, d)
	return core.OK(core.Map{"deployment": deploymentView(d, activeOf(deployments.All(c, d.Parent)))})
}

// deploymentView shows a deployment; newest is the one that is active now.
func deploymentView(d, newest *core.Record[deployment]) core.Map {
	phase := d.State
	if phase == active && newest != nil && newest.ID != d.ID {
		phase = superseded
	}
	v := core.Map{
		"id": d.ID, "spec": d.Value.Spec, "phase": phase, "cause": d.Value.Cause, "tier_slug": tier(d.Value.Spec),
		"created_at": core.Time(d.CreatedAt), "updated_at": core.Time(d.ChangedAt), "phase_last_updated_at": core.Time(d.ChangedAt),
		"progress": progress(d),
	}
	for _, kind := range []string{"services", "static_sites", "workers", "jobs", "functions"} {
		var built []core.Map
		for _, part := range objects(d.Value.Spec, kind) {
			built = append(built, core.Map{"name": part["name"], "source_commit_hash": "54d4a727f457231062439895000d45437c7bb405"})
		}
		if built != nil {
			v[kind] = built
		}
	}
	return v
}

// progress are the steps of a deployment: build with one step per component
// that is built, then deploy.
func progress(d *core.Record[deployment]) core.Map {
	build, roll := "PENDING", "PENDING"
	switch d.State {
	case building:
		build = "RUNNING"
	case deploying:
		build, roll = "SUCCESS", "RUNNING"
	case active:
		build, roll = "SUCCESS", "SUCCESS"
	case failed:
		build = "ERROR"
	}
	parts := []core.Map{}
	for _, kind := range []string{"services", "static_sites", "workers", "jobs", "functions"} {
		for _, part := range objects(d.Value.Spec, kind) {
			step := core.Map{"name": part["name"], "component_name": part["name"], "status": build, "message_base": "Building component"}
			if build == "ERROR" && len(parts) == 0 {
				step["reason"] = core.Map{"code": "BuildJobExitNonZero", "message": d.Note}
			}
			parts = append(parts, step)
		}
	}
	steps := []core.Map{{"name": "build", "status": build, "steps": parts}, {"name": "deploy", "status": roll}}
	count := map[string]int{}
	for _, s := range steps {
		count[s["status"].(string)]++
	}
	return core.Map{"steps": steps, "total_steps": len(steps), "pending_steps": count["PENDING"], "running_steps": count["RUNNING"],
		"success_steps": count["SUCCESS"], "error_steps": count["ERROR"]}
}
