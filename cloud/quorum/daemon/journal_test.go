package daemon

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// filled is a journal of two finished commands and one that was cut off, as
// bytes, with the commands.
func filled(t testing.TB) ([]byte, []quorum.Command) {
	t.Helper()
	r := newRig(t)
	all := r.batch(t, 4)
	for _, c := range all[:2] {
		_, err := r.Do(t.Context(), c)
		require.NoError(t, err)
	}
	_, _, err := r.journal.begin(leafKey{"cmb_1", all[2].Leaf.Hash()}, Intent{Command: all[2]})
	require.NoError(t, err)
	data, err := os.ReadFile(r.path)
	require.NoError(t, err)
	return data, all
}

func journalFrom(t testing.TB, folder string, data []byte) (*Journal, string, error) {
	t.Helper()
	path := filepath.Join(folder, "journal")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	j, err := OpenJournal(path, newClock().now)
	if err == nil {
		t.Cleanup(func() { _ = j.Close() })
	}
	return j, path, err
}

func TestCutOffCommandBecomesInterrupted(t *testing.T) {
	data, all := filled(t)
	j, path, err := journalFrom(t, t.TempDir(), data)
	require.NoError(t, err)
	e := j.lookup(leafKey{"cmb_1", all[2].Leaf.Hash()})
	require.Equal(t, quorum.OutcomeInterrupted, e.result.Outcome)
	require.NoError(t, j.Close())
	again, err := OpenJournal(path, newClock().now)
	require.NoError(t, err)
	defer again.Close()
	count, _, _ := again.State()
	require.Equal(t, 6, count, "said once, not at every start")
}

// TestPrefixesOpen cuts the file as a crash could, around every line end and
// at each tenth byte between, and checks that each intent that was whole
// survives and takes no second one.
func TestPrefixesOpen(t *testing.T) {
	data, all := filled(t)
	folder := t.TempDir()
	for cut := range len(data) + 1 {
		if cut%10 != 0 && !bytes.Contains(data[max(0, cut-2):min(len(data), cut+2)], []byte("\n")) {
			continue
		}
		path := filepath.Join(folder, "journal")
		require.NoError(t, os.WriteFile(path, data[:cut], 0o600))
		j, err := OpenJournal(path, newClock().now)
		require.NoError(t, err, "cut at %d", cut)
		started := 0
		for _, c := range all {
			_, fresh, err := j.begin(leafKey{"cmb_1", c.Leaf.Hash()}, Intent{Command: c})
			require.NoError(t, err)
			if !fresh {
				started++
			}
		}
		require.Equal(t, bytes.Count(data[:cut], []byte(`"type":"intent"`))-partialIntent(data[:cut]), started, "cut at %d", cut)
		require.NoError(t, j.Close())
		again, err := OpenJournal(path, newClock().now)
		require.NoError(t, err, "after a cut at %d and new records", cut)
		require.NoError(t, again.Close())
	}
}

func partialIntent(data []byte) int {
	return bytes.Count(data[bytes.LastIndexByte(data, '\n')+1:], []byte(`"type":"intent"`))
}

func TestChangedJournalStopsTheStart(t *testing.T) {
	data, _ := filled(t)
	folder := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		bad := bytes.Clone(data)
		at := rapid.IntRange(0, len(bad)-2).Draw(rt, "at") // without the last line feed the tail counts as torn
		bad[at] ^= rapid.ByteRange(1, 255).Draw(rt, "mask")
		_, _, err := journalFrom(t, folder, bad)
		require.Error(rt, err)
	})
}

func TestRemovedAndSwappedRecordsStopTheStart(t *testing.T) {
	data, _ := filled(t)
	lines := bytes.SplitAfter(data, []byte("\n"))
	for name, order := range map[string][]int{
		"first removed": {1, 2, 3, 4}, "middle removed": {0, 1, 3, 4}, "swapped": {0, 2, 1, 3, 4}, "doubled": {0, 0, 1, 2, 3, 4},
	} {
		var bad []byte
		for _, i := range order {
			bad = append(bad, lines[i]...)
		}
		_, _, err := journalFrom(t, t.TempDir(), bad)
		require.ErrorContains(t, err, "line", name)
	}
}

