package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider"
)

// familyLife is a kind that stands for its family, and how many provider calls a
// script written by hand would make for the same life: create, looks until it
// is there (one for what is made at once, three for what takes time), delete,
// one look that it is gone.
type familyLife struct {
	family cloud.Family
	kind   string
	script int
}

var familyLives = []familyLife{
	{cloud.FamilyData, "do.database.pg", 6},
	{cloud.FamilyStorage, "do.volume", 3},
	{cloud.FamilyObservability, "do.uptime.check", 3},
	{cloud.FamilyPlatform, "do.app", 6},
	{cloud.FamilyNetwork, "do.network.partner-attachment", 6},
	{cloud.FamilyEdge, "do.edge.domain", 3},
	{cloud.FamilyAI, "do.ai.dedicated-inference", 6},
}

// families adds a row per family: provider calls and history events of one life
// of its kind's first example.
func (b *bench) families(ctx context.Context, t *table) error {
	t.add("", "", "", "")
	t.add("ONE LIFE OF", "PROVIDER CALLS, HISTORY EVENTS", "CALLS OF A SCRIPT", "RATIO")
	for _, f := range familyLives {
		m := manifestOf(f.kind)
		if m == nil {
			t.add(string(f.family)+": "+f.kind, "not served", "", "")
			continue
		}
		var spec map[string]any
		if err := json.Unmarshal(m.Examples[0], &spec); err != nil {
			return err
		}
		calls, events, err := b.oneLife(ctx, f.kind, spec)
		if err != nil {
			return fmt.Errorf("%s: %w", f.kind, err)
		}
		t.add(string(f.family)+": "+f.kind, fmt.Sprintf("%d, %d", calls, events), fmt.Sprint(f.script), fmt.Sprintf("%.2f", float64(calls)/float64(f.script)))
	}
	return nil
}

func manifestOf(kind string) *cloud.Manifest {
	for _, p := range provider.Clouds() {
		for _, m := range p.Manifests() {
			if m.Kind == kind {
				return m
			}
		}
	}
	return nil
}

func (b *bench) oneLife(ctx context.Context, kind string, spec map[string]any) (calls, events int, err error) {
	if err := b.control.ClearRequests(ctx); err != nil {
		return 0, 0, err
	}
	name := "family-" + fmt.Sprint(time.Now().UnixNano())
	r, err := b.create(ctx, kind, name, spec)
	if err != nil {
		return 0, 0, err
	}
	if err := b.wait(ctx, r.ID, "ready"); err != nil {
		return 0, 0, err
	}
	if err := b.call(ctx, "cloudResources/delete", map[string]any{"resourceId": r.ID}, nil); err != nil {
		return 0, 0, err
	}
	if err := b.wait(ctx, r.ID, "deleted"); err != nil {
		return 0, 0, err
	}
	if err := b.temporal.GetWorkflow(ctx, r.ID, "").Get(ctx, nil); err != nil {
		return 0, 0, err
	}
	requests, err := b.control.Requests(ctx, "", 0)
	if err != nil {
		return 0, 0, err
	}
	events, err = b.events(ctx, r.ID)
	return len(requests), events, err
}
