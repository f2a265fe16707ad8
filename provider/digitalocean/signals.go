package digitalocean

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
	"github.com/better-compute/cloud-resources/provider/digitalocean/harness"
)

// Signals are asked for session by session, so what one answer may cost is
// bounded: the newest sessions of the newest environments within a window.
const (
	signalWindow    = 7 * 24 * time.Hour
	maxEnvironments = 50 // in all regions together
	maxSessions     = 50 // with hits, whose turns are read
	maxQuiet        = 10 // without hits
	signalPage      = 100
)

// environmentKind is what signals are about.
const environmentKind = "do.harness.environment"

const opSignals = "list signals"

// Signals lists what Managed Agents raise: detector hits (an agent asks for a
// human, loops, fails at a tool), runs and sessions that failed. The provider
// has neither ids nor severities for them; see signalID and severityOf. It
// only reads: where collection was not consented to, there is nothing.
func (a *account) Signals(ctx context.Context) ([]cloud.Signal, error) {
	if !a.Access.Previews {
		return nil, &cloud.ProviderError{Class: cloud.ClassUnsupported, Op: opSignals, Message: "signals are a preview, and previews are not enabled on the account"}
	}
	environments, err := a.environments(ctx)
	if err != nil {
		return nil, err
	}
	signals := []cloud.Signal{}
	var sessions []session
	for _, e := range environments {
		found, err := a.sessions(ctx, e)
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, found...)
		failed, err := a.failedSessions(ctx, e)
		if err != nil {
			return nil, err
		}
		signals = append(signals, failed...)
	}
	for _, s := range worthReading(sessions) {
		found, err := a.turns(ctx, s)
		if err != nil {
			return nil, err
		}
		signals = append(signals, found...)
	}
	slices.SortStableFunc(signals, func(x, y cloud.Signal) int { return cmp.Compare(y.At, x.At) })
	return signals, nil
}

// environment is one on the host of its region.
type environment struct {
	id   string
	host *doapi.Account
}

// environments lists the environments of every region that the account may use.
func (a *account) environments(ctx context.Context) ([]environment, error) {
	absent := []doapi.Meaning{doapi.Means(http.StatusNotFound, cloud.ClassUnsupported), doapi.Means(http.StatusForbidden, cloud.ClassUnsupported)}
	hosts, err := harness.Hosts(ctx, a.Account)
	if err != nil {
		return nil, a.Fail(opSignals, doapi.List, err, absent...)
	}
	var out []environment
	for _, host := range hosts {
		for token := ""; len(out) < maxEnvironments; {
			page, _, err := host.API.HostedAgents.ListEnvironments(ctx, &godo.HostedEnvironmentListOptions{PageToken: token, PageSize: signalPage})
			if err != nil {
				return nil, a.Fail(opSignals, doapi.List, err, absent...)
			}
			for _, c := range page.Configs {
				if c.ID != "" && len(out) < maxEnvironments {
					out = append(out, environment{c.ID, host})
				}
			}
			if token = page.NextPageToken; token == "" {
				break
			}
		}
	}
	return out, nil
}

// session is one whose turns may tell something.
type session struct {
	ID          string `json:"session_id"`
	StartedAt   string `json:"started_at"`
	Turns       int    `json:"total_turns"`
	Count       int    `json:"signal_count"`
	environment string
}

func (a *account) sessions(ctx context.Context, e environment) ([]session, error) {
	query := url.Values{"start_time": {strconv.FormatInt(time.Now().Add(-signalWindow).Unix(), 10)}}
	var out []session
	err := a.nodes(ctx, doapi.Path("v1", "signals", "agents", e.id, "sessions"), query, func(node json.RawMessage) {
		s := session{environment: e.id}
		if json.Unmarshal(node, &s) == nil && s.ID != "" && s.Turns+s.Count > 0 {
			out = append(out, s)
		}
	})
	return out, err
}

// worthReading are the sessions whose turns are asked for, newest first: those
// with hits, and a few without, since a run that failed need not be a hit.
func worthReading(sessions []session) []session {
	slices.SortStableFunc(sessions, func(x, y session) int { return cmp.Compare(y.StartedAt, x.StartedAt) })
	var out []session
	hits, quiet := 0, 0
	for _, s := range sessions {
		switch {
		case s.Count > 0 && hits < maxSessions:
			hits++
			out = append(out, s)
		case s.Count == 0 && quiet < maxQuiet:
			quiet++
			out = append(out, s)
		}
	}
	return out
}

