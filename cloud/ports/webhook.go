package ports

import (
	"context"
	"encoding/json"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// Webhooks is what delivering events to subscribers needs of the store.
// A delivery is one event for one subscriber: waiting until it is delivered or
// dead. Deliveries of one subject are handed out in the order of their events,
// only ever the oldest waiting one, so that a subscriber sees each resource's
// news in order while subjects do not wait for each other.
type Webhooks interface {
	// Subscriber returns one; NOT_FOUND when it is no longer declared.
	Subscriber(ctx context.Context, id string) (*Subscriber, error)
	// DueDeliveries returns up to limit deliveries that are due: of each subject
	// the oldest waiting one. next is when the
	// earliest of the others becomes due, zero when none waits.
	DueDeliveries(ctx context.Context, subscriber string, limit int) (due []Delivery, next time.Time, err error)
	// SaveDelivery records an attempt. One that is no longer waiting stays as it is.
	SaveDelivery(ctx context.Context, subscriber string, a DeliveryAttempt) error
	// DeactivateSubscriber stops deliveries to a subscriber that asked for it:
	// what waits becomes dead with the reason, new events are not fanned out
	// to it until a replay or the platform file makes it active again.
	DeactivateSubscriber(ctx context.Context, id, reason string) error
}

// Subscriber is an endpoint that wants a tenant's events.
type Subscriber struct {
	ID       string
	TenantID string
	URL      string
	// Secret signs what is sent ("whsec_" and base64, or any text).
	Secret cloud.Secret
	Active bool
}

// Delivery is one event on its way to one subscriber.
type Delivery struct {
	EventID  string
	TenantID string
	Sequence int64
	Type     string
	Subject  string
	At       time.Time
	Actor    string
	// Data is the event's data as stored; it never holds a secret.
	Data json.RawMessage
	// Attempts made before, the first of them at FirstAt.
	Attempts int
	FirstAt  time.Time
}

// DeliveryStatus is where a delivery is.
type DeliveryStatus string

// The statuses of a delivery.
const (
	DeliveryWaiting   DeliveryStatus = "waiting"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryDead      DeliveryStatus = "dead"
)

// DeliveryAttempt is what came of one attempt.
type DeliveryAttempt struct {
	EventID string
	Status  DeliveryStatus
	// Attempts counts this one; FirstAt is when the first was made.
	Attempts int
	FirstAt  time.Time
	// DueAt is when a waiting one is tried again.
	DueAt time.Time
	// Error says in stable words why it did not arrive; never the answer's body.
	Error string
}

// DeadDelivery is a delivery that was given up, for operators.
type DeadDelivery struct {
	Subscriber string    `json:"subscriber"`
	EventID    string    `json:"eventId"`
	Type       string    `json:"type"`
	Subject    string    `json:"subject"`
	At         time.Time `json:"at"`
	Attempts   int       `json:"attempts"`
	Error      string    `json:"error"`
}

// DeadLetters is what the operator's commands need of the store.
type DeadLetters interface {
	// DeadDeliveries lists dead deliveries, oldest first, of one subscriber or
	// of all ("").
	DeadDeliveries(ctx context.Context, subscriber string, limit int) ([]DeadDelivery, error)
	// ReplayDeliveries makes dead deliveries wait again from their first
	// attempt: of one event, or with "" all of the subscriber, which it also makes
	// active. It returns how many.
	ReplayDeliveries(ctx context.Context, subscriber, event string) (int, error)
}