// TestWellFormedNonsenseStopsTheStart chains records correctly that cannot
// follow each other.
func TestWellFormedNonsenseStopsTheStart(t *testing.T) {
	intent, result := &Intent{}, &Result{Outcome: quorum.OutcomeFailed}
	for name, records := range map[string][]Record{
		"result without intent": {{Seq: 1, Type: TypeResult, Result: result}},
		"second intent":         {{Seq: 1, Type: TypeIntent, Intent: intent}, {Seq: 2, Type: TypeIntent, Intent: intent}},
		"second result":         {{Seq: 1, Type: TypeIntent, Intent: intent}, {Seq: 2, Type: TypeResult, Result: result}, {Seq: 3, Type: TypeResult, Result: result}},
		"gap":                   {{Seq: 2, Type: TypeIntent, Intent: intent}},
		"neither":               {{Seq: 1, Type: "note"}},
		"both":                  {{Seq: 1, Type: TypeIntent, Intent: intent, Result: result}},
	} {
		var data []byte
		var head quorum.Hash
		for _, r := range records {
			line, next, err := encodeLine(head, r)
			require.NoError(t, err)
			data, head = append(data, line...), next
		}
		_, _, err := journalFrom(t, t.TempDir(), data)
		require.Error(t, err, name)
	}
}

func TestOneOwner(t *testing.T) {
	r := newRig(t)
	_, err := OpenJournal(r.path, r.clock.now)
	require.ErrorContains(t, err, "in use by another process")
	info, err := os.Stat(r.path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// brokenFile fails from some write or sync on; it may have written part.
type brokenFile struct {
	journalFile
	writes, syncs int
}

var errDisk = errors.New("disk failure")

func (f *brokenFile) Write(p []byte) (int, error) {
	if f.writes--; f.writes < 0 {
		n, _ := f.journalFile.Write(p[:len(p)/2])
		return n, errDisk
	}
	return f.journalFile.Write(p)
}

func (f *brokenFile) Sync() error {
	if f.syncs--; f.syncs < 0 {
		return errDisk
	}
	return f.journalFile.Sync()
}

func TestDiskFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		writes, syncs, executions int
		after                     quorum.Outcome
	}{
		"intent not written": {0, 9, 0, quorum.OutcomeSucceeded},
		"intent not synced":  {9, 0, 0, quorum.OutcomeInterrupted},
		"result not written": {1, 9, 1, quorum.OutcomeInterrupted},
		"result not synced":  {9, 1, 1, quorum.OutcomeSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.journal.file = &brokenFile{r.journal.file, tc.writes, tc.syncs}
			all := r.batch(t, 3)
			_, err := r.Do(t.Context(), all[0])
			require.ErrorIs(t, err, ErrJournal)
			require.Equal(t, tc.executions, r.exec.times("crs_0"))
			_, err = r.Do(t.Context(), all[1])
			require.ErrorIs(t, err, ErrJournal, "nothing more until a restart")

			stop(r.Daemon)
			r.open(t)
			a, err := r.Do(t.Context(), all[0])
			require.NoError(t, err)
			require.Equal(t, tc.after, a.Outcome)
			require.LessOrEqual(t, r.exec.times("crs_0"), 1)
		})
	}
}

func TestRecordsPage(t *testing.T) {
	data, _ := filled(t)
	j, _, err := journalFrom(t, t.TempDir(), data)
	require.NoError(t, err)
	require.Len(t, j.Records(0, 100), 6)
	page := j.Records(2, 3)
	require.Len(t, page, 3)
	require.EqualValues(t, 3, page[0].Seq)
	require.Empty(t, j.Records(6, 10))
	require.Empty(t, j.Records(1<<62, 10))
}

// FuzzOpenJournal: any bytes either open or are refused, and what opens opens
// again.
func FuzzOpenJournal(f *testing.F) {
	data, _ := filled(f)
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte("\n"))
	f.Add([]byte("0000 {}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, path, err := journalFrom(t, t.TempDir(), data)
		if err != nil {
			return
		}
		require.NoError(t, j.Close())
		again, err := OpenJournal(path, newClock().now)
		require.NoError(t, err)
		require.NoError(t, again.Close())
	})
}
