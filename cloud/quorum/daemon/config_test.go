package daemon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

func testConfig() Config {
	return Config{
		Policy: testPolicy(), Listen: "127.0.0.1:0", Journal: "/var/lib/daemon/journal",
		Kinds: map[string]Kind{"a": {Executor: ExecutorLog}, "b": {Executor: ExecutorExec, Program: []string{"/bin/true"}, TimeLimit: Duration(30 * time.Second)}},
	}
}

func TestConfigRoundTripIsAlsoAPolicy(t *testing.T) {
	data, err := json.Marshal(testConfig())
	require.NoError(t, err)
	require.Contains(t, string(data), `"timeLimit":"30s"`)
	path := filepath.Join(t.TempDir(), "daemon.json")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	c, err := LoadConfig(path)
	require.NoError(t, err)
	require.Equal(t, testConfig(), c)
	p, err := quorum.DecodePolicy(data)
	require.NoError(t, err)
	require.Equal(t, testPolicy(), p)

	require.NoError(t, os.WriteFile(path, []byte(`{"treshold": 1}`), 0o600))
	_, err = LoadConfig(path)
	require.ErrorContains(t, err, "treshold")
}

func TestConfigRefuses(t *testing.T) {
	open := func(c *Config) { c.Policy = quorum.Policy{TrustDomain: testDomain, AllowUnapproved: true} }
	for want, change := range map[string]func(*Config){
		"no approvers":       func(c *Config) { c.Policy = quorum.Policy{TrustDomain: testDomain} },
		"threshold":          func(c *Config) { c.Threshold = 9 },
		"listen":             func(c *Config) { c.Listen = "here" },
		"journal":            func(c *Config) { c.Journal = "" },
		"go together":        func(c *Config) { c.TLSCert = "x" },
		"at least one kind":  func(c *Config) { c.Kinds = nil },
		"neither log nor":    func(c *Config) { c.Kinds["a"] = Kind{Executor: "ssh"} },
		"absolute path":      func(c *Config) { c.Kinds["a"] = Kind{Executor: ExecutorExec, Program: []string{"true"}} },
		"needs the executor": func(c *Config) { c.Kinds["a"] = Kind{Executor: ExecutorLog, Program: []string{"/bin/true"}} },
		"negative":           func(c *Config) { c.Kinds["a"] = Kind{Executor: ExecutorLog, TimeLimit: -1} },
		"a kind has":         func(c *Config) { c.Kinds["a b"] = Kind{Executor: ExecutorLog} },
		"needs a tokenFile":  func(c *Config) { open(c); c.Listen = ":8443" },
	} {
		c := testConfig()
		change(&c)
		require.ErrorContains(t, c.Validate(), want)
	}
	c := testConfig()
	open(&c)
	require.NoError(t, c.Validate(), "unapproved on the loopback address")
	c.Listen, c.TokenFile = ":8443", "/etc/token"
	require.NoError(t, c.Validate(), "unapproved with a token")
}

func TestEmptyTokenFileIsNoOpenDoor(t *testing.T) {
	c := testConfig()
	c.TokenFile = filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(c.TokenFile, []byte(" \n"), 0o600))
	_, err := c.token()
	require.ErrorContains(t, err, "empty")
	c.TokenFile += "x"
	_, err = c.token()
	require.ErrorIs(t, err, os.ErrNotExist)
}
