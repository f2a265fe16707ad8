package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
)

// MaxSecretBytes is the most that a tenant's secret may take.
const MaxSecretBytes = 64 << 10

// outputPrefix begins the names of sealed outputs; tenants cannot put there.
const outputPrefix = "resources/"

var secretNamePattern = regexp.MustCompile(`^[A-Za-z0-9._:/-]{1,256}$`)

// The audit actions of secrets; the calls are authorized under the same words.
const (
	actionSecretWrite  = "compute:secrets:write"
	actionSecretReveal = "compute:secrets:reveal"
)

// SecretInfo is a secret without its value.
type SecretInfo = ports.Secret

// PutSecret seals a value under a name, replacing what stood there, and returns
// its reference. INVALID_INPUT names the field name (pattern, or the prefix of
// sealed outputs) or value (empty, or beyond MaxSecretBytes); UNSUPPORTED
// without a secret store.
func (s *Store) PutSecret(ctx context.Context, tenant, name string, value cloud.Secret, actor string) (cloud.SecretRef, error) {
	switch {
	case !secretNamePattern.MatchString(name):
		return "", cloud.InvalidField("a secret's name has 1 to 256 letters, digits or ._:/-", "name")
	case strings.HasPrefix(name, outputPrefix):
		return "", cloud.InvalidField("names below "+outputPrefix+" belong to the outputs of resources", "name")
	case value.Empty():
		return "", cloud.InvalidField("a secret is not empty", "value")
	case len(value.Reveal()) > MaxSecretBytes:
		return "", cloud.InvalidField(fmt.Sprintf("a secret has at most %d bytes", MaxSecretBytes), "value")
	}
	ref := cloud.NewSecretRef(tenant, name)
	err := s.tx(ctx, func(tx pgx.Tx) error {
		changed, err := s.putSealed(ctx, tx, tenant, name, value)
		if err != nil {
			return err
		}
		return s.appendAudit(ctx, tx, AuditEntry{Tenant: tenant, Actor: actor, Action: actionSecretWrite,
			Subject: string(ref), Detail: map[string]any{"put": true, "changed": changed}})
	})
	if err != nil {
		return "", err
	}
	return ref, nil
}

// ListSecrets returns up to limit of the tenant's secrets in the order of their
// names, after the given name ("" for the first); sealed outputs of its
// resources are among them.
func (s *Store) ListSecrets(ctx context.Context, tenant, after string, limit int) ([]SecretInfo, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT name, resource_id, created_at, updated_at FROM secrets
		WHERE tenant_id = $1 AND name > $2 ORDER BY name LIMIT $3`, tenant, after, limit)
	if err != nil {
		return nil, mapError(err)
	}
	infos, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (SecretInfo, error) {
		var i SecretInfo
		err := row.Scan(&i.Name, &i.ResourceID, &i.CreatedAt, &i.UpdatedAt)
		i.Ref = cloud.NewSecretRef(tenant, i.Name)
		return i, err
	})
	return infos, mapError(err)
}

// RevealSecret opens one secret of the tenant and writes who asked to the audit
// trail, in the same transaction: nobody gets a value without the line.
// NOT_FOUND for a reference of another tenant or to nothing.
func (s *Store) RevealSecret(ctx context.Context, tenant string, ref cloud.SecretRef, actor string) (cloud.Secret, error) {
	var value cloud.Secret
	err := s.tx(ctx, func(tx pgx.Tx) error {
		values, err := s.unsealRefs(ctx, tx, tenant, []string{string(ref)})
		if err != nil {
			return err
		}
		v, ok := values[string(ref)]
		if !ok {
			return errNoSecret()
		}
		value = v
		return s.appendAudit(ctx, tx, AuditEntry{Tenant: tenant, Actor: actor, Action: actionSecretReveal, Subject: string(ref)})
	})
	if err != nil {
		return cloud.Secret{}, err
	}
	return value, nil
}

func errNoSecret() *cloud.Error { return cloud.Errorf(cloud.CodeNotFound, "no such secret") }

// DeleteSecret destroys a secret that the tenant put. INVALID_STATE for a
// sealed output, which ends with its resource, and while specs of live
// resources or certificates refer to it (details.count says how many), because
// their next change could not be sent any more. NOT_FOUND when there is none.
func (s *Store) DeleteSecret(ctx context.Context, tenant, name, actor string) error {
	ref := string(cloud.NewSecretRef(tenant, name))
	return s.tx(ctx, func(tx pgx.Tx) error {
		var resource string
		// The lock waits for creates that are checking their references now.
		err := tx.QueryRow(ctx, `SELECT resource_id FROM secrets WHERE tenant_id = $1 AND name = $2 FOR UPDATE`, tenant, name).Scan(&resource)
		if errors.Is(err, pgx.ErrNoRows) {
			return errNoSecret()
		}
		if err != nil {
			return err
		}
		if resource != "" {
			return cloud.Errorf(cloud.CodeInvalidState, "it is an output of a resource and is destroyed with it").With("resourceId", resource)
		}
		users, err := secretUsers(ctx, tx, tenant, ref)
		if err != nil {
			return err
		}
		if users > 0 {
			return cloud.Errorf(cloud.CodeInvalidState, "%d live resources or certificates refer to it", users).With("count", users)
		}
		if _, err := tx.Exec(ctx, `DELETE FROM secrets WHERE tenant_id = $1 AND name = $2`, tenant, name); err != nil {
			return err
		}
		return s.appendAudit(ctx, tx, AuditEntry{Tenant: tenant, Actor: actor, Action: actionSecretWrite,
			Subject: ref, Detail: map[string]any{"delete": true}})
	})
}

// secretUsers counts the live records that hold the reference: resources as a
// whole string of their wanted spec, certificates as their private key.
func secretUsers(ctx context.Context, q querier, tenant, ref string) (int, error) {
	var n int
	err := q.QueryRow(ctx, `SELECT (SELECT count(*) FROM resources
			WHERE tenant_id = $1 AND state NOT IN ('deleted', 'released') AND strpos(spec::text, '"' || $2 || '"') > 0)
		+ (SELECT count(*) FROM certificates
			WHERE tenant_id = $1 AND state <> 'deleted' AND material ->> 'privateKey' = $2)`, tenant, ref).Scan(&n)
	return n, err
}
