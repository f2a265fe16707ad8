package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// types are the provider's detectors with what each says.
var types = []struct{ name, label, layer, category string }{
	{"DisengagementEscalation", "User asked for a human", "interaction", "disengagement"},
	{"DisengagementNegativeStance", "User is dissatisfied", "interaction", "disengagement"},
	{"DisengagementQuit", "User gave up", "interaction", "disengagement"},
	{"EnvironmentExhaustionApiError", "An API kept failing", "environment", "exhaustion"},
	{"ExecutionFailureToolNotFound", "A tool was not found", "execution", "failure"},
	{"ExecutionLoopsRetry", "Retrying in a loop", "execution", "loops"},
	{"MisalignmentCorrection", "User corrected the agent", "interaction", "misalignment"},
	{"StagnationRepetition", "Repeating without progress", "interaction", "stagnation"},
	{"SatisfactionConfirmation", "User confirmed", "interaction", "satisfaction"},
	{"SatisfactionGratitude", "User said thanks", "interaction", "satisfaction"},
	{"SatisfactionSuccess", "The task succeeded", "interaction", "satisfaction"},
}

// turn is one exchange of a session, with what was detected in it.
type turn struct {
	Run     string `json:"run"`
	At      string `json:"at"`
	Status  string `json:"status"`
	Failure string `json:"failure,omitempty"`
	// Hits are kept as they will be shown, since a malformed one has no type.
	Hits []core.Map `json:"hits"`
}

var turns = core.Table[turn]{Type: "harness.turn"}

// raise records a signal: a hit of a detector, or, for a type that says that a
// run or a session failed, a turn or a session that did. A malformed one has
// neither ids nor a time, and fields of the wrong type.
func raise(c *core.Call, s core.Signal) error {
	e := named(c, s.Environment)
	if e == nil {
		return fmt.Errorf("no environment %q", s.Environment)
	}
	if s.Type == "" {
		return fmt.Errorf("type is missing")
	}
	if on, known := consented(c, e.ID); known && !on {
		return fmt.Errorf("collection is switched off for %s", e.ID)
	}
	consentTable.Insert(c, core.Meta{ID: e.ID, Name: e.Name}, consent{Enabled: true})
	at := c.Now
	if s.At != nil {
		at = s.At.UTC()
	}
	word := strings.ToLower(strings.NewReplacer(".", "", "_", "", "-", "").Replace(s.Type))
	if strings.HasPrefix(word, "session") && strings.Contains(word, "fail") && !s.Malformed {
		sessions.Insert(c, core.Meta{ID: core.NewUUID(), Parent: e.ID, Name: "session", State: broken}, agentSession{Environment: e.ID})
		return nil
	}
	t := turn{Run: core.NewUUID(), At: core.Time(at), Status: "completed", Hits: []core.Map{}}
	switch {
	case s.Malformed:
		t.At = "yesterday"
		t.Hits = append(t.Hits, core.Map{"signal_type": 7, "label": []string{s.Type}, "step_index": "first"})
	case strings.HasPrefix(word, "run") && strings.Contains(word, "fail"):
		t.Status, t.Failure = "failed", "RUN_FAILURE_CODE_AGENT_ERROR"
	default:
		t.Hits = append(t.Hits, hit(s.Type, t.Run))
	}
	turns.Insert(c, core.Meta{ID: core.NewUUID(), Parent: talk(c, e), Name: s.Type}, t)
	return nil
}

func named(c *core.Call, word string) *core.Record[environment] {
	for _, e := range environments.Everything(c, "") {
		if e.ID == word || e.Name == word {
			return e
		}
	}
	return nil
}

// talk is the session of an environment that signals are raised in.
func talk(c *core.Call, e *core.Record[environment]) string {
	for _, s := range sessions.Everything(c, e.ID) {
		if s.State == ready {
			return s.ID
		}
	}
	return sessions.Insert(c, core.Meta{ID: core.NewUUID(), Parent: e.ID, Name: "talk", State: ready}, agentSession{Environment: e.ID}).ID
}

