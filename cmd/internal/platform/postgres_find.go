package platform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// postgresFolders are where packages put the programs, besides PATH.
var postgresFolders = []string{
	"/usr/lib/postgresql/*/bin",            // Debian, Ubuntu
	"/usr/pgsql-*/bin",                     // Red Hat
	"/opt/homebrew/opt/postgresql@*/bin",   // macOS
	"/usr/local/opt/postgresql@*/bin",      // macOS on Intel
	"/Library/PostgreSQL/*/bin",            // macOS, EDB
	"/usr/lib/postgresql*/bin", "/usr/bin", // Arch, Alpine
	"/usr/local/pgsql/bin", "/usr/local/bin", // from source
}

var majorVersion = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// errNoPostgres says that the programs are not on this machine.
var errNoPostgres = errors.New("Postgres is not installed (initdb and postgres are neither in PATH nor where packages put them): " +
	"apt-get install postgresql, or your system's like")

// findPostgres is the folder of the newest version's programs. It installs the
// package when there is none, this is root, and apt is present.
func findPostgres(ctx context.Context, say Say) (string, error) {
	bin, err := lookPostgres(ctx, 0)
	if !errors.Is(err, errNoPostgres) {
		return bin, err
	}
	if apt, lookErr := exec.LookPath("apt-get"); lookErr == nil && os.Geteuid() == 0 {
		if err := installPostgres(ctx, apt, say); err != nil {
			return "", err
		}
		return lookPostgres(ctx, 0)
	}
	return "", err
}

// lookPostgres is the folder of the wanted major version's programs, or of the
// newest version's when wanted is 0.
func lookPostgres(ctx context.Context, wanted int) (string, error) {
	best, folder := 0, ""
	for _, dir := range postgresCandidates() {
		version := postgresVersion(ctx, dir)
		if version > best || version != 0 && version == wanted {
			best, folder = version, dir
		}
		if best == wanted && wanted != 0 {
			return folder, nil
		}
	}
	switch {
	case folder == "":
		return "", errNoPostgres
	case wanted != 0:
		return "", fmt.Errorf("the cluster was made by Postgres %d, and this machine has %d: install version %d, or delete the state directory",
			wanted, best, wanted)
	}
	return folder, nil
}

func postgresCandidates() []string {
	var dirs []string
	if path, err := exec.LookPath("initdb"); err == nil {
		// Through the link, to the folder that has the other programs too.
		if target, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(target))
		}
	}
	for _, pattern := range postgresFolders {
		if found, err := filepath.Glob(pattern); err == nil {
			dirs = append(dirs, found...)
		}
	}
	return dirs
}

// postgresVersion is the major version of the programs in the folder; 0 when one
// is missing.
func postgresVersion(ctx context.Context, dir string) int {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return 0
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0
	}
	match := majorVersion.FindSubmatch(out)
	if match == nil {
		return 0
	}
	version, err := strconv.Atoi(string(match[1]))
	if err != nil {
		return 0
	}
	return version
}

func installPostgres(ctx context.Context, apt string, say Say) error {
	env := append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	// An outdated package list may still do, so its failure is not the end.
	_ = runLong(ctx, say, "reading the package lists", env, "", apt, "update", "-q")
	if err := runLong(ctx, say, "installing postgresql with apt-get", env, "", apt, "install", "-y", "-q", "postgresql"); err != nil {
		return fmt.Errorf("%w; install it yourself: apt-get install postgresql", err)
	}
	return nil
}
