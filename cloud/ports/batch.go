package ports

import (
	"context"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// BatchRecords is what the batch activities need of the store.
type BatchRecords interface {
	// LoadBatch returns a batch, how many of its commands are not final, and
	// when the next of them is due. NOT_FOUND for an id that nobody has.
	LoadBatch(ctx context.Context, id string) (b *cloud.Batch, open int, due time.Time, err error)
	// BatchFile returns what was fixed at creation and the approvals so far.
	BatchFile(ctx context.Context, id string) (quorum.Batch, []quorum.Approval, error)
	// DueCommands returns up to limit commands that may be sent now.
	DueCommands(ctx context.Context, id string, limit int) ([]cloud.BatchCommand, error)
	// ClaimCommand notes, before a command goes out, that it may. False: another
	// attempt took it, or the batch ended; it must not be sent. sent says what
	// goes out, for the audit trail.
	ClaimCommand(ctx context.Context, batch string, c cloud.BatchCommand, sent map[string]any) (bool, error)
	// SaveCommand records what became of a command, with a line in the audit
	// trail when it is final.
	SaveCommand(ctx context.Context, batch string, c cloud.BatchCommand) error
	// ChangeBatch locks the batch and saves what fn did to it; nil is nothing.
	ChangeBatch(ctx context.Context, id, actor string, fn func(b *cloud.Batch) *cloud.BatchChange) error
	// CommandCounts counts a batch's commands by state.
	CommandCounts(ctx context.Context, id string) (map[cloud.CommandState]int, error)
	// QuorumPolicy returns the published approver keys; without approvers it
	// has none and threshold 0.
	QuorumPolicy(ctx context.Context) (quorum.Policy, error)
	// Daemon returns where commands of a kind go: an address and a token.
	// NOT_FOUND when none is declared.
	Daemon(ctx context.Context, kind string) (url string, token cloud.Secret, err error)
	// ApproveDeletion lets a resource's held deletion go ahead; repeating it
	// changes nothing. NOT_FOUND when the resource is not to be deleted.
	ApproveDeletion(ctx context.Context, batch, resource string) error
}

// BatchIntents records what an operator asks of a batch by hand.
type BatchIntents interface {
	// OperatorApprove takes an approval file as payload; its signature decides.
	OperatorApprove(ctx context.Context, id string, payload []byte) error
	OperatorCancel(ctx context.Context, id string) error
	// OperatorRefreshBatch judges the approvals anew.
	OperatorRefreshBatch(ctx context.Context, id string) error
}
