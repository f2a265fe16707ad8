package harness

import (
	"context"

	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// regions are the regions that the account may use. There is always one.
func regions(ctx context.Context, a *doapi.Account) ([]string, error) {
	var answer struct {
		Regions []struct {
			Slug string `json:"slug"`
		} `json:"regions"`
	}
	if err := a.Get(ctx, "v2/harness-runtime/regions", &answer); err != nil {
		return nil, err
	}
	var slugs []string
	for _, r := range answer.Regions {
		if r.Slug != "" {
			slugs = append(slugs, r.Slug)
		}
	}
	if len(slugs) == 0 {
		return nil, noList
	}
	return slugs, nil
}

// Hosts are the account on each host of Harness Runtime, once. The error is
// godo's, or a *cloud.ProviderError.
func Hosts(ctx context.Context, a *doapi.Account) ([]*doapi.Account, error) {
	slugs, err := regions(ctx, a)
	if err != nil {
		return nil, err
	}
	var hosts []*doapi.Account
	seen := map[string]bool{}
	for _, slug := range slugs {
		host, err := a.Regional(slug)
		if err != nil {
			return nil, err
		}
		if address := host.API.BaseURL.String(); !seen[address] {
			seen[address] = true
			hosts = append(hosts, host)
		}
	}
	return hosts, nil
}
