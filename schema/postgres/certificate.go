package postgres

import (
	"bytes"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
)

const workflowCertificate = "Certificate"

// Certificate returns a tenant's certificate; NOT_FOUND for any other.
func (s *Store) Certificate(ctx context.Context, tenant, id string) (*cloud.Certificate, error) {
	return s.oneCertificate(ctx, "id = $1 AND tenant_id = $2", id, tenant)
}

// LoadCertificate returns a certificate of any tenant, for its workflow.
func (s *Store) LoadCertificate(ctx context.Context, id string) (*cloud.Certificate, error) {
	return s.oneCertificate(ctx, "id = $1", id)
}

func (s *Store) oneCertificate(ctx context.Context, where string, args ...any) (*cloud.Certificate, error) {
	c, err := scanCertificate(s.pool.QueryRow(ctx, selectCertificate+" WHERE "+where, args...))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNotFound("certificate")
	}
	return c, mapError(err)
}

// ReplayCertificate returns what is recorded under an id and the digest of the
// request that made it, or nil.
func (s *Store) ReplayCertificate(ctx context.Context, id string) (*cloud.Certificate, []byte, error) {
	c, digest, err := replayCertificate(ctx, s.pool, id)
	return c, digest, mapError(err)
}

func replayCertificate(ctx context.Context, q querier, id string) (*cloud.Certificate, []byte, error) {
	var digest []byte
	sql := selectCertificate[:len(selectCertificate)-len(" FROM certificates")] + ", request_digest FROM certificates WHERE id = $1"
	c, err := scanCertificate(q.QueryRow(ctx, sql, id), &digest)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, nil
	}
	return c, digest, err
}

// CertificateFilter narrows ListCertificates.
type CertificateFilter = ports.CertificateFilter

// ListCertificates returns up to limit certificates of a tenant, oldest first,
// after an id.
func (s *Store) ListCertificates(ctx context.Context, f CertificateFilter, after string, limit int) ([]*cloud.Certificate, error) {
	list, err := collectCertificates(s.pool.Query(ctx, selectCertificate+` c
		WHERE c.tenant_id = $1 AND ($2 = '' OR c.pool_id = $2) AND ($3 = '' OR c.project_id = $3) AND ($4 OR c.state <> 'deleted')
		  AND ($5 = '' OR (c.created_at, c.id) > (SELECT a.created_at, a.id FROM certificates a WHERE a.id = $5 AND a.tenant_id = $1))
		ORDER BY c.created_at, c.id LIMIT $6`, f.Tenant, f.Pool, f.Project, f.IncludeDeleted, after, limit))
	return list, mapError(err)
}

// InsertCertificate records a new certificate in one transaction that
// serialises the tenant's: replay, the key's reference, the name, the cap of
// 100, then row, event and outbox row. A refusal leaves nothing.
func (s *Store) InsertCertificate(ctx context.Context, c *cloud.Certificate, digest []byte, actor string) (*cloud.Certificate, error) {
	var out *cloud.Certificate
	err := s.work(ctx, s.pool, func(w *work) error {
		if _, err := w.tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('certificates/' || $1, 0))", c.TenantID); err != nil {
			return err
		}
		old, oldDigest, err := replayCertificate(ctx, w.tx, c.ID)
		switch {
		case err != nil:
			return err
		case old != nil && !bytes.Equal(oldDigest, digest):
			return cloud.Errorf(cloud.CodeConflict, "the idempotency key was used for another request").Because(cloud.ReasonIdempotencyKey)
		case old != nil:
			out = old
			return nil
		}
		if err := w.checkNewCertificate(ctx, c); err != nil {
			return err
		}
		fresh := *c
		change := fresh.Created(w.now)
		values, err := certificateValues(&fresh)
		if err != nil {
			return err
		}
		if _, err := w.tx.Exec(ctx, insertCertificate, append(values, digest)...); err != nil {
			return err
		}
		if _, err := w.tx.Exec(ctx, upsertAuthorization, fresh.ID, fresh.TenantID, fresh.Owner, "{}"); err != nil {
			return err
		}
		w.emitCertificate(&fresh, change, actor)
		w.nudge(fresh.ID, workflowCertificate, signalUpdate, fresh.Generation, false)
		out = &fresh
		return nil
	})
	return out, err
}

