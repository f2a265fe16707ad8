package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/better-compute/cloud-resources/cloud"
)

// Bounds of what is read.
const (
	// MaxBody is how many bytes an input may have.
	MaxBody = 1 << 20
	// maxDepth is how deep objects and lists may stand in each other.
	maxDepth = 64
	// maxNumber is how many characters a number may have; its exponent has at
	// most three digits. Beyond it nothing here or at a provider keeps its value.
	maxNumber = 64
)

// trouble is what is wrong with JSON, and where.
type trouble struct {
	path    string
	message string
}

func (t *trouble) Error() string { return t.message }

// read decodes exactly one JSON object and is strict where encoding/json is
// not: no name twice in an object, no invalid UTF-8, no NUL (Postgres keeps
// none), nothing after it, bounded depth. Numbers stay as they are written.
func read(raw []byte) (map[string]any, error) {
	switch {
	case len(raw) > MaxBody:
		return nil, invalid(fmt.Sprintf("the input has more than %d bytes", MaxBody), "")
	case !utf8.Valid(raw):
		return nil, invalid("the input is not valid UTF-8", "")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := readValue(dec, "", 0)
	if err == nil {
		_, err = dec.Token()
		if errors.Is(err, io.EOF) {
			err = nil
		} else {
			err = &trouble{message: "something follows the JSON object"}
		}
	}
	if err != nil {
		return nil, invalidJSON(err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("the input must be a JSON object", "")
	}
	return object, nil
}

func invalidJSON(err error) error {
	var t *trouble
	switch {
	case errors.As(err, &t):
		return invalid(t.message, t.path)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("the input must be a JSON object; it is empty or ends too early", "")
	}
	return invalid("the input is not valid JSON", "")
}

// invalid names the field unless the whole input is meant.
func invalid(message, path string) error {
	if path == "" {
		return cloud.Errorf(cloud.CodeInvalidInput, "%s", message)
	}
	return cloud.InvalidField(message, path)
}

func readValue(dec *json.Decoder, path string, depth int) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if depth == maxDepth {
			return nil, &trouble{path, fmt.Sprintf("the input is nested more than %d deep", maxDepth)}
		}
		if t == '{' {
			return readObject(dec, path, depth+1)
		}
		return readList(dec, path, depth+1)
	case string:
		return t, readable(t, path)
	case json.Number:
		return t, bounded(t.String(), path)
	}
	return token, nil
}

func readObject(dec *json.Decoder, path string, depth int) (any, error) {
	object := map[string]any{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		at := join(path, name)
		if err := readable(name, path); err != nil {
			return nil, err
		}
		if _, twice := object[name]; twice {
			return nil, &trouble{at, label(at) + " stands there twice"}
		}
		if object[name], err = readValue(dec, at, depth); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token() // the closing brace
	return object, err
}

func readList(dec *json.Decoder, path string, depth int) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := readValue(dec, fmt.Sprintf("%s[%d]", path, len(list)), depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := dec.Token() // the closing bracket
	return list, err
}

func readable(text, path string) error {
	if strings.ContainsRune(text, 0) {
		return &trouble{path, label(path) + " holds a NUL character"}
	}
	return nil
}

func bounded(number, path string) error {
	_, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	if len(number) > maxNumber || len(strings.TrimLeft(exponent, "+-0")) > 3 {
		return &trouble{path, label(path) + " is too large or too precise a number"}
	}
	return nil
}

// maxName is how much of a name that a caller made up is repeated.
const maxName = 80

func join(path, name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// label names a field in a sentence.
func label(path string) string {
	if path == "" {
		return "the input"
	}
	return path
}

// decodeStrict fills a struct from this package's own files.
func decodeStrict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}
