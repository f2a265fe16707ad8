//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/workflows"
)

// TestNoSecretLeaks lives lives full of secrets, with a provider that throws
// them back in its errors, and then searches for them in all that is kept: the
// whole database, every log, every history, every answer but those of reveal.
func TestNoSecretLeaks(t *testing.T) {
	t.Parallel()
	s := start(t, "LOG_LEVEL=debug")
	w := s.world(t)
	p := w.acme
	canary := "CANARY-" + w.word + "-plain"
	webhook := "https://hooks.slack.example/services/CANARY/" + w.word
	ref := func(name, value string) cloud.SecretRef {
		t.Helper()
		return call[struct{ Ref cloud.SecretRef }](t, p, "secrets/put", object{"tenantId": p.tenant, "name": name, "value": value}).Ref
	}
	key, hook := ref("key", canary), ref("hook", webhook)
	secrets := map[string]string{canary: "a secret of the tenant", webhook: "another", w.ownToken: "the provider token", w.sharedToken: "the platform's provider token"}
	for _, party := range w.tenants {
		secrets[party.token] = "a caller's token"
	}

	// The provider echoes what it was sent, as text and as a proxy's page.
	w.fault(t, simulator.Fault{Method: "POST", Path: "/v2/apps", Times: times(1), Effect: simulator.Effect{Status: 422,
		Body: object{"id": "unprocessable_entity", "message": "invalid env KEY=" + canary + " for bearer " + w.ownToken}}})
	w.fault(t, simulator.Fault{Method: "POST", Path: "/v2/apps", Times: times(1), Effect: simulator.Effect{Status: 502,
		Body: "<html>Authorization: Bearer " + w.ownToken + " KEY=" + canary + "</html>"}})
	w.fault(t, simulator.Fault{Method: "POST", Path: "/v2/databases", Times: times(1), Effect: simulator.Effect{Status: 500,
		Body: object{"id": "server_error", "message": "panic at token " + w.ownToken}}})
	w.fault(t, simulator.Fault{Method: "POST", Path: "/v2/databases", Times: times(1), Effect: simulator.Effect{Accept: true, Then: &simulator.Then{Drop: true}}})

	live := p.create(t, w.poolOwn, pg, "live", pgSpec())
	ended := p.create(t, w.poolOwn, pg, "ended", pgSpec())
	mongo := p.create(t, w.poolOwn, "do.database.mongodb", "mongo", pgSpec(object{"version": "7.0"}))
	kafka := p.create(t, w.poolOwn, "do.database.kafka", "kafka", pgSpec(object{"version": "3.8", "num_nodes": 3, "size": "db-s-2vcpu-2gb"}))
	web := p.create(t, w.poolOwn, app, "web", appSpec(object{"envs": []object{{"key": "KEY", "type": "SECRET", "value": key}}}))
	users := []cloud.View{
		p.create(t, w.poolOwn, pgUser, "app", object{"name": "app"}, object{"parentId": live.ID}),
		p.create(t, w.poolOwn, "do.database.kafka.user", "producer", object{"name": "producer"}, object{"parentId": kafka.ID}),
		p.create(t, w.poolOwn, "do.database.mongodb.user", "reader", object{"name": "reader"}, object{"parentId": mongo.ID}),
	}
	check := p.create(t, w.poolOwn, "do.uptime.check", "site", object{"type": "https", "target": "https://example.com", "regions": []string{"us_east"}, "enabled": true})
	alert := p.create(t, w.poolOwn, "do.uptime.alert", "down", object{"name": "down", "type": "down", "period": "2m",
		"notifications": object{"email": []string{}, "slack": []object{{"channel": "ops", "url": hook}}}}, object{"parentId": check.ID})
	for _, v := range append([]cloud.View{live, ended, mongo, kafka, web, check, alert}, users...) {
		v = p.ready(t, v.ID)
		for name, ref := range v.SecretOutputs {
			value := p.reveal(t, ref)
			require.NotEmpty(t, value)
			secrets[value] = v.Kind + " " + name
		}
	}
	require.Contains(t, secrets, canaryOf(t, w, "app"), "what the scan searches for is what the provider made")

	// A rotation, an update of a secret, a deletion, and values in wrong places.
	w.console(t, "POST", "/v2/databases/"+p.get(t, live.ID).ProviderID+"/users/app/reset_auth", object{})
	password := p.get(t, users[0].ID).SecretOutputs["password"]
	w.wait(t, "the new password to be sealed", func() bool { return p.reveal(t, password) == canaryOf(t, w, "app") })
	secrets[canaryOf(t, w, "app")] = "the rotated password"
	rotated := canary + "-rotated"
	secrets[rotated] = "the tenant's rotated secret"
	require.Equal(t, key, ref("key", rotated))
	p.delete(t, ended.ID)
	p.reaches(t, ended.ID, cloud.StateDeleted)
	p.refused(t, "secrets/put", object{"tenantId": p.tenant, "name": "a b", "value": canary})
	p.refused(t, "secrets/put", object{"tenantId": p.tenant, "name": "key", "value": []string{canary}})
	p.refused(t, "secrets/reveal", object{"tenantId": p.tenant, "ref": key + "x"})
	call[listing[object]](t, p, "secrets/list", object{"tenantId": p.tenant})
	p.events(t, "")
	p.list(t, object{"includeDeleted": true})

	kept := map[string]string{"the database": s.db.Dump(), "the answers": s.answersSoFar(), "the histories": s.histories(t, live.ID)}
	logs, err := filepath.Glob(filepath.Join(s.dir, "*.log"))
	require.NoError(t, err)
	for _, path := range logs {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		kept[filepath.Base(path)] = string(raw)
	}
	for place, text := range kept {
		if place != "api.log" { // which names no resource
			require.Contains(t, text, live.ID, "the scan of %s reads what is there", place)
		}
		for secret, what := range secrets {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s holds %s: %q", place, what, text[max(0, at-200):at])
			}
		}
	}
}