func (w *work) checkNewCertificate(ctx context.Context, c *cloud.Certificate) error {
	if c.Type == cloud.CertificateCustom {
		refs, err := w.s.refDigests(ctx, w.tx, c.TenantID, []string{string(c.Material.PrivateKey)})
		if err != nil {
			return err
		}
		if len(refs) == 0 {
			return cloud.InvalidField("not a secret of the tenant", "privateKey").Because(cloud.ReasonSecretRef)
		}
	}
	var taken bool
	var live int
	err := w.tx.QueryRow(ctx, `SELECT count(*) FILTER (WHERE name = $2) > 0, count(*)
		FROM certificates WHERE tenant_id = $1 AND state <> 'deleted'`, c.TenantID, c.Name).Scan(&taken, &live)
	switch {
	case err != nil:
		return err
	case taken:
		return cloud.Errorf(cloud.CodeConflict, "a certificate of this name exists already").Because(cloud.ReasonName)
	case live >= cloud.MaxCertificates:
		return cloud.Errorf(cloud.CodeQuotaExceeded, "the tenant has %d certificates, which is the most it may have", live).
			With("limit", cloud.MaxCertificates)
	}
	return nil
}

// ChangeCertificate locks a tenant's certificate ("" for any tenant's), runs
// fn and saves what it did, with an outbox row when the generation moved.
func (s *Store) ChangeCertificate(ctx context.Context, tenant, id, actor, signal string, fn func(c *cloud.Certificate) (*cloud.CertificateChange, error)) (*cloud.Certificate, error) {
	var out *cloud.Certificate
	err := s.work(ctx, s.pool, func(w *work) error {
		c, err := w.lockCertificate(ctx, id)
		if err != nil {
			return err
		}
		if tenant != "" && c.TenantID != tenant {
			return errNotFound("certificate")
		}
		before := c.Generation
		change, err := fn(c)
		if err != nil {
			return err
		}
		out = c
		if err := w.saveCertificate(ctx, c, change, actor); err != nil {
			return err
		}
		if signal != "" && (c.Generation != before || signal == signalRefresh) {
			w.nudge(c.ID, workflowCertificate, signal, c.Generation, false)
		}
		return nil
	})
	return out, err
}

func (w *work) lockCertificate(ctx context.Context, id string) (*cloud.Certificate, error) {
	c, err := scanCertificate(w.tx.QueryRow(ctx, selectCertificate+" WHERE id = $1 FOR UPDATE", id))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNotFound("certificate")
	}
	return c, err
}

func (w *work) saveCertificate(ctx context.Context, c *cloud.Certificate, change *cloud.CertificateChange, actor string) error {
	if change == nil {
		return nil
	}
	values, err := certificateValues(c)
	if err != nil {
		return err
	}
	if _, err := w.tx.Exec(ctx, updateCertificate, values...); err != nil {
		return err
	}
	if change.Ended {
		if _, err := w.tx.Exec(ctx, "DELETE FROM authorization_rows WHERE resource_id = $1", c.ID); err != nil {
			return err
		}
	}
	w.emitCertificate(c, change, actor)
	return nil
}

func (w *work) emitCertificate(c *cloud.Certificate, change *cloud.CertificateChange, actor string) {
	for _, e := range change.Events {
		e.Data["certificateId"] = c.ID
		w.emit(c.TenantID, c.ID, string(e.Type), actor, e.Data)
	}
}

// UnsealPrivateKey opens the private key's reference. INVALID_INPUT when the
// tenant no longer has that secret.
func (s *Store) UnsealPrivateKey(ctx context.Context, c *cloud.Certificate) (cloud.Secret, error) {
	return s.UnsealRef(ctx, c.TenantID, c.Material.PrivateKey)
}

// UnsealRef opens one of a tenant's own secrets for use inside the system.
// INVALID_INPUT (secretRef) when the tenant has no such secret.
func (s *Store) UnsealRef(ctx context.Context, tenant string, ref cloud.SecretRef) (cloud.Secret, error) {
	values, err := s.unsealRefs(ctx, s.pool, tenant, []string{string(ref)})
	if err != nil {
		return cloud.Secret{}, mapError(err)
	}
	v, ok := values[string(ref)]
	if !ok {
		return cloud.Secret{}, cloud.InvalidField("not a secret of the tenant", "privateKey").Because(cloud.ReasonSecretRef)
	}
	return v, nil
}
