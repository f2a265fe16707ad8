package harness

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

// consent says whether what sessions of an environment say may be collected.
// There is a row only once somebody decided; no row denies.
type consent struct {
	Enabled bool `json:"enabled"`
}

// consentTable has the environment's id as id.
var consentTable = core.Table[consent]{Type: "harness.consent", Steady: true}

func consented(c *core.Call, environment string) (on, known bool) {
	row, ok := consentTable.Get(c, environment)
	return ok && row.Value.Enabled, ok
}

func team(c *core.Call) int { return core.StableNumber("team", c.Account.Token) }

func consentView(c *core.Call, row *core.Record[consent]) core.Map {
	return core.Map{"id": core.StableNumber("consent", row.ID), "team_id": team(c), "source": "agent", "agent_id": row.ID,
		"environment_id": row.ID, "enabled": row.Value.Enabled, "updated_at": core.Time(row.ChangedAt)}
}

func listConsents(c *core.Call) (core.Answer, error) {
	rows := []core.Map{}
	if source := c.Query("source"); source == "" || source == "agent" {
		for _, row := range consentTable.All(c, "") {
			rows = append(rows, consentView(c, row))
		}
	}
	return core.OK(core.Map{"team_id": team(c), "consents": rows})
}

func getConsent(c *core.Call) (core.Answer, error) {
	e, err := findConfig(c)
	if err != nil {
		return core.Answer{}, err
	}
	on, _ := consented(c, e.ID)
	return core.OK(core.Map{"team_id": team(c), "source": "agent", "agent_id": e.ID, "environment_id": e.ID, "enabled": on})
}

func setConsent(c *core.Call) (core.Answer, error) {
	e, err := findConfig(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in consent
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	row := consentTable.Insert(c, core.Meta{ID: e.ID, Name: e.Name}, in)
	return core.OK(core.Map{"consent": consentView(c, row)})
}
