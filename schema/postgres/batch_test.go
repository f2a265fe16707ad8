package postgres_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/cloud/quorum"
	"github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
	"github.com/better-compute/cloud-resources/workflows"
)

var caller = intent.Principal{Tenant: pgtest.Acme, User: "alice", ID: "acme/alice"}

func batches(db *pgtest.DB) *intent.BatchService {
	return &intent.BatchService{Store: db.Store, Now: time.Now}
}

// publish makes approvers a, b, c with keys of their own and publishes them.
func publish(t *testing.T, db *pgtest.DB, threshold int, ids ...string) map[string]quorum.KeyFile {
	t.Helper()
	keys := map[string]quorum.KeyFile{}
	pki := &platform.PKI{TrustDomain: "test.example", Threshold: threshold}
	for _, id := range ids {
		k, err := quorum.NewKeyFile(id, "", rand.Reader)
		require.NoError(t, err)
		keys[id] = k
		pki.Approvers = append(pki.Approvers, k.Approver())
	}
	db.Deployment("test", map[string]any{"pki": pki})
	return keys
}

// insertBatch makes a batch of acme with n commands.
func insertBatch(t *testing.T, db *pgtest.DB, key string, n int) *cloud.Batch {
	t.Helper()
	in := intent.NewBatch{TenantID: pgtest.Acme, IdempotencyKey: key}
	for i := range n {
		in.Commands = append(in.Commands, intent.BatchCommand{Subject: fmt.Sprintf("host-%d", i), Kind: "host.wipe", Payload: []byte{byte(i)}})
	}
	b, err := batches(db).Create(context.Background(), caller, in)
	require.NoError(t, err)
	return b
}

func sign(t *testing.T, b *cloud.Batch, k quorum.KeyFile) quorum.ApprovalFile {
	t.Helper()
	st, err := intent.StatementOf(b)
	require.NoError(t, err)
	f, err := k.Sign(st)
	require.NoError(t, err)
	return f
}

// trail lists the actions of a batch's audit trail.
func trail(t *testing.T, db *pgtest.DB, batch string) []string {
	t.Helper()
	lines, err := db.AuditTrail(context.Background(), postgres.AuditFilter{Tenant: pgtest.Acme, Subject: batch}, 0, 1000)
	require.NoError(t, err)
	out := []string{}
	for _, l := range lines {
		out = append(out, l.Actor+" "+l.Action)
	}
	return out
}

func TestABatchIsFixedWhenItIsMade(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	publish(t, db, 2, "a", "b", "c")
	b := insertBatch(t, db, "one", 3)
	require.Equal(t, cloud.BatchAwaiting, b.State)
	require.Equal(t, 2, b.Threshold)
	require.WithinDuration(t, time.Now().Add(intent.DefaultBatchTime), b.ExpiresAt, time.Minute)
	file, _, err := db.BatchFile(ctx, b.ID)
	require.NoError(t, err)
	st, _, err := file.Open()
	require.NoError(t, err)
	want, err := intent.StatementOf(b)
	require.NoError(t, err)
	require.Equal(t, want, st, "what is read back is what was fixed, to the bit")
	raw, err := json.Marshal(file)
	require.NoError(t, err)
	again, err := quorum.DecodeBatch(raw)
	require.NoError(t, err)
	got, _, err := again.Open()
	require.NoError(t, err)
	require.Equal(t, want, got, "also as the file that approvers carry away")

	require.Equal(t, b, insertBatch(t, db, "one", 3))
	_, err = batches(db).Create(ctx, caller, intent.NewBatch{TenantID: pgtest.Acme, IdempotencyKey: "one", Commands: []intent.BatchCommand{{Subject: "x", Kind: "y"}}})
	refused(t, err, cloud.CodeConflict, cloud.ReasonIdempotencyKey)
	_, err = db.Batch(ctx, pgtest.Globex, b.ID)
	refused(t, err, cloud.CodeNotFound, "")
	require.Equal(t, []string{"acme/alice command-batches:create"}, trail(t, db, b.ID))

	second := insertBatch(t, db, "two", 1)
	list, err := db.ListBatches(ctx, pgtest.Acme, false, "", 10)
	require.NoError(t, err)
	require.Equal(t, []*cloud.Batch{b, second}, list)
	list, err = db.ListBatches(ctx, pgtest.Acme, false, b.ID, 10)
	require.NoError(t, err)
	require.Equal(t, []*cloud.Batch{second}, list)
	_, err = batches(db).Cancel(ctx, pgtest.Acme, b.ID, "acme/alice")
	require.NoError(t, err)
	list, err = db.ListBatches(ctx, pgtest.Acme, false, "", 10)
	require.NoError(t, err)
	require.Equal(t, []*cloud.Batch{second}, list)
	list, err = db.ListBatches(ctx, pgtest.Acme, true, "", 10)
	require.NoError(t, err)
	require.Len(t, list, 2)
}

