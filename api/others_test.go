package api_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud/quorum"
	"github.com/better-compute/cloud-resources/schema/platform"
)

func sum(token string) string {
	digest := sha256.Sum256([]byte(token))
	return hex.EncodeToString(digest[:])
}

func newCertificate(name string, edits ...fields) fields {
	in := fields{"tenantId": "acme", "poolId": apitest.PoolAcme, "name": name, "type": "lets_encrypt", "domains": []string{"example.com"}, "idempotencyKey": "key-" + name}
	for _, e := range edits {
		for k, v := range e {
			in[k] = v
		}
	}
	return in
}

func newBatch(key string, edits ...fields) fields {
	in := fields{"tenantId": "acme", "commands": []fields{
		{"subject": "host-1", "kind": "host.reboot", "payload": base64.StdEncoding.EncodeToString([]byte(`{"force":true}`))},
		{"subject": "host-2", "kind": "host.reboot"},
	}, "idempotencyKey": key}
	for _, e := range edits {
		for k, v := range e {
			in[k] = v
		}
	}
	return in
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	s := w.Serve()
	c := done(t, s, "dev-acme", "certificates/create", newCertificate("web", fields{"description": "d"}))
	one := fields{"tenantId": "acme", "certificateId": c.Text("id")}
	require.Equal(t, "pending", c.Text("state"))
	require.Equal(t, c.Text("id"), done(t, s, "dev-acme", "certificates/create", newCertificate("web", fields{"description": "d"})).Text("id"))
	refused(t, s, "dev-acme", "certificates/create", newCertificate("web"), 409, "CONFLICT", "idempotencyKey")
	refused(t, s, "dev-acme", "certificates/create", newCertificate("bad", fields{"domains": []string{"not a name"}}), 400, "INVALID_INPUT", "")
	refused(t, s, "dev-acme", "certificates/create", newCertificate("bad", fields{"type": "own"}), 400, "INVALID_INPUT", "")

	require.Equal(t, "web", done(t, s, "dev-acme-reader", "certificates/get", one).Text("name"))
	require.Len(t, done(t, s, "dev-acme-reader", "certificates/list", fields{"tenantId": "acme"}).Items(), 1)
	require.Empty(t, done(t, s, "dev-globex", "certificates/list", fields{"tenantId": "globex"}).Items())
	refused(t, s, "dev-globex", "certificates/get", one, 403, "ACCESS_DENIED", "")
	refused(t, s, "dev-globex", "certificates/get", fields{"tenantId": "globex", "certificateId": c.Text("id")}, 404, "NOT_FOUND", "")
	refused(t, s, "dev-acme-reader", "certificates/delete", one, 403, "ACCESS_DENIED", "")
	require.Empty(t, done(t, s, "dev-acme-data", "certificates/list", fields{"tenantId": "acme"}).Items(), "a certificate has no family")

	changed := done(t, s, "dev-acme", "certificates/update", fields{"tenantId": "acme", "certificateId": c.Text("id"), "description": nil, "expectedVersion": 1})
	require.Equal(t, json.Number("2"), changed.Body["version"])
	require.NotContains(t, changed.Body, "description")
	refused(t, s, "dev-acme", "certificates/update", fields{"tenantId": "acme", "certificateId": c.Text("id"), "description": "x", "expectedVersion": 1}, 409, "CONFLICT", "version")
	require.Equal(t, "deleting", done(t, s, "dev-acme", "certificates/delete", one).Text("state"))
}

