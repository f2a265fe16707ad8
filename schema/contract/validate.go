package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xeipuuv/gojsonschema"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

var _ intent.Validator = (*Contract)(nil)

// ValidateInput checks a method's raw input. INVALID_INPUT with the fields.
func (c *Contract) ValidateInput(method string, raw []byte) error {
	schema, ok := c.inputs[method]
	if !ok {
		return cloud.Errorf(cloud.CodeInternal, "internal error").With("method", method)
	}
	object, err := read(raw)
	if err != nil {
		return err
	}
	return validate(schema, object, "")
}

// Decode checks a method's raw input and fills a struct with it; numbers in
// values of any type stay as they are written.
func (c *Contract) Decode(method string, raw []byte, into any) error {
	if err := c.ValidateInput(method, raw); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err := dec.Decode(into)
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch): // an integer written as 1.0 or 1e0
		return invalid(label(mismatch.Field)+" must be written as a plain integer", mismatch.Field)
	}
	return invalidJSON(err)
}

// ValidateOutput checks what a method answers, for tests.
func (c *Contract) ValidateOutput(method string, raw []byte) error {
	schema := c.outputs[method]
	if schema == nil {
		return fmt.Errorf("no such method: %s", method)
	}
	object, err := read(raw)
	if err != nil {
		return err
	}
	return validate(schema, object, "")
}

// ValidateSpec checks a spec against its kind's schema, which is compiled once.
// INVALID_INPUT with the fields under "spec.".
func (c *Contract) ValidateSpec(m *cloud.Manifest, spec cloud.Spec) error {
	schema, err := c.specSchema(m)
	if err != nil {
		return &cloud.Error{Code: cloud.CodeInternal, Message: "internal error", Err: fmt.Errorf("kind %s: %w", m.Kind, err)}
	}
	// Through JSON, so that only what JSON has is compared: kinds may normalise
	// to Go numbers.
	object, err := read(spec.JSON())
	if err != nil {
		return under("spec", err)
	}
	return validate(schema, object, "spec")
}

func under(prefix string, err error) error {
	e := cloud.AsError(err)
	fields, _ := e.Details["fields"].([]string)
	named := make([]string, len(fields))
	for i, f := range fields {
		named[i] = join(prefix, f)
	}
	if len(named) == 0 {
		named = []string{prefix}
	}
	return e.With("fields", named)
}

func (c *Contract) specSchema(m *cloud.Manifest) (*gojsonschema.Schema, error) {
	key := string(m.Spec)
	if s, ok := c.specs.Load(key); ok {
		return s.(*gojsonschema.Schema), nil
	}
	s, err := compileDraft7(m.Spec)
	if err != nil {
		return nil, err
	}
	c.specs.Store(key, s)
	return s, nil
}

// problem is one thing that is wrong.
type problem struct{ field, message string }

// maxProblems bounds what one refusal names.
const maxProblems = 20

func validate(schema *gojsonschema.Schema, value map[string]any, prefix string) error {
	result, err := schema.Validate(gojsonschema.NewRawLoader(value))
	if err != nil {
		return &cloud.Error{Code: cloud.CodeInternal, Message: "internal error", Err: err}
	}
	if result.Valid() {
		return nil
	}
	problems := problemsOf(result.Errors(), value, prefix)
	var fields, messages []string
	for _, p := range problems[:min(len(problems), maxProblems)] {
		if p.field != "" && !slices.Contains(fields, p.field) {
			fields = append(fields, p.field)
		}
		messages = append(messages, label(p.field)+" "+p.message)
	}
	if len(fields) == 0 {
		return invalid(strings.Join(messages, "; "), "")
	}
	return cloud.InvalidField(strings.Join(messages, "; "), fields...)
}

// problemsOf translates what the validator found, in the order of the fields.
// That a whole did not fit (allOf, oneOf, if) is told only when nothing says why.
func problemsOf(errs []gojsonschema.ResultError, value map[string]any, prefix string) []problem {
	var precise, wholes []problem
	for _, e := range errs {
		words, whole := describe(e)
		p := problem{fieldOf(e, value, prefix), words}
		switch {
		case whole:
			wholes = append(wholes, p)
		default:
			precise = append(precise, p)
		}
	}
	if len(precise) == 0 {
		precise = wholes
	}
	slices.SortFunc(precise, func(a, b problem) int {
		if c := strings.Compare(a.field, b.field); c != 0 {
			return c
		}
		return strings.Compare(a.message, b.message)
	})
	return slices.Compact(precise)
}

// separator keeps the parts of a path apart in the validator's text of it.
const separator = "\x00"

// fieldOf is the path of the field that an error is about. A part is an index
// where the value there is a list.
func fieldOf(e gojsonschema.ResultError, value map[string]any, prefix string) string {
	parts := strings.Split(e.Context().String(separator), separator)[1:] // without the root
	if name, ok := e.Details()["property"].(string); ok {
		switch e.(type) {
		case *gojsonschema.RequiredError, *gojsonschema.AdditionalPropertyNotAllowedError:
			parts = append(parts, name)
		}
	}
	path, at := prefix, any(value)
	for _, part := range parts {
		switch t := at.(type) {
		case []any:
			path += "[" + part + "]"
			at = nil
			var i int
			if _, err := fmt.Sscan(part, &i); err == nil && i >= 0 && i < len(t) {
				at = t[i]
			}
		case map[string]any:
			path, at = join(path, part), t[part]
		default:
			path = join(path, part)
		}
	}
	return path
}