// Whatever is asked of a batch reaches its workflow by a signal that it reads.
func TestBatchSignalsAreThoseOfTheWorkflow(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	keys := publish(t, db, 2, "a", "b")
	signal := func() string {
		s := pgtest.Value[string](db, "SELECT coalesce(max(workflow_type || ' ' || signal), '') FROM outbox")
		db.Exec("DELETE FROM outbox")
		return s
	}
	want := workflows.TypeBatch + " " + workflows.SignalRefresh
	b := insertBatch(t, db, "one", 1)
	require.Equal(t, want, signal())
	for _, id := range []string{"a", "b"} { // the first changes what it shows, the second lets it go
		_, err := batches(db).Approve(ctx, pgtest.Acme, b.ID, "acme/alice", sign(t, b, keys[id]))
		require.NoError(t, err)
		require.Equal(t, want, signal())
	}
	_, err := batches(db).Approve(ctx, pgtest.Acme, b.ID, "acme/alice", sign(t, b, keys["b"]))
	require.NoError(t, err)
	require.Empty(t, signal(), "a repeat asks nothing")
	_, err = batches(db).Cancel(ctx, pgtest.Acme, b.ID, "acme/alice")
	require.NoError(t, err)
	require.Equal(t, want, signal())
}

func TestBatchRefusals(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	one := intent.BatchCommand{Subject: "x", Kind: "y"}
	for name, in := range map[string]intent.NewBatch{
		"no commands":        {},
		"twice the same":     {Commands: []intent.BatchCommand{one, one}},
		"a kind with spaces": {Commands: []intent.BatchCommand{{Subject: "x", Kind: "a b"}}},
		"our own kind":       {Commands: []intent.BatchCommand{{Subject: "crs_x", Kind: cloud.KindDeleteResource}}},
		"expired":            {Commands: []intent.BatchCommand{one}, ExpiresAt: time.Now().UnixMilli()},
		"for ever":           {Commands: []intent.BatchCommand{one}, ExpiresAt: time.Now().Add(31 * 24 * time.Hour).UnixMilli()},
		"too large":          {Commands: []intent.BatchCommand{{Subject: "x", Kind: "y", Payload: make([]byte, 1<<20+1)}}},
	} {
		in.TenantID, in.IdempotencyKey = pgtest.Acme, name
		_, err := batches(db).Create(context.Background(), caller, in)
		e := refused(t, err, cloud.CodeInvalidInput, "")
		require.NotEmpty(t, e.Details["fields"], name)
	}
	require.Zero(t, pgtest.Value[int](db, "SELECT count(*) FROM command_batches"))
}

