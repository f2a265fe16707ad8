package core

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Options configure a Server. The zero value is an in-memory simulator with
// development settings and the system clock.
type Options struct {
	// StatePath is the file that objects are kept in across restarts; empty
	// keeps them in memory only. The directory must exist.
	StatePath string
	// Now is the clock; nil is time.Now. Lifecycles, rate limits and times in
	// answers follow it. Fault delays are real waiting and do not.
	Now func() time.Time
	// Settings are those in force at the start and after a reset; nil is
	// DefaultSettings.
	Settings *Settings
	// Droplets are the names of the seeded Droplets of every account; nil is
	// DefaultDroplets.
	Droplets []string
	// Log receives one line per state-file problem and per panic of a handler;
	// nil discards them.
	Log *slog.Logger
}

// Server is the simulated API: an http.Handler over accounts that spring into
// being when their token is first used. See the package comment.
type Server struct {
	opts   Options
	areas  []Area
	routes router
	log    *slog.Logger
	closed chan struct{}

	// mu guards everything below and is held while a handler runs, so that a
	// handler sees and leaves a consistent account.
	mu       sync.Mutex
	settings Settings
	accounts map[string]*Account
	inFlight map[string]bool
	saver    saver

	faults faultList
	ledger ledger
	masks  masker
}

// New builds a server that serves the given areas and loads the state file if
// there is one. It fails when the state file cannot be read, and when two areas
// claim the same route.
func New(opts Options, areas ...Area) (*Server, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Settings == nil {
		settings := DefaultSettings()
		opts.Settings = &settings
	}
	if opts.Droplets == nil {
		opts.Droplets = DefaultDroplets
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		opts:     opts,
		areas:    areas,
		log:      opts.Log,
		closed:   make(chan struct{}),
		settings: *opts.Settings,
		accounts: map[string]*Account{},
		inFlight: map[string]bool{},
	}
	for i := range areas {
		if err := s.routes.add(&areas[i]); err != nil {
			return nil, err
		}
		s.masks.add(areas[i].SecretFields)
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends waiting fault delays and writes the state file. The server answers
// nothing sensible afterwards.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return nil
	default:
		close(s.closed)
	}
	return s.saveNow()
}

// ServeHTTP answers one request of the provider API or of the control surface.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isControl(r.URL.Path) {
		s.serveControl(w, r)
		return
	}
	s.serveAPI(w, r)
}

// wait sleeps in real time and returns early when the server closes. It does
// not watch the request: a request whose caller has gone is still carried out,
// as at the real provider.
func (s *Server) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.closed:
	}
}
