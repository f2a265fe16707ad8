package intent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// BatchTx is what a delete's transaction offers for its batch.
type BatchTx interface {
	QuorumPolicy(ctx context.Context) (quorum.Policy, error)
	Deployment(ctx context.Context) (string, error)
	RecordBatch(ctx context.Context, b *cloud.Batch, commands []cloud.BatchCommand, actor string) error
	// HoldTree holds the deletion of everything that lives in a resource.
	HoldTree(ctx context.Context, parent, batch, actor string) error
}

var _ Batches = (*BatchService)(nil)

// DeleteBatch records, in the transaction of a delete, the batch whose approval
// it awaits: one command for the resource and one for each that lives in it,
// whose deletions it holds.
func (s *BatchService) DeleteBatch(ctx context.Context, tx Tx, r *cloud.Resource, tree []*cloud.Resource, actor string) (string, error) {
	recorder, ok := tx.(BatchTx)
	if !ok {
		return "", cloud.Errorf(cloud.CodeUnsupported, "this store keeps no command batches")
	}
	// Each time that a deletion is asked for has a batch of its own.
	id := cloud.DeriveID(cloud.PrefixBatch, r.TenantID, "delete", r.ID, fmt.Sprint(r.Generation))
	n := NewBatch{TenantID: r.TenantID, Description: "delete " + r.Kind + " " + r.Name}
	for _, t := range append([]*cloud.Resource{r}, tree...) {
		shown, err := json.Marshal(map[string]string{"kind": t.Kind, "name": t.Name, "tenantId": t.TenantID, "providerId": t.ProviderID})
		if err != nil {
			return "", err
		}
		n.Commands = append(n.Commands, BatchCommand{Subject: t.ID, Kind: cloud.KindDeleteResource, Payload: shown})
	}
	t, err := s.terms(ctx, recorder)
	if err != nil {
		return "", err
	}
	b, commands, err := s.prepare(t, id, n)
	if err != nil {
		return "", err
	}
	b.Owner, b.ResourceID = actor, r.ID
	if err := recorder.RecordBatch(ctx, b, commands, actor); err != nil {
		return "", err
	}
	return id, recorder.HoldTree(ctx, r.ID, id, actor)
}
