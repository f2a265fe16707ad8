package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	ce "github.com/cloudevents/sdk-go/v2/event"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

// Actions on what is told and what is charged.
const (
	actionEventsRead = "compute:events:read"
	actionUsageRead  = "compute:usage:read"
)

const defaultEvents = 100

type eventsInput struct {
	TenantID string `json:"tenantId"`
	// After is a number, or text such as the sequence of an event.
	After json.RawMessage `json:"after"`
	Limit int             `json:"limit"`
}

type eventsOutput struct {
	Items []json.RawMessage `json:"items"`
	Next  int64             `json:"next"`
}

func (s *server) listEvents(ctx context.Context, p intent.Principal, in eventsInput) (any, error) {
	if s.Events == nil {
		return nil, unserved("events")
	}
	if err := s.enter(ctx, p, actionEventsRead, in.TenantID, ""); err != nil {
		return nil, err
	}
	after, err := sequenceOf(in.After)
	if err != nil {
		return nil, err
	}
	out := eventsOutput{Items: []json.RawMessage{}, Next: after}
	if in.Limit == 0 {
		in.Limit = defaultEvents
	}
	events, err := s.Events.ListEvents(ctx, in.TenantID, out.Next, in.Limit)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		raw, err := cloudEvent(s.Source, e)
		if err != nil {
			return nil, fmt.Errorf("event %s: %w", e.ID, err)
		}
		out.Items, out.Next = append(out.Items, raw), e.Sequence
	}
	return out, nil
}

// sequenceOf reads a number or text of digits; what is beyond any sequence that
// there can be is the largest.
func sequenceOf(raw json.RawMessage) (int64, error) {
	text := strings.Trim(string(raw), `"`)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // an integer written as 1.0
		return 0, cloud.InvalidField("after must be written as a plain integer", "after")
	}
	return n, nil
}

// cloudEvent writes an event as CloudEvents 1.0 in structured JSON, as webhooks
// deliver it.
func cloudEvent(source string, e Event) (json.RawMessage, error) {
	out := ce.New(ce.CloudEventsVersionV1)
	out.SetID(e.ID)
	out.SetSource(source)
	out.SetType(e.Type)
	out.SetSubject(e.Subject)
	out.SetTime(e.At.UTC())
	out.SetExtension("tenantid", e.TenantID)
	// The sequence extension wants text that sorts as the number does.
	out.SetExtension("sequence", fmt.Sprintf("%020d", e.Sequence))
	data := map[string]any{}
	if len(e.Data) > 0 {
		dec := json.NewDecoder(bytes.NewReader(e.Data))
		dec.UseNumber()
		if err := dec.Decode(&data); err != nil {
			return nil, err
		}
	}
	data["actor"] = e.Actor
	if err := out.SetData(ce.ApplicationJSON, data); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

type usageInput struct {
	TenantID string `json:"tenantId"`
	From     *int64 `json:"from"`
	To       *int64 `json:"to"`
}

type usageView struct {
	ResourceID string      `json:"resourceId"`
	Meter      string      `json:"meter"`
	Hour       int64       `json:"hour"`
	Quantity   json.Number `json:"quantity"`
}

func (s *server) listUsage(ctx context.Context, p intent.Principal, in usageInput) (any, error) {
	if s.Usage == nil {
		return nil, unserved("usage")
	}
	if err := s.enter(ctx, p, actionUsageRead, in.TenantID, ""); err != nil {
		return nil, err
	}
	hours, err := s.Usage.ListUsage(ctx, in.TenantID, timeOf(in.From), timeOf(in.To))
	if err != nil {
		return nil, err
	}
	out := items[usageView]{Items: make([]usageView, len(hours))}
	for i, h := range hours {
		out.Items[i] = usageView{ResourceID: h.ResourceID, Meter: h.Meter, Hour: h.Hour.UnixMilli(), Quantity: h.Quantity}
	}
	return out, nil
}

// lastMillis is the end of the year 9999; Postgres knows times beyond it, JSON
// dates do not.
const lastMillis = 253402300799999

func timeOf(millis *int64) time.Time {
	if millis == nil {
		return time.Time{}
	}
	return time.UnixMilli(min(*millis, lastMillis)).UTC()
}
