package cloud_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
)

func TestDecideBatch(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	end, past, soon := now.Add(time.Hour), now.Add(-time.Second), now.Add(time.Minute)
	for name, c := range map[string]struct {
		state   cloud.BatchState
		expires time.Time
		open    int
		due     time.Time
		step    cloud.Step
		retry   time.Time
	}{
		"awaits, with one timer":      {cloud.BatchAwaiting, end, 3, past, cloud.StepRetry, end},
		"awaits in vain":              {cloud.BatchAwaiting, now, 3, past, cloud.StepExpire, time.Time{}},
		"commands are due":            {cloud.BatchDispatching, end, 3, past, cloud.StepDispatch, time.Time{}},
		"commands are due later":      {cloud.BatchDispatching, end, 3, soon, cloud.StepRetry, soon},
		"later than its time":         {cloud.BatchDispatching, soon, 3, end, cloud.StepRetry, soon},
		"nothing is open":             {cloud.BatchDispatching, end, 0, time.Time{}, cloud.StepDispatch, time.Time{}},
		"its time is over":            {cloud.BatchDispatching, past, 1, past, cloud.StepExpire, time.Time{}},
		"completed":                   {cloud.BatchCompleted, past, 0, time.Time{}, cloud.StepEnd, time.Time{}},
		"cancelled before it expired": {cloud.BatchCancelled, past, 0, time.Time{}, cloud.StepEnd, time.Time{}},
	} {
		b := &cloud.Batch{State: c.state, ExpiresAt: c.expires, Generation: 4, Message: "m"}
		require.Equal(t, cloud.Next{Step: c.step, State: cloud.State(c.state), Generation: 4, RetryAt: c.retry, Message: "m"},
			cloud.DecideBatch(b, c.open, c.due, now), name)
	}
}

func TestABatchEndsOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	ends := map[cloud.BatchState]func(b *cloud.Batch) *cloud.BatchChange{
		cloud.BatchCancelled: func(b *cloud.Batch) *cloud.BatchChange { return b.Cancel(now) },
		cloud.BatchExpired:   func(b *cloud.Batch) *cloud.BatchChange { return b.Expire(now) },
		cloud.BatchCompleted: func(b *cloud.Batch) *cloud.BatchChange { return b.Complete(nil, now) },
	}
	for state, end := range ends {
		b := &cloud.Batch{}
		b.Created(now)
		require.Equal(t, cloud.BatchDispatching, b.State, "without approver keys it goes out at once")
		ch := end(b)
		require.Equal(t, state, b.State)
		require.True(t, ch.GiveBack, "a batch that has ended holds nothing")
		require.Len(t, ch.Events, 1)
		for other, again := range ends {
			require.Nil(t, again(b), "%s after %s", other, state)
		}
		require.Nil(t, b.Approved([]string{"ann"}, 1, true, now))
		require.Nil(t, b.Unapproved(nil, 1, "", now))
		require.Equal(t, state, b.State)
	}
}

func TestApprovalsCount(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	b := &cloud.Batch{Threshold: 2}
	b.Created(now)
	require.Nil(t, b.Complete(nil, now), "one that awaits approvals is not complete")
	require.Empty(t, b.Approved([]string{"ann"}, 3, false, now).Events)
	require.Equal(t, "awaits the signatures of its approvers: 1 of 3 have signed", b.Message)
	generation := b.Generation
	require.Len(t, b.Approved([]string{"ann", "ben"}, 2, true, now).Events, 1)
	require.Greater(t, b.Generation, generation, "its workflow is told")
	b.Unapproved([]string{"ann"}, 2, "a key was revoked", now)
	require.Equal(t, cloud.BatchAwaiting, b.State)
	require.Equal(t, []string{"ann"}, b.Approvers)
}
