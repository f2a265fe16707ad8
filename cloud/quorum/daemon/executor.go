package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// Job is a verified command that may run now.
type Job struct {
	BatchID   string
	Leaf      quorum.Leaf
	LeafHash  quorum.Hash
	Index     uint64
	Approvers []string
	// Payload is nil when none came; only a bound leaf's payload was approved.
	Payload []byte
}

// Executor runs commands. It is called at most once for a leaf and must return
// when ctx ends. A nil error means the command succeeded; an error while ctx
// has ended means that nobody knows how far it came. The output is kept in the
// journal (its last 4 KiB) and sent to the caller, so it must hold no secrets.
type Executor interface {
	Execute(ctx context.Context, job Job) (output string, err error)
}

// ExecutorFunc makes a function an Executor.
type ExecutorFunc func(ctx context.Context, job Job) (string, error)

// outputLimit is how many bytes of a command's output are kept: the last ones,
// where the reason of a failure usually stands.
const outputLimit = 4 << 10

// clip keeps the end of text, as valid UTF-8.
func clip(text string) string {
	return strings.ToValidUTF8(text[max(0, len(text)-outputLimit):], "\uFFFD")
}

// Execute calls the function.
func (f ExecutorFunc) Execute(ctx context.Context, job Job) (string, error) { return f(ctx, job) }

// defaultTimeLimit applies to kinds that name none.
const defaultTimeLimit = time.Minute

// Executors builds what a configuration names, by kind.
func Executors(kinds map[string]Kind, log *slog.Logger) (map[string]Executor, error) {
	out := make(map[string]Executor, len(kinds))
	for name, kind := range kinds {
		if err := kind.validate(name); err != nil {
			return nil, fmt.Errorf("kinds: %+q: %w", name, err)
		}
		limit := time.Duration(kind.TimeLimit)
		if limit == 0 {
			limit = defaultTimeLimit
		}
		switch kind.Executor {
		case ExecutorLog:
			out[name] = logExecutor(log)
		case ExecutorExec:
			out[name] = program{args: kind.Program, limit: limit}
		}
	}
	return out, nil
}

// logExecutor only writes that the command came: for audits and first steps.
func logExecutor(log *slog.Logger) Executor {
	return ExecutorFunc(func(ctx context.Context, job Job) (string, error) {
		log.InfoContext(ctx, "command", "kind", job.Leaf.Kind, "subject", fmt.Sprintf("%+q", job.Leaf.Subject),
			"batch", job.BatchID, "index", job.Index, "payloadBytes", len(job.Payload), "approvers", job.Approvers)
		return "logged", nil
	})
}
