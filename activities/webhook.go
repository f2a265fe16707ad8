package activities

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// WebhookActivities post events to subscribers.
type WebhookActivities struct {
	Store Webhooks
	// Deployment is this deployment's name; it makes the source of the events.
	Deployment func(ctx context.Context) (string, error)
	// Client posts; nil means NewWebhookClient. It must not follow redirects.
	Client *http.Client
	Now    func() time.Time
	Log    *slog.Logger
}

// DeliverInput names the subscriber of one pass.
type DeliverInput struct {
	Subscriber string `json:"subscriber"`
}

// DeliverResult counts what one pass did.
type DeliverResult struct {
	Delivered int `json:"delivered"`
	Deferred  int `json:"deferred"`
	Dead      int `json:"dead"`
	// Gone: the subscriber is no longer declared, or inactive.
	Gone bool `json:"gone,omitempty"`
	// More: the pass used its time up before everything due was sent.
	More bool `json:"more,omitempty"`
	// NextAt is when the next retry is due, zero when nothing waits.
	NextAt time.Time `json:"nextAt,omitzero"`
	// Message is why the last refused delivery was refused.
	Message string `json:"message,omitempty"`
}

// Limits of a pass.
const (
	// deliverBatch is how many subjects are taken at once, deliverFlight how many
	// requests to one subscriber are on their way at once.
	deliverBatch  = 100
	deliverFlight = 8
	// deliverTime is how long a pass goes on while more is due.
	deliverTime = time.Minute
	// deliverPatience is how long after its first attempt an event is given up.
	deliverPatience = 72 * time.Hour
	// The wait doubles from firstBackoff to lastBackoff.
	firstBackoff = 5 * time.Second
	lastBackoff  = 6 * time.Hour
)

// DeliverWebhooks sends what is due to one subscriber: of each resource the
// oldest event first, different resources side by side. What does not arrive is
// tried again later and later for three days, then it is dead: an operator can
// list and replay it. Events of other resources never wait for it, nor does any
// other subscriber.
func (a *WebhookActivities) DeliverWebhooks(ctx context.Context, in DeliverInput) (DeliverResult, error) {
	result, err := a.deliver(ctx, in.Subscriber)
	if err != nil {
		return DeliverResult{}, (&Activities{Log: a.Log, Now: a.Now}).internal(ctx, "deliver", in.Subscriber, err)
	}
	return result, nil
}

func (a *WebhookActivities) deliver(ctx context.Context, id string) (DeliverResult, error) {
	var result DeliverResult
	until := a.Now().Add(deliverTime)
	deployment, err := a.Deployment(ctx)
	if err != nil {
		return result, err
	}
	source := "/cloud-resources/" + deployment
	for {
		sub, err := a.Store.Subscriber(ctx, id)
		if cloud.AsError(err) != nil && cloud.AsError(err).Code == cloud.CodeNotFound || err == nil && !sub.Active {
			result.Gone = true
			return result, nil
		}
		if err != nil {
			return result, err
		}
		due, next, err := a.Store.DueDeliveries(ctx, id, deliverBatch)
		if err != nil {
			return result, err
		}
		if result.NextAt = next; len(due) == 0 {
			return result, nil
		}
		if !a.Now().Before(until) {
			result.More = true
			return result, nil
		}
		if err := a.batch(ctx, sub, due, source, &result); err != nil {
			return result, err
		}
	}
}

// batch sends one delivery of each of many subjects.
func (a *WebhookActivities) batch(ctx context.Context, sub *Subscriber, due []Delivery, source string, result *DeliverResult) error {
	flight := make(chan struct{}, deliverFlight)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	var goneReason string
	for _, d := range due {
		flight <- struct{}{}
		wg.Go(func() {
			defer func() { <-flight }()
			attempt, gone := a.attempt(ctx, sub, d, source)
			err := a.Store.SaveDelivery(ctx, sub.ID, attempt)
			mu.Lock()
			defer mu.Unlock()
			result.count(attempt)
			if gone {
				goneReason = attempt.Error
			}
			if err != nil {
				failed = err
			}
		})
	}
	wg.Wait()
	if failed == nil && goneReason != "" {
		a.Log.WarnContext(ctx, "subscriber asked for no more events", "subscriber", sub.ID)
		return a.Store.DeactivateSubscriber(ctx, sub.ID, goneReason)
	}
	return failed
}

func (r *DeliverResult) count(a DeliveryAttempt) {
	switch a.Status {
	case DeliveryDelivered:
		r.Delivered++
		return
	case DeliveryDead:
		r.Dead++
	default:
		r.Deferred++
	}
	r.Message = a.Error
}

// attempt posts one event and says what to record.
func (a *WebhookActivities) attempt(ctx context.Context, sub *Subscriber, d Delivery, source string) (out DeliveryAttempt, gone bool) {
	now := a.Now()
	out = DeliveryAttempt{EventID: d.EventID, Status: DeliveryDelivered, Attempts: d.Attempts + 1, FirstAt: d.FirstAt}
	if out.FirstAt.IsZero() {
		out.FirstAt = now
	}
	answer := a.post(ctx, sub, d, source, now)
	if answer.ok {
		return out, false
	}
	out.Status, out.Error = DeliveryWaiting, answer.reason
	wait := max(backoff(d.Attempts), min(answer.retryAfter, lastBackoff))
	out.DueAt = now.Add(jitter(wait))
	if out.DueAt.After(out.FirstAt.Add(deliverPatience)) {
		out.Status = DeliveryDead
	}
	return out, answer.gone
}

func backoff(attempts int) time.Duration {
	if attempts > 12 { // beyond it the doubled wait is longer than the last one
		return lastBackoff
	}
	return min(firstBackoff<<attempts, lastBackoff)
}
