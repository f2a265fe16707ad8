package apps_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

// record is one app as a record drives it, step by step.
type record struct {
	*testing.T
	kind    cloud.Kind
	control simulator.Control
	r       cloud.Request
	token   string // the value behind secretRef
}

func newRecord(t *testing.T, spec cloud.Spec) *record {
	opened, control := kindtest.Open(t)
	kind, ok := opened.Kind("do.app")
	require.True(t, ok)
	id := cloud.ResourceID("acme", "tester", t.Name())
	return &record{T: t, kind: kind, control: control, token: "first-plain-text", r: cloud.Request{
		ResourceID: id, TenantID: "acme", ProviderName: cloud.ProviderName(id), Spec: spec.Clone(), Memo: map[string]string{},
		Digest: func(v string) string { return "digest of " + v },
	}}
}

// request is a call's; the value of the secret is in those that change.
func (x *record) request(mutating bool) cloud.Request {
	q := x.r
	q.SecretVersions = map[string]string{secretRef: "version of " + x.token}
	if mutating {
		q.Secrets = map[string]cloud.Secret{secretRef: cloud.NewSecret(x.token)}
	}
	return q
}

func (x *record) create() *record {
	o, err := x.kind.Create(context.Background(), x.request(true))
	require.NoError(x, err)
	x.r.ProviderID = o.ProviderID
	return x
}

func (x *record) look() *cloud.Observed {
	o, err := x.kind.Observe(context.Background(), x.request(false))
	require.NoError(x, err)
	return o
}

// until looks until the app is in the phase.
func (x *record) until(phase cloud.Phase) *cloud.Observed {
	var o *cloud.Observed
	require.Eventually(x, func() bool { o = x.look(); return o.Phase == phase }, 5*time.Second, 5*time.Millisecond)
	if phase == cloud.PhaseReady {
		x.r.Applied = x.r.Spec.Clone()
	}
	return o
}

func (x *record) diff() []string { return x.kind.Diff(x.request(false), x.look()) }

func (x *record) update(fields ...string) {
	_, err := x.kind.Update(context.Background(), x.request(true), x.look(), fields)
	require.NoError(x, err)
}

// sent counts the changes that arrived, and returns the body of the last.
func (x *record) sent() (n int, last object) {
	all, err := x.control.Requests(context.Background(), "", 0)
	require.NoError(x, err)
	for _, q := range all {
		if q.Method != http.MethodGet {
			n++
			last = nil
			_ = json.Unmarshal(q.Body, &last)
		}
	}
	return n, last
}

// app is what the simulator holds, with the plain values of its secrets.
func (x *record) app() simulator.Object {
	all, err := x.control.Objects(context.Background(), kindtest.Token)
	require.NoError(x, err)
	for _, o := range all {
		if o.Text("type") == "app" {
			return o
		}
	}
	return nil
}

func (x *record) plainValues() []any {
	var values []any
	for _, env := range x.app()["spec"].(object)["envs"].([]any) {
		values = append(values, x.app()["plain"].(object)[env.(object)["value"].(string)])
	}
	return values
}

func (x *record) fail(method, path string) {
	once := 1
	_, err := x.control.AddFault(context.Background(), simulator.Fault{Method: method, Path: path, Times: &once, Effect: simulator.Effect{Fail: "exit status 2"}})
	require.NoError(x, err)
}

func web(more cloud.Spec) cloud.Spec {
	return cloud.Spec{"region": "nyc", "services": one(part("web", nil))}.Merge(more)
}

