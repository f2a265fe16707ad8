package database

import (
	"maps"
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// Sink forwards a cluster's logs; its config is kept as it was sent.
type Sink struct {
	Kind   string         `json:"sink_type"`
	Config map[string]any `json:"config"`
}

// Sinks is the table of log sinks, children of a cluster by id.
var Sinks = core.Table[Sink]{Type: "database.logsink"}

// sinkFields are the config fields that a sink of a type must have. The document
// asks for rsyslog's tls too, but godo leaves a false one out, and its clients
// make sinks without TLS.
var sinkFields = map[string][]string{
	"rsyslog":       {"server", "port", "format"},
	"elasticsearch": {"url", "index_prefix"},
	"opensearch":    {"url", "index_prefix"},
	"datadog":       {"site", "datadog_api_key"},
}

type sinkInput struct {
	Name   string         `json:"sink_name"`
	Kind   string         `json:"sink_type"`
	Config map[string]any `json:"config"`
}

func (in sinkInput) check(engine string) error {
	fields, ok := sinkFields[in.Kind]
	if !ok || (in.Kind == "datadog" && engine != "mongodb") {
		return core.Unprocessable("invalid sink_type: %q is not available for engine %s", in.Kind, engine)
	}
	for _, field := range fields {
		if in.Config[field] == nil || in.Config[field] == "" {
			return core.Unprocessable("invalid config: %s is required", field)
		}
	}
	if format, ok := in.Config["format"].(string); ok && !slices.Contains([]string{"rfc5424", "rfc3164", "custom"}, format) {
		return core.Unprocessable("invalid config: unknown format %q", format)
	}
	return nil
}

func listSinks(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, s := range Sinks.All(c, r.ID) {
		views = append(views, sinkView(s))
	}
	return core.OK(core.Map{"sinks": views})
}

func createSink(c *core.Call) (core.Answer, error) {
	r, err := usable(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in sinkInput
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in.Name == "" {
		return core.Answer{}, core.Unprocessable("sink_name is required")
	}
	if _, taken := Sinks.Named(c, r.ID, in.Name); taken {
		return core.Answer{}, core.Unprocessable("sink name is not available")
	}
	if err := in.check(r.Value.Engine); err != nil {
		return core.Answer{}, err
	}
	s := Sinks.Insert(c, core.Meta{ID: core.NewUUID(), Parent: r.ID, Name: in.Name}, Sink{Kind: in.Kind, Config: in.Config})
	return core.Created(core.Map{"sink": sinkView(s)})
}

func findSink(c *core.Call, get func(*core.Call) (record, error)) (record, *core.Record[Sink], error) {
	r, err := get(c)
	if err != nil {
		return nil, nil, err
	}
	s, ok := Sinks.Get(c, c.Param("sink"))
	if !ok || s.Parent != r.ID {
		return nil, nil, core.NotFound("logsink not found")
	}
	return r, s, nil
}

// getSink answers the sink without a key around it, unlike the create.
func getSink(c *core.Call) (core.Answer, error) {
	_, s, err := findSink(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(sinkView(s))
}

func updateSink(c *core.Call) (core.Answer, error) {
	r, s, err := findSink(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	var in sinkInput
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	in.Kind = s.Value.Kind
	if err := in.check(r.Value.Engine); err != nil {
		return core.Answer{}, err
	}
	s.Value.Config = in.Config
	Sinks.Save(c, s)
	return core.OK(nil)
}

func deleteSink(c *core.Call) (core.Answer, error) {
	_, s, err := findSink(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	Sinks.Remove(c, s.ID)
	return core.OK(nil)
}

func sinkView(s *core.Record[Sink]) core.Map {
	config := maps.Clone(s.Value.Config)
	if s.Value.Kind == "rsyslog" && config["tls"] == nil {
		config["tls"] = false
	}
	return core.Map{"sink_id": s.ID, "sink_name": s.Name, "sink_type": s.Value.Kind, "config": config}
}
