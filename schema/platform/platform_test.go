package platform_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/platform"
)

const small = `
deployment: prod
tenants: [{id: root}, {id: acme}]
accounts:
  - {id: a1, provider: digitalocean, owner: root, token: {env: DO_TOKEN}, regions: [nyc3]}
pools:
  - {id: pool_00000000000000000000000000, type: provider, account: a1}
`

func TestDevelopmentPlatform(t *testing.T) {
	t.Parallel()
	f, err := platform.Development("http://127.0.0.1:1")
	require.NoError(t, err)
	require.Equal(t, "dev", f.Deployment)
	require.Len(t, f.Principals, 7)
	for _, p := range f.Principals {
		require.Len(t, p.TokenSHA256, 1)
		require.True(t, p.Token.IsZero(), "a token in clear ends in its digest")
	}
	for _, a := range f.Accounts {
		require.Equal(t, "http://127.0.0.1:1", a.APIURL)
		token, err := a.Token.Resolve()
		require.NoError(t, err)
		require.Contains(t, token.Reveal(), "dop_v1_")
	}
	owners := map[string]string{}
	for _, p := range f.Pools {
		require.Regexp(t, cloud.PatternPool, p.ID)
		owners[p.ID] = p.Owner
	}
	require.Equal(t, map[string]string{
		"pool_00000000000000000000shared": "root", "pool_0000000000000000000000acme": "acme",
		"pool_0000000000000000000000free": "acme", "pool_0000000000000000000000kvmx": "acme",
	}, owners)
	raw, err := json.Marshal(f)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "dop_v1_", "a file never marshals its secrets")
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	f, err := platform.Parse([]byte(small + "offers: [{tenant: acme, pool: pool_00000000000000000000000000}]\n"))
	require.NoError(t, err)
	require.EqualValues(t, platform.DefaultMaxPerKind, *f.MaxPerKind)
	require.Equal(t, cloud.BillingMetered, f.Pools[0].Billing)
	require.Equal(t, "root", f.Pools[0].Owner)
	require.Equal(t, platform.OfferActive, f.Offers[0].Status)

	f, err = platform.Parse([]byte(small + "maxPerKind: 0\n"))
	require.NoError(t, err)
	require.Zero(t, *f.MaxPerKind, "0 is a cap and no absence")
}

func TestProblemsNameTheirPath(t *testing.T) {
	t.Parallel()
	const pool = "pool_00000000000000000000000000"
	for name, c := range map[string]struct{ add, path string }{
		"unknown field":        {"principal: []", "principal"},
		"unknown nested field": {"projects: [{id: prj_00000000000000000000000000, tenant: acme, x: 1}]", "projects[0].x"},
		"missing field":        {"offers: [{tenant: acme}]", "offers[0].pool"},
		"wrong type":           {"maxPerKind: many", "maxPerKind"},
		"wrong pattern":        {"projects: [{id: prj_x, tenant: acme}]", "projects[0].id"},
		"unknown tenant":       {"projects: [{id: prj_00000000000000000000000000, tenant: nobody}]", "projects[0].tenant"},
		"unknown pool":         {"offers: [{tenant: acme, pool: pool_11111111111111111111111111}]", "offers[0].pool"},
		"unknown account":      {"instances: [{id: ins_00000000000000000000000000, tenant: acme, account: zz, providerId: '1'}]", "instances[0].account"},
		"twice":                {"quotas: [{tenant: acme, kind: do.app, max: 1}, {tenant: acme, kind: do.app, max: 2}]", "quotas[1]"},
		"own pool offered":     {"offers: [{tenant: root, pool: " + pool + "}]", "offers[0].tenant"},
		"foreign region":       {"offers: [{tenant: acme, pool: " + pool + ", excludedRegions: [mars]}]", "offers[0].excludedRegions"},
		"network region":       {"networks: [{id: net_00000000000000000000000000, tenant: acme, account: a1, vpcs: {mars: x}}]", "networks[0].vpcs"},
		"clear token":          {"principals: [{tenant: acme, user: u, token: CANARY}]", "principals[0].token"},
		"clear webhook secret": {"subscribers: [{id: s, tenant: acme, url: 'https://x', secret: {value: CANARY}}]", "subscribers[0].secret.value"},
		"clear daemon token":   {"daemons: [{kinds: ['*'], url: 'https://x', token: {value: CANARY}}]", "daemons[0].token.value"},
		"two sources":          {"daemons: [{kinds: ['*'], url: 'https://x', token: {env: A, file: b}}]", "daemons[0].token"},
		"same token twice":     {"principals: [{tenant: acme, user: u, tokenSha256: [" + strings.Repeat("a", 64) + "]}, {tenant: root, user: u, tokenSha256: [" + strings.Repeat("a", 64) + "]}]", "principals[1]"},
		"plain http issuer":    {"oidcIssuers: [{issuer: 'http://id.example', audience: a, claims: {tenant: t, user: sub}}]", "oidcIssuers[0].issuer"},
		"condition attribute":  {"policies: [{id: p, principals: ['*'], statements: [{effect: allow, actions: ['*'], resources: ['*'], condition: {StringEquals: {resource.color: red}}}]}]", "policies[0].statements[0].condition.StringEquals.resource.color"},
		"policy tenant":        {"policies: [{id: p, principals: ['*'], tenants: [zz], statements: [{effect: allow, actions: ['*'], resources: ['*']}]}]", "policies[0].tenants[0]"},
		"threshold":            {"pki: {trustDomain: d, threshold: 2, approvers: [{id: a, publicKey: 'IVL4E5wyN1nbQUxvsQ4gRCRuQhw2cpLdWXWCWVLcTnY='}]}", "pki"},
		"negative capacity":    {"capacity: [{tenant: acme, pool: " + pool + ", name: gpu, amount: -1}]", "capacity[0].amount"},
		"repeated key":         {"deployment: again", ""},
		"provider pool":        {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := small + c.add + "\n"
			if name == "provider pool" {
				text, c.path = strings.Replace(small, ", account: a1}", "}", 1), "pools[0].account"
			}
			_, err := platform.Parse([]byte(text))
			var invalid *platform.Invalid
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, c.path, invalid.Problems[0].Path, err)
			require.NotContains(t, err.Error(), "CANARY")
		})
	}
}

