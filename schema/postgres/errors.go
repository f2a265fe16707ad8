package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/better-compute/cloud-resources/cloud"
)

// SQLSTATEs that change what is done.
const (
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeLockTimeout   = "55P03"
	codeDiskFull      = "53100"
	codeReadOnly      = "25006"
	codeNoSuchText    = "22021" // a NUL or broken UTF-8
	codeNoSuchJSON    = "22P05" // \u0000 in jsonb
)

// constraints says what a violated constraint means to a caller. Errors are
// told apart by the constraint's name and never by their text, which differs
// between versions and languages of Postgres.
var constraints = map[string]*cloud.Error{
	"resources_name": cloud.Errorf(cloud.CodeConflict,
		"a resource of this kind and name exists already").Because(cloud.ReasonName),
	"resources_identity": cloud.Errorf(cloud.CodeConflict,
		"its parent has such a resource already").Because(cloud.ReasonIdentity),
	"resources_provider_id": cloud.Errorf(cloud.CodeConflict,
		"the object at the provider is recorded already").Because(cloud.ReasonRecorded),
	"resources_parent_id_fkey": cloud.Errorf(cloud.CodeNotFound,
		"no such parent").With("field", "parentId"),
	"resources_project_id_fkey": cloud.Errorf(cloud.CodeNotFound,
		"no such project").With("field", "projectId"),
	"resources_pool_id_fkey":   cloud.Errorf(cloud.CodeNotFound, "no such pool").With("field", "poolId"),
	"resources_tenant_id_fkey": cloud.Errorf(cloud.CodeNotFound, "no such tenant"),
}

// mapError turns what the database or the way to it said into *cloud.Error.
// What is one already stays; nil stays nil.
func mapError(err error) error {
	if err == nil {
		return nil
	}
	var known *cloud.Error
	if errors.As(err, &known) {
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		if meant, ok := constraints[pg.ConstraintName]; ok {
			e := *meant
			e.Err = err
			return &e
		}
	}
	if pg != nil && (pg.Code == codeNoSuchText || pg.Code == codeNoSuchJSON) {
		return &cloud.Error{Code: cloud.CodeInvalidInput, Message: "text with a NUL or that is not UTF-8 cannot be stored", Err: err}
	}
	if unavailable(err) {
		return unavailableError(err)
	}
	return &cloud.Error{Code: cloud.CodeInternal, Message: "internal error", Err: err}
}

func unavailableError(err error) *cloud.Error {
	return &cloud.Error{Code: cloud.CodeUnavailable, Message: "the database does not answer; try again", Err: err}
}

// unavailable: trouble of the connection, of the server or of the time that
// the caller had, all of which a later try may not meet.
func unavailable(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case codeSerialization, codeDeadlock, codeLockTimeout, codeDiskFull, codeReadOnly:
			return true
		}
		// 08: connection; 53: resources; 57: operator intervention (shutdown,
		// cancelled query, database dropped).
		return strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "53") || strings.HasPrefix(pg.Code, "57")
	}
	if errors.Is(err, pgx.ErrNoRows) || errors.Is(err, pgx.ErrTooManyRows) {
		return false
	}
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.As(err, &connect), errors.As(err, &network), pgconn.SafeToRetry(err), pgconn.Timeout(err):
		return true
	}
	return errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, puddle.ErrClosedPool) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
