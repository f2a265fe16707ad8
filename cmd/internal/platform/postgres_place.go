package platform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// In the state directory: the cluster, or else the note of where it lies.
const (
	localHome = "postgres"
	homeNote  = "postgres.dir"
)

// homes are the folders that the cluster may lie in.
func (p *Postgres) homes() []string {
	state, err := filepath.Abs(p.StateDir)
	if err != nil {
		return nil
	}
	homes := []string{filepath.Join(state, localHome)}
	if text, err := os.ReadFile(filepath.Join(state, homeNote)); err == nil {
		homes = append(homes, strings.TrimSpace(string(text)))
	}
	return homes
}

// place returns the folder of the cluster, making it when there is none. It lies
// in the state directory, or, where the server's user cannot get there, in a
// directory for temporary files that a note in the state directory remembers.
func (p *Postgres) place(ctx context.Context) (string, error) {
	state, err := filepath.Abs(p.StateDir)
	if err != nil {
		return "", err
	}
	local, note := filepath.Join(state, localHome), filepath.Join(state, homeNote)
	if home := p.remembered(note); home != "" {
		return home, nil
	}
	if p.user == nil {
		return local, os.MkdirAll(local, 0o700)
	}
	if p.user.canReach(ctx, state) {
		if err := os.MkdirAll(local, 0o700); err != nil {
			return "", err
		}
		return local, p.own(local)
	}
	home, err := p.placeElsewhere(ctx)
	if err != nil {
		return "", err
	}
	p.Say("user %s cannot reach %s: the Postgres cluster lies in %s", p.user.Name, state, home)
	return home, writeFileAtomic(note, home+"\n")
}

// remembered is the folder that the note names, if it is still there.
func (p *Postgres) remembered(note string) string {
	text, err := os.ReadFile(note)
	if err != nil {
		return ""
	}
	home := strings.TrimSpace(string(text))
	if info, err := os.Stat(home); err == nil && info.IsDir() {
		return home
	}
	p.Say("the Postgres cluster in %s is gone: starting with an empty one", home)
	return ""
}

func (p *Postgres) placeElsewhere(ctx context.Context) (string, error) {
	var bases []string
	if dir := os.Getenv("TMPDIR"); dir != "" {
		bases = append(bases, dir)
	}
	// /var/tmp outlives a reboot.
	if !p.Throwaway {
		bases = append(bases, "/var/tmp")
	}
	for _, base := range append(bases, "/tmp", "/var/tmp") {
		if !p.user.canReach(ctx, base) {
			continue
		}
		home, err := os.MkdirTemp(base, "cloudresources-postgres-")
		if err != nil {
			continue
		}
		return home, p.own(home)
	}
	return "", errors.New("user " + p.user.Name + " can enter neither the state directory nor one for temporary files")
}

func (p *Postgres) own(dir string) error {
	if err := os.Chown(dir, int(p.user.UID), int(p.user.GID)); err != nil {
		return fmt.Errorf("giving %s to user %s: %w", dir, p.user.Name, err)
	}
	return nil
}
