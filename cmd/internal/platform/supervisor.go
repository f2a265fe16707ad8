package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Say prints one line of progress for a person.
type Say func(format string, args ...any)

// Part is a process that the supervisor keeps running.
type Part struct {
	Process
	// Ready is asked again and again after the start until it returns nil; nil
	// means that running is enough.
	Ready func(context.Context) error
	// Patience is how long Ready may take; 0 is a minute.
	Patience time.Duration
}

// Supervisor starts parts in order, starts again the ones that die, and stops
// all in the opposite order. Its methods may be called from any goroutine.
type Supervisor struct {
	say Say

	mu    sync.Mutex
	parts []*part
}

// part is one Part and the goroutine that watches it.
type part struct {
	spec    Part
	stop    chan struct{} // closed to end it
	stopped chan struct{} // closed when it has ended for good

	mu          sync.Mutex
	quickDeaths int
	lastDeath   error
}

const (
	firstPause   = 250 * time.Millisecond
	longestPause = 15 * time.Second
	// steady is how long a process runs before its next death counts as the
	// first again.
	steady = 20 * time.Second
)

// NewSupervisor makes a supervisor of nothing.
func NewSupervisor(say Say) *Supervisor { return &Supervisor{say: say} }

// Start starts the part and returns when it is ready. When it ends or its
// patience is over before that, the error carries the end of its log. From then on
// the part is watched until Stop.
func (s *Supervisor) Start(ctx context.Context, spec Part) error {
	running, err := spec.Start()
	if err != nil {
		return err
	}
	if err := waitReady(ctx, running, spec); err != nil {
		running.Stop()
		return err
	}
	p := &part{spec: spec, stop: make(chan struct{}), stopped: make(chan struct{})}
	s.mu.Lock()
	s.parts = append(s.parts, p)
	s.mu.Unlock()
	go s.watch(p, running)
	return nil
}

// Stop ends all parts, the last started first, and returns when they have ended.
func (s *Supervisor) Stop() {
	s.mu.Lock()
	parts := s.parts
	s.parts = nil
	s.mu.Unlock()
	for _, p := range slices.Backward(parts) {
		close(p.stop)
		<-p.stopped
	}
}

// Trouble is the last death of a part that has died three times in a row soon
// after its start; nil when all is well.
func (s *Supervisor) Trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		if err := p.trouble(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Supervisor) watch(p *part, running *Running) {
	defer close(p.stopped)
	started := time.Now()
	for {
		select {
		case <-p.stop:
			running.Stop()
			return
		case <-running.Done():
		}
		pause := p.died(running, time.Since(started))
		s.say("%s ended (%s); starting it again in %s", p.spec.Name, describeEnd(running), pause)
		next := s.restart(p, pause)
		if next == nil {
			return
		}
		running, started = next, time.Now()
		s.say("%s is running again, process %d", p.spec.Name, running.PID())
	}
}

// restart tries until the process starts; nil when the part was stopped
// meanwhile.
func (s *Supervisor) restart(p *part, pause time.Duration) *Running {
	for {
		select {
		case <-p.stop:
			return nil
		case <-time.After(pause):
		}
		running, err := p.spec.Start()
		if err == nil {
			return running
		}
		s.say("%v", err)
		pause = longestPause
	}
}

// died notes a death and says how long to pause before the next start.
func (p *part) died(running *Running, lived time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lived > steady {
		p.quickDeaths = 0
	}
	p.quickDeaths++
	p.lastDeath = running.died()
	return min(firstPause<<min(p.quickDeaths-1, 10), longestPause)
}

func (p *part) trouble() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quickDeaths < 3 {
		return nil
	}
	return p.lastDeath
}

func describeEnd(r *Running) string {
	if r.Err() == nil {
		return "exit status 0"
	}
	return r.Err().Error()
}

// waitReady asks until the part is ready, ended or out of patience.
func waitReady(ctx context.Context, running *Running, spec Part) error {
	if spec.Ready == nil {
		return nil
	}
	patience := spec.Patience
	if patience == 0 {
		patience = time.Minute
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	for {
		attempt, done := context.WithTimeout(limited, 5*time.Second)
		err := spec.Ready(attempt)
		done()
		if err == nil {
			return nil
		}
		if limited.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-running.Done():
			return running.died()
		case <-limited.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return fmt.Errorf("%s was not ready after %s: %w", spec.Name, patience, last)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
