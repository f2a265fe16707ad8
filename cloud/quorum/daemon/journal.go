package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// ErrJournal: the journal can no longer be trusted to hold what is written; it
// has to be opened again.
var ErrJournal = errors.New("the journal cannot be written")

// Journal is the append-only file of what was started and how it ended. Its
// methods may be called from several goroutines.
type Journal struct {
	mu      sync.Mutex
	file    journalFile
	now     func() time.Time
	head    quorum.Hash
	records []Record
	entries map[leafKey]*entry
	broken  error
}

// journalFile is the part of *os.File that the journal uses.
type journalFile interface {
	io.Writer
	Sync() error
	Close() error
}

// leafKey names one command for ever.
type leafKey struct {
	batch string
	leaf  quorum.Hash
}

// entry is one command's records. done is closed once result is set, or once
// it is certain that this process cannot record it.
type entry struct {
	intent     Intent
	acceptedAt int64
	result     *Result
	finishedAt int64
	done       chan struct{}
}

// OpenJournal opens or creates the file and takes its lock. Commands without
// a result were cut off by a crash: each is given the result interrupted
// before OpenJournal returns.
func OpenJournal(path string, now func() time.Time) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	j := &Journal{file: file, now: now, entries: map[leafKey]*entry{}}
	if err := j.load(file, path); err != nil {
		file.Close()
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return j, nil
}

func (j *Journal) load(file *os.File, path string) error {
	if err := lockFile(file); err != nil {
		return fmt.Errorf("in use by another process: %w", err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if err := j.replay(data[:whole]); err != nil {
		return err
	}
	if whole < len(data) {
		// A line is complete on disk before anything is done because of it, so
		// half a line at the end stands for nothing.
		if err := file.Truncate(int64(whole)); err != nil {
			return err
		}
	}
	if err := errors.Join(file.Sync(), syncFolder(filepath.Dir(path))); err != nil {
		return err
	}
	return j.closeInterrupted()
}

func (j *Journal) replay(data []byte) error {
	for n := 1; len(data) > 0; n++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		record, head, err := decodeLine(j.head, line)
		if err == nil {
			err = j.apply(record)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		j.head, data = head, rest
	}
	return nil
}

// apply adds a record to memory and refuses one that cannot follow.
func (j *Journal) apply(r Record) error {
	if r.Seq != uint64(len(j.records))+1 {
		return fmt.Errorf("sequence %d where %d belongs", r.Seq, len(j.records)+1)
	}
	key := leafKey{r.BatchID, r.LeafHash}
	known := j.entries[key]
	switch {
	case r.Intent != nil && known != nil:
		return errors.New("a second intent for one command")
	case r.Intent != nil:
		j.entries[key] = &entry{intent: *r.Intent, acceptedAt: r.At, done: make(chan struct{})}
	case known == nil:
		return errors.New("a result without an intent")
	case known.result != nil:
		return errors.New("a second result for one command")
	default:
		known.result, known.finishedAt = r.Result, r.At
		close(known.done)
	}
	j.records = append(j.records, r)
	return nil
}

func (j *Journal) closeInterrupted() error {
	for _, r := range j.records[:len(j.records):len(j.records)] {
		if r.Intent == nil || j.entries[leafKey{r.BatchID, r.LeafHash}].result != nil {
			continue
		}
		cut := Result{Outcome: quorum.OutcomeInterrupted, Message: "the daemon stopped while the command ran"}
		if err := j.finish(leafKey{r.BatchID, r.LeafHash}, cut); err != nil {
			return err
		}
	}
	return nil
}

// lookup returns the entry of a command that was started, or nil.
func (j *Journal) lookup(key leafKey) *entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.entries[key]
}

// begin writes the intent durably. When it returns started, the caller must
// run the command and call finish; otherwise the entry is an earlier one's.
func (j *Journal) begin(key leafKey, intent Intent) (e *entry, started bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e := j.entries[key]; e != nil {
		return e, false, nil
	}
	err = j.append(Record{Type: TypeIntent, BatchID: key.batch, LeafHash: key.leaf, Intent: &intent})
	return j.entries[key], err == nil, err
}

// finish writes the result durably and wakes whoever waits for the command.
// When it fails they are woken too, and find no result. It is called once for
// a command that begin started.
func (j *Journal) finish(key leafKey, result Result) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.append(Record{Type: TypeResult, BatchID: key.batch, LeafHash: key.leaf, Result: &result})
	if err != nil {
		close(j.entries[key].done)
	}
	return err
}

// append writes and syncs one record. After a failed write or sync the state
// of the file is unknown (a later sync may succeed without the data), so the
// journal stays broken. The caller holds the lock.
func (j *Journal) append(r Record) error {
	if j.broken != nil {
		return j.broken
	}
	r.Seq, r.At = uint64(len(j.records))+1, j.now().UnixMilli()
	line, head, err := encodeLine(j.head, r)
	if err != nil {
		return err
	}
	if _, err = j.file.Write(line); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.broken = fmt.Errorf("%w: %w", ErrJournal, err)
		return j.broken
	}
	j.head = head
	return j.apply(r)
}

// Records returns up to limit records with a sequence above after, in order.
func (j *Journal) Records(after uint64, limit int) []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	if after >= uint64(len(j.records)) {
		return nil
	}
	rest := j.records[after:]
	return append([]Record(nil), rest[:min(limit, len(rest))]...)
}

// State returns the number of records, the chain value of the last one and why
// the journal cannot be written, if so.
func (j *Journal) State() (count int, head quorum.Hash, broken error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.records), j.head, j.broken
}

// Close releases file and lock.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken == nil {
		j.broken = fmt.Errorf("%w: closed", ErrJournal)
	}
	return j.file.Close()
}

// syncFolder makes the file's name durable too.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
