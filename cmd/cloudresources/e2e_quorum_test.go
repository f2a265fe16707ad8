//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/certtest"
	platformfile "github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
	"github.com/better-compute/cloud-resources/workflows"
)

// quorumWorld is a system with three approvers, threshold two, a daemon as a
// process of its own, and a pool that demands a quorum for deletes.
type quorumWorld struct {
	*world
	desk desk
	pool string
	// done is where the daemon's program notes each command that it ran.
	done string
}

type batchAnswer struct {
	ID, State, Message, ResourceID string
	Approvers                      []string
	File                           json.RawMessage
	Commands                       []struct {
		Index          json.Number
		State, Message string
		Answer         map[string]any
	}
	Audit []struct {
		Actor, Action string
		Detail        map[string]any
	}
}

func newQuorumWorld(t *testing.T) *quorumWorld {
	s := start(t)
	w := s.world(t)
	q := &quorumWorld{world: w, desk: newDesk(t), pool: pgtest.PoolID(w.word + "q"), done: filepath.Join(s.dir, "done")}
	approvers := []object{}
	for _, id := range []string{"ann", "ben", "cid"} {
		a := q.desk.key(id)
		approvers = append(approvers, object{"id": a.ID, "publicKey": a.PublicKey})
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	token := q.desk.path("daemon.token")
	require.NoError(t, os.WriteFile(token, []byte("a-token"), 0o600))
	program := q.desk.path("wipe.sh")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"$QUORUM_SUBJECT $(cat)\" >> "+q.done+"\nsleep 0.2\necho wiped\n"), 0o700))
	config := q.desk.write("daemon.json", object{
		"trustDomain": "e2e.example", "approvers": approvers, "threshold": 2, "listen": address,
		"journal": q.desk.path("journal"), "tokenFile": token,
		"kinds": object{"host.wipe": object{"executor": "exec", "program": []string{program}}},
	})
	s.process(t, "daemon", []string{"daemon", "--config", config})
	q.put(t, object{
		"pki":     object{"trustDomain": "e2e.example", "threshold": 2, "approvers": approvers},
		"daemons": []object{{"kinds": []string{"host.*"}, "url": "http://" + address, "token": object{"file": token}}},
		"pools":   []object{{"id": q.pool, "type": "provider", "account": w.own, "billing": "none", "destructiveQuorum": true}},
	})
	return q
}

// put applies the worlds' platform file with more in it.
func (q *quorumWorld) put(t *testing.T, more object) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	path := q.writeFile(t)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	file := object{}
	require.NoError(t, json.Unmarshal(raw, &file))
	for name, value := range more {
		have, _ := file[name].([]any)
		list, ok := value.([]object)
		if !ok {
			file[name] = value
			continue
		}
		for _, v := range list {
			have = append(have, v)
		}
		file[name] = have
	}
	raw, err = json.Marshal(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	parsed, err := platformfile.Load(path)
	require.NoError(t, err)
	keys, err := postgres.LoadKeyset(q.keyset(), false)
	require.NoError(t, err)
	store, err := postgres.Open(context.Background(), q.db.URL, postgres.WithKeyset(keys), postgres.WithMaxConns(2))
	require.NoError(t, err)
	defer store.Close()
	_, err = store.Apply(context.Background(), parsed, postgres.ApplyOptions{})
	require.NoError(t, err)
}

func (q *quorumWorld) batch(t testing.TB, id string) batchAnswer {
	t.Helper()
	return call[batchAnswer](t, q.acme, "commandBatches/get", object{"tenantId": q.acme.tenant, "batchId": id})
}

func (q *quorumWorld) create(t testing.TB, key string, n int) batchAnswer {
	t.Helper()
	commands := []object{}
	for i := range n {
		commands = append(commands, object{"subject": fmt.Sprintf("%s-%d", key, i), "kind": "host.wipe", "payload": []byte(fmt.Sprintf("disk-%d", i))})
	}
	return call[batchAnswer](t, q.acme, "commandBatches/create", object{"tenantId": q.acme.tenant, "commands": commands, "idempotencyKey": key})
}

