package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/cloud/quorum"
	"github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

func TestTenCommandsWaitForTwoOfThreeApprovers(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t)
	b := w.create("one", 10)
	next := w.next(b.ID)
	require.Equal(t, cloud.StepRetry, next.Step, "one timer, until its time is over")
	require.Equal(t, b.ExpiresAt, next.RetryAt.UTC())
	w.approve(b, "ann")
	require.Equal(t, cloud.BatchAwaiting, w.settle(b.ID))
	require.Zero(t, w.wire.sent)
	w.approve(b, "cid")
	require.Equal(t, cloud.BatchCompleted, w.settle(b.ID))
	require.Equal(t, map[cloud.CommandState]int{cloud.CommandSucceeded: 10}, w.states(b.ID))
	w.ranOnce(10, "")
	for _, c := range w.commands(b.ID) {
		var answer quorum.Answer
		require.NoError(t, json.Unmarshal(c.Answer, &answer), "every answer is recorded")
		require.Equal(t, "wiped", answer.Output)
	}

	trail := w.trail(b.ID)
	require.Equal(t, []string{"acme/alice command-batches:create", "acme/alice command-batches:approve", "acme/alice command-batches:approve", "acme/alice command-batches:dispatching"}, trail[:4])
	require.Equal(t, "reconciler command-batches:completed", trail[len(trail)-1])
	require.Len(t, trail, 4+2*10+1)
	for i := range 10 {
		require.Contains(t, trail, fmt.Sprintf("reconciler command-batches:send %d", i))
		require.Contains(t, trail, fmt.Sprintf("reconciler command-batches:succeeded %d", i))
	}
	lines, err := w.db.AuditTrail(context.Background(), postgres.AuditFilter{Subject: b.ID, Action: "command-batches:approve"}, 0, 10)
	require.NoError(t, err)
	for _, line := range lines { // what was signed, by whom, can be verified from the trail alone
		raw, err := json.Marshal(line.Detail)
		require.NoError(t, err)
		var signed struct {
			Statement quorum.Statement
			Approval  quorum.Approval
		}
		require.NoError(t, json.Unmarshal(raw, &signed))
		require.NoError(t, quorum.VerifyApproval(w.pki.Policy(), signed.Statement, signed.Approval, w.clock.Now()))
	}
	require.NotContains(t, w.db.Dump(), "seed", "no private key comes near the control plane")
}

// The gateway dies at each of its points: before and after each claim, send and
// record. Every command runs once, and every answer is known in the end.
func TestAGatewayThatDiesAnywhereRunsNothingTwice(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t)
	w.daemon.ran = map[string]int{}
	const n = 4
	points := 0
	for _, after := range []bool{false, true} {
		for at := 0; at == 0 || at <= points; at++ {
			name := fmt.Sprintf("%v-%d", after, at)
			b := w.create(name, n)
			w.approve(b, "ann", "ben")
			w.daemon.mu.Lock()
			w.daemon.ran = map[string]int{}
			w.daemon.mu.Unlock()
			w.kill.arm(at, after)
			require.Equal(t, cloud.BatchCompleted, w.settle(b.ID), name)
			if at == 0 {
				points = w.kill.count
				require.Equal(t, 3*n+1, points)
			}
			require.Equal(t, map[cloud.CommandState]int{cloud.CommandSucceeded: n}, w.states(b.ID), name)
			w.ranOnce(n, name)
		}
	}
}

func TestWhatIsChangedOnTheWayDoesNotRun(t *testing.T) {
	t.Parallel()
	edit := func(change func(c *quorum.Command)) func([]byte) []byte {
		return func(body []byte) []byte {
			var c quorum.Command
			if err := json.Unmarshal(body, &c); err != nil {
				return body
			}
			if c.Index == 3 {
				change(&c)
			}
			out, err := json.Marshal(c)
			if err != nil {
				return body
			}
			return out
		}
	}
	for reason, change := range map[quorum.Reason]func(c *quorum.Command){
		quorum.ReasonPayloadMismatch: func(c *quorum.Command) { c.Payload = []byte("another disk") },
		quorum.ReasonPayloadMissing:  func(c *quorum.Command) { c.Payload = nil },
		quorum.ReasonBadProof:        func(c *quorum.Command) { c.Proof[0][0] ^= 1 },
		quorum.ReasonWrongIndex:      func(c *quorum.Command) { c.Index = 99 },
		quorum.ReasonBadSignature:    func(c *quorum.Command) { c.Statement.ExpiresAt += 1000 },
		quorum.ReasonTooFewApprovers: func(c *quorum.Command) { c.Approvals = c.Approvals[:1] },
	} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			w := newBatchWorld(t)
			w.wire.meddle = edit(change)
			b := w.create("one", 5)
			w.approve(b, "ann", "ben")
			require.Equal(t, cloud.BatchCompleted, w.settle(b.ID))
			refused := w.commands(b.ID)[3]
			require.Equal(t, cloud.CommandRefused, refused.State)
			require.Contains(t, refused.Message, string(reason))
			require.Contains(t, string(refused.Answer), string(reason), "what the daemon said is kept")
			require.Contains(t, w.trail(b.ID), "reconciler command-batches:refused 3")
			require.Equal(t, map[cloud.CommandState]int{cloud.CommandRefused: 1, cloud.CommandSucceeded: 4}, w.states(b.ID))
			require.Zero(t, w.daemon.ran["host-3 disk-3"])
			require.Len(t, w.daemon.ran, 4, "and nothing else ran in its place")
		})
	}
}

