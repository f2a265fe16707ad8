// Package contract is the HTTP contract as data: the JSON Schemas (draft-07) of
// what each method takes and answers, the checks against them, and the OpenAPI
// document made from them. It knows no HTTP and no storage.
//
//	raw bytes --> read: one strict JSON value --> schema of the method --> struct
//
// Every refusal is a *cloud.Error INVALID_INPUT whose details.fields name what
// is wrong, as in spec.services[0].name, and whose text never repeats a value.
package contract

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/xeipuuv/gojsonschema"
)

//go:embed schemas/*.json
var files embed.FS

// Method is one call as the contract describes it.
type Method struct {
	// Name is "<group>.<method>", such as cloudResources.create.
	Name        string `json:"-"`
	Summary     string `json:"summary"`
	Description string `json:"description,omitempty"`
	// Mutation: it changes something; the others only read.
	Mutation bool `json:"mutation,omitempty"`
	// Decided says which action is decided on what.
	Decided string          `json:"decided"`
	Input   json.RawMessage `json:"input"`
	Output  json.RawMessage `json:"output"`
	// Internal methods are not served over HTTP.
	Internal bool `json:"internal,omitempty"`
}

// Path is the method's HTTP path.
func (m *Method) Path() string { return "/api/compute/" + strings.Replace(m.Name, ".", "/", 1) }

// Contract is every method, compiled.
type Contract struct {
	methods     map[string]*Method
	definitions map[string]json.RawMessage
	inputs      map[string]*gojsonschema.Schema
	outputs     map[string]*gojsonschema.Schema
	// specs holds the compiled schemas of kinds by their text.
	specs sync.Map
}

var load = sync.OnceValues(compile)

// New returns the contract. The schemas are compiled once in a process; that
// they compile is tested, so that trouble here is a broken build.
func New() *Contract {
	c, err := load()
	if err != nil {
		panic(err)
	}
	return c
}

// Methods lists every method by name.
func (c *Contract) Methods() []*Method {
	out := make([]*Method, 0, len(c.methods))
	for _, name := range slices.Sorted(maps.Keys(c.methods)) {
		out = append(out, c.methods[name])
	}
	return out
}

// Method is the method of a name; ok is false when there is none.
func (c *Contract) Method(name string) (m *Method, ok bool) { m, ok = c.methods[name]; return m, ok }

func compile() (*Contract, error) {
	c := &Contract{
		methods: map[string]*Method{}, definitions: map[string]json.RawMessage{},
		inputs: map[string]*gojsonschema.Schema{}, outputs: map[string]*gojsonschema.Schema{},
	}
	names, err := fs.Glob(files, "schemas/*.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := c.read(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for name, m := range c.methods {
		if c.inputs[name], err = c.compileSchema(m.Input); err != nil {
			return nil, fmt.Errorf("%s: input: %w", name, err)
		}
		if c.outputs[name], err = c.compileSchema(m.Output); err != nil {
			return nil, fmt.Errorf("%s: output: %w", name, err)
		}
	}
	return c, nil
}

// read takes one file: {"definitions": {...}, "methods": {...}}. Definitions are
// shared by all files.
func (c *Contract) read(name string) error {
	raw, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	var file struct {
		Definitions map[string]json.RawMessage `json:"definitions"`
		Methods     map[string]*Method         `json:"methods"`
	}
	if err := decodeStrict(raw, &file); err != nil {
		return err
	}
	for name, d := range file.Definitions {
		if c.definitions[name] != nil {
			return fmt.Errorf("definition %s stands twice", name)
		}
		c.definitions[name] = d
	}
	for name, m := range file.Methods {
		m.Name = name
		c.methods[name] = m
	}
	return nil
}

// compileSchema compiles a schema with the definitions that it needs.
func (c *Contract) compileSchema(schema json.RawMessage) (*gojsonschema.Schema, error) {
	needed := map[string]json.RawMessage{}
	if err := c.gather(schema, needed); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(map[string]any{"allOf": []any{schema}, "definitions": needed})
	if err != nil {
		return nil, err
	}
	return compileDraft7(raw)
}

const definitionPrefix = "#/definitions/"

var reference = regexp.MustCompile(`"\$ref":\s*"` + definitionPrefix + `(\w+)"`)

// gather adds the definitions to which a schema refers, and those to which they do.
func (c *Contract) gather(schema json.RawMessage, needed map[string]json.RawMessage) error {
	for _, match := range reference.FindAllSubmatch(schema, -1) {
		name := string(match[1])
		definition, ok := c.definitions[name]
		switch {
		case !ok:
			return fmt.Errorf("no definition %s", name)
		case needed[name] != nil:
			continue
		}
		needed[name] = definition
		if err := c.gather(definition, needed); err != nil {
			return err
		}
	}
	return nil
}

func compileDraft7(raw []byte) (*gojsonschema.Schema, error) {
	loader := gojsonschema.NewSchemaLoader()
	loader.Draft, loader.AutoDetect = gojsonschema.Draft7, false
	return loader.Compile(gojsonschema.NewBytesLoader(raw))
}
