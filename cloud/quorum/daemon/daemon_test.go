package daemon

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

func TestCommandRunsOnceAndIsRemembered(t *testing.T) {
	r := newRig(t)
	c := r.batch(t, 3)[0]
	first, err := r.Do(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, quorum.OutcomeSucceeded, first.Outcome)
	require.Equal(t, "done payload 0", first.Output)
	require.False(t, first.Replayed)

	second, err := r.Do(t.Context(), c)
	require.NoError(t, err)
	require.True(t, second.Replayed)
	first.Replayed = true
	require.Equal(t, first, second)

	stop(r.Daemon)
	r.open(t)
	third, err := r.Do(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, first, third, "also after a restart")
	require.Equal(t, 1, r.exec.times("crs_0"))
}

func TestFailureIsFinalToo(t *testing.T) {
	r := newRig(t)
	r.exec.do = func(context.Context, Job) (string, error) { return "half", errors.New("no such thing") }
	c := r.batch(t, 3)[0]
	for range 2 {
		a, err := r.Do(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, quorum.OutcomeFailed, a.Outcome)
		require.Equal(t, "no such thing", a.Message)
		require.Equal(t, "half", a.Output)
	}
	require.Equal(t, 1, r.exec.times("crs_0"))
}

func TestManyCallersOneExecution(t *testing.T) {
	r := newRig(t)
	all := r.batch(t, 5)
	var wg sync.WaitGroup
	answers := make(chan quorum.Answer, 100)
	for i := range 100 {
		wg.Go(func() {
			a, err := r.Do(context.Background(), all[i%5])
			if err == nil {
				answers <- a
			}
		})
	}
	wg.Wait()
	close(answers)
	fresh := 0
	total := 0
	for a := range answers {
		require.Equal(t, quorum.OutcomeSucceeded, a.Outcome)
		total++
		if !a.Replayed {
			fresh++
		}
	}
	require.Equal(t, 100, total)
	require.Equal(t, 5, fresh)
	for _, c := range all {
		require.Equal(t, 1, r.exec.times(c.Leaf.Subject))
	}
}

func TestRefusedCommandsLeaveNoTrace(t *testing.T) {
	r := newRig(t)
	for name, tc := range map[string]struct {
		change func(*quorum.Command)
		want   quorum.Reason
	}{
		"tampered payload":  {func(c *quorum.Command) { c.Payload = []byte("other") }, quorum.ReasonPayloadMismatch},
		"forged proof":      {func(c *quorum.Command) { c.Proof[0][0] ^= 1 }, quorum.ReasonBadProof},
		"one approval":      {func(c *quorum.Command) { c.Approvals = c.Approvals[:1] }, quorum.ReasonTooFewApprovers},
		"no approval":       {func(c *quorum.Command) { c.Approvals = nil }, quorum.ReasonTooFewApprovers},
		"other domain":      {func(c *quorum.Command) { c.Statement.TrustDomain = "x" }, quorum.ReasonWrongDomain},
		"other batch":       {func(c *quorum.Command) { c.Statement.BatchID = "cmb_2" }, quorum.ReasonBadSignature},
		"signed by a guest": {func(c *quorum.Command) { c.Approvals[1] = approve(t, c.Statement, "mallory", 9) }, quorum.ReasonUnknownApprover},
	} {
		c := r.batch(t, 4)[0]
		tc.change(&c)
		_, err := r.Do(t.Context(), c)
		require.Equal(t, tc.want, quorum.ReasonOf(err), name)
	}
	c := r.batch(t, 4)[0]
	r.clock.advance(time.Hour)
	_, err := r.Do(t.Context(), c)
	require.Equal(t, quorum.ReasonExpired, quorum.ReasonOf(err))
	count, _, _ := r.journal.State()
	require.Zero(t, count)
	require.Zero(t, r.exec.times("crs_0"))
}

func TestKindMustBeOnTheList(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Executors = map[string]Executor{"other": o.Executors[testKind]} })
	_, err := r.Do(t.Context(), r.batch(t, 2)[0])
	require.Equal(t, quorum.ReasonKindNotAllowed, quorum.ReasonOf(err))
}

func TestForgeriesOfUsedCommandsAreRefused(t *testing.T) {
	r := newRig(t)
	all := r.batch(t, 3)
	for _, c := range all {
		_, err := r.Do(t.Context(), c)
		require.NoError(t, err)
	}
	tampered := all[0]
	tampered.Payload = []byte("other")
	_, err := r.Do(t.Context(), tampered)
	require.Equal(t, quorum.ReasonPayloadMismatch, quorum.ReasonOf(err))
	forged := r.batch(t, 3)[0]
	forged.Proof[0][0] ^= 1
	_, err = r.Do(t.Context(), forged)
	require.Equal(t, quorum.ReasonBadProof, quorum.ReasonOf(err))
	reused := all[2] // not bound, so another payload passes verification
	reused.Payload = []byte("other")
	_, err = r.Do(t.Context(), reused)
	require.Equal(t, quorum.ReasonReplayed, quorum.ReasonOf(err))
	require.Equal(t, 1, r.exec.times("crs_2"))
}

