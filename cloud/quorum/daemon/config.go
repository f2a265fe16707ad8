package daemon

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// Config is the daemon's own file, JSON. Its policy fields stand at the top
// level, so the same file serves as a policy for `batch verify`.
type Config struct {
	quorum.Policy
	// Listen is host:port.
	Listen string `json:"listen"`
	// Journal is the path of the journal file; it must survive restarts.
	Journal string `json:"journal"`
	// TokenFile holds the bearer token that callers must send; no token is asked
	// for without it.
	TokenFile string `json:"tokenFile,omitempty"`
	// TLSCert and TLSKey are PEM files; plain HTTP without them.
	TLSCert string `json:"tlsCert,omitempty"`
	TLSKey  string `json:"tlsKey,omitempty"`
	// Kinds is the list of kinds that are obeyed, and how.
	Kinds map[string]Kind `json:"kinds"`
}

// Kind says what runs for one kind of command.
type Kind struct {
	// Executor is "log" (writes a log line and succeeds) or "exec".
	Executor string `json:"executor"`
	// Program is the absolute path and arguments of "exec". The payload is its
	// standard input; exit status 0 is success.
	Program []string `json:"program,omitempty"`
	// TimeLimit ends the program, as in "30s"; one minute when absent.
	TimeLimit Duration `json:"timeLimit,omitempty"`
}

// Duration is a time.Duration written as in "1m30s".
type Duration time.Duration

// UnmarshalText reads the written form.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// MarshalText gives the written form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// The names of executors in a Kind.
const (
	ExecutorLog  = "log"
	ExecutorExec = "exec"
)

// LoadConfig reads and checks a daemon's file; unknown fields are errors.
func LoadConfig(path string) (Config, error) {
	var c Config
	data, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := quorum.DecodeStrict(data, &c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if err := c.Validate(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Validate checks the whole file. Unapproved commands from anyone who can
// reach the port are never intended, so that combination is refused.
func (c Config) Validate() error {
	if err := c.Policy.Validate(); err != nil {
		return err
	}
	if !c.RequiresApproval() && !c.AllowUnapproved {
		return errors.New("no approvers: list them, or set allowUnapproved to obey without approvals")
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	if c.AllowUnapproved && c.TokenFile == "" && !local {
		return errors.New("allowUnapproved needs a tokenFile unless it listens on the loopback address")
	}
	if c.Journal == "" {
		return errors.New("journal: the path is missing")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("tlsCert and tlsKey go together")
	}
	if len(c.Kinds) == 0 {
		return errors.New("kinds: list at least one kind to obey")
	}
	for name, kind := range c.Kinds {
		if err := kind.validate(name); err != nil {
			return fmt.Errorf("kinds: %+q: %w", name, err)
		}
	}
	return nil
}

func (k Kind) validate(name string) error {
	if err := (quorum.Leaf{Subject: "any", Kind: name}).Validate(); err != nil {
		return err
	}
	if k.TimeLimit < 0 {
		return errors.New("timeLimit is negative")
	}
	switch k.Executor {
	case ExecutorLog:
		if len(k.Program) > 0 {
			return errors.New("a program needs the executor exec")
		}
	case ExecutorExec:
		// A relative path would depend on where the daemon was started.
		if len(k.Program) == 0 || k.Program[0] == "" || k.Program[0][0] != '/' {
			return errors.New("program is a list that starts with an absolute path")
		}
	default:
		return fmt.Errorf("executor %+q is neither log nor exec", k.Executor)
	}
	return nil
}

// token reads the bearer token and returns its SHA-256, or nil when none is
// configured. An empty file is an error, not an open door.
func (c Config) token() (*[sha256.Size]byte, error) {
	if c.TokenFile == "" {
		return nil, nil
	}
	data, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("tokenFile: %w", err)
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil, errors.New("tokenFile: the file is empty")
	}
	sum := sha256.Sum256(data)
	return &sum, nil
}