func TestSecretsAreSentOncePerVersion(t *testing.T) {
	secret := cloud.Spec{"envs": one(object{"key": "TOKEN", "type": "SECRET", "value": secretRef})}
	x := newRecord(t, web(secret)).create()
	x.until(cloud.PhaseReady)
	n, _ := x.sent()
	require.Equal(t, []any{"first-plain-text"}, x.plainValues())
	for range 10 {
		require.Empty(t, x.diff())
	}
	encrypted := x.app()["spec"].(object)["envs"].([]any)[0].(object)["value"]
	require.NotContains(t, string(x.look().Spec.JSON()), encrypted, "the ciphertext is not shown")

	x.r.Spec = x.r.Spec.Merge(cloud.Spec{"region": "ams"})
	require.Equal(t, []string{"region"}, x.diff())
	x.update("region")
	x.until(cloud.PhaseReady)
	require.Equal(t, encrypted, x.app()["spec"].(object)["envs"].([]any)[0].(object)["value"], "sent back as it was")

	x.token = "second-plain-text"
	require.Equal(t, []string{"envs"}, x.diff())
	x.update("envs")
	x.until(cloud.PhaseReady)
	require.Empty(t, x.diff())
	require.Equal(t, []any{"second-plain-text"}, x.plainValues())
	after, _ := x.sent()
	require.Equal(t, n+2, after)
	for _, note := range x.r.Memo {
		require.NotContains(t, note, "EV[1", "notes keep no ciphertext")
	}
}

// TestLostAnswersAboutSecrets: whether the provider took the new value shows in
// its encrypted form.
func TestLostAnswersAboutSecrets(t *testing.T) {
	for name, taken := range map[string]bool{"taken": true, "not taken": false} {
		t.Run(name, func(t *testing.T) {
			x := newRecord(t, web(cloud.Spec{"envs": one(object{"key": "TOKEN", "type": "SECRET", "value": secretRef})})).create()
			x.until(cloud.PhaseReady)
			once := 1
			effect := simulator.Effect{Status: 502}
			if taken {
				effect = simulator.Effect{Accept: true, Then: &simulator.Then{Drop: true}}
			}
			_, err := x.control.AddFault(context.Background(), simulator.Fault{Method: "PUT", Path: "/v2/apps/*", Times: &once, Effect: effect})
			require.NoError(t, err)
			x.token = "second-plain-text"
			_, err = x.kind.Update(context.Background(), x.request(true), x.look(), []string{"envs"})
			require.Equal(t, cloud.ClassUnknown, cloud.ClassOf(err))
			x.until(cloud.PhaseReady)
			if taken {
				require.Empty(t, x.diff(), "it is there")
				require.Equal(t, []any{"second-plain-text"}, x.plainValues())
			} else {
				require.Equal(t, []string{"envs"}, x.diff(), "it is not there")
			}
		})
	}
}

func TestSecretChangedByOthersIsDrift(t *testing.T) {
	x := newRecord(t, web(cloud.Spec{"envs": one(object{"key": "TOKEN", "type": "SECRET", "value": secretRef})})).create()
	x.until(cloud.PhaseReady)
	x.put(func(spec object) { spec["envs"].([]any)[0].(object)["value"] = "theirs" })
	x.until(cloud.PhaseReady)
	require.Equal(t, []string{"envs"}, x.diff())
	x.update("envs")
	x.until(cloud.PhaseReady)
	require.Equal(t, []any{"first-plain-text"}, x.plainValues())
	require.Empty(t, x.diff())
}

// put changes the app behind our back.
func (x *record) put(change func(spec object)) {
	spec := x.app()["spec"].(object)
	change(spec)
	body, err := json.Marshal(object{"spec": spec})
	require.NoError(x, err)
	x.call(http.MethodPut, "/v2/apps/"+x.r.ProviderID, string(body))
}

