package core

import (
	"regexp"
	"slices"
	"strings"
)

// Tag has no fields of its own: its name, in the capitalisation it was first
// made with, is all there is.
type Tag struct{}

// Tags is the table of tags. An ID is the name in lower case, since two tags may
// not differ by case alone.
var Tags = Table[Tag]{Type: "tag", Steady: true}

var tagPattern = regexp.MustCompile(`^[A-Za-z0-9_:-]{1,255}$`)

// EnsureTags makes the tags that are missing and returns the canonical names,
// without doubles and in the order given. A name with a character outside
// letters, digits, "_", ":", "-" or longer than 255 is a 422 and makes nothing.
func (c *Call) EnsureTags(names []string) ([]string, error) {
	for _, name := range names {
		if !tagPattern.MatchString(name) {
			return nil, Unprocessable("Tag name %q is invalid: only letters, numbers, colons, dashes and underscores are allowed, 255 characters at most.", name)
		}
	}
	canonical := []string{}
	for _, name := range names {
		id := strings.ToLower(name)
		tag, ok := Tags.Get(c, id)
		if !ok {
			tag = Tags.Insert(c, Meta{ID: id, Name: name}, Tag{})
		}
		if !slices.Contains(canonical, tag.Name) {
			canonical = append(canonical, tag.Name)
		}
	}
	return canonical, nil
}

// HasTag tells whether the object carries the tag, whatever the case.
func (m *Meta) HasTag(name string) bool {
	return slices.ContainsFunc(m.Tags, func(tag string) bool { return strings.EqualFold(tag, name) })
}

// AddTag and DropTag change the tags of an object of any type without touching
// its value; false when there is no such visible object.
func (c *Call) AddTag(kind, id, tag string) bool {
	return c.retag(kind, id, func(tags []string) []string {
		if slices.Contains(tags, tag) {
			return tags
		}
		return append(slices.Clone(tags), tag)
	})
}

// DropTag is the opposite of AddTag.
func (c *Call) DropTag(kind, id, tag string) bool {
	return c.retag(kind, id, func(tags []string) []string {
		return slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return strings.EqualFold(t, tag) })
	})
}

func (c *Call) retag(kind, id string, change func([]string) []string) bool {
	o := c.Account.objects[kind][id]
	if o == nil || o.VisibleAt.After(c.Now) {
		return false
	}
	o.Tags = change(o.Tags)
	o.ChangedAt = c.Now
	c.Account.changed()
	return true
}

// Tagged returns the visible objects of a type that carry the tag, oldest first.
func (c *Call) Tagged(kind, tag string) []Meta {
	var found []Meta
	for _, o := range c.Account.ordered(kind) {
		if o.HasTag(tag) && !o.VisibleAt.After(c.Now) {
			found = append(found, o.Meta)
		}
	}
	return found
}