// canaryOf is the password of a Postgres user as the provider has it.
func canaryOf(t testing.TB, w *world, user string) string {
	t.Helper()
	for _, o := range w.objects(t, w.ownToken, "database.user") {
		if o.Text("name") == user {
			return o.Text("password")
		}
	}
	require.FailNow(t, "no such user", user)
	return ""
}

// histories are those of every run of every workflow of the namespace, with
// what operators see of them, as bytes in which every payload stands as it is.
func (s *system) histories(t testing.TB, wanted string) string {
	t.Helper()
	ctx := context.Background()
	s.wait(t, "the list of workflows", func() bool { return len(s.found(t, "WorkflowId = '"+wanted+"'")) > 0 })
	var out strings.Builder
	add := func(m proto.Message) {
		raw, err := proto.Marshal(m)
		require.NoError(t, err)
		out.Write(raw)
		out.WriteByte('\n')
	}
	var next []byte
	for {
		page, err := s.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: s.namespace, NextPageToken: next})
		require.NoError(t, err)
		for _, e := range page.GetExecutions() {
			id, run := e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId()
			add(e)
			iter := s.temporal.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
			for iter.HasNext() {
				event, err := iter.Next()
				require.NoError(t, err)
				add(event)
			}
			d, err := s.describe(id, run)
			require.NoError(t, err)
			add(d)
			if e.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
				for _, query := range []string{workflows.QueryStatus, "__temporal_workflow_metadata"} {
					var shown converter.RawValue
					answer, err := s.temporal.QueryWorkflow(ctx, id, run, query)
					require.NoError(t, err)
					require.NoError(t, answer.Get(&shown))
					add(shown.Payload())
				}
			}
		}
		if next = page.GetNextPageToken(); len(next) == 0 {
			return out.String()
		}
	}
}
