//go:build unix

package main

import (
	"context"
	"fmt"
	"time"
)

// lookEvery is how often the demo asks the API while something goes on.
const lookEvery = 100 * time.Millisecond

// follow shows each state and message of the resource until it is ready.
func (s *story) follow(ctx context.Context, resource shownResource) (shownResource, error) {
	s.show(resource)
	for resource.State != "ready" {
		if err := settled(resource); err != nil {
			return resource, err
		}
		if err := pause(ctx); err != nil {
			return resource, err
		}
		var now shownResource
		input := object{"tenantId": demoTenant, "resourceId": resource.ID}
		if err := s.tenant.call(ctx, "cloudResources/get", input, &now); err != nil {
			return resource, err
		}
		if now.State != resource.State || now.Message != resource.Message {
			s.show(now)
		}
		resource = now
	}
	return resource, nil
}

// delete deletes the cluster and shows both ends; the user's must come first.
func (s *story) delete(ctx context.Context) error {
	var deleting shownResource
	if err := s.tenant.call(ctx, "cloudResources/delete", object{"tenantId": demoTenant, "resourceId": s.cluster.ID}, &deleting); err != nil {
		return err
	}
	seen := map[string]string{}
	for {
		items, err := s.all(ctx, true)
		if err != nil {
			return err
		}
		states := map[string]string{}
		for _, item := range items {
			states[item.ID] = item.State
			if item.State == "error" {
				return settled(item)
			}
			if seen[item.ID] != item.State {
				seen[item.ID] = item.State
				s.show(item)
			}
		}
		switch {
		case states[s.cluster.ID] == "deleted" && states[s.user.ID] != "deleted":
			return fmt.Errorf("the cluster is deleted while its user is %s", states[s.user.ID])
		case states[s.cluster.ID] == "deleted":
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func (s *story) all(ctx context.Context, includeDeleted bool) ([]shownResource, error) {
	var answer struct {
		Items []shownResource `json:"items"`
	}
	err := s.tenant.call(ctx, "cloudResources/list", object{"tenantId": demoTenant, "includeDeleted": includeDeleted}, &answer)
	return answer.Items, err
}

func (s *story) show(r shownResource) {
	s.line("%6.1fs  %-12s %-13s %s", time.Since(s.started).Seconds(), r.Name, r.State, short(r.Message))
}

// settled is an error when the resource will not become ready by itself soon.
func settled(r shownResource) error {
	switch r.State {
	case "error", "deleted", "released":
		return fmt.Errorf("%s %s is in state %s: %s", r.Kind, r.Name, r.State, r.Message)
	}
	return nil
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(lookEvery):
		return nil
	}
}
