package postgres

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud/quorum"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// Settings are what the platform file says about the whole deployment.
type Settings struct {
	MaxPerKind  int64             `json:"maxPerKind"`
	KindMeters  []string          `json:"kindMeters,omitempty"`
	PKI         *platform.PKI     `json:"pki,omitempty"`
	OIDCIssuers []platform.Issuer `json:"oidcIssuers,omitempty"`
}

// PlatformRevision grows with each apply that changed something. Who keeps
// compiled policies or issuers asks for it before each decision (one row by
// primary key) and reads them again when it moved, so that a call after an
// apply never sees the old ones. 0 before the first apply.
func (s *Store) PlatformRevision(ctx context.Context) (int64, error) {
	var revision int64
	err := s.pool.QueryRow(ctx, "SELECT revision FROM deployment").Scan(&revision)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return revision, mapError(err)
}

// Policies returns every policy in the order of their ids and the revision that
// they are of, read at one moment.
func (s *Store) Policies(ctx context.Context) ([]platform.Policy, int64, error) {
	var revision int64
	var raw []byte
	err := s.pool.QueryRow(ctx, `SELECT coalesce((SELECT revision FROM deployment), 0),
		coalesce((SELECT jsonb_agg(document ORDER BY id) FROM policies), '[]')`).Scan(&revision, &raw)
	if err != nil {
		return nil, 0, mapError(err)
	}
	var policies []platform.Policy
	return policies, revision, mapError(json.Unmarshal(raw, &policies))
}

// Settings returns the deployment's settings and the revision that they are of.
func (s *Store) Settings(ctx context.Context) (Settings, int64, error) {
	return settings(ctx, s.pool)
}

func settings(ctx context.Context, q querier) (Settings, int64, error) {
	st := Settings{MaxPerKind: defaultMaxPerKind}
	var revision int64
	var raw []byte
	err := q.QueryRow(ctx, "SELECT revision, settings FROM deployment").Scan(&revision, &raw)
	if errors.Is(err, pgx.ErrNoRows) {
		return st, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &st)
	}
	return st, revision, mapError(err)
}

// Issuers are the OIDC issuers whose tokens are accepted.
func (s *Store) Issuers(ctx context.Context) ([]platform.Issuer, error) {
	settings, _, err := s.Settings(ctx)
	return settings.OIDCIssuers, err
}

// QuorumPolicy returns the approver keys in force; without any it has no
// approvers and threshold 0.
func (s *Store) QuorumPolicy(ctx context.Context) (quorum.Policy, error) {
	st, _, err := s.Settings(ctx)
	return st.PKI.Policy(), err
}