func TestCommandBatches(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	w := apitest.New(t, func(f *platform.File) {
		f.PKI = &platform.PKI{TrustDomain: "test", Threshold: 1, Approvers: []quorum.Approver{{ID: "ann", PublicKey: quorum.PublicKey(public)}}}
	})
	s := w.Serve()
	b := done(t, s, "dev-acme", "commandBatches/create", newBatch("b1", fields{"description": "d"}))
	one := fields{"tenantId": "acme", "batchId": b.Text("id")}
	require.Equal(t, "awaitingApproval", b.Text("state"))
	require.Equal(t, json.Number("1"), b.Body["threshold"])
	require.Equal(t, b.Text("id"), done(t, s, "dev-acme", "commandBatches/create", newBatch("b1", fields{"description": "d"})).Text("id"))
	refused(t, s, "dev-acme", "commandBatches/create", newBatch("b1"), 409, "CONFLICT", "idempotencyKey")
	refused(t, s, "dev-acme", "commandBatches/create", newBatch("b2", fields{"commands": []fields{}}), 400, "INVALID_INPUT", "")
	refused(t, s, "dev-acme", "commandBatches/create", newBatch("b2", fields{"commands": []fields{{"subject": "a", "kind": "b", "payload": "???"}}}), 400, "INVALID_INPUT", "")
	refused(t, s, "dev-acme-reader", "commandBatches/create", newBatch("b3"), 403, "ACCESS_DENIED", "")

	statement := statementOf(t, done(t, s, "dev-acme-reader", "commandBatches/get", one))
	require.Equal(t, b.Text("root"), statement.Root.String())

	approval, err := quorum.Sign(private, "ann", statement)
	require.NoError(t, err)
	handed := fields{"tenantId": "acme", "batchId": b.Text("id"), "approval": quorum.ApprovalFile{Format: quorum.FormatApproval, Statement: statement, Approval: approval}}
	refused(t, s, "dev-acme-reader", "commandBatches/approve", handed, 403, "ACCESS_DENIED", "")
	refused(t, s, "dev-acme", "commandBatches/approve", fields{"tenantId": "acme", "batchId": b.Text("id"), "approval": fields{"x": 1}}, 400, "INVALID_INPUT", "")
	approved := done(t, s, "dev-acme", "commandBatches/approve", handed)
	require.Equal(t, []any{"ann"}, approved.Body["approvers"])
	require.Equal(t, "dispatching", approved.Text("state"))

	require.Equal(t, approved.Body, done(t, s, "dev-acme", "commandBatches/approve", handed).Body, "a repeat changes nothing")
	trail, _ := done(t, s, "dev-acme", "commandBatches/get", one).Body["audit"].([]any)
	var actions []string
	for _, l := range trail {
		line, _ := l.(map[string]any)
		actions = append(actions, line["actor"].(string)+" "+line["action"].(string))
	}
	require.Equal(t, []string{"acme/alice command-batches:create", "acme/alice command-batches:approve", "acme/alice command-batches:dispatching"}, actions)

	second := done(t, s, "dev-acme", "commandBatches/create", newBatch("b9"))
	require.Equal(t, []string{b.Text("id"), second.Text("id")}, names(done(t, s, "dev-acme", "commandBatches/list", fields{"tenantId": "acme"}), "id"))
	third := done(t, s, "dev-acme", "commandBatches/create", newBatch("b10"))
	alone, err := quorum.Sign(private, "ann", statementOf(t, done(t, s, "dev-acme", "commandBatches/get", fields{"tenantId": "acme", "batchId": third.Text("id")})))
	require.NoError(t, err)
	handed = fields{"tenantId": "acme", "batchId": second.Text("id"), "approval": alone}
	refused(t, s, "dev-acme", "commandBatches/approve", handed, 400, "INVALID_INPUT", "badSignature")
	handed["batchId"] = third.Text("id")
	require.Equal(t, "dispatching", done(t, s, "dev-acme", "commandBatches/approve", handed).Text("state"), "an approval without its file will do")
	for range 2 {
		require.Equal(t, "cancelled", done(t, s, "dev-acme", "commandBatches/cancel", fields{"tenantId": "acme", "batchId": third.Text("id")}).Text("state"))
	}
	require.Equal(t, "cancelled", done(t, s, "dev-acme", "commandBatches/cancel", fields{"tenantId": "acme", "batchId": second.Text("id")}).Text("state"))
	require.Len(t, done(t, s, "dev-acme", "commandBatches/list", fields{"tenantId": "acme"}).Items(), 1)
	require.Len(t, done(t, s, "dev-acme", "commandBatches/list", fields{"tenantId": "acme", "includeEnded": true}).Items(), 3)
	refused(t, s, "dev-globex", "commandBatches/get", one, 403, "ACCESS_DENIED", "")
	refused(t, s, "dev-globex", "commandBatches/get", fields{"tenantId": "globex", "batchId": b.Text("id")}, 404, "NOT_FOUND", "")
}

// statementOf is what an approver signs of a batch's file.
func statementOf(t *testing.T, detail apitest.Answer) quorum.Statement {
	t.Helper()
	raw, err := json.Marshal(detail.Body["file"])
	require.NoError(t, err)
	file, err := quorum.DecodeBatch(raw)
	require.NoError(t, err)
	statement, _, err := file.Open()
	require.NoError(t, err)
	return statement
}
