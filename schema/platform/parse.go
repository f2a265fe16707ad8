package platform

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"
)

// Schema is the JSON Schema (draft-07) of the file, for editors and for Parse.
//
//go:embed platform.schema.json
var Schema []byte

//go:embed dev.yaml
var devFile []byte

// Problem is one thing that is wrong with a file.
type Problem struct {
	// Path says where, as in pools[2].account; "" is the file itself.
	Path    string
	Message string
}

// Invalid lists all that is wrong with a file.
type Invalid struct{ Problems []Problem }

func (e *Invalid) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Message
		if p.Path != "" {
			lines[i] = p.Path + ": " + p.Message
		}
	}
	return "the platform file is not valid:\n  " + strings.Join(lines, "\n  ")
}

// maxFile bounds a platform file, in bytes.
const maxFile = 16 << 20

// Load reads a platform file. Relative paths of secrets in it start at its
// folder.
func Load(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	dir := filepath.Dir(path)
	for _, s := range f.secretSources() {
		if s.File != "" && !filepath.IsAbs(s.File) {
			s.File = filepath.Join(dir, s.File)
		}
	}
	return f, nil
}

// Parse reads YAML or JSON, checks it and fills in defaults. Unknown and
// repeated keys are errors. A file that does not parse, or is wrong, gives
// *Invalid.
func Parse(raw []byte) (*File, error) {
	asJSON, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return nil, &Invalid{[]Problem{{Message: err.Error()}}}
	}
	if problems, err := validate(asJSON); err != nil || len(problems) > 0 {
		if err != nil {
			problems = []Problem{{Message: err.Error()}}
		}
		return nil, &Invalid{problems}
	}
	dec := json.NewDecoder(bytes.NewReader(asJSON))
	dec.DisallowUnknownFields()
	f := &File{}
	if err := dec.Decode(f); err != nil {
		return nil, &Invalid{[]Problem{{Message: err.Error()}}}
	}
	if problems := f.complete(); len(problems) > 0 {
		return nil, &Invalid{problems}
	}
	return f, nil
}

// Development is the embedded platform of the dev command. apiURL is the
// simulator's address; "" keeps the one in the file.
func Development(apiURL string) (*File, error) {
	f, err := Parse(devFile)
	if err != nil {
		return nil, err
	}
	for i := range f.Accounts {
		if apiURL != "" {
			f.Accounts[i].APIURL = apiURL
		}
	}
	return f, nil
}

var compiled = sync.OnceValues(func() (*gojsonschema.Schema, error) {
	return gojsonschema.NewSchema(gojsonschema.NewBytesLoader(Schema))
})

func validate(asJSON []byte) ([]Problem, error) {
	schema, err := compiled()
	if err != nil {
		return nil, err
	}
	result, err := schema.Validate(gojsonschema.NewBytesLoader(asJSON))
	if err != nil {
		return nil, err
	}
	var problems []Problem
	for _, e := range result.Errors() {
		path := strings.TrimPrefix(strings.TrimPrefix(e.Context().String(), "(root)"), ".")
		message := e.Description()
		switch property, _ := e.Details()["property"].(string); e.Type() {
		case "additional_property_not_allowed":
			path, message = strings.TrimPrefix(path+"."+property, "."), "unknown field"
		case "required":
			path, message = strings.TrimPrefix(path+"."+property, "."), "is required"
		}
		// A file that is no object at all has no place to name.
		problems = append(problems, Problem{Path: indexes.ReplaceAllString(path, "[$1]"), Message: message})
	}
	return problems, nil
}

// indexes are list positions in a path of the validator.
var indexes = regexp.MustCompile(`\.(\d+)\b`)