func TestNoObjectAtAll(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", "a: [", "null", "x"} {
		_, err := platform.Parse([]byte(text))
		var invalid *platform.Invalid
		require.ErrorAs(t, err, &invalid, text)
	}
}

func TestOnlyDevelopmentHoldsSecretsInClear(t *testing.T) {
	t.Parallel()
	f, err := platform.Parse([]byte("development: true\n" + small + "principals: [{tenant: acme, user: u, token: t}]\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"e3b98a4da31a127d4bde6e43033f66ba274cab0eb7eb1c70ec41402bf6273dd8"}, f.Principals[0].TokenSHA256)
}

func TestSecretSources(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "platform.yaml")
	text := strings.Replace(small, "{env: DO_TOKEN}", "{file: token.txt}", 1)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	f, err := platform.Load(path)
	require.NoError(t, err)

	_, err = f.Accounts[0].Token.Resolve()
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token.txt"), []byte(" secret-token\n"), 0o600))
	token, err := f.Accounts[0].Token.Resolve()
	require.NoError(t, err, "a relative path starts at the platform file")
	require.Equal(t, "secret-token", token.Reveal())

	t.Setenv("PLATFORM_TEST_TOKEN", "")
	_, err = platform.SecretSource{Env: "PLATFORM_TEST_TOKEN"}.Resolve()
	require.ErrorContains(t, err, "PLATFORM_TEST_TOKEN")
	t.Setenv("PLATFORM_TEST_TOKEN", "v")
	token, err = platform.SecretSource{Env: "PLATFORM_TEST_TOKEN"}.Resolve()
	require.NoError(t, err)
	require.Equal(t, "v", token.Reveal())
}

func TestWebhookSecret(t *testing.T) {
	t.Parallel()
	require.NoError(t, platform.CheckWebhookSecret(cloud.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")))
	for _, bad := range []string{"", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_CANARY", "whsec_%%%"} {
		err := platform.CheckWebhookSecret(cloud.NewSecret(bad))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "CANARY")
	}
}

func TestConditionValuesMayBeOneOrMany(t *testing.T) {
	t.Parallel()
	f, err := platform.Parse([]byte(small + `policies:
  - id: p
    principals: ["acme/*"]
    statements:
      - {effect: deny, actions: ["*"], resources: ["*"], condition: {StringLike: {resource.kind: "do.*"}, StringEquals: {resource.region: [nyc3, ams3]}}}
`))
	require.NoError(t, err)
	cond := f.Policies[0].Statements[0].Condition
	require.Equal(t, platform.Strings{"do.*"}, cond["StringLike"]["resource.kind"])
	require.Equal(t, platform.Strings{"nyc3", "ams3"}, cond["StringEquals"]["resource.region"])
}

func TestTheDocumentedFileIsValid(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/platform.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(page), "```yaml\n")
	require.True(t, ok)
	text, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	f, err := platform.Parse([]byte(text))
	require.NoError(t, err)
	require.Equal(t, "eu-prod", f.Deployment)
}

func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/platform.md")
	require.NoError(t, err)
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	require.NoError(t, json.Unmarshal(platform.Schema, &schema))
	for name := range schema.Properties {
		require.Contains(t, string(page), "`"+name+"`")
	}
}
