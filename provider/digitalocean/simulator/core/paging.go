package core

import (
	"net/url"
	"strconv"
)

const (
	defaultPerPage = 20
	maxPerPage     = 200
)

// Page cuts the page that the query asks for (page, per_page: 20 by default, 200
// at most) out of items and returns it with the links and meta objects of the
// API. Values that are no positive number count as absent.
func Page[T any](c *Call, items []T) (page []T, links, meta Map) {
	number, perPage := c.pageQuery()
	last := max(1, (len(items)+perPage-1)/perPage)
	from := min((number-1)*perPage, len(items))
	to := min(from+perPage, len(items))
	page = items[from:to]
	if page == nil {
		page = []T{}
	}
	pages := Map{}
	if number > 1 {
		pages["first"] = c.pageURL(1)
		pages["prev"] = c.pageURL(min(number-1, last))
	}
	if number < last {
		pages["next"] = c.pageURL(number + 1)
		pages["last"] = c.pageURL(last)
	}
	links = Map{}
	if len(pages) > 0 {
		links["pages"] = pages
	}
	return page, links, Map{"total": len(items)}
}

// Paged answers 200 with one page of items under key, and links and meta.
func Paged[T any](c *Call, key string, items []T) (Answer, error) {
	page, links, meta := Page(c, items)
	return OK(Map{key: page, "links": links, "meta": meta})
}

func (c *Call) pageQuery() (number, perPage int) {
	number, perPage = 1, defaultPerPage
	if n, err := strconv.Atoi(c.Query("page")); err == nil && n > 0 {
		number = n
	}
	if n, err := strconv.Atoi(c.Query("per_page")); err == nil && n > 0 {
		perPage = min(n, maxPerPage)
	}
	return number, perPage
}

func (c *Call) pageURL(number int) string {
	u := url.URL{Scheme: "http", Host: c.Request.Host, Path: c.Request.URL.Path}
	if c.Request.TLS != nil {
		u.Scheme = "https"
	}
	query := c.Request.URL.Query()
	query.Set("page", strconv.Itoa(number))
	u.RawQuery = query.Encode()
	return u.String()
}
