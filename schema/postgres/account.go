package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// AccountAccess returns what opening an account needs, its token unsealed;
// Budget and Logger are the caller's to fill in. NOT_FOUND for an account that
// is not declared, UNAVAILABLE when its token cannot be read in this process.
func (s *Store) AccountAccess(ctx context.Context, id string) (cloud.AccountAccess, error) {
	a := cloud.AccountAccess{ID: id}
	var sealed, source []byte
	err := s.pool.QueryRow(ctx, `
		SELECT a.provider, a.api_url, a.regions, a.previews, a.token_sealed, a.token_source, coalesce((SELECT name FROM deployment), '')
		FROM provider_accounts a WHERE a.id = $1 AND a.declared`, id).
		Scan(&a.Provider, &a.APIURL, &a.Regions, &a.Previews, &sealed, &source, &a.Deployment)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, errNotFound("provider account")
	}
	if err != nil {
		return a, mapError(err)
	}
	a.Token, err = s.openSecret(accountSecret(id), sealed, source)
	return a, err
}

// openSecret is the value of a secret that the platform file brought: sealed,
// or by where this process finds it. Empty when there is neither.
func (s *Store) openSecret(place string, sealed, source []byte) (cloud.Secret, error) {
	switch {
	case sealed != nil:
		plain, err := s.keys.Open(sealed, []byte(place))
		return cloud.NewSecret(string(plain)), err
	case source != nil:
		var src platform.SecretSource
		if err := json.Unmarshal(source, &src); err != nil {
			return cloud.Secret{}, mapError(err)
		}
		v, err := src.Resolve()
		if err != nil {
			return v, &cloud.Error{Code: cloud.CodeUnavailable, Message: "a secret of the platform cannot be read here", Err: err}
		}
		return v, nil
	}
	return cloud.Secret{}, nil
}

// AccountInfo is a declared account as operators see it.
type AccountInfo struct {
	ID       string
	Provider string
	Owner    string
	Regions  []string
	Previews bool
	// UnreachableSince and Message are set while it does not answer for us (D8).
	UnreachableSince time.Time
	Message          string
}

// Accounts lists the declared accounts by id.
func (s *Store) Accounts(ctx context.Context) ([]AccountInfo, error) {
	rows, err := s.pool.Query(ctx, `SELECT id, provider, owner_tenant_id, regions, previews, unreachable_since, unreachable_message
		FROM provider_accounts WHERE declared ORDER BY id`)
	if err != nil {
		return nil, mapError(err)
	}
	accounts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (AccountInfo, error) {
		var a AccountInfo
		var since *time.Time
		err := row.Scan(&a.ID, &a.Provider, &a.Owner, &a.Regions, &a.Previews, &since, &a.Message)
		if since != nil {
			a.UnreachableSince = since.UTC()
		}
		return a, err
	})
	return accounts, mapError(err)
}

// Deployment is this deployment's name. UNAVAILABLE before the first apply:
// without it nothing could be labelled as ours.
func (s *Store) Deployment(ctx context.Context) (string, error) { return deployment(ctx, s.pool) }

func deployment(ctx context.Context, q querier) (string, error) {
	var name string
	err := q.QueryRow(ctx, "SELECT name FROM deployment").Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", cloud.Errorf(cloud.CodeUnavailable, "no platform file has been applied yet")
	}
	return name, mapError(err)
}

// Daemon returns where commands of a kind go: the first declared entry that
// matches. NOT_FOUND when none does.
func (s *Store) Daemon(ctx context.Context, kind string) (url string, token cloud.Secret, err error) {
	var sealed, source []byte
	// A pattern's only special character is *; the others of LIKE are escaped.
	err = s.pool.QueryRow(ctx, `
		SELECT url, token_sealed, token_source FROM daemons
		WHERE EXISTS (SELECT FROM unnest(kinds) k WHERE $1 LIKE replace(replace(replace(replace(k, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'))
		ORDER BY position LIMIT 1`, kind).Scan(&url, &sealed, &source)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", token, errNotFound("daemon for this kind of command")
	}
	if err != nil {
		return "", token, mapError(err)
	}
	token, err = s.openSecret(daemonSecret(url), sealed, source)
	return url, token, err
}
