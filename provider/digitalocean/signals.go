package digitalocean

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// Signals are asked for session by session, so what one answer may cost is
// bounded: the newest sessions of the newest environments within a window.
const (
	signalWindow    = 7 * 24 * time.Hour
	maxEnvironments = 50 // in all regions together
	maxSessions     = 50 // whose turns are read
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
	slices.SortStableFunc(sessions, func(x, y session) int { return cmp.Compare(y.StartedAt, x.StartedAt) })
	for _, s := range sessions[:min(len(sessions), maxSessions)] {
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
	regions, _, err := a.API.HostedAgents.ListRegions(ctx)
	if err != nil {
		return nil, a.Fail(opSignals, doapi.List, err, absent...)
	}
	hosts := map[string]*doapi.Account{}
	for _, r := range regions.Regions {
		host, err := a.Regional(r.Slug)
		if err != nil {
			return nil, a.Fail(opSignals, doapi.List, err)
		}
		hosts[host.API.BaseURL.String()] = host
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

// session is one in which something was detected.
type session struct {
	godo.SignalsSession
	environment string
}

func (a *account) sessions(ctx context.Context, e environment) ([]session, error) {
	from := time.Now().Add(-signalWindow).Unix()
	opt := &godo.SignalsListAgentSessionsOptions{StartTime: &from}
	opt.Limit = signalPage
	page, _, err := a.API.Signals.ListAgentSessions(ctx, e.id, opt)
	if err != nil {
		return nil, a.unlessSilent(err)
	}
	var out []session
	for _, edge := range page.Edges {
		if edge.Node.SessionID != "" && edge.Node.SignalCount > 0 {
			out = append(out, session{edge.Node, e.id})
		}
	}
	return out, nil
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

// turns reads the signals of one session's newest turns.
func (a *account) turns(ctx context.Context, s session) ([]cloud.Signal, error) {
	opt := &godo.SignalsListDialoguesOptions{}
	opt.Limit = signalPage
	page, _, err := a.API.Signals.ListSessionDialogues(ctx, s.SessionID, opt)
	if err != nil {
		return nil, a.unlessSilent(err)
	}
	var out []cloud.Signal
	for _, edge := range page.Edges {
		d := edge.Node
		at, err := time.Parse(time.RFC3339, d.CreatedAt)
		if err != nil {
			continue // a signal without a time is malformed
		}
		for _, hit := range d.Signals {
			run := cmp.Or(hit.RunUUID, d.RunID)
			if hit.SignalType == "" || run == "" {
				continue
			}
			snippet := ""
			if hit.Snippet != nil {
				snippet = *hit.Snippet
			}
			title := cmp.Or(hit.Label, hit.SignalType)
			out = append(out, newSignal(s.environment, signalID(run, itoa(hit.StepIndex), hit.SignalType), hit.SignalType, title, snippet, at))
		}
		if failed(d.SignalsDialogue) && d.RunID != "" {
			code := ""
			if d.FailureCode != nil {
				code = *d.FailureCode
			}
			out = append(out, newSignal(s.environment, signalID(d.RunID, "", typeRunFailed), typeRunFailed, "A run failed", code, at))
		}
	}
	return out, nil
}

func failed(d godo.SignalsDialogue) bool {
	status := strings.ToLower(d.RunStatus)
	return d.FailureCode != nil && *d.FailureCode != "" || strings.HasSuffix(status, "failed") || strings.HasSuffix(status, "error")
}
