package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// stages are those of a life with the MCP server.
var stages = []string{"create", "read", "list", "update", "delete"}

// named is a life that can be lived.
type named struct {
	name string
	run  func(*life)
}

// life is one resource type's. A stage that fails panics with a failure, which
// ends this life alone.
type life struct {
	ctx    context.Context
	client *session
	stage  string
	done   map[string]bool
}

// failure is why a life ended.
type failure struct{ error }

// live lives all lives, of which these are the stages, and prints them; the answer
// is how many failed. The client is nil where the lives need none.
func live(ctx context.Context, client *session, lives []named, columns []string, out io.Writer) (failed int) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "resource\t"+strings.Join(columns, "\t"))
	var reasons []string
	for _, one := range lives {
		l := &life{ctx: ctx, client: client, done: map[string]bool{}}
		err := l.live(one.run)
		cells := []string{one.name}
		for _, column := range columns {
			switch {
			case err != nil && column == l.stage:
				cells = append(cells, "FAIL")
			case l.done[column]:
				cells = append(cells, "ok")
			default:
				cells = append(cells, "-")
			}
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
		if err != nil {
			failed++
			reasons = append(reasons, fmt.Sprintf("%s, %s: %s", one.name, l.stage, err))
		}
	}
	_ = table.Flush() // to the standard output
	for _, reason := range reasons {
		fmt.Fprintln(out, "\n"+reason)
	}
	return failed
}

func (l *life) live(run func(*life)) (err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case failure:
			err = reason.error
		default:
			panic(reason)
		}
	}()
	run(l)
	return nil
}

func (l *life) fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// at begins a stage. A stage counts as done once one of its calls has succeeded
// and the life went on.
func (l *life) at(stage string) { l.stage = stage }

// do uses a tool and returns its answer, where that is an object.
func (l *life) do(tool string, arguments object) object {
	text, err := l.client.call(tool, arguments)
	if err != nil {
		l.fail("%s: %w", tool, err)
	}
	l.done[l.stage] = true
	answer := object{}
	_ = json.Unmarshal([]byte(text), &answer) // a sentence, or a list
	return answer
}

// shows demands that the answer of a tool holds a text.
func (l *life) shows(tool string, arguments object, text string) {
	said, err := l.client.call(tool, arguments)
	if err != nil {
		l.fail("%s: %w", tool, err)
	}
	if !strings.Contains(said, text) {
		l.fail("%s does not show %q: %s", tool, text, said)
	}
	l.done[l.stage] = true
}

// until uses a tool until what it answers pleases.
func (l *life) until(tool string, arguments object, pleases func(object) bool) {
	deadline := time.Now().Add(20 * time.Second)
	for {
		answer := l.do(tool, arguments)
		if pleases(answer) {
			return
		}
		if time.Now().After(deadline) {
			l.fail("%s stays at %v", tool, answer)
		}
		l.wait()
	}
}

// gone uses a tool until it says that there is nothing, by the provider's 404.
func (l *life) gone(tool string, arguments object) {
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, err := l.client.call(tool, arguments)
		if err != nil && strings.Contains(err.Error(), ": 404 ") {
			return
		}
		if time.Now().After(deadline) {
			l.fail("%s still answers (%v)", tool, err)
		}
		l.wait()
	}
}

func (l *life) wait() {
	select {
	case <-l.ctx.Done():
		l.fail("%w", l.ctx.Err())
	case <-time.After(50 * time.Millisecond):
	}
}

// id demands that the answer has one.
func (l *life) id(answer object, key string) any {
	id, ok := answer[key]
	if !ok || id == "" {
		l.fail("no %s in %v", key, answer)
	}
	return id
}

func is(key string, value any) func(object) bool {
	return func(answer object) bool { return answer[key] == value }
}