// sign carries the batch's file to an approver's desk and brings the approval back.
func (q *quorumWorld) sign(t testing.TB, id, approver string) json.RawMessage {
	t.Helper()
	file := q.desk.write(id+".json", q.batch(t, id).File)
	signed := q.desk.path(id + "." + approver + ".approval.json")
	shown, _, err := q.desk.run("", "sign", "--key", q.desk.path(approver+".key"), "--batch", file, "--out", signed, "--yes")
	require.NoError(t, err)
	require.Contains(t, shown, "host.wipe")
	raw, err := os.ReadFile(signed)
	require.NoError(t, err)
	return raw
}

func (q *quorumWorld) approve(t testing.TB, id, approver string) batchAnswer {
	t.Helper()
	return call[batchAnswer](t, q.acme, "commandBatches/approve", object{"tenantId": q.acme.tenant, "batchId": id, "approval": q.sign(t, id, approver)})
}

func (q *quorumWorld) reachesBatch(t testing.TB, id, state string) batchAnswer {
	t.Helper()
	var b batchAnswer
	q.wait(t, "the batch to be "+state, func() bool { b = q.batch(t, id); return b.State == state })
	return b
}

// ran are the commands that the daemon ran, in order.
func (q *quorumWorld) ran(t testing.TB) []string {
	t.Helper()
	raw, err := os.ReadFile(q.done)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

func TestCommandBatchesEndToEnd(t *testing.T) {
	t.Parallel()
	q := newQuorumWorld(t)
	whole := t // the second worker outlives the part that starts it
	t.Run("TenCommandsAndAGatewayKilledHalfWay", func(t *testing.T) {
		b := q.create(t, "ten", 10)
		require.Equal(t, "awaitingApproval", b.State)
		q.wait(t, "its workflow", func() bool {
			return q.temporal.TerminateWorkflow(context.Background(), b.ID, "", "by an operator") == nil
		})
		require.Equal(t, []string{"ann"}, q.approve(t, b.ID, "ann").Approvers)
		// The second approval is handed in by a signal; the first one has brought
		// the terminated workflow back.
		q.wait(t, "its workflow to say who signed", func() bool {
			st, err := q.temporal.QueryWorkflow(context.Background(), b.ID, "", workflows.QueryStatus)
			var status workflows.Status
			return err == nil && st.Get(&status) == nil && strings.Contains(status.Message, "1 of 2 have signed")
		})
		require.Empty(t, q.ran(t))
		q.wait(t, "the signal to be taken", func() bool {
			return q.temporal.SignalWorkflow(context.Background(), b.ID, "", "approve", q.sign(t, b.ID, "cid")) == nil
		})
		q.wait(t, "the first commands", func() bool { return len(q.ran(t)) >= 3 })
		kill(t, q.worker)
		q.startWorker(whole)
		b = q.reachesBatch(t, b.ID, "completed")
		ran := map[string]int{}
		for _, line := range q.ran(t) {
			ran[line]++
		}
		require.Len(t, ran, 10)
		for line, n := range ran {
			require.Equal(t, 1, n, line)
		}
		for _, c := range b.Commands {
			require.Equal(t, "succeeded", c.State, c.Message)
			require.Equal(t, "wiped\n", c.Answer["output"])
		}
		actions := map[string]int{}
		for _, l := range b.Audit {
			actions[l.Actor+" "+l.Action]++
		}
		require.Equal(t, 1, actions[q.acme.tenant+"/admin command-batches:create"])
		require.Equal(t, 1, actions["operator command-batches:approve"])
		require.Equal(t, 10, actions["reconciler command-batches:succeeded"])
		require.GreaterOrEqual(t, actions["reconciler command-batches:send"], 10)
		require.Empty(t, q.status(t, b.ID).UnknownSignals)
		require.Equal(t, []string{"command.batch.created", "command.batch.approved", "command.batch.completed"}, q.acme.told(t, b.ID))
	})
	t.Run("Cancelled", func(t *testing.T) {
		b := q.create(t, "cancelled", 2)
		require.Equal(t, "cancelled", call[batchAnswer](t, q.acme, "commandBatches/cancel", object{"tenantId": q.acme.tenant, "batchId": b.ID}).State)
		require.Equal(t, "dropped", q.batch(t, b.ID).Commands[0].State)
		e := q.acme.refused(t, "commandBatches/approve", object{"tenantId": q.acme.tenant, "batchId": b.ID, "approval": q.sign(t, b.ID, "ann")})
		require.Equal(t, cloud.CodeInvalidState, e.Code)
	})
	t.Run("ADeletionOnAGuardedPool", func(t *testing.T) { testGuardedDeletion(t, q) })
}

func testGuardedDeletion(t *testing.T, q *quorumWorld) {
	p := q.acme
	cluster := p.create(t, q.pool, pg, "guarded", pgSpec())
	p.ready(t, cluster.ID)
	user := p.create(t, q.pool, pgUser, "app", object{"name": "app"}, object{"parentId": cluster.ID})
	p.ready(t, user.ID)
	v := p.delete(t, cluster.ID)
	require.Equal(t, cloud.StateDeleting, v.State)
	require.Contains(t, v.Message, "awaits the approval of command batch cmb_")
	open := call[listing[batchAnswer]](t, p, "commandBatches/list", object{"tenantId": p.tenant}).Items
	require.Len(t, open, 1)
	require.Equal(t, cluster.ID, open[0].ResourceID)
	require.Len(t, q.batch(t, open[0].ID).Commands, 2)
	require.Equal(t, cloud.StateDeleting, p.get(t, user.ID).State)
	call[batchAnswer](t, p, "commandBatches/cancel", object{"tenantId": p.tenant, "batchId": open[0].ID})
	for _, id := range []string{cluster.ID, user.ID} {
		require.Equal(t, cloud.StateReady, p.get(t, id).State, "as it was")
	}

	p.delete(t, cluster.ID)
	open = call[listing[batchAnswer]](t, p, "commandBatches/list", object{"tenantId": p.tenant}).Items
	require.Len(t, open, 1)
	for _, approver := range []string{"ben", "cid"} {
		raw := q.signDeletion(t, open[0].ID, approver)
		call[batchAnswer](t, p, "commandBatches/approve", object{"tenantId": p.tenant, "batchId": open[0].ID, "approval": raw})
	}
	q.reachesBatch(t, open[0].ID, "completed")
	p.reaches(t, user.ID, cloud.StateDeleted)
	p.reaches(t, cluster.ID, cloud.StateDeleted)
	require.Empty(t, q.managed(t, q.ownToken))
}

// signDeletion signs what shows a person which resources go.
func (q *quorumWorld) signDeletion(t testing.TB, id, approver string) json.RawMessage {
	t.Helper()
	file := q.desk.write(id+".json", q.batch(t, id).File)
	signed := q.desk.path(id + "." + approver)
	shown, _, err := q.desk.run("", "sign", "--key", q.desk.path(approver+".key"), "--batch", file, "--out", signed, "--yes")
	require.NoError(t, err)
	require.Contains(t, shown, "cloud-resource.delete")
	require.Contains(t, shown, "guarded")
	raw, err := os.ReadFile(signed)
	require.NoError(t, err)
	return raw
}

func TestCertificatesEndToEnd(t *testing.T) {
	t.Parallel()
	s := start(t)
	w := s.world(t)
	p := w.acme
	get := func(id string) cloud.CertificateView {
		return call[cloud.CertificateView](t, p, "certificates/get", object{"tenantId": p.tenant, "certificateId": id})
	}
	reaches := func(id string, what string, ok func(v cloud.CertificateView) bool) (v cloud.CertificateView) {
		w.wait(t, "the certificate to be "+what, func() bool { v = get(id); return ok(v) })
		return v
	}
	ready := func(v cloud.CertificateView) bool { return v.State == cloud.StateReady && v.Message == "" }
	key := func(name string) (leaf string, ref string) {
		made := certtest.Self(t, time.Now(), 20*24*time.Hour, "example.com")
		put := call[struct{ Ref string }](t, p, "secrets/put", object{"tenantId": p.tenant, "name": name, "value": made.Key})
		return made.PEM, put.Ref
	}
	leaf, ref := key("first")
	c := call[cloud.CertificateView](t, p, "certificates/create", object{
		"tenantId": p.tenant, "poolId": w.poolOwn, "name": "web", "type": "custom", "leaf": leaf, "privateKey": ref, "idempotencyKey": "web",
	})
	v := reaches(c.ID, "ready", ready)
	first := v.ProviderID
	require.Equal(t, []any{"example.com"}, v.Outputs["names"])
	require.Equal(t, []string{c.ID}, w.found(t, "ResourceKind = 'certificate' AND TenantId = '"+p.tenant+"' AND ProviderAccountId = '"+w.own+"'"))
	require.Contains(t, strings.Join(p.told(t, c.ID), " "), "provider.certificate.created provider.certificate.ready")
	w.wait(t, "the notice of its end", func() bool {
		return strings.Contains(strings.Join(p.told(t, c.ID), " "), "provider.certificate.expiring")
	})

	balancer := w.onConsole(t, http.MethodPost, "/v2/load_balancers", object{"name": "lb", "region": "nyc3", "forwarding_rules": []object{
		{"entry_protocol": "https", "entry_port": 443, "target_protocol": "http", "target_port": 80, "certificate_id": first},
	}})["load_balancer"].(map[string]any)["id"].(string)
	leaf, ref = key("second")
	call[cloud.CertificateView](t, p, "certificates/update", object{"tenantId": p.tenant, "certificateId": c.ID, "leaf": leaf, "privateKey": ref})
	v = reaches(c.ID, "replaced", func(v cloud.CertificateView) bool { return v.ProviderID != first && v.Message != "" })
	require.Equal(t, cloud.StateReady, v.State)
	require.Contains(t, v.Message, "load balancer")
	w.onConsole(t, http.MethodDelete, "/v2/load_balancers/"+balancer, nil)
	reaches(c.ID, "alone", ready)
	require.Len(t, w.objects(t, w.ownToken, "certificate"), 1)

	issued := call[cloud.CertificateView](t, p, "certificates/create", object{
		"tenantId": p.tenant, "poolId": w.poolOwn, "name": "issued", "type": "lets_encrypt", "domains": []string{"example.com"}, "idempotencyKey": "issued",
	})
	reaches(issued.ID, "issued", ready)
	// It vanishes behind our back; a sweep notices.
	w.onConsole(t, http.MethodDelete, "/v2/certificates/"+get(issued.ID).ProviderID, nil)
	reaches(issued.ID, "an error", func(v cloud.CertificateView) bool { return v.State == cloud.StateError })

	// An operator terminates the workflow; a call brings it back.
	require.NoError(t, w.temporal.TerminateWorkflow(context.Background(), c.ID, "", "by an operator"))
	for _, id := range []string{c.ID, issued.ID} {
		call[cloud.CertificateView](t, p, "certificates/delete", object{"tenantId": p.tenant, "certificateId": id})
		reaches(id, "deleted", func(v cloud.CertificateView) bool { return v.State == cloud.StateDeleted })
	}
	require.Empty(t, w.objects(t, w.ownToken, "certificate"))
	for _, name := range []string{"first", "second"} {
		call[object](t, p, "secrets/delete", object{"tenantId": p.tenant, "name": name})
	}
	require.NotContains(t, w.answersSoFar()+s.log("worker")+s.log("api"), "PRIVATE KEY")
}

// onConsole asks the provider itself on acme's account.
func (w *world) onConsole(t testing.TB, method, path string, in object) map[string]any {
	t.Helper()
	raw, err := json.Marshal(in)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(context.Background(), method, w.sim.URL+path, strings.NewReader(string(raw)))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+w.ownToken)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Less(t, res.StatusCode, 300, "%s %s", method, path)
	out := map[string]any{}
	if res.StatusCode != http.StatusNoContent {
		require.NoError(t, json.NewDecoder(res.Body).Decode(&out))
	}
	return out
}
