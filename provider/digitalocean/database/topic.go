package database

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed topic.json
var topicJSON []byte

var topicManifests = manifests(topicJSON)

// topic is a Kafka topic.
type topic struct{ child }

// Topic is the kind of Kafka's topics.
func Topic(a *doapi.Account, e Engine) cloud.Kind {
	return &topic{child{doapi.NewBase(a, topicManifests[string(e)]), e, "topics", "topics", "topic"}}
}

// wireTopic is a topic as the list (a count) and a look (the partitions) show it.
type wireTopic struct {
	Name        string            `json:"name"`
	State       string            `json:"state"`
	Count       int64             `json:"partition_count"`
	Partitions  []json.RawMessage `json:"partitions"`
	Replication int64             `json:"replication_factor"`
	Config      json.RawMessage   `json:"config"`
}

func (k *topic) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	return k.Observe(ctx, r)
}

// Create asks for the topic. The answer may hold none yet: it is made a little
// later, and absent from reads until then.
func (k *topic) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	parent, err := k.ParentID(doapi.Create, r.Parent)
	if err != nil {
		return nil, err
	}
	in := map[string]any{}
	for f, v := range r.Spec {
		in[f] = v
	}
	var answer struct {
		ID    string     `json:"id"`
		Topic *wireTopic `json:"topic"`
	}
	err = k.Call(ctx, http.MethodPost, k.path(parent), in, &answer)
	if err := k.Fail(doapi.Create, r, err, unready(r.Parent), doapi.Fields("name")); err != nil {
		return nil, err
	}
	if answer.ID != "" || answer.Topic != nil {
		noteConfig(r)
	}
	if answer.Topic != nil && answer.Topic.Name != "" {
		return k.seen(answer.Topic), nil
	}
	if answer.ID == "" {
		return nil, k.Missing(doapi.Create)
	}
	o := k.named(r.Spec.String("name"))
	o.Phase, o.Message = cloud.PhaseBusy, "the provider is making the topic"
	return o, nil
}

func (k *topic) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	var t wireTopic
	if err := k.read(ctx, r, &t); err != nil {
		return nil, err
	}
	if t.Name == "" {
		return nil, k.Missing(doapi.Look)
	}
	return k.seen(&t), nil
}

func (k *topic) seen(t *wireTopic) *cloud.Observed {
	o := k.named(t.Name)
	switch t.State {
	case "active", "":
	case "deleting":
		o.Phase = cloud.PhaseDeleting
	default:
		o.Phase, o.Message = cloud.PhaseBusy, statusMessage(t.State)
	}
	count := max(t.Count, int64(len(t.Partitions)))
	if count > 0 {
		o.Spec["partition_count"], o.Outputs["partitions"] = count, count
	}
	if t.Replication > 0 {
		o.Spec["replication_factor"] = t.Replication
	}
	if config := exactObject(t.Config); config != nil {
		o.Spec["config"] = map[string]any(config)
	}
	o.Outputs["state"] = t.State
	return o
}

// exactObject decodes an object with all digits of its numbers; nil when there
// is none. Kafka's "no limit" does not fit into a float.
func exactObject(raw json.RawMessage) cloud.Spec {
	s, err := cloud.ParseSpec(raw)
	if err != nil || len(s) == 0 {
		return nil
	}
	return s
}

func (k *topic) Diff(r cloud.Request, o *cloud.Observed) []string {
	var out []string
	for _, f := range []string{"partition_count", "replication_factor", "config"} {
		if want, have := r.Spec[f], o.Spec[f]; want != nil && have != nil && !covers(want, have, configSent(r)) {
			out = append(out, f)
		}
	}
	return out
}

// Update sends every wanted value at once, as the provider takes them.
func (k *topic) Update(ctx context.Context, r cloud.Request, o *cloud.Observed, fields []string) (*cloud.Updated, error) {
	parent, err := k.ParentID(doapi.Change, r.Parent)
	if err != nil || len(fields) == 0 {
		return &cloud.Updated{}, err
	}
	in := map[string]any{}
	for _, f := range fields {
		in[f] = r.Spec[f]
	}
	err = k.Call(ctx, http.MethodPut, k.path(parent, o.ProviderID), in, nil)
	if err == nil {
		noteConfig(r)
	}
	return &cloud.Updated{Settles: fields}, k.Fail(doapi.Change, r, err, doapi.Fields(fields...))
}

func (k *topic) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	return list(ctx, &k.child, s, func(t *wireTopic, _ *cloud.ParentRef) *cloud.Observed { return k.seen(t) })
}
