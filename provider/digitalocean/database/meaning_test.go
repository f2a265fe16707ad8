package database_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xeipuuv/gojsonschema"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/database"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

func spec(t *testing.T, text string) cloud.Spec {
	t.Helper()
	if text == "" {
		return nil
	}
	s, err := cloud.ParseSpec([]byte(text))
	require.NoError(t, err)
	return s
}

// What a cluster shows in another form, or by itself, is no difference.
func TestClusterDiff(t *testing.T) {
	for name, c := range map[string]struct {
		engine              database.Engine
		want, applied, have string
		differs             []string
	}{
		"a minor version of the wanted major":      {want: `{"version":"14"}`, have: `{"version":"14.5"}`},
		"1 is not 14":                              {want: `{"version":"1"}`, have: `{"version":"14"}`, differs: []string{"version"}},
		"an upgrade that the tenant asked for":     {want: `{"version":"17"}`, applied: `{"version":"16"}`, have: `{"version":"16"}`, differs: []string{"version"}},
		"an upgrade that the provider forced":      {want: `{"version":"16"}`, applied: `{"version":"16"}`, have: `{"version":"17"}`},
		"mysql 8.4 is more than 8":                 {engine: database.MySQL, want: `{"version":"8.4"}`, applied: `{"version":"8"}`, have: `{"version":"8"}`, differs: []string{"version"}},
		"seconds and case of the window":           {want: `{"maintenance_window":{"day":"Friday","hour":"18:00"}}`, have: `{"maintenance_window":{"day":"friday","hour":"18:00:00"}}`},
		"another hour":                             {want: `{"maintenance_window":{"day":"friday","hour":"18:30"}}`, have: `{"maintenance_window":{"day":"friday","hour":"18:00:00"}}`, differs: []string{"maintenance_window"}},
		"letter case of the region":                {want: `{"region":"NYC3"}`, have: `{"region":"nyc3"}`},
		"storage that was never asked for":         {want: `{"size":"a"}`, have: `{"size":"a","storage_size_mib":30720}`},
		"less storage than wanted":                 {want: `{"storage_size_mib":61440}`, have: `{"storage_size_mib":30720}`, differs: []string{"storage_size_mib"}},
		"storage that grew by itself":              {want: `{"storage_size_mib":30720}`, applied: `{"storage_size_mib":30720}`, have: `{"storage_size_mib":61440}`},
		"less storage, newly asked for":            {want: `{"storage_size_mib":40000}`, applied: `{"storage_size_mib":61440}`, have: `{"storage_size_mib":61440}`, differs: []string{"storage_size_mib"}},
		"numbers in other notations":               {want: `{"num_nodes":1.0}`, have: `{"num_nodes":1}`},
		"autoscaling that is off, with old bounds": {want: `{"storage_autoscale":{"enabled":false,"increment_gib":20}}`, have: `{"storage_autoscale":{"enabled":false}}`},
		"order and case of host names":             {want: `{"service_cnames":["B.example.com","a.example.com."]}`, have: `{"service_cnames":["a.example.com","b.example.com"]}`},
		"host names taken out of the spec":         {want: `{}`, applied: `{"service_cnames":["a.example.com"]}`, have: `{"service_cnames":["a.example.com"]}`, differs: []string{"service_cnames"}},
		"host names that others set":               {want: `{}`, have: `{"service_cnames":["a.example.com"]}`},
		"order of SQL modes":                       {engine: database.MySQL, want: `{"sql_mode":"ANSI, TRADITIONAL"}`, have: `{"sql_mode":"TRADITIONAL,ANSI"}`},
		"settings that were not asked for":         {want: `{"config":{"jit":false,"pgbouncer":{"min_pool_size":1}}}`, have: `{"config":{"jit":false,"work_mem":4,"pgbouncer":{"min_pool_size":1,"server_lifetime":60}}}`},
		"a setting that differs inside":            {want: `{"config":{"pgbouncer":{"min_pool_size":2}}}`, have: `{"config":{"pgbouncer":{"min_pool_size":1}}}`, differs: []string{"config"}},
		"settings that this answer does not tell":  {want: `{"config":{"jit":false},"eviction_policy":"noeviction"}`, have: `{}`},
		"foreign tags":                             {want: `{"tags":["a"]}`, applied: `{"tags":["a"]}`, have: `{"tags":["A","team:web"]}`},
		"a tag taken out of the spec":              {want: `{"tags":["a"]}`, applied: `{"tags":["a","b"]}`, have: `{"tags":["a","b","team:web"]}`, differs: []string{"tags"}},
		"null and no tags":                         {want: `{"tags":[]}`, have: `{"tags":[]}`},
		"everything, in the order of the calls": {
			want:    `{"tags":["t"],"config":{"jit":true},"service_cnames":["x.example"],"maintenance_window":{"day":"monday","hour":"01:00"},"version":"17","storage_size_mib":9,"num_nodes":2,"size":"b","region":"ams3"}`,
			have:    `{"tags":[],"config":{"jit":false},"service_cnames":[],"maintenance_window":{"day":"sunday","hour":"01:00"},"version":"16","storage_size_mib":8,"num_nodes":1,"size":"a","region":"nyc3"}`,
			differs: []string{"region", "size", "num_nodes", "storage_size_mib", "version", "maintenance_window", "service_cnames", "config", "tags"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine := c.engine
			if engine == "" {
				engine = database.PG
			}
			r := cloud.Request{Spec: spec(t, c.want), Applied: spec(t, c.applied)}
			o := &cloud.Observed{Spec: spec(t, c.have), Outputs: map[string]any{}}
			if tags, ok := o.Spec["tags"]; ok { // shown as an output
				o.Outputs["tags"] = tags
				delete(o.Spec, "tags")
			}
			require.Equal(t, c.differs, database.Cluster(nil, engine).Diff(r, o))
		})
	}
}