func TestApprovalsAreJudgedByThePolicyInForce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	keys := publish(t, db, 2, "a", "b", "c")
	s := batches(db)
	b := insertBatch(t, db, "one", 2)
	other := insertBatch(t, db, "two", 2)
	approve := func(f quorum.ApprovalFile) (*cloud.Batch, error) {
		return s.Approve(ctx, pgtest.Acme, b.ID, "acme/alice", f)
	}

	stranger, err := quorum.NewKeyFile("a", "", rand.Reader)
	require.NoError(t, err)
	forged := sign(t, b, keys["a"])
	forged.Approval.ApproverID = "b"
	for reason, f := range map[string]quorum.ApprovalFile{
		"":                                   sign(t, other, keys["a"]),
		string(quorum.ReasonUnknownKey):      sign(t, b, stranger),
		string(quorum.ReasonUnknownApprover): {Approval: quorum.Approval{ApproverID: "nobody"}},
	} {
		_, err := approve(f)
		refused(t, err, cloud.CodeInvalidInput, reason)
	}
	_, err = approve(forged)
	require.Equal(t, cloud.CodeInvalidInput, cloud.AsError(err).Code)

	got, err := approve(sign(t, b, keys["a"]))
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, got.Approvers)
	require.Contains(t, got.Message, "1 of 2")
	_, err = approve(sign(t, b, keys["a"]))
	require.NoError(t, err, "a repeat changes nothing")
	require.Equal(t, []string{"acme/alice command-batches:create", "acme/alice command-batches:approve"}, trail(t, db, b.ID))

	// The threshold grows: two no longer suffice. Then it falls, and by itself
	// nothing happens until somebody asks anew.
	pki := &platform.PKI{TrustDomain: "test.example", Threshold: 3}
	for _, id := range []string{"a", "b", "c"} {
		pki.Approvers = append(pki.Approvers, keys[id].Approver())
	}
	db.Deployment("test", map[string]any{"pki": pki})
	alone := sign(t, b, keys["b"])
	alone.Format, alone.Statement = "", quorum.Statement{} // an approval without its file
	got, err = approve(alone)
	require.NoError(t, err)
	require.Equal(t, cloud.BatchAwaiting, got.State)
	require.Equal(t, 3, got.Threshold)
	pki.Threshold = 2
	db.Deployment("test", map[string]any{"pki": pki})
	require.NoError(t, s.OperatorRefreshBatch(ctx, b.ID))
	got, err = db.Batch(ctx, pgtest.Acme, b.ID)
	require.NoError(t, err)
	require.Equal(t, cloud.BatchDispatching, got.State)
	_, err = approve(alone)
	require.NoError(t, err, "the answer to the last one may have been lost")
	_, err = approve(sign(t, b, keys["c"]))
	refused(t, err, cloud.CodeInvalidState, "")
	require.Equal(t, 1, pgtest.Value[int](db, "SELECT count(*) FROM events WHERE type = 'command.batch.approved'"))
}

func TestAnApproverWithANewKeySignsAnew(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	keys := publish(t, db, 2, "a", "b")
	b := insertBatch(t, db, "one", 1)
	_, err := batches(db).Approve(ctx, pgtest.Acme, b.ID, "acme/alice", sign(t, b, keys["a"]))
	require.NoError(t, err)
	fresh, err := quorum.NewKeyFile("a", "", rand.Reader)
	require.NoError(t, err)
	old := keys["a"].Approver()
	old.Revoked = true
	db.Deployment("test", map[string]any{"pki": &platform.PKI{TrustDomain: "test.example", Threshold: 2,
		Approvers: []quorum.Approver{old, fresh.Approver(), keys["b"].Approver()}}})
	got, err := batches(db).Approve(ctx, pgtest.Acme, b.ID, "acme/alice", sign(t, b, keys["b"]))
	require.NoError(t, err)
	require.Equal(t, cloud.BatchAwaiting, got.State, "the revoked key no longer counts")
	require.Equal(t, []string{"b"}, got.Approvers)
	got, err = batches(db).Approve(ctx, pgtest.Acme, b.ID, "acme/alice", sign(t, b, fresh))
	require.NoError(t, err)
	require.Equal(t, cloud.BatchDispatching, got.State)
	require.Equal(t, 4, len(trail(t, db, b.ID))-1, "every signature is in the trail, the replaced one too, and the change of state")
}

