package inference

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

// view holds what the document names and what clients read beside it (the name
// on top, vpc_config within the spec).
func view(e *core.Record[endpoint]) core.Map {
	v := core.Map{
		"id": e.ID, "name": e.Name, "region": e.Value.Region, "status": e.State, "vpc_uuid": e.Value.VPC,
		"spec":       specView(e, e.Value.Public, e.Value.Deployments),
		"endpoints":  endpointsView(e),
		"created_at": core.Time(e.CreatedAt), "updated_at": core.Time(e.ChangedAt),
	}
	if p := e.Value.Pending; p != nil {
		next := specView(e, p.Public, p.Deployments)
		next["id"], next["status"], next["version"] = p.ID, "updating", e.Value.Version+1
		next["created_at"], next["updated_at"] = core.Time(e.ChangedAt), core.Time(e.ChangedAt)
		v["pending_deployment_spec"] = next
	}
	return v
}

func specView(e *core.Record[endpoint], public bool, deployments []deployment) core.Map {
	models := []core.Map{}
	for _, d := range deployments {
		accelerators := []core.Map{}
		for _, a := range d.Accelerators {
			accelerators = append(accelerators, core.Map{
				"accelerator_id": core.StableUUID(d.ModelID, a.Slug), "accelerator_slug": a.Slug,
				"scale": a.Scale, "type": a.Type,
			})
		}
		m := core.Map{
			"model_id": d.ModelID, "model_slug": d.ModelSlug, "model_provider": d.ModelProvider, "accelerators": accelerators,
		}
		if d.ProviderModelID != "" {
			m["provider_model_id"] = d.ProviderModelID
		}
		if d.WorkloadConfig != nil {
			m["workload_config"] = d.WorkloadConfig
		}
		models = append(models, m)
	}
	return core.Map{
		"version": e.Value.Version, "name": e.Name, "region": e.Value.Region,
		"vpc": core.Map{"uuid": e.Value.VPC}, "vpc_config": core.Map{"vpc_uuid": e.Value.VPC},
		"enable_public_endpoint": public, "model_deployments": models,
	}
}

// endpointsView is empty until the endpoint runs.
func endpointsView(e *core.Record[endpoint]) core.Map {
	v := core.Map{}
	if e.State != "active" && e.State != "updating" {
		return v
	}
	host := e.ID[:8] + "." + e.Value.Region + ".inference.example.com"
	v["private_endpoint_fqdn"] = "private-" + host
	if e.Value.Public {
		v["public_endpoint_fqdn"] = host
	}
	return v
}
