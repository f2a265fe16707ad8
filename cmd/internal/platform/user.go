package platform

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// User is an account of this machine that a child runs as.
type User struct {
	Name     string
	UID, GID uint32
}

func (u *User) credential() *syscall.Credential {
	return &syscall.Credential{Uid: u.UID, Gid: u.GID}
}

// unprivileged is the user that takes root's place for servers that refuse root;
// nil when this program does not run as root.
func unprivileged() (*User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if uidErr == nil && gidErr == nil {
			return &User{Name: name, UID: uint32(uid), GID: uint32(gid)}, nil
		}
	}
	return nil, errors.New("Postgres refuses to run as root, and this machine has neither a user postgres nor nobody")
}

// ownerOf is who the directory belongs to, when user, who stands in for root, is
// not nil: a cluster made as one user cannot be served by another.
func ownerOf(dir string, user *User) *User {
	if user == nil {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return user
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 || stat.Uid == user.UID {
		return user
	}
	return &User{Name: strconv.FormatUint(uint64(stat.Uid), 10), UID: stat.Uid, GID: stat.Gid}
}

// canReach tells whether the user can enter the directory. It asks the kernel by
// trying, since modes alone do not say (access lists, mounts).
func (u *User) canReach(ctx context.Context, dir string) bool {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `cd "$0"`, dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.credential()}
	return cmd.Run() == nil
}
