package core

import (
	"slices"
	"strings"
)

// What concerns objects of whatever type: URNs, networks, projects.

// URN returns the URN of an object, "" when its type has none.
func (c *Call) URN(m Meta) string {
	for _, area := range c.server.areas {
		for word, table := range area.URNs {
			if table == m.Type {
				return "do:" + word + ":" + m.ID
			}
		}
	}
	return ""
}

// TableOfURN returns the table type of the type word of a URN.
func (c *Call) TableOfURN(word string) (string, bool) {
	for _, area := range c.server.areas {
		if table, ok := area.URNs[word]; ok {
			return table, true
		}
	}
	return "", false
}

// Lookup returns what is common of a visible object of any type.
func (c *Call) Lookup(kind, id string) (Meta, bool) {
	o := c.Account.objects[kind][id]
	if o == nil || o.VisibleAt.After(c.Now) {
		return Meta{}, false
	}
	return o.Meta, true
}

// ofURN returns the object of a URN, visible or not.
func (c *Call) ofURN(urn string) *object {
	parts := strings.SplitN(urn, ":", 3)
	if len(parts) != 3 || parts[0] != "do" {
		return nil
	}
	table, ok := c.TableOfURN(parts[1])
	if !ok {
		return nil
	}
	return c.Account.objects[table][parts[2]]
}

// InVPC returns every object, visible or not, that is a member of the VPC,
// oldest first.
func (c *Call) InVPC(id string) []Meta {
	return c.Select(func(m *Meta) bool { return slices.Contains(m.VPCs, id) })
}

// Select returns what is common of the objects that match, visible or not,
// oldest first.
func (c *Call) Select(match func(*Meta) bool) []Meta {
	var found []Meta
	for _, o := range c.Account.ordered("") {
		if match(&o.Meta) {
			found = append(found, o.Meta)
		}
	}
	return found
}

// ProjectOfURN returns the project that an object was put into; "" for the
// default one and for an unknown URN.
func (c *Call) ProjectOfURN(urn string) string {
	if o := c.ofURN(urn); o != nil {
		return o.Project
	}
	return ""
}

// SetProject puts the object of a URN into a project; an unknown URN changes
// nothing.
func (c *Call) SetProject(urn, project string) {
	if o := c.ofURN(urn); o != nil {
		o.Project, o.ProjectAt = project, c.Now
		c.Account.changed()
	}
}
