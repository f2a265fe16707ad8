//go:build unix

package main

import (
	"context"
	"fmt"

	platformfile "github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres"
)

// applyDevelopment puts the embedded platform in force, with the simulator as its
// provider, and makes the key set of the first start.
func (s *local) applyDevelopment(ctx context.Context) error {
	keys, err := postgres.LoadKeyset(s.layout.keyset(), true)
	if err != nil {
		return err
	}
	store, err := postgres.Open(ctx, s.postgres.URL(databaseName), postgres.WithKeyset(keys), postgres.WithMaxConns(2))
	if err != nil {
		return err
	}
	defer store.Close()
	file, err := platformfile.Development(s.layout.simulatorURL())
	if err != nil {
		return err
	}
	changes, err := store.Apply(ctx, file, postgres.ApplyOptions{})
	if err != nil {
		return fmt.Errorf("applying the development platform: %w", err)
	}
	s.say("the development platform is applied, %d changes", len(changes))
	return nil
}
