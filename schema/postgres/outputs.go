package postgres

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
)

// seal stores the secret outputs that a run received, each under the name that
// it always has (D20), and reports whether any was new or different. A value
// that the store has already, or an empty one, writes nothing.
func (w *work) seal(ctx context.Context, r *cloud.Resource, values map[string]cloud.Secret) (wrote bool, err error) {
	for _, output := range slices.Sorted(maps.Keys(values)) {
		if values[output].Empty() {
			continue
		}
		value, name := values[output].Reveal(), cloud.OutputSecretName(r.ID, output)
		sealed, err := w.s.keys.Seal([]byte(value), []byte(cloud.NewSecretRef(r.TenantID, name)))
		if err != nil {
			return wrote, err
		}
		digest, err := hex.DecodeString(w.s.keys.Digest(value))
		if err != nil {
			return wrote, err
		}
		tag, err := w.tx.Exec(ctx, `INSERT INTO secrets AS s (tenant_id, name, sealed, digest, resource_id, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $6)
			ON CONFLICT (tenant_id, name) DO UPDATE
			SET sealed = EXCLUDED.sealed, digest = EXCLUDED.digest, resource_id = EXCLUDED.resource_id, updated_at = EXCLUDED.updated_at
			WHERE s.digest <> EXCLUDED.digest`, r.TenantID, name, sealed, digest, r.ID, w.now)
		if err != nil {
			return wrote, err
		}
		wrote = wrote || tag.RowsAffected() > 0
	}
	return wrote, nil
}

// SecretDigest is the keyed hash that the store keeps beside a sealed value.
func (s *Store) SecretDigest(value string) string { return s.keys.Digest(value) }

// SealedDigests returns the digests of a resource's sealed outputs, by the
// name of the output.
func (s *Store) SealedDigests(ctx context.Context, id string) (map[string]string, error) {
	all, err := s.SweepDigests(ctx, []string{id})
	return all[id], err
}

// SweepDigests returns the digests of the sealed outputs of many resources:
// resource id, then the name of the output.
func (s *Store) SweepDigests(ctx context.Context, ids []string) (map[string]map[string]string, error) {
	rows, err := s.pool.Query(ctx, "SELECT resource_id, name, digest FROM secrets WHERE resource_id = ANY ($1) AND resource_id <> ''", ids)
	if err != nil {
		return nil, mapError(err)
	}
	all := map[string]map[string]string{}
	var id, name string
	var digest []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &name, &digest}, func() error {
		if all[id] == nil {
			all[id] = map[string]string{}
		}
		all[id][name[len(cloud.OutputSecretName(id, "")):]] = hex.EncodeToString(digest)
		return nil
	})
	return all, mapError(err)
}
