//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/better-compute/cloud-resources/cmd/internal/platform"
)

// layout says where a local system keeps its state and listens.
type layout struct {
	dir    string // absolute; holds everything but binDir and, sometimes, the cluster
	binDir string // built tools, kept by the demo too

	apiAddr, simulatorAddr, metricsAddr string
	// postgresPort is 0 when nobody asked for one: choosePorts finds one.
	postgresPort, temporalPort, uiPort int

	temporalDB  string
	envFile     string // temporal-dev.yaml, or empty where there is none
	profilePort int    // the port that operators' commands use by that file
}

// envFileName is the environment file of the temporal command line, read from
// the working directory.
const envFileName = "temporal-dev.yaml"

// defaultProfile stands in where there is no environment file.
var defaultProfile = platform.TemporalProfile{Port: 7233, UIPort: 8233}

// devLayout is the layout of dev: fixed ports, moved by environment variables.
func devLayout(dir string) (layout, error) {
	l := layout{
		dir: dir, binDir: filepath.Join(".dev", "bin"),
		apiAddr:       setting("API_ADDR", "127.0.0.1:8080"),
		simulatorAddr: setting("SIMULATOR_ADDR", defaultSimulatorAddr),
		metricsAddr:   setting("METRICS_ADDR", "127.0.0.1:9090"),
		temporalDB:    filepath.Join(dir, "temporal.db"),
	}
	profile, err := platform.ReadTemporalProfile(envFileName)
	switch {
	case err == nil:
		l.envFile = envFileName
	case errors.Is(err, fs.ErrNotExist):
		profile = defaultProfile
	default:
		return layout{}, err
	}
	l.profilePort = profile.Port
	for _, port := range []struct {
		variable string
		fallback int
		into     *int
	}{
		{"TEMPORAL_PORT", profile.Port, &l.temporalPort},
		{"TEMPORAL_UI_PORT", profile.UIPort, &l.uiPort},
		{"POSTGRES_PORT", 0, &l.postgresPort},
	} {
		if *port.into, err = portSetting(port.variable, port.fallback); err != nil {
			return layout{}, err
		}
	}
	return l, nil
}

// demoLayout is a layout on free ports in a folder that is thrown away.
func demoLayout(dir string) (layout, error) {
	ports, err := platform.FreePorts(6)
	if err != nil {
		return layout{}, err
	}
	local := func(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
	return layout{
		dir: dir, binDir: filepath.Join(".dev", "bin"),
		apiAddr: local(ports[0]), simulatorAddr: local(ports[1]), metricsAddr: local(ports[2]),
		postgresPort: ports[3], temporalPort: ports[4], uiPort: ports[5],
		temporalDB: filepath.Join(dir, "temporal.db"),
	}, nil
}

func portSetting(variable string, fallback int) (int, error) {
	text := os.Getenv(variable)
	if text == "" {
		return fallback, nil
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("%s=%q is not a port", variable, text)
	}
	return port, nil
}

// keyset is the file of the keys that seal secrets.
func (l layout) keyset() string {
	return setting("SECRETS_KEYSET", filepath.Join(l.dir, "keyset.json"))
}

func (l layout) apiURL() string       { return "http://" + reachable(l.apiAddr) }
func (l layout) simulatorURL() string { return "http://" + reachable(l.simulatorAddr) }
func (l layout) log(name string) string {
	return filepath.Join(l.dir, "log", name+".log")
}
func (l layout) pid(name string) string { return filepath.Join(l.dir, name+".pid") }

// reachable is an address that a client on this machine can use for a listening
// address such as :8080 or 0.0.0.0:8080.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// environment is what the parts get: the caller's variables, with the servers of
// this layout in the place of the caller's, and short periods unless the caller
// chose.
func (l layout) environment(databaseURL, temporalAddress string) []string {
	env := platform.WithoutPrefix(os.Environ(), "TEMPORAL_")
	for _, name := range []string{"DATABASE_URL", "METRICS_ADDR"} {
		env = platform.WithoutPrefix(env, name+"=")
	}
	env = append(env,
		"DATABASE_URL="+databaseURL,
		"TEMPORAL_ADDRESS="+temporalAddress,
		"TEMPORAL_NAMESPACE=default",
		// A file of one's own, so that the profile of a developer's real cluster
		// is never used here.
		"TEMPORAL_CONFIG_FILE="+filepath.Join(l.dir, "temporal.toml"),
		"API_ADDR="+l.apiAddr,
		"SIMULATOR_ADDR="+l.simulatorAddr,
		"SIMULATOR_STATE="+filepath.Join(l.dir, "simulator.json"),
	)
	for _, unless := range []string{
		"SECRETS_KEYSET=" + l.keyset(),
		"CONVERGE_INTERVAL=2s", "REFRESH_INTERVAL=30s", "SETTLE_WINDOW=10s",
		// The provider's allowance grows as the periods shrink: looks come fifteen
		// times as often, and would use an hour of it up in minutes.
		"SIMULATOR_PER_HOUR=75000", "SIMULATOR_PER_MINUTE=3750",
	} {
		name, _, _ := strings.Cut(unless, "=")
		if os.Getenv(name) == "" {
			env = append(platform.WithoutPrefix(env, name+"="), unless)
		}
	}
	return env
}
