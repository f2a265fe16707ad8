package database

import (
	"bytes"
	"encoding/json"
	"regexp"
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// Topic is a Kafka topic.
type Topic struct {
	Partitions  int    `json:"partition_count"`
	Replication int    `json:"replication_factor"`
	Config      values `json:"config"`
}

// Topics is the table of topics, children of a cluster by name.
var Topics = core.Table[Topic]{Type: "database.topic"}

var topicName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)

// topicInput leaves out what keeps its value.
type topicInput struct {
	Name        string         `json:"name"`
	Partitions  *int           `json:"partition_count"`
	Replication *int           `json:"replication_factor"`
	Config      map[string]any `json:"config"`
}

func withKafka(c *core.Call, get func(*core.Call) (record, error)) (record, error) {
	r, err := get(c)
	if err != nil {
		return nil, err
	}
	return r, only(r, "topics and schemas are", "kafka")
}

func readTopic(c *core.Call) (topicInput, error) {
	var in topicInput
	decoder := json.NewDecoder(bytes.NewReader(c.Body()))
	decoder.UseNumber()
	if err := decoder.Decode(&in); err != nil {
		return in, core.BadRequest("The request body could not be read: %s", err)
	}
	return in, nil
}

func listTopics(c *core.Call) (core.Answer, error) {
	r, err := withKafka(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, t := range Topics.All(c, r.ID) {
		views = append(views, core.Map{"name": t.Name, "state": t.State, "partition_count": t.Value.Partitions,
			"replication_factor": t.Value.Replication})
	}
	return core.OK(core.Map{"topics": views})
}

// createTopic only accepts: the topic can be read some time later, is then
// configuring, and active at the end.
func createTopic(c *core.Call) (core.Answer, error) {
	r, err := withKafka(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	in, err := readTopic(c)
	if err != nil {
		return core.Answer{}, err
	}
	if !topicName.MatchString(in.Name) {
		return core.Answer{}, core.Unprocessable("invalid topic name: %q", in.Name)
	}
	if Topics.Exists(c, core.ChildID(r.ID, in.Name)) {
		return core.Answer{}, core.Unprocessable("topic name is not available")
	}
	t := Topic{Partitions: 3, Replication: 2, Config: map[string]any{}}
	if err := t.set(r.Value, in); err != nil {
		return core.Answer{}, err
	}
	meta := core.Meta{ID: core.ChildID(r.ID, in.Name), Parent: r.ID, Name: in.Name}
	c.Change(&meta, "configuring", "active", "unknown", nil)
	made := Topics.Insert(c, meta, t)
	late := c.Now.Add(time.Duration(c.Settings().UpdateTime) / 2)
	if late.After(made.VisibleAt) {
		made.VisibleAt = late
		Topics.Save(c, made)
	}
	return core.Accepted(core.Map{"id": "accepted", "message": "the topic is being created"})
}

// set applies what was sent.
func (t *Topic) set(in Cluster, sent topicInput) error {
	if sent.Partitions != nil {
		if *sent.Partitions < 1 || *sent.Partitions > 2048 {
			return core.Unprocessable("invalid partition_count: must be between 1 and 2048")
		}
		t.Partitions = *sent.Partitions
	}
	if sent.Replication != nil {
		if *sent.Replication < 2 || *sent.Replication > in.Nodes {
			return core.Unprocessable("invalid replication_factor: must be between 2 and %d", in.Nodes)
		}
		t.Replication = *sent.Replication
	}
	return apply(parameters["kafka topic"], t.Config, sent.Config, "")
}

func findTopic(c *core.Call, get func(*core.Call) (record, error)) (record, *core.Record[Topic], error) {
	r, err := withKafka(c, get)
	if err != nil {
		return nil, nil, err
	}
	t, ok := Topics.Get(c, core.ChildID(r.ID, c.Param("topic")))
	if !ok {
		return nil, nil, core.NotFound("topic not found")
	}
	return r, t, nil
}

func getTopic(c *core.Call) (core.Answer, error) {
	_, t, err := findTopic(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"topic": topicView(t)})
}

func updateTopic(c *core.Call) (core.Answer, error) {
	r, t, err := findTopic(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	if t.Busy() {
		return core.Answer{}, core.PreconditionFailed("another operation is in progress on the topic")
	}
	in, err := readTopic(c)
	if err != nil {
		return core.Answer{}, err
	}
	if in.Partitions != nil && *in.Partitions < t.Value.Partitions {
		return core.Answer{}, core.Unprocessable("invalid partition_count: %d (it can only be increased)", *in.Partitions)
	}
	if err := t.Value.set(r.Value, in); err != nil {
		return core.Answer{}, err
	}
	c.Change(&t.Meta, "configuring", "active", "unknown", nil)
	Topics.Save(c, t)
	return core.OK(core.Map{"topic": topicView(t)})
}

func deleteTopic(c *core.Call) (core.Answer, error) {
	_, t, err := findTopic(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	if t.Dying() {
		return core.Answer{}, core.Conflict("the topic is already being deleted")
	}
	c.Doom(&t.Meta, "deleting")
	Topics.Save(c, t)
	return core.NoContent()
}

func topicView(t *core.Record[Topic]) core.Map {
	partitions := []core.Map{}
	for i := range t.Value.Partitions {
		partitions = append(partitions, core.Map{"id": i, "size": 0, "in_sync_replicas": t.Value.Replication,
			"earliest_offset": 0, "consumer_groups": nil})
	}
	return core.Map{"name": t.Name, "state": t.State, "replication_factor": t.Value.Replication,
		"partitions": partitions, "config": withDefaults(parameters["kafka topic"], t.Value.Config)}
}
