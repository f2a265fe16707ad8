package simulator_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/simtest"
)

const token = "dop_v1_acme"

func client(t *testing.T, url string) *godo.Client {
	source := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})
	client, err := godo.New(oauth2.NewClient(context.Background(), source), godo.SetBaseURL(url))
	require.NoError(t, err)
	return client
}

// TestEveryFolderIsServed holds the list of areas equal to the folders that
// declare one.
func TestEveryFolderIsServed(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	var folders []string
	for _, file := range files {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(code), "\nfunc Area() core.Area {") {
			folders = append(folders, filepath.Dir(file))
		}
	}
	source, err := os.ReadFile("areas.go")
	require.NoError(t, err)
	for _, folder := range folders {
		require.Contains(t, string(source), "\t\t"+folder+".Area(),", "the area is not served")
	}
	require.Contains(t, folders, "database")
}

func TestControl(t *testing.T) {
	url, _ := simtest.Start(t)
	ctx := context.Background()
	control := simulator.Control{URL: url}
	api := client(t, url)

	once := 1
	id, err := control.AddFault(ctx, simulator.Fault{Method: "POST", Path: "/v2/databases", Times: &once,
		Effect: simulator.Effect{Accept: true, Then: &simulator.Then{Status: 502}}})
	require.NoError(t, err)
	require.NotEmpty(t, id)
	_, response, err := api.Databases.Create(ctx, &godo.DatabaseCreateRequest{Name: "bc-r-one", EngineSlug: "pg",
		Region: "nyc3", SizeSlug: "db-s-1vcpu-1gb", NumNodes: 1, Tags: []string{"mine"}})
	require.Error(t, err)
	require.Equal(t, http.StatusBadGateway, response.StatusCode)
	require.NoError(t, control.ClearFaults(ctx, id))
	require.Error(t, control.ClearFaults(ctx, id))
	require.NoError(t, control.ClearFaults(ctx))

	objects, err := control.Objects(ctx, token)
	require.NoError(t, err)
	at := slices.IndexFunc(objects, func(o simulator.Object) bool { return o.Text("name") == "bc-r-one" })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, "database", objects[at].Text("type"))
	require.False(t, objects[at].Seeded())

	requests, err := control.Requests(ctx, token, 0)
	require.NoError(t, err)
	require.Len(t, requests, 1)
	require.Equal(t, id, requests[0].Fault)
	require.NoError(t, control.ClearRequests(ctx))

	settings, err := control.PutSettings(ctx, map[string]any{"provisionTime": "7s"})
	require.NoError(t, err)
	require.Equal(t, simulator.Duration(7*time.Second), settings.ProvisionTime)
	_, err = control.PutSettings(ctx, map[string]any{"speed": "high"})
	require.ErrorContains(t, err, "speed")

	require.NoError(t, control.SetAccount(ctx, token, map[string]any{"status": "warning"}))
	account, _, err := api.Account.Get(ctx)
	require.NoError(t, err)
	require.Equal(t, "warning", account.Status)

	require.NoError(t, control.Reset(ctx))
	objects, err = control.Objects(ctx, "")
	require.NoError(t, err)
	require.Empty(t, objects)
}

func TestDatabaseSurvivesARestart(t *testing.T) {
	ctx := context.Background()
	settings := simtest.Settings()
	opts := simulator.Options{StatePath: filepath.Join(t.TempDir(), "state.json"), Settings: &settings}
	url, sim := simtest.StartWith(t, opts)
	made, _, err := client(t, url).Databases.Create(ctx, &godo.DatabaseCreateRequest{Name: "lasting", EngineSlug: "pg",
		Region: "nyc3", SizeSlug: "db-s-1vcpu-1gb", NumNodes: 1})
	require.NoError(t, err)
	require.NoError(t, sim.Close())

	url, _ = simtest.StartWith(t, opts)
	require.Eventually(t, func() bool {
		got, _, err := client(t, url).Databases.Get(ctx, made.ID)
		return err == nil && got.Status == "online" && got.Connection.Password != ""
	}, 5*time.Second, 10*time.Millisecond)
}

func TestDatabaseFaults(t *testing.T) {
	url, _ := simtest.Start(t)
	ctx := context.Background()
	control, api := simulator.Control{URL: url}, client(t, url)
	create := func(name string) *godo.Database {
		made, _, err := api.Databases.Create(ctx, &godo.DatabaseCreateRequest{Name: name, EngineSlug: "pg", Region: "nyc3",
			SizeSlug: "db-s-1vcpu-1gb", NumNodes: 1})
		require.NoError(t, err)
		return made
	}
	reaches := func(id, status string) {
		require.Eventually(t, func() bool {
			got, _, err := api.Databases.Get(ctx, id)
			return err == nil && got.Status == status
		}, 5*time.Second, 10*time.Millisecond, "never %s", status)
	}
	once := 1
	_, err := control.AddFault(ctx, simulator.Fault{Method: "POST", Path: "/v2/databases", Times: &once,
		Effect: simulator.Effect{Fail: "no capacity"}})
	require.NoError(t, err)
	reaches(create("unlucky").ID, "error")

	_, err = control.AddFault(ctx, simulator.Fault{Method: "POST", Path: "/v2/databases", Times: &once,
		Effect: simulator.Effect{InvisibleFor: simulator.Duration(200 * time.Millisecond)}})
	require.NoError(t, err)
	late := create("late")
	require.Len(t, late.Users, 1)
	_, response, err := api.Databases.Get(ctx, late.ID)
	require.Error(t, err)
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	reaches(late.ID, "online")

	_, err = control.PutSettings(ctx, map[string]any{"overlapTime": "200ms"})
	require.NoError(t, err)
	statuses := make(chan int, 5)
	for i := range cap(statuses) {
		go func() {
			_, response, _ := api.Databases.CreateUser(ctx, late.ID, &godo.DatabaseCreateUserRequest{Name: "user" + string(rune('a'+i))})
			statuses <- response.StatusCode
		}()
	}
	count := map[int]int{}
	for range cap(statuses) {
		count[<-statuses]++
	}
	require.Positive(t, count[http.StatusCreated])
	require.Positive(t, count[http.StatusInternalServerError])
}