// nodes calls see for each node of a list's first page, in the order of the
// answer. They come undecoded, so that a malformed one is dropped alone.
func (a *account) nodes(ctx context.Context, path string, query url.Values, see func(node json.RawMessage)) error {
	query.Set("limit", strconv.Itoa(signalPage))
	var page struct {
		Edges []struct {
			Node json.RawMessage `json:"node"`
		} `json:"edges"`
	}
	if err := a.Get(ctx, path+"?"+query.Encode(), &page); err != nil {
		return a.unlessSilent(err)
	}
	for _, e := range page.Edges {
		see(e.Node)
	}
	return nil
}

// unlessSilent forgives an environment that went away, or whose collection was
// not consented to: it has no signals.
func (a *account) unlessSilent(err error) error {
	err = a.Fail(opSignals, doapi.List, err, doapi.Means(http.StatusForbidden, cloud.ClassUnsupported))
	switch cloud.ClassOf(err) {
	case cloud.ClassNotFound, cloud.ClassUnsupported, cloud.ClassRefused:
		return nil
	}
	return err
}

// failedSessions are the environment's sessions whose sandbox broke.
func (a *account) failedSessions(ctx context.Context, e environment) ([]cloud.Signal, error) {
	page, _, err := e.host.API.HostedAgents.ListEnvironmentSessions(ctx, e.id,
		&godo.HostedAgentSessionListOptions{Status: godo.HostedAgentSessionStatusFailed, PageSize: signalPage})
	if err != nil {
		return nil, a.unlessSilent(err)
	}
	var out []cloud.Signal
	for _, s := range page.Sessions {
		at := s.LastEventAt.Time
		if at.IsZero() {
			at = s.CreatedAt.Time
		}
		if s.SessionID == "" || s.Status != godo.HostedAgentSessionStatusFailed || time.Since(at) > signalWindow {
			continue
		}
		out = append(out, newSignal(e.id, signalID(s.SessionID, "", typeSessionFailed), typeSessionFailed, "A session failed", s.Name, at))
	}
	return out, nil
}

// turn is one exchange of a session, its hits undecoded.
type turn struct {
	Run     string            `json:"run_id"`
	At      string            `json:"created_at"`
	Status  string            `json:"run_status"`
	Failure *string           `json:"failure_code"`
	Hits    []json.RawMessage `json:"signals"`
}

func (t turn) failed() bool {
	status := strings.ToLower(t.Status)
	return t.Failure != nil && *t.Failure != "" || strings.HasSuffix(status, "failed") || strings.HasSuffix(status, "error")
}

// turns reads the signals of one session's newest turns.
func (a *account) turns(ctx context.Context, s session) ([]cloud.Signal, error) {
	var out []cloud.Signal
	err := a.nodes(ctx, doapi.Path("v1", "signals", "sessions", s.ID, "dialogues"), url.Values{}, func(node json.RawMessage) {
		var t turn
		if json.Unmarshal(node, &t) == nil {
			out = append(out, t.signals(s.environment)...)
		}
	})
	return out, err
}

// signals are the turn's hits, and its failure, unless they are too old. One
// without a time, a type or a run is malformed.
func (t turn) signals(environment string) []cloud.Signal {
	at, err := time.Parse(time.RFC3339, t.At)
	if err != nil || time.Since(at) > signalWindow {
		return nil
	}
	var out []cloud.Signal
	for _, raw := range t.Hits {
		var hit godo.SignalsInstance
		if json.Unmarshal(raw, &hit) != nil {
			continue
		}
		run := cmp.Or(hit.RunUUID, t.Run)
		if hit.SignalType == "" || run == "" {
			continue
		}
		title := cmp.Or(hit.Label, hit.SignalType)
		out = append(out, newSignal(environment, signalID(run, itoa(hit.StepIndex), hit.SignalType), hit.SignalType, title, text(hit.Snippet), at))
	}
	if t.failed() && t.Run != "" {
		out = append(out, newSignal(environment, signalID(t.Run, "", typeRunFailed), typeRunFailed, "A run failed", text(t.Failure), at))
	}
	return out
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