func TestARepeatIsAnsweredFromTheJournal(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t)
	w.wire.twice, w.wire.lose = true, 3
	b := w.create("one", 5)
	w.approve(b, "ann", "ben")
	require.Equal(t, cloud.BatchCompleted, w.settle(b.ID))
	w.ranOnce(5, "each was sent twice, and some answers were lost")
	for _, c := range w.commands(b.ID) {
		require.Contains(t, string(c.Answer), `"replayed": true`)
	}
	// Somebody turns the clock back in the database: it all goes out again.
	w.db.Exec("UPDATE batch_commands SET state = 'waiting', answer = NULL")
	w.db.Exec("UPDATE command_batches SET state = 'dispatching', ended_at = NULL")
	require.Equal(t, cloud.BatchCompleted, w.settle(b.ID))
	w.ranOnce(5, "the daemon remembers")
}

// Whoever owns the control plane's database still cannot make up a command.
func TestChangedRecordsAreNotSent(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t)
	b := w.create("one", 5)
	w.approve(b, "ann", "ben")
	w.db.Exec("UPDATE batch_commands SET subject = 'host-of-somebody-else' WHERE index = 2")
	require.Equal(t, cloud.BatchAwaiting, w.settle(b.ID))
	require.Contains(t, w.batch(b.ID).Message, "do not suffice")
	require.Zero(t, w.wire.sent)
	require.Contains(t, w.trail(b.ID), "reconciler command-batches:awaitingApproval")
}

func TestADaemonThatIsAwayIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t)
	w.declare(wipe, "http://127.0.0.1:1")
	b := w.create("one", 2)
	w.approve(b, "ann", "ben")
	for range 20 {
		next := w.next(b.ID)
		if next.Step == cloud.StepRetry {
			w.clock.Advance(next.RetryAt.Sub(w.clock.Now()))
		}
	}
	c := w.commands(b.ID)[0]
	require.Equal(t, cloud.CommandSent, c.State)
	require.Greater(t, c.Attempts, 3)
	require.NotContains(t, c.Message, "127.0.0.1", "tenants do not learn where daemons are")
	w.declare(wipe, w.url)
	require.Equal(t, cloud.BatchCompleted, w.settle(b.ID))
	w.ranOnce(2, "")
}

func TestACommandThatNobodyTakesEndsWithItsBatch(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t)
	w.declare("other.*", w.url)
	b := w.create("one", 2)
	w.approve(b, "ann", "ben")
	w.next(b.ID)
	require.Equal(t, map[cloud.CommandState]int{cloud.CommandWaiting: 2}, w.states(b.ID), "nothing was sent")
	require.Contains(t, w.commands(b.ID)[0].Message, "no daemon is declared")
	w.declare("host.*", w.url)
	require.Equal(t, cloud.BatchCompleted, w.settle(b.ID), "one that is declared later takes it")
	w.ranOnce(2, "")

	w.declare("other.*", w.url)
	b = w.create("two", 2)
	w.approve(b, "ann", "ben")
	require.Equal(t, cloud.BatchExpired, w.settle(b.ID))
	require.Equal(t, map[cloud.CommandState]int{cloud.CommandDropped: 2}, w.states(b.ID))
	require.False(t, w.clock.Now().Before(b.ExpiresAt))
	require.Less(t, len(w.trail(b.ID)), 10, "waiting fills no trail")
}

func TestAFailedAndAnInterruptedCommandAreAnswers(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t)
	w.daemon.do = func(job daemonJob) (string, error) {
		switch job.Leaf.Subject {
		case "host-0":
			return "", fmt.Errorf("disk is on fire")
		case "host-1":
			return "", context.DeadlineExceeded
		}
		return "wiped", nil
	}
	b := w.create("one", 3)
	w.approve(b, "ann", "ben")
	require.Equal(t, cloud.BatchCompleted, w.settle(b.ID))
	require.Equal(t, map[cloud.CommandState]int{cloud.CommandFailed: 1, cloud.CommandInterrupted: 1, cloud.CommandSucceeded: 1}, w.states(b.ID))
	require.Equal(t, "disk is on fire", w.commands(b.ID)[0].Message)
	w.ranOnce(3, "")
}