// TestOneLeafOnceWhateverSurroundsIt: new signatures over the same batch id, a
// later expiry or other neighbours do not revive a leaf.
func TestOneLeafOnceWhateverSurroundsIt(t *testing.T) {
	r := newRig(t)
	_, err := r.Do(t.Context(), r.batch(t, 3)[0])
	require.NoError(t, err)
	later := commands(t, "cmb_1", 7, r.clock.now().Add(9*time.Hour))
	a, err := r.Do(t.Context(), later[0])
	require.NoError(t, err)
	require.True(t, a.Replayed)
	require.Equal(t, 1, r.exec.times("crs_0"))

	_, err = r.Do(t.Context(), commands(t, "cmb_2", 3, r.clock.now().Add(time.Hour))[0])
	require.NoError(t, err)
	require.Equal(t, 2, r.exec.times("crs_0"), "another batch is another approval")
}

// TestRecordOutlivesApproval: whoever sent an accepted command learns its
// outcome although it would no longer be accepted today.
func TestRecordOutlivesApproval(t *testing.T) {
	r := newRig(t)
	all := r.batch(t, 3)
	_, err := r.Do(t.Context(), all[0])
	require.NoError(t, err)
	r.clock.advance(2 * time.Hour)
	a, err := r.Do(t.Context(), all[0])
	require.NoError(t, err)
	require.True(t, a.Replayed)
	// The same, approved by one more person in the meantime.
	more := all[0]
	more.Approvals = append([]quorum.Approval{approve(t, more.Statement, "carol", 3)}, more.Approvals...)
	a, err = r.Do(t.Context(), more)
	require.NoError(t, err)
	require.True(t, a.Replayed)

	stop(r.Daemon)
	r.open(t, func(o *Options) { o.Policy.Approvers[2].Revoked = true })
	_, err = r.Do(t.Context(), all[0])
	require.NoError(t, err)
	_, err = r.Do(t.Context(), more)
	require.Equal(t, quorum.ReasonRevokedKey, quorum.ReasonOf(err))
	_, err = r.Do(t.Context(), all[1])
	require.Equal(t, quorum.ReasonExpired, quorum.ReasonOf(err))
}

func TestUnapprovedOnlyIfTheDaemonSaysSo(t *testing.T) {
	bare := func(r *rig) quorum.Command {
		c := r.batch(t, 2)[0]
		c.Approvals = nil
		return c
	}
	closed := newRig(t, func(o *Options) { o.Policy = quorum.Policy{TrustDomain: testDomain} })
	_, err := closed.Do(t.Context(), bare(closed))
	require.Equal(t, quorum.ReasonUnapproved, quorum.ReasonOf(err))
	open := newRig(t, func(o *Options) { o.Policy = quorum.Policy{TrustDomain: testDomain, AllowUnapproved: true} })
	a, err := open.Do(t.Context(), bare(open))
	require.NoError(t, err)
	require.Equal(t, quorum.OutcomeSucceeded, a.Outcome)
}

func TestExecutionOutlivesItsCaller(t *testing.T) {
	r := newRig(t)
	started, release := make(chan struct{}), make(chan struct{})
	r.exec.do = func(ctx context.Context, _ Job) (string, error) {
		close(started)
		select {
		case <-release:
			return "", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	c := r.batch(t, 2)[0]
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	_, err := r.Do(ctx, c)
	require.ErrorIs(t, err, context.Canceled)
	close(release)
	a, err := r.Do(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, quorum.OutcomeSucceeded, a.Outcome)
	require.True(t, a.Replayed)
}

func TestCloseWaitsThenInterrupts(t *testing.T) {
	r := newRig(t)
	started := make(chan struct{})
	r.exec.do = func(ctx context.Context, _ Job) (string, error) {
		close(started)
		<-ctx.Done()
		return "", ctx.Err()
	}
	all := r.batch(t, 3)
	answers := make(chan quorum.Answer, 1)
	go func() {
		a, _ := r.Do(context.Background(), all[0])
		answers <- a
	}()
	<-started
	stop(r.Daemon)
	require.Equal(t, quorum.OutcomeInterrupted, (<-answers).Outcome)
	_, err := r.Do(t.Context(), all[1])
	require.ErrorIs(t, err, ErrClosing)
}

func TestPanicIsInterrupted(t *testing.T) {
	r := newRig(t)
	r.exec.do = func(context.Context, Job) (string, error) { panic("boom") }
	a, err := r.Do(t.Context(), r.batch(t, 2)[0])
	require.NoError(t, err)
	require.Equal(t, quorum.OutcomeInterrupted, a.Outcome)
}

// TestIntentIsOnDiskBeforeExecution looks at the file from inside the
// execution.
func TestIntentIsOnDiskBeforeExecution(t *testing.T) {
	r := newRig(t)
	var seen []byte
	r.exec.do = func(context.Context, Job) (string, error) {
		var err error
		seen, err = os.ReadFile(r.path)
		return "", err
	}
	c := r.batch(t, 2)[0]
	_, err := r.Do(t.Context(), c)
	require.NoError(t, err)
	record, _, err := decodeLine(quorum.Hash{}, seen[:len(seen)-1])
	require.NoError(t, err)
	require.Equal(t, c.Leaf.Hash(), record.LeafHash)
	require.Equal(t, []string{"alice", "bob"}, record.Intent.Approvers)

	// The record is evidence: with the payload put back it verifies again.
	again := record.Intent.Command
	require.Nil(t, again.Payload)
	again.Payload = c.Payload
	_, err = quorum.Verify(testPolicy(), again, time.UnixMilli(record.At))
	require.NoError(t, err)
}
