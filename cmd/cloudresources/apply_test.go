package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// The development platform names what the simulator has from the start.
func TestDevelopmentPlatformFitsTheSimulator(t *testing.T) {
	t.Parallel()
	f, err := platform.Development("")
	require.NoError(t, err)
	tokens := map[string]string{}
	for _, a := range f.Accounts {
		token, err := a.Token.Resolve()
		require.NoError(t, err)
		tokens[a.ID] = token.Reveal()
	}
	for _, n := range f.Networks {
		for region, id := range n.VPCs {
			require.Equal(t, simulator.VPCID(tokens[n.Account], region), id, "%s in %s", n.ID, region)
		}
	}
	for id, name := range map[string]string{
		pgtest.InstanceID("acme"): "acme", pgtest.InstanceID("shared"): "shared", pgtest.InstanceID("gx"): "gx",
	} {
		for _, n := range f.Instances {
			if n.ID == id {
				require.Equal(t, strconv.Itoa(simulator.DropletID(tokens[n.Account], name)), n.ProviderID, id)
			}
		}
	}
}

func TestApplyFromTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	file, keys := filepath.Join(dir, "platform.yaml"), filepath.Join(dir, "keyset.json")
	require.NoError(t, os.WriteFile(file, []byte(`
deployment: cli
tenants: [{id: root}]
accounts: [{id: a, provider: digitalocean, owner: root, token: {file: token}, regions: [nyc3]}]
`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte("CANARY\n"), 0o600))
	cli := func(args ...string) (int, string) {
		var out bytes.Buffer
		code := run(context.Background(), args, &out, &out)
		require.NotContains(t, out.String(), "CANARY")
		return code, out.String()
	}
	db := pgtest.New(t)
	t.Setenv("DATABASE_URL", db.URL)
	t.Setenv("SECRETS_KEYSET", keys)

	code, out := cli("migrate")
	require.Zero(t, code, out)
	code, out = cli("apply", "-f", file)
	require.NotZero(t, code, "a key set that is missing is not made by the way")
	require.Contains(t, out, "keyset.json")
	code, out = cli("keyset", "create", keys)
	require.Zero(t, code, out)
	code, out = cli("keyset", "create", keys)
	require.NotZero(t, code)
	require.Contains(t, out, "there already")

	code, out = cli("apply", "-f", file, "--dry-run")
	require.Zero(t, code, out)
	require.Contains(t, out, "3 changes would be applied")
	code, out = cli("apply", "-f", file)
	require.Zero(t, code, out)
	require.Contains(t, out, "add account a\n")
	require.Contains(t, out, "3 changes applied")
	code, out = cli("keyset", "rotate", keys)
	require.Zero(t, code, out)
	code, out = cli("apply", "-f", file)
	require.Zero(t, code, out)
	require.Equal(t, "0 changes applied\n", out)

	require.NoError(t, os.WriteFile(file, []byte("deployment: cli\ntenants: [{id: root, x: 1}]\n"), 0o600))
	code, out = cli("apply", "-f", file, "--check")
	require.NotZero(t, code)
	require.Contains(t, out, "tenants[0].x: unknown field")
}