func hit(kind, run string) core.Map {
	h := core.Map{"signal_type": kind, "label": kind, "run_uuid": run, "step_index": 0, "confidence": 0.9,
		"snippet": "as it was said in the\nconversation", "layer": "observation", "category": "other"}
	for _, t := range types {
		if t.name == kind {
			h["label"], h["layer"], h["category"] = t.label, t.layer, t.category
		}
	}
	return h
}

func signalOptions(*core.Call) (core.Answer, error) {
	names := []string{}
	for _, t := range types {
		names = append(names, t.name)
	}
	return core.OK(core.Map{"filters": core.Map{"signal_type": names}})
}

// signalSessions lists the sessions of an environment with how much was
// detected in each, newest first. Without consent nothing was collected.
func signalSessions(c *core.Call) (core.Answer, error) {
	e, err := findConfig(c)
	if err != nil {
		return core.Answer{}, err
	}
	edges := []core.Map{}
	on, _ := consented(c, e.ID)
	all := sessions.All(c, e.ID)
	slices.Reverse(all)
	for _, s := range all {
		said := turns.All(c, s.ID)
		if !on || len(said) == 0 || !within(c, said) {
			continue
		}
		count := 0
		for _, t := range said {
			count += len(t.Value.Hits)
		}
		edges = append(edges, core.Map{"cursor": s.ID, "node": core.Map{
			"session_id": s.ID, "total_turns": len(said), "started_at": core.Time(s.CreatedAt), "duration_seconds": 1, "signal_count": count}})
	}
	return cursorPage(c, edges, nil)
}

// within reports whether something was said since start_time (Unix seconds).
func within(c *core.Call, said []*core.Record[turn]) bool {
	from, err := strconv.ParseInt(c.Query("start_time"), 10, 64)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(said, func(t *core.Record[turn]) bool {
		at, err := time.Parse(time.RFC3339, t.Value.At)
		return err != nil || at.Unix() >= from
	})
}

func signalDialogues(c *core.Call) (core.Answer, error) {
	s, err := findSession(c)
	if err != nil {
		return core.Answer{}, err
	}
	edges := []core.Map{}
	all := turns.All(c, s.ID)
	for i := len(all) - 1; i >= 0; i-- {
		t := all[i]
		node := core.Map{"id": t.ID, "run_id": t.Value.Run, "created_at": t.Value.At, "sequence": i + 1, "user_message": "…",
			"steps": []core.Map{}, "run_status": t.Value.Status, "signals": t.Value.Hits}
		if t.Value.Failure != "" {
			node["failure_code"] = t.Value.Failure
		}
		edges = append(edges, core.Map{"cursor": t.ID, "node": node})
	}
	return cursorPage(c, edges, core.Map{"session_id": s.ID})
}

// cursorPage cuts a page by limit (20, 100 at most) and after, a cursor.
func cursorPage(c *core.Call, edges []core.Map, more core.Map) (core.Answer, error) {
	limit, from := 20, 0
	if n, err := strconv.Atoi(c.Query("limit")); err == nil && n > 0 {
		limit = min(n, 100)
	}
	if after := c.Query("after"); after != "" {
		from = slices.IndexFunc(edges, func(e core.Map) bool { return e["cursor"] == after }) + 1
		if from == 0 {
			return core.Answer{}, core.BadRequest("invalid cursor")
		}
	}
	to := min(from+limit, len(edges))
	page := append([]core.Map{}, edges[from:to]...)
	info := core.Map{"has_next_page": to < len(edges)}
	if len(page) > 0 {
		info["end_cursor"] = page[len(page)-1]["cursor"]
	}
	answer := core.Map{"edges": page, "page_info": info}
	for k, v := range more {
		answer[k] = v
	}
	return core.OK(answer)
}
