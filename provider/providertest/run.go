package providertest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
)

// Run runs every check for one kind, each on a backend of its own.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, c := range []struct {
		name  string
		check func(*stage)
	}{
		{"manifest", checkManifest},
		{"life", checkLife},
		{"quiet refreshes", checkQuiet},
		{"updates", checkUpdates},
		{"lost answers", checkLostAnswers},
		{"crash after create", checkCrash},
		{"late visibility", checkLate},
		{"delete twice", checkDeleteTwice},
		{"strangers", checkStrangers},
		{"labels", checkLabels},
		{"bad answers", checkBadAnswers},
		{"secrets in refusals", checkEcho},
		{"allowance", checkAllowance},
		{"paging", checkPaging},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(newStage(t, h))
		})
	}
}

// stage is a fresh backend with the account opened, and the parent made if the
// kind lives in one.
type stage struct {
	*testing.T
	h       Harness
	b       Backend
	opened  cloud.ProviderResources
	kind    cloud.Kind
	m       *cloud.Manifest
	subject func(key string) *subject
	parent  *subject
	made    int
}

func newStage(t *testing.T, h Harness) *stage {
	b := h.Start(t)
	opened, err := b.Provider().Open(b.Access())
	require.NoError(t, err)
	kind, ok := opened.Kind(h.Kind)
	require.True(t, ok, "the provider serves no kind %s", h.Kind)
	s := &stage{T: t, h: h, b: b, opened: opened, kind: kind, m: kind.Manifest()}
	if h.Spec == nil {
		s.h.Spec = example(t, s.m)
	}
	s.subject = func(key string) *subject {
		return newSubject(t, s.h, b, kind, s.h.Spec.Clone(), s.parentRef(), key)
	}
	if s.m.Parent != "" {
		s.makeParent()
	}
	s.made = b.Objects(t)
	return s
}

func (s *stage) makeParent() {
	kind, ok := s.opened.Kind(s.m.Parent)
	require.True(s, ok, "the provider serves no parent kind %s", s.m.Parent)
	spec := s.h.ParentSpec
	if spec == nil {
		spec = example(s.T, kind.Manifest())
	}
	s.parent = newSubject(s.T, s.h, s.b, kind, spec, nil, "parent").ready()
	for i, other := range s.h.Siblings {
		kind, ok := s.opened.Kind(other.Kind)
		require.True(s, ok, "the provider serves no kind %s", other.Kind)
		newSubject(s.T, s.h, s.b, kind, other.Spec, s.parentRef(), "sibling-"+strconv.Itoa(i)).ready()
	}
}

func (s *stage) parentRef() *cloud.ParentRef {
	if s.parent == nil {
		return nil
	}
	r := s.parent.r
	return &cloud.ParentRef{ResourceID: r.ID, Kind: r.Kind, ProviderID: r.ProviderID, Spec: r.Spec, Outputs: r.Outputs}
}

// objects counts the kind's objects that the check made.
func (s *stage) objects() int { return s.b.Objects(s.T) - s.made }

func (s *stage) list() []*cloud.Observed {
	found, err := s.kind.List(context.Background(), cloud.Scope{Parent: s.parentRef()})
	require.NoError(s, err)
	return found
}

func (s *stage) listed(x *subject) *cloud.Observed {
	found := s.list()
	i := slices.IndexFunc(found, func(o *cloud.Observed) bool { return o.ProviderID == x.r.ProviderID })
	require.GreaterOrEqual(s, i, 0, "the list has no %s", x.r.ProviderID)
	return found[i]
}

func example(t *testing.T, m *cloud.Manifest) cloud.Spec {
	spec, err := cloud.ParseSpec(m.Examples[0])
	require.NoError(t, err)
	return spec
}

func (s *stage) vary(i int) cloud.Spec {
	spec := s.h.Spec.Clone()
	switch {
	case s.h.Vary != nil:
		return s.h.Vary(spec, i)
	case s.m.Identity != nil && len(s.m.Identity.Fields) > 0:
		f := s.m.Identity.Fields[0]
		spec[f] = spec.String(f) + strconv.Itoa(i)
	}
	return spec
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
