package database

import (
	"slices"
	"strconv"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// Subject is a subject of the Kafka schema registry with its versions, oldest
// first.
type Subject struct {
	ID            int      `json:"schema_id"`
	Kind          string   `json:"schema_type"`
	Schemas       []string `json:"schemas"`
	Compatibility string   `json:"compatibility_level,omitempty"`
}

// Subjects is the table of subjects, children of a cluster by name.
var Subjects = core.Table[Subject]{Type: "database.schema"}

var levels = []string{"NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"}

// usualLevel is the compatibility of a registry that was never configured.
const usualLevel = "BACKWARD"

func findSubject(c *core.Call, get func(*core.Call) (record, error)) (record, *core.Record[Subject], error) {
	r, err := withKafka(c, get)
	if err != nil {
		return nil, nil, err
	}
	s, ok := Subjects.Get(c, core.ChildID(r.ID, c.Param("subject")))
	if !ok {
		return nil, nil, core.NotFound("subject not found")
	}
	return r, s, nil
}

func listSchemas(c *core.Call) (core.Answer, error) {
	r, err := withKafka(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, s := range Subjects.All(c, r.ID) {
		views = append(views, schemaView(s, len(s.Value.Schemas)))
	}
	return core.OK(core.Map{"subjects": views})
}

// createSchema also adds a version to a subject that exists.
func createSchema(c *core.Call) (core.Answer, error) {
	r, err := withKafka(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Name   string `json:"subject_name"`
		Kind   string `json:"schema_type"`
		Schema string `json:"schema"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in.Name == "" || in.Schema == "" || !slices.Contains([]string{"AVRO", "JSON", "PROTOBUF"}, in.Kind) {
		return core.Answer{}, core.Unprocessable("invalid schema: subject_name, schema_type and schema are required")
	}
	id := core.ChildID(r.ID, in.Name)
	s, ok := Subjects.Get(c, id)
	if !ok {
		s = Subjects.Insert(c, core.Meta{ID: id, Parent: r.ID, Name: in.Name}, Subject{Kind: in.Kind})
	}
	if s.Value.Kind != in.Kind {
		return core.Answer{}, core.Unprocessable("invalid schema_type: the subject holds %s schemas", s.Value.Kind)
	}
	if !slices.Contains(s.Value.Schemas, in.Schema) {
		s.Value.Schemas = append(s.Value.Schemas, in.Schema)
		s.Value.ID = core.StableNumber(id, strconv.Itoa(len(s.Value.Schemas))) % 100_000
		Subjects.Save(c, s)
	}
	return core.Created(schemaView(s, len(s.Value.Schemas)))
}

// getSchema answers the newest version, or the one in the path.
func getSchema(c *core.Call) (core.Answer, error) {
	_, s, err := findSubject(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	number := len(s.Value.Schemas)
	if asked := c.Param("version"); asked != "" && asked != "latest" {
		number, err = strconv.Atoi(asked)
		if err != nil || number < 1 || number > len(s.Value.Schemas) {
			return core.Answer{}, core.NotFound("schema version not found")
		}
	}
	view := schemaView(s, number)
	view["version"] = strconv.Itoa(number)
	return core.OK(view)
}

func deleteSchema(c *core.Call) (core.Answer, error) {
	_, s, err := findSubject(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	Subjects.Remove(c, s.ID)
	return core.NoContent()
}

func schemaView(s *core.Record[Subject], number int) core.Map {
	return core.Map{"schema_id": s.Value.ID, "subject_name": s.Name, "schema_type": s.Value.Kind,
		"schema": s.Value.Schemas[number-1]}
}

// level reads a compatibility level from the body.
func level(c *core.Call) (string, error) {
	var in struct {
		Level string `json:"compatibility_level"`
	}
	if err := c.Decode(&in); err != nil {
		return "", err
	}
	if !slices.Contains(levels, in.Level) {
		return "", core.Unprocessable("invalid compatibility_level: %q", in.Level)
	}
	return in.Level, nil
}

func (v Cluster) compatibility() string {
	if v.Compatibility == "" {
		return usualLevel
	}
	return v.Compatibility
}

func getRegistryConfig(c *core.Call) (core.Answer, error) {
	r, err := withKafka(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"compatibility_level": r.Value.compatibility()})
}

func putRegistryConfig(c *core.Call) (core.Answer, error) {
	r, err := withKafka(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	if r.Value.Compatibility, err = level(c); err != nil {
		return core.Answer{}, err
	}
	Clusters.Save(c, r)
	return core.OK(core.Map{"compatibility_level": r.Value.Compatibility})
}

func getSubjectConfig(c *core.Call) (core.Answer, error) {
	r, s, err := findSubject(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	kept := s.Value.Compatibility
	if kept == "" {
		kept = r.Value.compatibility()
	}
	return core.OK(core.Map{"subject_name": s.Name, "compatibility_level": kept})
}

func putSubjectConfig(c *core.Call) (core.Answer, error) {
	_, s, err := findSubject(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	if s.Value.Compatibility, err = level(c); err != nil {
		return core.Answer{}, err
	}
	Subjects.Save(c, s)
	return core.OK(core.Map{"subject_name": s.Name, "compatibility_level": s.Value.Compatibility})
}
