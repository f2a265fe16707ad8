package postgres

import (
	"context"
	"encoding/hex"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
)

// putSealed writes a secret unless the same value stands there already.
func (s *Store) putSealed(ctx context.Context, tx pgx.Tx, tenant, name string, value cloud.Secret) (changed bool, err error) {
	plain := value.Reveal()
	sealed, err := s.keys.Seal([]byte(plain), []byte(cloud.NewSecretRef(tenant, name)))
	if err != nil {
		return false, err
	}
	digest, err := hex.DecodeString(s.keys.Digest(plain))
	if err != nil {
		return false, err
	}
	tag, err := tx.Exec(ctx, `
		INSERT INTO secrets AS s (tenant_id, name, sealed, digest, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $5)
		ON CONFLICT (tenant_id, name) DO UPDATE SET sealed = excluded.sealed, digest = excluded.digest, updated_at = excluded.updated_at
		WHERE s.digest <> excluded.digest`, tenant, name, sealed, digest, s.now())
	return tag.RowsAffected() == 1, err
}

// unsealRefs opens the secrets that refs name. Those that are not the tenant's
// or not there are left out of the result.
func (s *Store) unsealRefs(ctx context.Context, q querier, tenant string, refs []string) (map[string]cloud.Secret, error) {
	names := ownNames(tenant, refs)
	if len(names) == 0 {
		return map[string]cloud.Secret{}, nil
	}
	rows, err := q.Query(ctx, `SELECT name, sealed FROM secrets WHERE tenant_id = $1 AND name = ANY ($2)`, tenant, names)
	if err != nil {
		return nil, err
	}
	values := map[string]cloud.Secret{}
	var name string
	var sealed []byte
	_, err = pgx.ForEachRow(rows, []any{&name, &sealed}, func() error {
		ref := cloud.NewSecretRef(tenant, name)
		plain, err := s.keys.Open(sealed, []byte(ref))
		values[string(ref)] = cloud.NewSecret(string(plain))
		return err
	})
	if err != nil {
		return nil, err
	}
	return values, nil
}

// refDigests returns the digests of the secrets that refs name, by reference,
// without opening any. Those that are not the tenant's or not there are left
// out.
func (s *Store) refDigests(ctx context.Context, q querier, tenant string, refs []string) (map[string]string, error) {
	return digestsByRef(ctx, q, tenant, refs, "")
}

// lockRefs is refDigests for a transaction that is about to record the
// references: none of them can be deleted before it ends.
func (s *Store) lockRefs(ctx context.Context, tx pgx.Tx, tenant string, refs []string) (map[string]string, error) {
	return digestsByRef(ctx, tx, tenant, refs, " ORDER BY name FOR KEY SHARE")
}

func digestsByRef(ctx context.Context, q querier, tenant string, refs []string, lock string) (map[string]string, error) {
	digests := map[string]string{}
	names := ownNames(tenant, refs)
	if len(names) == 0 {
		return digests, nil
	}
	rows, err := q.Query(ctx, `SELECT name, digest FROM secrets WHERE tenant_id = $1 AND name = ANY ($2)`+lock, tenant, names)
	if err != nil {
		return nil, err
	}
	var name string
	var digest []byte
	_, err = pgx.ForEachRow(rows, []any{&name, &digest}, func() error {
		digests[string(cloud.NewSecretRef(tenant, name))] = hex.EncodeToString(digest)
		return nil
	})
	return digests, err
}

// ownNames are the names of those references that are the tenant's.
func ownNames(tenant string, refs []string) []string {
	var names []string
	for _, ref := range refs {
		if t, name, ok := cloud.SecretRef(ref).Parse(); ok && t == tenant {
			names = append(names, name)
		}
	}
	return names
}
