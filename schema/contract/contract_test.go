package contract_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/schema/contract"
)

func TestTmp(t *testing.T) {
	c := contract.New()
	require.NotEmpty(t, c.Methods())
	for _, in := range []string{`{}`, `{"tenantId":"a","poolId":"x","spec":[],"kind":5,"name":"A","extra":1,"idempotencyKey":""}`, ``, `[]`, `{"a":1,"a":2}`, `{"a":1e9999999}`, `{} x`, "{\"a\":\"\\u0000\"}", `{"tenantId":`} {
		err := c.ValidateInput("cloudResources.create", []byte(in))
		t.Log(in, "=>", err)
	}
}