// A setting that the provider never shows is sent once.
func TestSettingsThatAreNotShown(t *testing.T) {
	k := database.Cluster(nil, database.PG)
	r := cloud.Request{Spec: spec(t, `{"config":{"jit":false,"work_mem":4}}`), Memo: map[string]string{}}
	shown := &cloud.Observed{Spec: spec(t, `{"config":{"jit":false}}`)}
	require.Equal(t, []string{"config"}, k.Diff(r, shown))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	defer server.Close()
	a, err := doapi.Open(cloud.AccountAccess{APIURL: server.URL}, nil)
	require.NoError(t, err)
	_, err = database.Cluster(a, database.PG).Update(context.Background(), r, shown, []string{"config"})
	require.NoError(t, err)
	require.Empty(t, k.Diff(r, shown))
	require.Equal(t, []string{"config"}, k.Diff(r, &cloud.Observed{Spec: spec(t, `{"config":{"jit":true}}`)}), "one that is shown still counts")
	r.Spec = spec(t, `{"config":{"jit":false,"work_mem":8}}`)
	require.Equal(t, []string{"config"}, k.Diff(r, shown), "and so does another wish")
}

// Rights compare as sets; what no answer shows is compared with what was sent.
func TestUserDiff(t *testing.T) {
	const wanted = `{"settings":{"acl":[{"topic":"a","permission":"produceconsume"},{"topic":"b","permission":"consume"}]}}`
	sent := "acl a produceconsume\nacl b consume"
	for name, c := range map[string]struct {
		want, applied, have, memo string
		differs                   []string
	}{
		"order, ids and spelling":          {want: wanted, have: `{"settings":{"acl":[{"id":"2","topic":"b","permission":"consume"},{"id":"1","topic":"a","permission":"produce_consume"}]}}`},
		"one right more":                   {want: wanted, have: `{"settings":{"acl":[{"topic":"b","permission":"consume"}]}}`, differs: []string{"settings"}},
		"a word that we do not know":       {want: wanted, have: `{"settings":{"acl":[{"topic":"a","permission":"describe"},{"topic":"b","permission":"consume"}]}}`, differs: []string{"settings"}},
		"absent is unknown, and was sent":  {want: wanted, have: `{}`, memo: sent},
		"absent, and another one was sent": {want: wanted, have: `{}`, memo: "acl a consume", differs: []string{"settings"}},
		"absent, and nothing is known":     {want: wanted, have: `{}`, differs: []string{"settings"}},
		"never set":                        {want: `{}`, have: `{"settings":{"acl":[{"topic":"a","permission":"admin"}]}}`},
		"taken out of the spec":            {want: `{}`, applied: wanted, have: `{}`, memo: sent, differs: []string{"settings"}},
		"false is the default":             {want: `{"settings":{"pg_allow_replication":false}}`, have: `{"settings":{"opensearch_acl":[]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := cloud.Request{Spec: spec(t, c.want), Applied: spec(t, c.applied), Memo: map[string]string{"settings": c.memo}}
			require.Equal(t, c.differs, database.User(nil, database.Kafka).Diff(r, &cloud.Observed{Spec: spec(t, c.have)}))
		})
	}
}

func TestFirewallDiff(t *testing.T) {
	ids := map[string]string{instance: "17"}
	for name, c := range map[string]struct {
		want, have string
		differs    []string
	}{
		"order and spelling of addresses": {want: `{"rules":[{"type":"ip_addr","value":"203.0.113.1/32"},{"type":"ip_addr","value":"198.51.100.7/24"}]}`,
			have: `{"rules":[{"type":"ip_addr","value":"198.51.100.0/24","description":"x"},{"type":"ip_addr","value":"203.0.113.1"}]}`},
		"one that others added":          {want: `{"rules":[]}`, have: `{"rules":[{"type":"app","value":"a1"}]}`, differs: []string{"rules"}},
		"a note that changed":            {want: `{"rules":[{"type":"ip_addr","value":"203.0.113.1","description":"new"}]}`, have: `{"rules":[{"type":"ip_addr","value":"203.0.113.1","description":"old"}]}`, differs: []string{"rules"}},
		"an instance":                    {want: `{"rules":[],"instances":["` + instance + `"]}`, have: `{"rules":[{"type":"droplet","value":"17"}]}`},
		"an instance that is missing":    {want: `{"rules":[],"instances":["` + instance + `"]}`, have: `{"rules":[]}`, differs: []string{"instances"}},
		"an instance that ended in time": {want: `{"rules":[],"instances":["ins_gone"]}`, have: `{"rules":[{"type":"droplet","value":"18"}]}`, differs: []string{"instances"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := cloud.Request{Spec: spec(t, c.want), Instances: ids}
			require.Equal(t, c.differs, database.Firewall(nil, database.PG).Diff(r, &cloud.Observed{Spec: spec(t, c.have)}))
		})
	}
}

func TestCheckedSpecs(t *testing.T) {
	cluster, firewall := database.Cluster(nil, database.PG), database.Firewall(nil, database.PG)
	many := strings.TrimSuffix(strings.Repeat(`{"type":"ip_addr","value":"10.0.%d.%d"},`, 101), ",")
	var parts []any
	for i := range 101 {
		parts = append(parts, i, i)
	}
	for name, c := range map[string]struct {
		kind  cloud.Kind
		spec  string
		field string
	}{
		"network twice":      {cluster, `{"network":"net_1","private_network_uuid":"u"}`, "spec.network"},
		"a tag of ours":      {cluster, `{"tags":["Better-Compute-Resource:x"]}`, "spec.tags"},
		"IPv6":               {firewall, `{"rules":[{"type":"ip_addr","value":"2001:db8::1"}]}`, "spec.rules[0].value"},
		"no address":         {firewall, `{"rules":[{"type":"ip_addr","value":"203.0.113.1"},{"type":"ip_addr","value":"home"}]}`, "spec.rules[1].value"},
		"the same twice":     {firewall, `{"rules":[{"type":"ip_addr","value":"203.0.113.1"},{"type":"ip_addr","value":"203.0.113.1/32"}]}`, "spec.rules[1].value"},
		"more than 100":      {firewall, `{"rules":[` + fmt.Sprintf(many, parts...) + `]}`, "spec.rules"},
		"a good firewall":    {firewall, `{"rules":[{"type":"app","value":"x"}]}`, ""},
		"a good small spec":  {cluster, `{"region":"nyc3"}`, ""},
		"addresses of types": {firewall, `{"rules":[{"type":"tag","value":"17"},{"type":"droplet","value":"17"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.kind.(cloud.SpecChecker).CheckSpec(spec(t, c.spec))
			if c.field == "" {
				require.NoError(t, err)
				return
			}
			e := cloud.AsError(err)
			require.NotNil(t, e)
			require.Equal(t, cloud.CodeInvalidInput, e.Code)
			require.Contains(t, e.Details["fields"], c.field)
		})
	}
}

// The schema refuses hours and days that the provider would misread.
func TestMaintenanceWindow(t *testing.T) {
	m := database.Cluster(nil, database.PG).Manifest()
	schema, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(m.Spec))
	require.NoError(t, err)
	valid := func(day, hour string) bool {
		s := cloud.Spec{"region": "nyc3", "version": "16", "size": "x", "num_nodes": 1, "maintenance_window": map[string]any{"day": day, "hour": hour}}
		result, err := schema.Validate(gojsonschema.NewBytesLoader(s.JSON()))
		require.NoError(t, err)
		return result.Valid()
	}
	for _, hour := range []string{"00:00", "18:00", "23:59", "18:00:00"} {
		require.True(t, valid("Friday", hour), hour)
	}
	for _, hour := range []string{"24:00", "6pm", "18:00+07:00", "7:5", "", "18"} {
		require.False(t, valid("friday", hour), hour)
	}
	for _, day := range []string{"monday", "TUESDAY", "Wednesday", "thursday", "friday", "saturday", "sunday"} {
		require.True(t, valid(day, "18:00"), day)
	}
	for _, day := range []string{"freitag", "mon", "sunday ", "someday"} {
		require.False(t, valid(day, "18:00"), day)
	}
	same := database.Cluster(nil, database.PG).(cloud.SpecNormaliser).NormaliseSpec(spec(t, `{"region":"NYC3","maintenance_window":{"day":"Friday","hour":"18:00:00"}}`))
	require.JSONEq(t, `{"region":"nyc3","maintenance_window":{"day":"friday","hour":"18:00"}}`, string(same.JSON()))
}

// What reaches account-wide objects is marked, so that shared accounts refuse it.
func TestAccountWideFields(t *testing.T) {
	refs := database.Cluster(nil, database.PG).Manifest().Refs(spec(t, `{"private_network_uuid":"u","project_id":"p","tags":["a"],"backup_restore":{"database_name":"x"},"network":"net_1","region":"nyc3"}`))
	require.Equal(t, []string{"spec.backup_restore.database_name", "spec.private_network_uuid", "spec.project_id", "spec.tags"}, refs.AccountWide)
	require.Equal(t, []string{"net_1"}, refs.NetworkIDs())
	refs = database.Firewall(nil, database.PG).Manifest().Refs(spec(t, `{"rules":[{"type":"ip_addr","value":"203.0.113.1"},{"type":"droplet","value":"1"},{"type":"tag","value":"t"},{"type":"k8s","value":"k"},{"type":"app","value":"a"}],"instances":["ins_1"]}`))
	require.Len(t, refs.AccountWide, 4)
	require.Equal(t, []string{"ins_1"}, refs.InstanceIDs())
}