func TestFailedBuild(t *testing.T) {
	x := newRecord(t, web(nil))
	x.fail("POST", "/v2/apps")
	x.create()
	o := x.until(cloud.PhaseFailed)
	require.Equal(t, "the deployment failed at build/web: exit status 2", o.Message)
	n, _ := x.sent()
	for range 5 {
		require.Equal(t, cloud.PhaseFailed, x.look().Phase)
		require.Empty(t, x.diff())
	}
	after, _ := x.sent()
	require.Equal(t, n, after, "a look starts no build")

	x.fail("POST", "/v2/apps/*/deployments")
	x.update() // a refresh that somebody asked for
	require.Equal(t, cloud.PhaseBusy, x.look().Phase)
	x.until(cloud.PhaseFailed)

	x.r.Spec = web(cloud.Spec{"services": one(part("web", object{"run_command": "serve"}))})
	require.Equal(t, []string{"services"}, x.diff())
	x.update("services")
	o = x.until(cloud.PhaseReady)
	require.NotEmpty(t, o.Outputs["live_url"])

	x.r.Spec = web(cloud.Spec{"services": one(part("web", object{"run_command": "broken"}))})
	x.fail("PUT", "/v2/apps/*")
	x.update("services")
	o = x.until(cloud.PhaseFailed)
	require.NotEmpty(t, o.Outputs["active_deployment"], "the old one serves on")

	// Back to what never had a command: the failed spec's part must go, although
	// no spec that was ever applied lacks it.
	x.r.Spec = web(nil)
	require.Equal(t, []string{"services"}, x.diff())
	x.update("services")
	x.until(cloud.PhaseReady)
	require.NotContains(t, x.app()["spec"].(object)["services"].([]any)[0], "run_command")
	require.NoError(t, x.kind.Delete(context.Background(), x.request(true)))
	require.Nil(t, x.app())
}

// TestTheRightDeployment: ours decides, by its id.
func TestTheRightDeployment(t *testing.T) {
	t.Run("a later one by somebody else fails", func(t *testing.T) {
		x := newRecord(t, web(nil)).create()
		x.until(cloud.PhaseReady)
		x.fail("POST", "/v2/apps/*/deployments")
		x.call("POST", "/v2/apps/"+x.r.ProviderID+"/deployments", `{}`)
		require.Equal(t, cloud.PhaseBusy, x.look().Phase)
		x.until(cloud.PhaseReady)
	})
	t.Run("a later one supersedes ours", func(t *testing.T) {
		x := newRecord(t, web(nil)).create()
		x.call("POST", "/v2/apps/"+x.r.ProviderID+"/deployments", `{}`)
		require.Equal(t, cloud.PhaseBusy, x.look().Phase, "superseded, and the other still runs")
		x.until(cloud.PhaseReady)
	})
	t.Run("over before the first look", func(t *testing.T) {
		x := newRecord(t, web(nil)).create()
		x.until(cloud.PhaseReady)
		x.r.Spec = web(cloud.Spec{"region": "ams"})
		x.fail("PUT", "/v2/apps/*")
		x.update("region")
		x.until(cloud.PhaseFailed)
		require.Equal(t, cloud.PhaseFailed, x.look().Phase, "the old success is not taken for ours")
	})
	t.Run("the answer was lost and it failed", func(t *testing.T) {
		x := newRecord(t, web(nil)).create()
		x.until(cloud.PhaseReady)
		once := 1
		_, err := x.control.AddFault(context.Background(), simulator.Fault{Method: "PUT", Path: "/v2/apps/*", Times: &once,
			Effect: simulator.Effect{Accept: true, Then: &simulator.Then{Drop: true}, Fail: "no"}})
		require.NoError(t, err)
		x.r.Spec = web(cloud.Spec{"region": "ams"})
		_, err = x.kind.Update(context.Background(), x.request(true), x.look(), []string{"region"})
		require.Equal(t, cloud.ClassUnknown, cloud.ClassOf(err))
		x.until(cloud.PhaseFailed)
	})
}

// call makes a request of the provider's API as somebody else would.
func (x *record) call(method, path, body string) {
	request, err := http.NewRequest(method, x.control.URL+path, nil)
	if body != "" {
		request, err = http.NewRequest(method, x.control.URL+path, jsonBody(body))
	}
	require.NoError(x, err)
	request.Header.Set("Authorization", "Bearer "+kindtest.Token)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(x, err)
	require.Less(x, answer.StatusCode, 300)
	require.NoError(x, answer.Body.Close())
}
