package authz

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// Source gives the policies in force.
type Source interface {
	// PlatformRevision grows with each apply that changed something.
	PlatformRevision(ctx context.Context) (int64, error)
	// Policies returns every policy and the revision that they are of.
	Policies(ctx context.Context) ([]platform.Policy, int64, error)
}

// Authorizer decides calls. It is safe for concurrent use.
type Authorizer struct {
	source  Source
	loading sync.Mutex
	current atomic.Pointer[revision]
}

var _ intent.Authorizer = (*Authorizer)(nil)

// New returns an Authorizer over a source.
func New(source Source) *Authorizer { return &Authorizer{source: source} }

type revisionKey struct{}

// WithRevision tells decisions in ctx the platform's revision, so that a
// request asks for it once.
func WithRevision(ctx context.Context, n int64) context.Context {
	return context.WithValue(ctx, revisionKey{}, n)
}

// revision is the policies of one moment.
type revision struct {
	number   int64
	policies []platform.Policy
	// callers holds what concerns each principal in each tenant.
	callers sync.Map // [2]string -> *caller
	kept    atomic.Int64
}

func (a *Authorizer) revision(ctx context.Context) (*revision, error) {
	number, ok := ctx.Value(revisionKey{}).(int64)
	if !ok {
		var err error
		if number, err = a.source.PlatformRevision(ctx); err != nil {
			return nil, err
		}
	}
	if r := a.current.Load(); r != nil && r.number == number {
		return r, nil
	}
	a.loading.Lock()
	defer a.loading.Unlock()
	if r := a.current.Load(); r != nil && r.number == number {
		return r, nil
	}
	policies, number, err := a.source.Policies(ctx)
	if err != nil {
		return nil, err
	}
	r := &revision{number: number, policies: policies}
	a.current.Store(r)
	return r, nil
}

// caller is one principal in one tenant.
type caller struct {
	policies []platform.Policy
	sets     sync.Map // shape -> *cedar.PolicySet
	answers  sync.Map // question -> bool
	answered atomic.Int64
}

// maxCallers bounds what is kept; beyond it callers are made anew each time.
const maxCallers = 10_000

func (r *revision) caller(p intent.Principal, tenant string) *caller {
	key := [2]string{p.ID, tenant}
	if c, ok := r.callers.Load(key); ok {
		return c.(*caller)
	}
	c := &caller{}
	for _, policy := range r.policies {
		names := func(pattern string) bool { return matches(pattern, p.ID) }
		opened := slices.Contains(policy.Tenants, tenant) || slices.Contains(policy.Tenants, everyTenant)
		if len(policy.Tenants) == 0 {
			opened = p.Tenant == tenant
		}
		if opened && slices.ContainsFunc(policy.Principals, names) {
			c.policies = append(c.policies, policy)
		}
	}
	// Tokens of an issuer may name any number of users.
	if len(c.policies) > 0 && r.kept.Add(1) <= maxCallers {
		r.callers.Store(key, c)
	}
	return c
}

func (c *caller) set(sh shape) *cedar.PolicySet {
	if s, ok := c.sets.Load(sh); ok {
		return s.(*cedar.PolicySet)
	}
	set := cedar.NewPolicySet()
	for _, p := range c.policies {
		for i, statement := range p.Statements {
			if policy := compile(p, statement, sh); policy != nil {
				set.Add(policyID(p, i), policy)
			}
		}
	}
	c.sets.Store(sh, set)
	return set
}

// Reach is ACCESS_DENIED unless the tenant is the principal's own or a policy
// opens it to the principal.
func (a *Authorizer) Reach(ctx context.Context, p intent.Principal, tenant string) error {
	if p.Tenant == tenant {
		return nil
	}
	r, err := a.revision(ctx)
	if err != nil {
		return err
	}
	if len(r.caller(p, tenant).policies) == 0 {
		return cloud.Errorf(cloud.CodeAccessDenied, "%s may not act in this tenant", p.ID)
	}
	return nil
}

// Decide is ACCESS_DENIED unless a policy allows the action and none denies it.
func (a *Authorizer) Decide(ctx context.Context, p intent.Principal, action string, t intent.Target) error {
	r, err := a.revision(ctx)
	if err != nil {
		return err
	}
	if r.caller(p, t.Tenant).decide(p, action, t) {
		return nil
	}
	return cloud.Errorf(cloud.CodeAccessDenied, "%s may not do %s on %s/%s", p.ID, action, t.Type, t.ID).With("action", action)
}

// decide asks Cedar, or remembers its answer to the same question.
func (c *caller) decide(p intent.Principal, action string, t intent.Target) bool {
	q, ok := c.question(action, t)
	if ok {
		if allowed, known := c.answers.Load(q); known {
			return allowed.(bool)
		}
	}
	name := t.Type + "/" + t.ID
	decision, _ := cedar.Authorize(c.set(shapeOf(t)), entities(name, t.Attributes), cedar.Request{
		Principal: cedar.NewEntityUID("Principal", types.String(p.ID)),
		Action:    cedar.NewEntityUID("Action", types.String(action)),
		Resource:  cedar.NewEntityUID("Resource", types.String(name)),
		Context: cedar.NewRecord(cedar.RecordMap{
			contextPrincipal: types.String(p.ID), contextHome: types.String(p.Tenant), contextTenant: types.String(t.Tenant),
			contextAction: types.String(action), contextResource: types.String(name),
		}),
	})
	if ok && c.answered.Add(1) <= maxAnswers {
		c.answers.Store(q, decision == cedar.Allow)
	}
	return decision == cedar.Allow
}

// question is what an answer depends on when no policy names single things of
// the target's type.
type question struct {
	action, kind string
	shape
	attributes [len(attributeOrder)]string
}

var attributeOrder = [...]string{
	intent.AttributeKind, intent.AttributeFamily, intent.AttributeProvider, intent.AttributeAccount,
	intent.AttributePool, intent.AttributeRegion, intent.AttributeProject,
}

// maxAnswers bounds what is remembered of one caller.
const maxAnswers = 4096

// question is the target without its id; ok is false when the id may count.
func (c *caller) question(action string, t intent.Target) (q question, ok bool) {
	for _, p := range c.policies {
		for _, s := range p.Statements {
			for _, pattern := range s.Resources {
				if namesSome(pattern, t.Type) {
					return q, false
				}
			}
		}
	}
	q = question{action: action, kind: t.Type, shape: shapeOf(t)}
	for i, name := range attributeOrder {
		q.attributes[i] = t.Attributes[name]
	}
	return q, true
}

// entities holds the target with those attributes that it has.
func entities(name string, attributes map[string]string) cedar.EntityMap {
	record := cedar.RecordMap{}
	for k, v := range attributes {
		if v != "" {
			record[types.String(k)] = types.String(v)
		}
	}
	uid := cedar.NewEntityUID("Resource", types.String(name))
	return cedar.EntityMap{uid: {UID: uid, Attributes: cedar.NewRecord(record)}}
}
