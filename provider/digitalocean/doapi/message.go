package doapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"unicode"

	"github.com/better-compute/cloud-resources/provider/transport"
)

// maxMessage is how many characters of the provider's words are kept.
const maxMessage = 500

// maxErrorBody is how much of an error's body is looked at, in bytes.
const maxErrorBody = 64 << 10

const hidden = "[hidden]"

// Things that are secret wherever they stand.
var secretShapes = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(dop|doo|dor)_v1_[A-Za-z0-9]+`),
	regexp.MustCompile(`(?i)\bbearer\s+[^\s"']+`),
	regexp.MustCompile(`\bAVNS_[A-Za-z0-9_-]+`),
	regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`EV\[[^\]]*\]`),
}

// The password inside a connection URI.
var uriPassword = regexp.MustCompile(`(://[^\s/:@]*:)[^\s/@]+@`)

// A long run of letters of both cases and digits is a key, not a word. Ids and
// slugs of this provider are lower-case.
var longRun = regexp.MustCompile(`[A-Za-z0-9+/_=-]{20,}`)

// Line makes any text of the provider one line of at most 500 characters,
// without what looks like a secret.
func Line(text string) string { return clean(text, nil) }

// clean is Line, also without the given secrets.
func clean(text string, secrets []string) string {
	for _, s := range secrets {
		if len(s) >= 4 { // shorter ones are words that would be cut everywhere
			text = strings.ReplaceAll(text, s, hidden)
		}
	}
	for _, shape := range secretShapes {
		text = shape.ReplaceAllString(text, hidden)
	}
	text = uriPassword.ReplaceAllString(text, "${1}"+hidden+"@")
	text = longRun.ReplaceAllStringFunc(text, func(run string) string {
		if strings.ContainsFunc(run, unicode.IsUpper) && strings.ContainsFunc(run, unicode.IsLower) && strings.ContainsFunc(run, unicode.IsDigit) {
			return hidden
		}
		return run
	})
	text = strings.ToValidUTF8(text, "")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.In(r, unicode.Cf)
	}), " ")
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage])
	}
	return text
}

// errorShape is every shape in which this provider's products tell an error.
type errorShape struct {
	ID         string          `json:"id"`
	Message    string          `json:"message"`
	RequestID  string          `json:"request_id"`
	Error      json.RawMessage `json:"error"`
	Messages   []string        `json:"messages"`
	RootCauses []string        `json:"root_causes"`
}

// rewriteError gives every refusal the one shape that godo reads. A body that
// is no JSON object (a proxy's page, plain text) is dropped: godo would put it
// whole into its message.
func rewriteError(r *http.Response) {
	if r.StatusCode < 300 {
		return
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxErrorBody))
	_ = r.Body.Close()
	var in errorShape
	if err != nil || json.Unmarshal(raw, &in) != nil {
		in = looseShape(raw)
	}
	out, err := json.Marshal(map[string]string{"id": in.ID, "message": in.text(), "request_id": in.RequestID})
	if err != nil {
		out = []byte("{}")
	}
	r.Body = io.NopCloser(bytes.NewReader(out))
	r.ContentLength = int64(len(out))
	r.Header.Set("Content-Length", "")
	r.Header.Del("Content-Length")
}

// looseShape reads an object whose fields have other types than usual.
func looseShape(raw []byte) errorShape {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return errorShape{}
	}
	var s errorShape
	_ = json.Unmarshal(fields["message"], &s.Message)
	_ = json.Unmarshal(fields["request_id"], &s.RequestID)
	s.Error = fields["error"]
	return s
}

func (s errorShape) text() string {
	parts := []string{s.Message}
	var nested struct {
		Message string `json:"message"`
	}
	var plain string
	switch {
	case json.Unmarshal(s.Error, &plain) == nil:
		parts = append(parts, plain)
	case json.Unmarshal(s.Error, &nested) == nil:
		parts = append(parts, nested.Message)
	}
	parts = append(parts, s.Messages...)
	parts = append(parts, s.RootCauses...)
	kept := parts[:0]
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ": ")
}

// isBodyError reports that an answer came but could not be read.
func isBodyError(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, transport.ErrBodyTooLarge)
}