func TestTheKeysInForceDecide(t *testing.T) {
	t.Parallel()
	withdraw := func(w *batchWorld) { w.publish(nil) }
	revoke := func(w *batchWorld) {
		pki := w.pki
		pki.Approvers = append([]quorum.Approver{}, pki.Approvers...)
		pki.Approvers[0].Revoked = true
		w.publish(&pki)
	}
	for name, change := range map[string]func(w *batchWorld){"revoked": revoke, "withdrawn": withdraw} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newBatchWorld(t)
			b := w.create("one", 3)
			w.approve(b, "ann", "ben")
			change(w)
			require.Equal(t, cloud.BatchAwaiting, w.settle(b.ID))
			require.Zero(t, w.wire.sent)
			require.Equal(t, 2, w.batch(b.ID).Threshold)
			if name == "revoked" {
				w.approve(b, "cid")
			} else {
				w.publish(&w.pki)
				require.NoError(t, w.rules.OperatorRefreshBatch(context.Background(), b.ID))
			}
			require.Equal(t, cloud.BatchCompleted, w.settle(b.ID))
			require.Equal(t, map[cloud.CommandState]int{cloud.CommandSucceeded: 3}, w.states(b.ID))
		})
	}
}

func TestWithoutKeysABatchGoesOutAtOnceAndIsOnRecord(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t)
	w.publish(nil)
	w.declare(wipe, w.startDaemon(quorum.Policy{TrustDomain: "test", AllowUnapproved: true}))
	b := w.create("one", 3)
	require.Equal(t, cloud.BatchDispatching, b.State)
	require.Equal(t, cloud.BatchCompleted, w.settle(b.ID))
	w.ranOnce(3, "")
	require.Len(t, w.trail(b.ID), 1+2*3+1)

	// Keys that are published before it went out hold it back.
	b = w.create("two", 3)
	w.publish(&platform.PKI{TrustDomain: "test", Threshold: 1, Approvers: w.pki.Approvers})
	require.Equal(t, cloud.BatchAwaiting, w.settle(b.ID))
	require.Equal(t, 1, w.batch(b.ID).Threshold)
}

func TestABatchEndsWithItsTime(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t)
	b := w.create("one", 3)
	w.approve(b, "ann")
	w.clock.Advance(intent.DefaultBatchTime)
	require.Equal(t, cloud.StepExpire, w.load(b.ID).Step)
	w.next(b.ID)
	require.Equal(t, cloud.BatchExpired, w.batch(b.ID).State)
	require.Equal(t, cloud.StepEnd, w.load(b.ID).Step)
	_, err := w.rules.Cancel(context.Background(), pgtest.Acme, b.ID, "acme/alice")
	require.Equal(t, cloud.CodeInvalidState, cloud.AsError(err).Code)
	require.Zero(t, w.wire.sent)
}

func (w *batchWorld) load(id string) cloud.Next {
	w.t.Helper()
	next, err := w.acts.LoadBatch(context.Background(), id)
	require.NoError(w.t, err)
	return next
}

func TestABatchTakesSignalsByHand(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t)
	ctx := context.Background()
	b := w.create("one", 1)
	hand := func(name string, payload any) activities.HandAnswer {
		raw, err := json.Marshal(payload)
		require.NoError(t, err)
		answer, err := w.acts.RecordBatchIntent(ctx, activities.HandSignal{ResourceID: b.ID, Name: name, Payload: raw})
		require.NoError(t, err)
		return answer
	}
	require.Contains(t, hand("approve", "yes").Refused, "INVALID_INPUT")
	require.Contains(t, hand("update", nil).Refused, "there are approve, cancel and refresh")
	file, _, err := w.db.BatchFile(ctx, b.ID)
	require.NoError(t, err)
	statement, _, err := file.Open()
	require.NoError(t, err)
	for _, id := range []string{"ann", "ben"} {
		signed, err := w.keys[id].Sign(statement)
		require.NoError(t, err)
		require.Empty(t, hand("approve", signed).Refused)
	}
	require.Equal(t, cloud.StepDispatch, w.load(b.ID).Step)
	require.Empty(t, hand("cancel", nil).Refused)
	require.Equal(t, cloud.BatchCancelled, w.batch(b.ID).State)
	require.Empty(t, hand("cancel", nil).Refused, "a repeat changes nothing")
	require.Contains(t, strings.Join(w.trail(b.ID), ","), "operator command-batches:cancelled")
	answer, err := w.acts.LoadBatch(ctx, "cmb_nobody")
	require.NoError(t, err)
	require.Equal(t, cloud.StepEnd, answer.Step)
}

func TestManyCommandsGoOutAFewAtATime(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t)
	var now, most int
	gate := make(chan struct{})
	w.daemon.do = func(daemonJob) (string, error) {
		w.daemon.mu.Lock()
		now++
		most = max(most, now)
		full := now == 8
		w.daemon.mu.Unlock()
		if full {
			select {
			case <-gate:
			default:
				close(gate) // as many as may be are on their way
			}
		}
		select {
		case <-gate:
		case <-time.After(5 * time.Second):
		}
		w.daemon.mu.Lock()
		now--
		w.daemon.mu.Unlock()
		return "wiped", nil
	}
	b := w.create("one", 120)
	w.approve(b, "ann", "ben")
	require.Equal(t, cloud.BatchCompleted, w.settle(b.ID))
	w.ranOnce(120, "")
	require.Equal(t, 8, most, "a bounded number is in flight")
}
