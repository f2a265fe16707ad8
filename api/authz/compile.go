package authz

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"

	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// Names in the context of a Cedar request. Patterns match them as text, so
// resources and actions stand there as text too.
const (
	contextPrincipal = "principal"
	contextHome      = "principalTenant"
	contextTenant    = "tenant"
	contextAction    = "action"
	contextResource  = "resource"
)

// The operators of conditions.
const (
	stringEquals    = "StringEquals"
	stringNotEquals = "StringNotEquals"
	stringLike      = "StringLike"
)

const attributePrefix = "resource."

// shape is what of a target decides how a statement is compiled.
type shape struct {
	unknown string // attributes, joined with commas
	items   string
}

func shapeOf(t intent.Target) shape {
	return shape{unknown: strings.Join(t.Unknown, ","), items: t.Items}
}

// compile turns a statement into a Cedar policy for targets of a shape; nil
// when it has nothing to say about them.
func compile(p platform.Policy, s platform.Statement, sh shape) *cedar.Policy {
	unknown := strings.Split(sh.unknown, ",")
	conditions, dropped := known(s.Condition, unknown, sh.items != "")
	policy := ast.Permit()
	if s.Effect == platform.Deny {
		if dropped {
			return nil // whether it denies is seen when the attribute is known
		}
		policy = ast.Forbid()
	}
	resource := anyLike(contextResource, s.Resources)
	if s.Effect == platform.Allow && sh.items != "" && reachesItems(s, sh.items) {
		resource = ast.True()
	}
	when := anyLike(contextPrincipal, p.Principals).
		And(reach(p.Tenants)).
		And(anyLike(contextAction, s.Actions)).
		And(resource)
	for _, c := range conditions {
		when = when.And(c)
	}
	return cedar.NewPolicyFromAST(policy.When(when))
}

// reachesItems: a policy that depends on the attributes of single things, or
// names some of them, lets the call through that lists them (D27). For cloud
// resources naming them is not enough: the contract decides that call on the
// tenant.
func reachesItems(s platform.Statement, items string) bool {
	if items == intent.TypeResource && len(s.Condition) == 0 {
		return false
	}
	return slices.ContainsFunc(s.Resources, func(pattern string) bool {
		literal, _, wild := strings.Cut(pattern, "*")
		return strings.HasPrefix(literal, items+"/") || wild && strings.HasPrefix(items+"/", literal)
	})
}

// known compiles the conditions on attributes that are known; dropped reports
// that there were others. For a call that lists items every attribute is unknown.
func known(condition map[string]map[string]platform.Strings, unknown []string, all bool) (nodes []ast.Node, dropped bool) {
	for _, operator := range slices.Sorted(maps.Keys(condition)) {
		for _, key := range slices.Sorted(maps.Keys(condition[operator])) {
			attribute := strings.TrimPrefix(key, attributePrefix)
			if all || slices.Contains(unknown, attribute) {
				dropped = true
				continue
			}
			nodes = append(nodes, test(operator, attribute, condition[operator][key]))
		}
	}
	return nodes, dropped
}

func test(operator, attribute string, values []string) ast.Node {
	has := ast.Resource().Has(types.String(attribute))
	value := ast.Resource().Access(types.String(attribute))
	switch operator {
	case stringEquals:
		return has.And(oneOf(values).Contains(value))
	case stringNotEquals:
		return ast.Not(has.And(oneOf(values).Contains(value)))
	case stringLike:
		one := ast.False()
		for _, v := range values {
			one = one.Or(value.Like(pattern(v)))
		}
		return has.And(one)
	}
	return ast.False() // an operator of a newer platform file: fail closed
}

func oneOf(values []string) ast.Node {
	set := make([]types.Value, len(values))
	for i, v := range values {
		set[i] = types.String(v)
	}
	return ast.Value(types.NewSet(set...))
}

// anyLike holds when a text of the context matches one of the patterns.
func anyLike(name types.String, patterns []string) ast.Node {
	node := ast.False()
	for _, p := range patterns {
		node = node.Or(ast.Context().Access(name).Like(pattern(p)))
	}
	return node
}

// pattern reads * as any run of characters; nothing else is special.
func pattern(text string) types.Pattern {
	var parts []any
	for i, literal := range strings.Split(text, "*") {
		if i > 0 {
			parts = append(parts, types.Wildcard{})
		}
		parts = append(parts, literal)
	}
	return types.NewPattern(parts...)
}

// reach: without tenants a policy is for each principal's own.
func reach(tenants []string) ast.Node {
	tenant := ast.Context().Access(contextTenant)
	switch {
	case len(tenants) == 0:
		return tenant.Equal(ast.Context().Access(contextHome))
	case slices.Contains(tenants, everyTenant):
		return ast.True()
	}
	return oneOf(tenants).Contains(tenant)
}

// everyTenant in a policy's tenants opens all of them.
const everyTenant = "*"

// matches tells in Go what pattern tells in Cedar, to select policies.
func matches(pat, text string) bool {
	parts := strings.Split(pat, "*")
	if len(parts) == 1 {
		return pat == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}

// namesSome reports whether a pattern of resources may tell things of a type apart.
func namesSome(pattern, kind string) bool {
	literal, rest, wild := strings.Cut(pattern, "*")
	switch {
	case wild && rest == "" && strings.HasPrefix(kind+"/", literal):
		return false // all of them
	case !strings.HasPrefix(literal, kind+"/") && !strings.HasPrefix(kind+"/", literal):
		return false // none of them
	}
	return true
}

// policyID names a statement in diagnostics.
func policyID(p platform.Policy, i int) cedar.PolicyID {
	return cedar.PolicyID(fmt.Sprintf("%s#%d", p.ID, i))
}
