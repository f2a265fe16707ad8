package apps

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// wireDeployment is a deployment as the API shows it.
type wireDeployment struct {
	ID        string          `json:"id"`
	Phase     string          `json:"phase"`
	Spec      json.RawMessage `json:"spec"`
	CreatedAt time.Time       `json:"created_at"`
	Progress  *struct {
		Steps []wireStep `json:"steps"`
	} `json:"progress"`
}

type wireStep struct {
	Name      string     `json:"name"`
	Status    string     `json:"status"`
	Component string     `json:"component_name"`
	Steps     []wireStep `json:"steps"`
	Reason    *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"reason"`
}

func (d *wireDeployment) spec() cloud.Spec {
	if d == nil {
		return nil
	}
	s, err := cloud.ParseSpec(d.Spec)
	if err != nil {
		return nil
	}
	return s
}

// running is the deployment that runs or waits, nil when none does.
func (a *wireApp) running() *wireDeployment {
	for _, d := range []*wireDeployment{a.Pending, a.InProgress} {
		if d != nil && d.ID != "" {
			return d
		}
	}
	return nil
}

// started is the deployment that the call started whose answer this is; "" when
// it started none.
func (a *wireApp) started() string {
	if a.Pending != nil && a.Pending.ID != "" {
		return a.Pending.ID
	}
	if a.InProgress != nil && cloud.SameValue(object(a.InProgress.spec()), object(a.spec())) {
		return a.InProgress.ID
	}
	return ""
}

// phase is what the app tells by itself: not how its last deployment ended.
func (a *wireApp) phase() cloud.Phase {
	if a.running() == nil && a.Active != nil && a.Active.ID != "" {
		return cloud.PhaseReady
	}
	return cloud.PhaseBusy
}

// verdict is what deployments say of an app. ran is the spec of the deployment
// that ended well, when it was the one that our call started.
type verdict struct {
	phase   cloud.Phase
	message string
	ran     cloud.Spec
}

// settle finds out whether the app runs what we sent. The deployment that our
// call started decides; a later one that ended well contains our spec too. The
// whole list of deployments is never read.
func (k *app) settle(ctx context.Context, r cloud.Request, a *wireApp, n *notes) (verdict, error) {
	ours := n.Deployment
	running, active := a.running(), a.Active
	switch {
	case ours == "":
		return k.unfollowed(ctx, r, a)
	case active != nil && active.ID == ours:
		n.Deployment = ""
		return verdict{phase: cloud.PhaseReady, ran: active.spec()}, nil
	case running != nil && running.ID == ours:
		return busy(running), nil
	}
	d, err := k.deployment(ctx, r, a.ID, ours)
	if cloud.IsNotFound(err) {
		n.Deployment = ""
		return k.unfollowed(ctx, r, a)
	}
	if err != nil {
		return verdict{}, err
	}
	later := active != nil && active.CreatedAt.After(d.CreatedAt)
	switch d.Phase {
	case "ACTIVE":
		n.Deployment = ""
		return verdict{phase: cloud.PhaseReady, ran: d.spec()}, nil
	case "SUPERSEDED", "ERROR", "CANCELED":
		switch {
		case running != nil:
			return busy(running), nil
		case later:
			n.Deployment = ""
			return verdict{phase: cloud.PhaseReady}, nil
		case d.Phase == "SUPERSEDED":
			n.Deployment = ""
			return k.unfollowed(ctx, r, a)
		}
		return k.failed(r, d), nil
	}
	return busy(d), nil
}

// unfollowed judges an app of which no call of ours is open: what runs is asked
// only when it is not what the app's spec says.
func (k *app) unfollowed(ctx context.Context, r cloud.Request, a *wireApp) (verdict, error) {
	if d := a.running(); d != nil {
		return busy(d), nil
	}
	if a.Active != nil && cloud.SameValue(object(a.Active.spec()), object(a.spec())) {
		return verdict{phase: cloud.PhaseReady}, nil
	}
	var in struct {
		Deployments []wireDeployment `json:"deployments"`
	}
	path := doapi.Path("v2", "apps", a.ID, "deployments") + "?" + url.Values{"page": {"1"}, "per_page": {"1"}}.Encode()
	if err := k.Get(ctx, path, &in); err != nil {
		return verdict{}, k.Fail(doapi.Look, r, err)
	}
	if len(in.Deployments) == 0 {
		return verdict{phase: cloud.PhaseBusy, message: "waiting for the first deployment"}, nil
	}
	newest := &in.Deployments[0]
	switch {
	case newest.Phase == "ERROR" || newest.Phase == "CANCELED":
		return k.failed(r, newest), nil
	case a.Active != nil:
		return verdict{phase: cloud.PhaseReady}, nil
	}
	return busy(newest), nil
}

func (k *app) deployment(ctx context.Context, r cloud.Request, appID, id string) (*wireDeployment, error) {
	var in struct {
		Deployment *wireDeployment `json:"deployment"`
	}
	if err := k.Get(ctx, doapi.Path("v2", "apps", appID, "deployments", id), &in); err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	if in.Deployment == nil || in.Deployment.ID == "" {
		return nil, k.Missing(doapi.Look)
	}
	return in.Deployment, nil
}

// buildAgain starts a deployment of the spec as it stands.
func (k *app) buildAgain(ctx context.Context, r cloud.Request, o *cloud.Observed) (*cloud.Updated, error) {
	var in struct {
		Deployment *wireDeployment `json:"deployment"`
	}
	path := doapi.Path("v2", "apps", o.ProviderID, "deployments")
	if err := k.Call(ctx, http.MethodPost, path, object{"force_build": true}, &in); err != nil {
		return nil, k.Fail(doapi.Change, r, err)
	}
	if in.Deployment == nil || in.Deployment.ID == "" {
		return nil, k.Missing(doapi.Change)
	}
	n := readNotes(r.Memo)
	n.Deployment = in.Deployment.ID
	n.save(r.Memo)
	return &cloud.Updated{}, nil
}

var doing = map[string]string{
	"PENDING_BUILD": "waiting for its build", "BUILDING": "building", "PENDING_DEPLOY": "waiting to be deployed", "DEPLOYING": "deploying",
}

func busy(d *wireDeployment) verdict {
	text := doing[d.Phase]
	if text == "" {
		text = "in phase " + d.Phase
	}
	return verdict{phase: cloud.PhaseBusy, message: "the deployment is " + text}
}

// failed says at which step and why a deployment ended badly.
func (k *app) failed(r cloud.Request, d *wireDeployment) verdict {
	if d.Phase == "CANCELED" {
		return verdict{phase: cloud.PhaseFailed, message: "the deployment was cancelled"}
	}
	text := "the deployment failed"
	if d.Progress != nil {
		path, why := failedStep(d.Progress.Steps)
		if len(path) > 0 {
			text += " at " + strings.Join(path, "/")
		}
		if why != "" {
			text += ": " + why
		}
	}
	return verdict{phase: cloud.PhaseFailed, message: k.Words(r, text)}
}

// failedStep is the way to the first failed step that has a reason, else to the
// innermost failed one.
func failedStep(steps []wireStep) (path []string, why string) {
	for _, s := range steps {
		if s.Status != "ERROR" {
			continue
		}
		inner, reason := failedStep(s.Steps)
		if reason == "" && s.Reason != nil {
			reason = s.Reason.Message
			if reason == "" {
				reason = s.Reason.Code
			}
		}
		if path == nil || why == "" && reason != "" {
			path, why = append([]string{s.Name}, inner...), reason
		}
	}
	return path, why
}
