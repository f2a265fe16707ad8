package inference

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

// token is an access token. Its value is not kept: it is shown once.
type token struct {
	Managed bool `json:"managed"`
}

var tokens = core.Table[token]{Type: "inference.token"}

func createToken(c *core.Call) (core.Answer, error) {
	e, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Name string `json:"name"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if !goodName.MatchString(in.Name) {
		return core.Answer{}, core.Unprocessable("name must match %s", goodName.String())
	}
	made := tokens.Insert(c, core.Meta{ID: core.NewUUID(), Parent: e.ID, Name: in.Name}, token{})
	shown := tokenView(made)
	shown["value"] = core.Secret("di_", 24)
	return core.Accepted(core.Map{"token": shown})
}

func listTokens(c *core.Call) (core.Answer, error) {
	e, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, t := range tokens.All(c, e.ID) {
		views = append(views, tokenView(t))
	}
	return core.Paged(c, "tokens", views)
}

func revokeToken(c *core.Call) (core.Answer, error) {
	e, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	t, ok := tokens.Get(c, c.Param("token"))
	switch {
	case !ok || t.Parent != e.ID:
		return core.Answer{}, core.NotFound("token not found")
	case t.Value.Managed:
		return core.Answer{}, core.Unprocessable("a managed token cannot be revoked")
	}
	tokens.Remove(c, t.ID)
	return core.NoContent()
}

func tokenView(t *core.Record[token]) core.Map {
	return core.Map{"id": t.ID, "name": t.Name, "is_managed": t.Value.Managed, "created_at": core.Time(t.CreatedAt)}
}
