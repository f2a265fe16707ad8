package daemon

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// program runs an executable: the payload on standard input, what it is about
// in QUORUM_ variables, nothing of the command in the arguments.
type program struct {
	args  []string
	limit time.Duration
}

// Execute waits for the program, and ends it with all it started when the
// limit or ctx passes.
func (p program) Execute(ctx context.Context, job Job) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	ownGroup(cmd)
	// A grandchild may hold the pipes open; do not wait for it for ever.
	cmd.WaitDelay = 2 * time.Second
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"QUORUM_BATCH_ID=" + job.BatchID,
		"QUORUM_LEAF=" + job.LeafHash.String(),
		"QUORUM_INDEX=" + strconv.FormatUint(job.Index, 10),
		"QUORUM_SUBJECT=" + job.Leaf.Subject,
		"QUORUM_KIND=" + job.Leaf.Kind,
		"QUORUM_APPROVERS=" + strings.Join(job.Approvers, ","),
	}
	cmd.Stdin = bytes.NewReader(job.Payload)
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil // the program itself ended well and left something behind that still holds its output
	case err != nil && ctx.Err() != nil:
		err = ctx.Err()
	}
	return out.String(), err
}

// tail keeps the last outputLimit bytes written to it. exec gives it to one
// goroutine because stdout and stderr are the same writer.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - outputLimit; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return clip(string(t.buf)) }
