package intent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

var _ activities.Intents = (*intent.Service)(nil)

func TestOperatorsFollowTheSameRules(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	r := w.Ready(create(t, w, apitest.Alice, cluster(spec("engine", "pg"))), "p-1")
	for payload, refusal := range map[string]struct {
		code   cloud.Code
		reason string
	}{
		``:                                {cloud.CodeInvalidInput, ""},
		`null`:                            {cloud.CodeInvalidInput, ""},
		`"nonsense"`:                      {cloud.CodeInvalidInput, ""},
		`{}`:                              {cloud.CodeInvalidInput, ""},
		`{"spec":{"size":"small"},"x":1}`: {cloud.CodeInvalidInput, ""},
		`{"spec":{"size":"huge"}}`:        {cloud.CodeInvalidInput, ""},
		`{"spec":{"engine":"mysql"}}`:     {cloud.CodeInvalidState, "replaceRequired"},
		`{"description":"` + strings.Repeat("x", 257) + `"}`: {cloud.CodeInvalidInput, ""},
		`{"spec":{},"expectedVersion":7}`:                    {cloud.CodeConflict, "version"},
		`{"spec":{"token":"secret://a/b"}}`:                  {cloud.CodeInvalidInput, "secretRef"},
	} {
		apitest.Refused(t, w.Service.OperatorUpdate(ctx, r.ID, []byte(payload)), refusal.code, refusal.reason)
	}
	same, err := w.Resource(ctx, "acme", r.ID)
	require.NoError(t, err)
	require.Equal(t, r, same, "an invalid one changes nothing")

	require.NoError(t, w.Service.OperatorUpdate(ctx, r.ID, []byte(`{"spec":{"size":"large"},"description":null}`)))
	require.NoError(t, w.Service.OperatorRefresh(ctx, r.ID))
	require.NoError(t, w.Service.OperatorRelease(ctx, r.ID))
	require.NoError(t, w.Service.OperatorDelete(ctx, r.ID))
	actors := pgtest.Value[[]string](w.DB, "SELECT array_agg(actor ORDER BY sequence) FROM events WHERE subject = $1", r.ID)
	require.Equal(t, []string{"acme/alice", "reconciler", "operator", "operator", "operator"}, actors)

	w.Ended(r)
	require.NoError(t, w.Service.OperatorDelete(ctx, r.ID))
	apitest.Refused(t, w.Service.OperatorRefresh(ctx, r.ID), cloud.CodeInvalidState, "ended")
	nothing := "crs_" + strings.Repeat("0", 52)
	apitest.Refused(t, w.Service.OperatorUpdate(ctx, nothing, []byte(`{"spec":{}}`)), cloud.CodeNotFound, "")
	apitest.Refused(t, w.Service.OperatorDelete(ctx, nothing), cloud.CodeNotFound, "")
}
