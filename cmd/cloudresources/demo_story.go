//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	demoTenant  = "acme"
	clusterKind = "do.database.pg"
	userKind    = "do.database.pg.user"
)

// story lives one life of a database cluster and tells it.
type story struct {
	tenant  caller
	out     io.Writer
	started time.Time

	cluster, user shownResource
}

func newStory(tenant caller, out io.Writer) *story {
	return &story{tenant: tenant, out: out, started: time.Now()}
}

// tell lives the whole life; the first step that fails ends it.
func (s *story) tell(ctx context.Context) error {
	for _, step := range []struct {
		title string
		live  func(context.Context) error
	}{
		{"What can acme have in its pool?", s.kinds},
		{"Create a Postgres cluster", s.createCluster},
		{"Create a user in it", s.createUser},
		{"Reveal the user's password to its owner (once, and it is recorded)", s.revealPassword},
		{"Give the cluster a larger size", s.resize},
		{"List what acme has", s.list},
		{"Delete the cluster: what lives in it goes first", s.delete},
	} {
		fmt.Fprintf(s.out, "\n%s\n", step.title)
		if err := step.live(ctx); err != nil {
			return fmt.Errorf("%s: %w", strings.ToLower(step.title[:1])+step.title[1:], err)
		}
	}
	fmt.Fprintln(s.out)
	return nil
}

func (s *story) kinds(ctx context.Context) error {
	var answer struct {
		Items []struct {
			Kind   string `json:"kind"`
			Title  string `json:"title"`
			Family string `json:"family"`
		} `json:"items"`
	}
	if err := s.tenant.call(ctx, "cloudResources/kinds", object{"tenantId": demoTenant, "poolId": demoPool}, &answer); err != nil {
		return err
	}
	families := map[string][]string{}
	for _, kind := range answer.Items {
		families[kind.Family] = append(families[kind.Family], kind.Kind)
	}
	s.line("%d kinds", len(answer.Items))
	for _, family := range slices.Sorted(maps.Keys(families)) {
		some := families[family]
		more := ""
		if len(some) > 4 {
			some, more = some[:4], fmt.Sprintf(" and %d more", len(some)-4)
		}
		s.line("%-14s %s%s", family, strings.Join(some, ", "), more)
	}
	return nil
}

func (s *story) createCluster(ctx context.Context) (err error) {
	s.cluster, err = s.create(ctx, object{
		"kind": clusterKind, "name": "orders",
		"spec": object{"region": "nyc3", "size": "db-s-1vcpu-1gb", "version": "16", "num_nodes": 1},
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.cluster.Outputs)) {
		s.line("output %-14s %s", name, short(s.cluster.Outputs[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(s.cluster.SecretOutputs)) {
		s.line("secret %-14s %s", name, s.cluster.SecretOutputs[name])
	}
	return nil
}

func (s *story) createUser(ctx context.Context) (err error) {
	s.user, err = s.create(ctx, object{
		"kind": userKind, "name": "orders-app", "parentId": s.cluster.ID, "spec": object{"name": "app"},
	})
	return err
}

func (s *story) revealPassword(ctx context.Context) error {
	ref, ok := s.user.SecretOutputs["password"]
	if !ok {
		return errors.New("the user has no secret output named password")
	}
	s.line("reference %s", ref)
	var answer struct {
		Value string `json:"value"`
	}
	if err := s.tenant.call(ctx, "secrets/reveal", object{"tenantId": demoTenant, "ref": ref}, &answer); err != nil {
		return err
	}
	if answer.Value == "" {
		return errors.New("the answer holds no value")
	}
	s.line("value     %s   (a simulated one)", answer.Value)
	return nil
}

func (s *story) resize(ctx context.Context) error {
	change := object{"tenantId": demoTenant, "resourceId": s.cluster.ID, "spec": object{"size": "db-s-2vcpu-4gb"}}
	var updated shownResource
	if err := s.tenant.call(ctx, "cloudResources/update", change, &updated); err != nil {
		return err
	}
	_, err := s.follow(ctx, updated)
	return err
}

func (s *story) list(ctx context.Context) error {
	items, err := s.all(ctx, false)
	for _, item := range items {
		s.line("%-20s %-12s %-8s version %d  %s", item.Kind, item.Name, item.State, item.Version, item.ID)
	}
	if err == nil && len(items) != 2 {
		err = fmt.Errorf("%d resources, where 2 were created", len(items))
	}
	return err
}

func (s *story) create(ctx context.Context, input object) (shownResource, error) {
	input["tenantId"], input["poolId"] = demoTenant, demoPool
	input["idempotencyKey"] = "demo-" + input["name"].(string)
	var created shownResource
	if err := s.tenant.call(ctx, "cloudResources/create", input, &created); err != nil {
		return shownResource{}, err
	}
	s.line("%s %s is recorded as %s", created.Kind, created.Name, created.ID)
	return s.follow(ctx, created)
}

// line prints an indented line.
func (s *story) line(format string, args ...any) {
	fmt.Fprintf(s.out, "  %s\n", fmt.Sprintf(format, args...))
}

// short is a value on one line of a terminal.
func short(value any) string {
	const width = 70
	text := strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width]) + "..."
	}
	return text
}
