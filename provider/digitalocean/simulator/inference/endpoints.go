package inference

import (
	"fmt"
	"strconv"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// pending is a change on its way.
type pending struct {
	ID          string       `json:"id"`
	Public      bool         `json:"public"`
	Deployments []deployment `json:"deployments"`
}

type endpoint struct {
	Region      string       `json:"region"`
	VPC         string       `json:"vpc"`
	Public      bool         `json:"public"`
	Version     int          `json:"version"`
	Deployments []deployment `json:"deployments"`
	Pending     *pending     `json:"pending,omitempty"`
	// Tokened: a token for gated models is there. Its value is never shown.
	Tokened     bool   `json:"tokened"`
	Certificate string `json:"certificate"`
}

var endpoints = core.Table[endpoint]{Type: "inference"}

func create(c *core.Call) (core.Answer, error) {
	var in input
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := in.check(c, false); err != nil {
		return core.Answer{}, err
	}
	if _, taken := endpoints.Named(c, "", in.Spec.Name); taken {
		return core.Answer{}, core.Conflict("a dedicated inference with the name %q already exists", in.Spec.Name)
	}
	deployments, err := settled(nil, in.Spec.Deployments)
	if err != nil {
		return core.Answer{}, err
	}
	meta := core.Meta{ID: core.NewUUID(), Name: in.Spec.Name, VPCs: []string{in.Spec.VPC.UUID}}
	c.Provision(&meta, "provisioning", "active", "error")
	made := endpoints.Insert(c, meta, endpoint{
		Region: in.Spec.Region, VPC: in.Spec.VPC.UUID, Public: *in.Spec.Public, Version: 1, Deployments: deployments,
		Tokened:     in.huggingFace() != "",
		Certificate: "-----BEGIN CERTIFICATE-----\n" + core.Blob(48) + "\n-----END CERTIFICATE-----\n",
	})
	tokens.Insert(c, core.Meta{ID: core.NewUUID(), Parent: made.ID, Name: "monitoring"}, token{Managed: true})
	first := tokens.Insert(c, core.Meta{ID: core.NewUUID(), Parent: made.ID, Name: "default"}, token{})
	shown := tokenView(first)
	shown["value"] = core.Secret("di_", 24)
	return core.Accepted(core.Map{"dedicated_inference": view(made), "token": shown})
}

func list(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, e := range endpoints.All(c, "") {
		if region := c.Query("region"); region != "" && region != e.Value.Region {
			continue
		}
		if name := c.Query("name"); name != "" && name != e.Name {
			continue
		}
		views = append(views, view(e))
	}
	return core.Paged(c, "dedicated_inferences", views)
}

func find(c *core.Call) (*core.Record[endpoint], error) {
	e, ok := endpoints.Get(c, c.Param("inference"))
	if !ok {
		return nil, core.NotFound("dedicated inference not found")
	}
	return e, nil
}

func get(c *core.Call) (core.Answer, error) {
	e, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"dedicated_inference": view(e)})
}

// update starts a change of the whole spec from the version that it names.
func update(c *core.Call) (core.Answer, error) {
	e, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if e.Busy() || e.Value.Pending != nil {
		return core.Answer{}, core.Forbidden("the dedicated inference does not accept changes in status %s", e.State)
	}
	var in input
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := in.check(c, e.Value.Tokened); err != nil {
		return core.Answer{}, err
	}
	switch s := in.Spec; {
	case s.Version != e.Value.Version:
		return core.Answer{}, core.PreconditionFailed("version %d is not the current version %d", s.Version, e.Value.Version)
	case s.Region != e.Value.Region, s.VPC.UUID != e.Value.VPC, *s.Public != e.Value.Public:
		return core.Answer{}, core.Unprocessable("region, vpc and enable_public_endpoint cannot be changed")
	}
	deployments, err := settled(e.Value.Deployments, in.Spec.Deployments)
	if err != nil {
		return core.Answer{}, err
	}
	if other, taken := endpoints.Named(c, "", in.Spec.Name); taken && other.ID != e.ID {
		return core.Answer{}, core.Conflict("a dedicated inference with the name %q already exists", in.Spec.Name)
	}
	e.Name = in.Spec.Name
	e.Value.Tokened = e.Value.Tokened || in.huggingFace() != ""
	e.Value.Pending = &pending{ID: core.NewUUID(), Public: e.Value.Public, Deployments: deployments}
	c.Change(&e.Meta, "updating", "active", "error", core.Map{
		"deployments": deployments, "version": e.Value.Version + 1, "pending": nil,
	})
	if c.FailWith() != "" {
		e.Value.Pending = nil
	}
	endpoints.Save(c, e)
	return core.Accepted(core.Map{"dedicated_inference": view(e)})
}

func remove(c *core.Call) (core.Answer, error) {
	e, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if !e.Dying() {
		c.Doom(&e.Meta, "deleting")
		endpoints.Save(c, e)
	}
	return core.Accepted(nil)
}

// certificate is that of the authority which signs the private endpoint; there
// is one as soon as the endpoint runs.
func certificate(c *core.Call) (core.Answer, error) {
	e, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if e.State != "active" && e.State != "updating" {
		return core.Answer{}, core.NotFound("the certificate authority is not there yet")
	}
	return core.OK(core.Map{"cert": e.Value.Certificate})
}

func listAccelerators(c *core.Call) (core.Answer, error) {
	e, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, v := range acceleratorViews(e) {
		if slug := c.Query("slug"); slug == "" || slug == v["slug"] {
			views = append(views, v)
		}
	}
	return core.Paged(c, "accelerators", views)
}

func getAccelerator(c *core.Call) (core.Answer, error) {
	e, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	for _, v := range acceleratorViews(e) {
		if v["id"] == c.Param("accelerator") {
			return core.OK(v)
		}
	}
	return core.Answer{}, core.NotFound("accelerator not found")
}

// acceleratorViews are the machines that run, one for each replica.
func acceleratorViews(e *core.Record[endpoint]) (views []core.Map) {
	for _, d := range e.Value.Deployments {
		for _, a := range d.Accelerators {
			for n := range a.Scale {
				views = append(views, core.Map{
					"id":   core.StableUUID(e.ID, d.ModelID, a.Slug, strconv.Itoa(n)),
					"name": fmt.Sprintf("%s-%s-%d", e.Name, a.Slug, n), "slug": a.Slug, "role": a.Type,
					"status": e.State, "created_at": core.Time(e.CreatedAt),
				})
			}
		}
	}
	return views
}
