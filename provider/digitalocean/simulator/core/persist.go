package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"time"
)

// saveDelay gathers a burst of changes into one write of the state file.
const saveDelay = 100 * time.Millisecond

// saver is the pending write; nil timer means the file is up to date.
type saver struct {
	timer *time.Timer
}

type savedState struct {
	Version  int            `json:"version"`
	Accounts []savedAccount `json:"accounts"`
}

type savedAccount struct {
	*Account
	Objects []*object `json:"objects"`
}

// touch plans a write of the state file. The caller holds the lock.
func (s *Server) touch() {
	if s.opts.StatePath == "" || s.saver.timer != nil {
		return
	}
	s.saver.timer = time.AfterFunc(saveDelay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.saveNow(); err != nil {
			s.log.Error("simulator state was not saved", "error", err)
		}
	})
}

// saveNow writes the whole state beside the file and renames it into place, so
// that a crash leaves the old or the new state and nothing between. The caller
// holds the lock.
func (s *Server) saveNow() error {
	if s.saver.timer == nil {
		return nil
	}
	s.saver.timer.Stop()
	s.saver.timer = nil
	state := savedState{Version: 1}
	for _, account := range s.accounts {
		state.Accounts = append(state.Accounts, savedAccount{Account: account, Objects: account.ordered("")})
	}
	sort.Slice(state.Accounts, func(i, j int) bool { return state.Accounts[i].Token < state.Accounts[j].Token })
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	// The state holds generated passwords, so it is the owner's alone.
	if err := os.WriteFile(s.opts.StatePath+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(s.opts.StatePath+".new", s.opts.StatePath)
}

func (s *Server) load() error {
	if s.opts.StatePath == "" {
		return nil
	}
	data, err := os.ReadFile(s.opts.StatePath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("simulator: read the state: %w", err)
	}
	var state savedState
	if err := json.Unmarshal(data, &state); err != nil {
		return fmt.Errorf("simulator: the state file %s cannot be read: %w", s.opts.StatePath, err)
	}
	for _, saved := range state.Accounts {
		account := newAccount(saved.Token, func() {})
		account.UUID, account.Status = saved.UUID, saved.Status
		account.StatusMessage, account.HideCredentials = saved.StatusMessage, saved.HideCredentials
		for _, o := range saved.Objects {
			account.put(o)
			account.seq = max(account.seq, o.Seq)
		}
		account.changed = s.touch
		s.accounts[saved.Token] = account
	}
	return nil
}
