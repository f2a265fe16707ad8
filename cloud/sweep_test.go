package cloud

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSweep(t *testing.T) {
	t.Parallel()
	m := manifestOf(OwnedByLabels)
	now := t0.Add(time.Hour)
	with := func(fn func(r *Resource)) *Resource { r := running(); fn(r); return r }
	object := func(fn func(o *Observed)) *Observed { o := seen(PhaseReady); fn(o); return o }
	cases := map[string]struct {
		record  *Resource
		look    Look
		secrets []string
		want    Finding
		class   Class
	}{
		"unchanged":             {running(), Look{Observed: seen(PhaseReady)}, nil, FindNothing, ""},
		"absent":                {running(), Look{}, nil, FindMissing, ""},
		"absent again, early":   {with(func(r *Resource) { r.Missing(now.Add(-time.Minute)) }), Look{}, nil, FindNothing, ""},
		"absent again":          {with(func(r *Resource) { r.Missing(now.Add(-3 * time.Minute)) }), Look{}, nil, FindGone, ""},
		"just created":          {with(func(r *Resource) { r.AttemptedAt = now.Add(-time.Minute) }), Look{}, nil, FindNothing, ""},
		"back":                  {with(func(r *Resource) { r.Missing(t0) }), Look{Observed: seen(PhaseReady)}, nil, FindChanged, ""},
		"another output":        {running(), Look{Observed: object(func(o *Observed) { o.Outputs["host"] = "h2" })}, nil, FindChanged, ""},
		"an output less":        {running(), Look{Observed: object(func(o *Observed) { o.Outputs = nil })}, nil, FindNothing, ""},
		"output, other type":    {with(func(r *Resource) { r.Outputs = map[string]any{"ports": []any{"1"}} }), Look{Observed: object(func(o *Observed) { o.Outputs = map[string]any{"ports": []string{"1"}} })}, nil, FindNothing, ""},
		"a rotated secret":      {running(), Look{Observed: seen(PhaseReady)}, []string{"password"}, FindChanged, ""},
		"drift":                 {running(), Look{Observed: seen(PhaseReady), Diff: []string{"size"}}, nil, FindDrift, ""},
		"drift, told already":   {with(func(r *Resource) { r.Drift = []string{"size"} }), Look{Observed: seen(PhaseReady), Diff: []string{"size"}}, nil, FindNothing, ""},
		"more drift":            {with(func(r *Resource) { r.Drift = []string{"size"} }), Look{Observed: seen(PhaseReady), Diff: []string{"window", "size"}}, nil, FindDrift, ""},
		"drift while busy":      {running(), Look{Observed: seen(PhaseBusy), Diff: []string{"size"}}, nil, FindNothing, ""},
		"drift is over":         {with(func(r *Resource) { r.Drift = []string{"size"} }), Look{Observed: seen(PhaseReady)}, nil, FindChanged, ""},
		"repairs are over":      {with(func(r *Resource) { r.Repairs = map[string]int{"size": 1} }), Look{Observed: seen(PhaseReady)}, nil, FindChanged, ""},
		"observed only follows": {with(func(r *Resource) { r.ObservedOnly = true }), Look{Observed: object(func(o *Observed) { o.Spec = Spec{"size": "s9"} })}, nil, FindChanged, ""},
		"observed only, same":   {with(func(r *Resource) { r.ObservedOnly = true }), Look{Observed: seen(PhaseReady)}, nil, FindNothing, ""},
		"failed":                {running(), Look{Observed: seen(PhaseFailed)}, nil, FindSuspect, ClassRefused},
		"failed, told already":  {with(func(r *Resource) { r.Suspect(ClassRefused, t0) }), Look{Observed: seen(PhaseFailed)}, nil, FindNothing, ""},
		"labels lost":           {running(), Look{Observed: object(func(o *Observed) { o.Owner = Owner{} })}, nil, FindSuspect, ClassNotManaged},
		"somebody else's":       {running(), Look{Observed: object(func(o *Observed) { o.Owner.Deployment = "there" })}, nil, FindSuspect, ClassNotManaged},
		"trouble is over":       {with(func(r *Resource) { r.Message = "the account does not answer" }), Look{Observed: seen(PhaseReady)}, nil, FindChanged, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, class := Sweep(c.record, m, c.look, c.secrets, deploymentName, settings, now)
			require.Equal(t, c.want, got)
			require.Equal(t, c.class, class)
		})
	}
}

func TestRefreshedIsStable(t *testing.T) {
	t.Parallel()
	m := manifestOf(OwnedByLabels)
	r := running()
	o := seen(PhaseReady)
	o.Outputs = map[string]any{"host": "h2", "port": 5432, "tags": []string{"a", "b"}}
	finding, _ := Sweep(r, m, Look{Observed: o}, nil, deploymentName, settings, t0)
	require.Equal(t, FindChanged, finding)
	r.Refreshed(o, nil, nil, t0)
	for range 10 {
		finding, _ = Sweep(r, m, Look{Observed: o}, nil, deploymentName, settings, t0)
		require.Equal(t, FindNothing, finding, "a second look at the same object finds nothing to write")
	}
}
