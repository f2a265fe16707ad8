package digitalocean

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// installsOn maps our words to the provider's, in the order of the list.
var installsOn = []struct{ ours, theirs string }{{"instance", "droplet"}, {"kubernetes", "kubernetes"}}

// Catalog lists the 1-Click applications. The provider gives a slug and a type
// only, and does not page.
func (a *account) Catalog(ctx context.Context, on string) ([]cloud.CatalogItem, error) {
	items := []cloud.CatalogItem{}
	for _, place := range installsOn {
		if on != "" && on != place.ours {
			continue
		}
		list, _, err := a.API.OneClick.List(ctx, place.theirs)
		if err != nil {
			return nil, a.Fail("list 1-Click applications", doapi.List, err)
		}
		for _, app := range list {
			if app != nil && app.Slug != "" {
				items = append(items, cloud.CatalogItem{Slug: app.Slug, InstallsOn: place.ours})
			}
		}
	}
	return items, nil
}