func TestACommandIsClaimedByOne(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	b := insertBatch(t, db, "one", 3)
	commands, err := db.DueCommands(ctx, b.ID, 10)
	require.NoError(t, err)
	require.Len(t, commands, 3)
	claim := func(c cloud.BatchCommand) (bool, error) {
		c.State, c.Attempts, c.DueAt = cloud.CommandSent, c.Attempts+1, time.Now().Add(time.Minute)
		return db.ClaimCommand(ctx, b.ID, c, map[string]any{"leafHash": "x"})
	}
	won := make([]bool, 8)
	for _, err := range atOnce(8, func(i int) (err error) { won[i], err = claim(commands[0]); return err }) {
		require.NoError(t, err)
	}
	count := 0
	for _, w := range won {
		if w {
			count++
		}
	}
	require.Equal(t, 1, count)
	due, err := db.DueCommands(ctx, b.ID, 10)
	require.NoError(t, err)
	require.Len(t, due, 2, "a claimed one is left to its claimer for a while")

	_, err = batches(db).Cancel(ctx, pgtest.Acme, b.ID, "acme/alice")
	require.NoError(t, err)
	ok, err := claim(commands[1])
	require.NoError(t, err)
	require.False(t, ok, "nothing goes out after a cancel")
	states := func() map[cloud.CommandState]int {
		counts, err := db.CommandCounts(ctx, b.ID)
		require.NoError(t, err)
		return counts
	}
	require.Equal(t, map[cloud.CommandState]int{cloud.CommandInterrupted: 1, cloud.CommandDropped: 2}, states(), "what was sent may have run")

	late := commands[0]
	late.State, late.Attempts, late.Answer = cloud.CommandSucceeded, 1, []byte(`{"outcome":"succeeded"}`)
	require.NoError(t, db.SaveCommand(ctx, b.ID, late))
	require.Equal(t, map[cloud.CommandState]int{cloud.CommandSucceeded: 1, cloud.CommandDropped: 2}, states(), "an answer that comes late is the truth")
	late.State = cloud.CommandFailed
	require.NoError(t, db.SaveCommand(ctx, b.ID, late))
	require.Equal(t, 1, states()[cloud.CommandSucceeded], "and the last word")
	require.Equal(t, []string{
		"acme/alice command-batches:create", "reconciler command-batches:send", "acme/alice command-batches:cancelled", "reconciler command-batches:succeeded",
	}, trail(t, db, b.ID))
}

func TestNudgeStalledHealsBatches(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	nudged := func() []string {
		db.Exec("DELETE FROM outbox")
		_, err := db.NudgeStalled(ctx, 10*time.Minute, 100)
		require.NoError(t, err)
		return pgtest.Value[[]string](db, "SELECT coalesce(array_agg(workflow_id), '{}') FROM outbox WHERE workflow_type = 'CommandBatch'")
	}
	sending := insertBatch(t, db, "sending", 1)
	publish(t, db, 1, "a")
	waiting := insertBatch(t, db, "waiting", 1)
	require.Empty(t, nudged())
	db.Exec("UPDATE command_batches SET updated_at = now() - interval '1 hour'")
	db.Exec("UPDATE batch_commands SET due_at = now() - interval '1 hour'")
	require.Equal(t, []string{sending.ID}, nudged(), "one that awaits approvals has nothing to do")
	db.Exec("UPDATE batch_commands SET due_at = now() + interval '1 minute'")
	require.Empty(t, nudged())
	db.Exec("UPDATE batch_commands SET state = 'succeeded'")
	require.Equal(t, []string{sending.ID}, nudged(), "all said and done, but not completed")
	db.Exec("UPDATE command_batches SET expires_at = now() - interval '1 hour' WHERE id = $1", waiting.ID)
	require.ElementsMatch(t, []string{sending.ID, waiting.ID}, nudged())
	db.Exec("UPDATE command_batches SET state = 'expired', ended_at = now()")
	require.Empty(t, nudged())
}
