package digitalocean_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean"
)

// openAt opens an account whose provider is the handler.
func openAt(t *testing.T, previews bool, handle http.HandlerFunc) cloud.ProviderResources {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	opened, err := digitalocean.New().Open(cloud.AccountAccess{ID: "a", Provider: digitalocean.Name, Token: cloud.NewSecret("t"),
		APIURL: server.URL, Regions: []string{"nyc3"}, Previews: previews})
	require.NoError(t, err)
	return opened
}

func TestCatalog(t *testing.T) {
	opened := openAt(t, false, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, http.MethodGet+" /v2/1-clicks", r.Method+" "+r.URL.Path)
		body := map[string]string{
			"droplet":    `{"1_clicks":[{"slug":"wordpress-20-04","type":"droplet"},null,{"slug":"","type":"droplet"}]}`,
			"kubernetes": `{"1_clicks":[{"slug":"monitoring","type":"kubernetes"}]}`,
		}[r.URL.Query().Get("type")]
		_, _ = w.Write([]byte(body))
	})
	instance := cloud.CatalogItem{Slug: "wordpress-20-04", InstallsOn: "instance"}
	kubernetes := cloud.CatalogItem{Slug: "monitoring", InstallsOn: "kubernetes"}
	for on, want := range map[string][]cloud.CatalogItem{
		"": {instance, kubernetes}, "instance": {instance}, "kubernetes": {kubernetes}, "moon": {},
	} {
		got, err := opened.Catalog(context.Background(), on)
		require.NoError(t, err)
		require.Equal(t, want, got, on)
	}
	refused := openAt(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	_, err := refused.Catalog(context.Background(), "")
	require.Equal(t, cloud.ClassUnreachable, cloud.ClassOf(err))
}
