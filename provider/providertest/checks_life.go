package providertest

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/xeipuuv/gojsonschema"

	"github.com/better-compute/cloud-resources/cloud"
)

func checkManifest(s *stage) {
	schema, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(s.m.Spec))
	require.NoError(s, err, "the spec's schema")
	for i, raw := range s.m.Examples {
		result, err := schema.Validate(gojsonschema.NewBytesLoader(raw))
		require.NoError(s, err)
		require.True(s, result.Valid(), "example %d: %v", i, result.Errors())
		spec, err := cloud.ParseSpec(raw)
		require.NoError(s, err)
		if c, ok := s.kind.(cloud.SpecChecker); ok {
			require.NoError(s, c.CheckSpec(spec), "example %d", i)
		}
		if n, ok := s.kind.(cloud.SpecNormaliser); ok {
			once := n.NormaliseSpec(spec)
			require.Equal(s, string(once.JSON()), string(n.NormaliseSpec(once).JSON()), "normalising twice")
		}
	}
	var root map[string]any
	require.NoError(s, json.Unmarshal(s.m.Spec, &root))
	described(s, "spec", root)
	for _, o := range s.m.Outputs {
		require.NotEmpty(s, o.Description, "output %s", o.Name)
	}
	for _, o := range s.m.SecretOutputs {
		require.NotEmpty(s, o.Description, "secret output %s", o.Name)
	}
	_, labels := s.kind.(cloud.Labeler)
	require.Equal(s, s.m.Ownership == cloud.OwnedByLabels, labels, "a kind owned by labels writes and removes them, another does not")
	if s.m.Books != "" {
		require.Implements(s, (*cloud.Booker)(nil), s.kind)
	}
}

// described walks a schema: every property has a description, and objects say
// whether they take others.
func described(s *stage, path string, node map[string]any) {
	properties, _ := node["properties"].(map[string]any)
	if len(properties) > 0 {
		require.Contains(s, node, "additionalProperties", "%s does not say whether it takes other fields", path)
	}
	for name, p := range properties {
		child, ok := p.(map[string]any)
		require.True(s, ok, "%s.%s", path, name)
		require.NotEmpty(s, child["description"], "%s.%s has no description", path, name)
		described(s, path+"."+name, child)
	}
	if items, ok := node["items"].(map[string]any); ok {
		described(s, path+"[]", items)
	}
}

func checkLife(s *stage) {
	x := s.subject("life").ready()
	require.Equal(s, 1, s.objects(), "one object per record")
	require.Empty(s, x.failures, "it failed on the way")
	require.NotEmpty(s, x.r.ProviderID)
	require.False(s, x.r.AcceptedAt.IsZero())
	for name := range x.r.Outputs {
		require.Contains(s, s.m.OutputNames(), name, "an output that the manifest does not name")
	}
	for _, secret := range s.m.SecretOutputs {
		if !secret.Optional {
			require.False(s, x.sealed[secret.Name].Empty(), "no secret %s", secret.Name)
		}
	}
	for name := range x.sealed {
		require.Contains(s, s.m.SecretNames(), name, "a secret that the manifest does not name")
	}
	found := s.listed(x)
	require.Empty(s, s.kind.Diff(x.request(false), found), "the list tells of a difference that a look does not")
	if s.m.Parent != "" {
		require.Equal(s, x.r.Identity, found.Identity, "identity as the list tells it")
	}
	again := *x.r
	again.ProviderID = ""
	q := x.request(false)
	q.ProviderID = ""
	o, err := s.kind.Find(context.Background(), q)
	require.NoError(s, err, "find without an id")
	require.Equal(s, x.r.ProviderID, o.ProviderID)
	require.Empty(s, cloud.Foreign(&again, s.m, o, s.b.Access().Deployment))
	outside, err := json.Marshal([]any{x.r.Outputs, x.r.Memo, o.Spec, o.Outputs, o.Message, found})
	require.NoError(s, err)
	x.noLeak(string(outside))
	x.gone()
	require.Zero(s, s.objects(), "nothing is left")
}

func checkQuiet(s *stage) {
	x := s.subject("quiet").ready()
	x.quiet(10)
}

// quiet refreshes a ready resource: no difference, no write, no failure.
func (s *subject) quiet(times int) {
	s.t.Helper()
	before := s.backend.Writes(s.t)
	for i := range times {
		o, err := s.look()
		require.NoError(s.t, err)
		require.NotNil(s.t, o, "look %d finds nothing", i)
		require.Empty(s.t, s.kind.Diff(s.request(false), o), "look %d: wanted %s, observed %s", i, s.r.Spec.JSON(), text(o))
		s.pass()
		require.Equal(s.t, cloud.StateReady, s.r.State, s.r.Message)
	}
	require.Equal(s.t, before, s.backend.Writes(s.t), "refreshes wrote")
}

func checkUpdates(s *stage) {
	var covered []string
	for _, patch := range s.h.Updates {
		covered = append(covered, sorted(patch)...)
	}
	for _, f := range s.m.Updatable() {
		if !slices.Contains(covered, f) && s.h.NotUpdated[f] == "" {
			s.Errorf("no update of %s is tested", f)
		}
	}
	require.Empty(s, s.m.NotUpdatable(covered), "the manifest does not call these updatable")
	if len(s.h.Updates) == 0 {
		return
	}
	x := s.subject("updates").ready()
	id := x.r.ProviderID
	for _, patch := range s.h.Updates {
		before, writes := x.r.Spec, s.b.Writes(s.T)
		x.want(patch)
		x.ready()
		require.Greater(s, s.b.Writes(s.T), writes, "the change %s was not sent", patch.JSON())
		require.Equal(s, id, x.r.ProviderID, "changed in place")
		require.Empty(s, x.failures, "from %s by %s", before.JSON(), patch.JSON())
		require.Equal(s, 1, s.objects())
		x.quiet(3)
		applied(x, patch)
	}
}

// applied: the provider shows what the patch asked for, even to one who does
// not know what was applied before.
func applied(x *subject, patch cloud.Spec) {
	x.t.Helper()
	o, err := x.look()
	require.NoError(x.t, err)
	q := x.request(false)
	q.Applied = nil
	for _, f := range x.kind.Diff(q, o) {
		require.NotContains(x.t, patch, f, "wanted %s, observed %s", x.r.Spec.JSON(), text(o))
	}
}

func checkDeleteTwice(s *stage) {
	x := s.subject("twice").ready()
	require.NoError(s, s.kind.Delete(context.Background(), x.request(true)))
	err := s.kind.Delete(context.Background(), x.request(true))
	if err != nil {
		require.Contains(s, []cloud.Class{cloud.ClassNotFound, cloud.ClassBusy}, cloud.ClassOf(err), "deleting what goes away already: %v", err)
	}
	x.r.WantDelete(time.Now())
	require.Eventually(s, func() bool {
		o, err := x.look()
		return err == nil && o == nil
	}, 20*time.Second, 5*time.Millisecond, "it does not go away")
	if err := s.kind.Delete(context.Background(), x.request(true)); err != nil {
		require.Equal(s, cloud.ClassNotFound, cloud.ClassOf(err), "deleting what is gone: %v", err)
	}
	require.Zero(s, s.objects())
}
