package doapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strconv"

	"github.com/digitalocean/godo"
)

// pageSize is the most that the API gives at once.
const pageSize = 200

// maxPages stops a list that never ends.
const maxPages = 1000

// Pages reads a list whose answer is {key: [...], links, meta} to its last
// page, or until limit objects were found (0 reads all). query may be nil. The
// error is godo's: hand it to Fail with List.
func Pages[T any](ctx context.Context, a *Account, path, key string, query url.Values, limit int) ([]T, error) {
	return collect(limit, func(page int) ([]T, *godo.Response, error) {
		q := url.Values{}
		for name, values := range query {
			q[name] = values
		}
		q.Set("page", strconv.Itoa(page))
		q.Set("per_page", strconv.Itoa(pageSize))
		var answer map[string]json.RawMessage
		if err := a.Get(ctx, path+"?"+q.Encode(), &answer); err != nil {
			return nil, nil, err
		}
		var items []T
		if raw, ok := answer[key]; ok {
			if err := json.Unmarshal(raw, &items); err != nil {
				return nil, nil, fmt.Errorf("list %s: %w", path, err)
			}
		} else if answer == nil || answer["links"] == nil && answer["meta"] == nil {
			// Nothing that we know: an empty list must never be read out of garbage.
			return nil, nil, fmt.Errorf("list %s: %w", path, errNoList)
		}
		r := &godo.Response{}
		_ = json.Unmarshal(answer["links"], &r.Links)
		_ = json.Unmarshal(answer["meta"], &r.Meta)
		return items, r, nil
	})
}

// GodoPages is Pages over a godo list method that reports links.
func GodoPages[T any](ctx context.Context, limit int, list func(context.Context, *godo.ListOptions) ([]T, *godo.Response, error)) ([]T, error) {
	return collect(limit, func(page int) ([]T, *godo.Response, error) {
		return list(ctx, &godo.ListOptions{Page: page, PerPage: pageSize})
	})
}

func collect[T any](limit int, read func(page int) ([]T, *godo.Response, error)) ([]T, error) {
	var all, before []T
	for page := 1; page <= maxPages; page++ {
		items, r, err := read(page)
		if err != nil {
			return nil, err
		}
		if page > 1 && len(items) > 0 && len(before) > 0 && reflect.DeepEqual(items[0], before[0]) {
			return all, nil // it does not page, and answered the whole again
		}
		all = append(all, items...)
		if limit > 0 && len(all) >= limit {
			return all[:limit], nil
		}
		if last(items, r, len(all)) {
			return all, nil
		}
		before = items
	}
	return nil, fmt.Errorf("a list of more than %d pages", maxPages)
}

// last reports whether a page is the last one. Links may be absent, {} or
// {"pages":{}}; then the total tells, then whether the page was full.
func last[T any](items []T, r *godo.Response, sofar int) bool {
	switch {
	case len(items) == 0:
		return true
	case r != nil && r.Links != nil && r.Links.Pages != nil && r.Links.Pages.Next != "":
		return false
	case r != nil && r.Meta != nil && r.Meta.Total > 0:
		return sofar >= r.Meta.Total
	case r != nil && r.Links != nil && r.Links.Pages != nil && r.Links.Pages.Prev != "":
		return true
	}
	return len(items) != pageSize
}

var errNoList = &json.SyntaxError{}
