package activities

import (
	"context"
	"encoding/json"

	"github.com/better-compute/cloud-resources/cloud"
)

// HandSignal is a signal that an operator sent by hand: its name, and the
// payload as it came (it may be anything).
type HandSignal struct {
	ResourceID string          `json:"resourceId"`
	Name       string          `json:"name"`
	Payload    json.RawMessage `json:"payload,omitempty"`
}

// HandAnswer says what became of a hand-sent signal.
type HandAnswer struct {
	cloud.Next
	// Refused is the reason in plain words when it changed nothing.
	Refused string `json:"refused,omitempty"`
}

// RecordIntent records what an operator asked by hand, under the same rules as
// the API (D23). A refusal is an answer, not a failure: the loop goes on.
func (a *Activities) RecordIntent(ctx context.Context, s HandSignal) (HandAnswer, error) {
	var err error
	switch s.Name {
	case "update":
		err = a.Intents.OperatorUpdate(ctx, s.ResourceID, s.Payload)
	case "delete":
		err = a.Intents.OperatorDelete(ctx, s.ResourceID)
	case "release":
		err = a.Intents.OperatorRelease(ctx, s.ResourceID)
	case "refresh":
		err = a.Intents.OperatorRefresh(ctx, s.ResourceID)
	default:
		err = cloud.Errorf(cloud.CodeInvalidInput, "there is no signal %q; there are update, delete, release and refresh", s.Name)
	}
	var answer HandAnswer
	if e := cloud.AsError(err); e != nil {
		if e.Code == cloud.CodeUnavailable || e.Code == cloud.CodeInternal {
			return answer, a.internal(ctx, "record "+s.Name, s.ResourceID, err)
		}
		a.Log.WarnContext(ctx, "hand-sent signal refused", "resource", s.ResourceID, "signal", s.Name, "code", e.Code, "reason", e.Message)
		answer.Refused = string(e.Code) + ": " + e.Message
	}
	next, err := a.LoadResource(ctx, s.ResourceID)
	answer.Next = next
	return answer, err
}
