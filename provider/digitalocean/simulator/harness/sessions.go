package harness

import (
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// The statuses of sessions that the simulator uses.
const (
	provisioning = "SESSION_STATUS_PROVISIONING"
	ready        = "SESSION_STATUS_READY"
	paused       = "SESSION_STATUS_PAUSED"
	destroying   = "SESSION_STATUS_DESTROYING"
	broken       = "SESSION_STATUS_FAILED"
)

type agentSession struct {
	Environment string `json:"environment"`
	Pause       string `json:"pause,omitempty"`
}

// sessions have the environment as parent, so they end with it.
var sessions = core.Table[agentSession]{Type: "harness.session"}

func createSession(c *core.Call) (core.Answer, error) {
	var in struct {
		Name   string `json:"name"`
		Config string `json:"config_id"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	e, ok := environments.Get(c, in.Config)
	if !ok {
		return core.Answer{}, core.NotFound("config not found")
	}
	meta := core.Meta{ID: core.NewUUID(), Parent: e.ID, Name: in.Name}
	c.Provision(&meta, provisioning, ready, broken)
	made := sessions.Insert(c, meta, agentSession{Environment: e.ID})
	return core.Created(core.Map{"session": sessionView(made)})
}

func listSessions(c *core.Call) (core.Answer, error) { return sessionsOf(c, "") }

func listConfigSessions(c *core.Call) (core.Answer, error) {
	e, err := findConfig(c)
	if err != nil {
		return core.Answer{}, err
	}
	return sessionsOf(c, e.ID)
}

// sessionsOf lists the sessions of an environment ("" means all), newest first,
// narrowed by status and name.
func sessionsOf(c *core.Call, parent string) (core.Answer, error) {
	all := sessions.All(c, parent)
	slices.Reverse(all)
	views := []core.Map{}
	for _, s := range all {
		if status := c.Query("status"); status != "" && s.State != status {
			continue
		}
		if name := c.Query("name"); name != "" && s.Name != name {
			continue
		}
		views = append(views, sessionView(s))
	}
	page, next, err := tokenPage(c, views)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"sessions": page, "next_page_token": next})
}

func findSession(c *core.Call) (*core.Record[agentSession], error) {
	s, ok := sessions.Get(c, c.Param("session"))
	if !ok {
		return nil, core.NotFound("session not found")
	}
	return s, nil
}

func getSession(c *core.Call) (core.Answer, error) {
	s, err := findSession(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"session": sessionView(s)})
}

func destroySession(c *core.Call) (core.Answer, error) {
	s, err := findSession(c)
	if err != nil {
		return core.Answer{}, err
	}
	c.Doom(&s.Meta, destroying)
	sessions.Save(c, s)
	return core.NoContent()
}

func pauseSession(c *core.Call) (core.Answer, error) { return move(c, ready, paused, "manual") }

func resumeSession(c *core.Call) (core.Answer, error) { return move(c, paused, ready, "") }

func move(c *core.Call, from, to, reason string) (core.Answer, error) {
	s, err := findSession(c)
	if err != nil {
		return core.Answer{}, err
	}
	if s.State != from {
		return core.Answer{}, core.PreconditionFailed("the session is %s", s.State)
	}
	s.Become(to)
	s.Value.Pause = reason
	sessions.Save(c, s)
	return core.Accepted(nil)
}

func sessionView(s *core.Record[agentSession]) core.Map {
	v := core.Map{
		"session_id": s.ID, "name": s.Name, "agent_kind": "AGENT_KIND_CLAUDE_CODE", "status": s.State, "config_id": s.Value.Environment,
		"created_at": core.Time(s.CreatedAt), "last_event_at": core.Time(s.ChangedAt), "region": regions[0],
	}
	if s.State == paused && s.Value.Pause != "" {
		v["pause_reason"] = s.Value.Pause
	}
	return v
}
