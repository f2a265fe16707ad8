package core

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// ledgerSize is how many requests are remembered; older ones are forgotten.
const ledgerSize = 50_000

// Request is one line of the ledger. Account is the bearer token, since that is
// what an account is called; empty for a token that was refused.
type Request struct {
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
	Account string    `json:"account"`
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Query   string    `json:"query,omitempty"`
	// Status is what was answered, or would have been when Dropped.
	Status    int             `json:"status"`
	Dropped   bool            `json:"dropped,omitempty"`
	Fault     string          `json:"fault,omitempty"`
	RequestID string          `json:"requestId"`
	Body      json.RawMessage `json:"body,omitempty"`
}

type ledger struct {
	mu   sync.Mutex
	seq  int64
	list []Request
}

func (l *ledger) add(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	r.Seq = l.seq
	l.list = append(l.list, r)
	if len(l.list) > ledgerSize {
		l.list = append([]Request(nil), l.list[len(l.list)-ledgerSize*9/10:]...)
	}
}

func (l *ledger) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
}

// after returns the requests of an account ("" means all) that come after a
// sequence number and a time.
func (l *ledger) after(account string, seq int64, at time.Time) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := []Request{}
	for _, r := range l.list {
		if r.Seq > seq && r.At.After(at) && (account == "" || r.Account == account) {
			found = append(found, r)
		}
	}
	return found
}

const masked = "***"

// secretWords mark a body field as secret wherever they appear in its name.
var secretWords = []string{"password", "secret", "token", "auth_key", "api_key", "private_key",
	"access_key", "credential", "webhook"}

var (
	uriPassword = regexp.MustCompile(`(://[^:/@\s]*:)[^@/\s]+@`)
	pemBlock    = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)
)

type masker struct {
	fields map[string]bool
}

func (m *masker) add(fields []string) {
	for _, field := range fields {
		if m.fields == nil {
			m.fields = map[string]bool{}
		}
		m.fields[strings.ToLower(field)] = true
	}
}

// body returns a request body fit for the ledger: secrets replaced, anything
// that is no JSON reduced to its length.
func (m *masker) body(raw []byte) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	value := decodeAny(raw)
	if value == nil {
		return encode(fmt.Sprintf("(%d bytes)", len(raw)))
	}
	return encode(m.value(value))
}

func (m *masker) value(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if m.secret(name, field, v) {
				v[name] = masked
			} else {
				v[name] = m.value(field)
			}
		}
	case []any:
		for i := range v {
			v[i] = m.value(v[i])
		}
	case string:
		if pemBlock.MatchString(v) {
			return masked
		}
		return uriPassword.ReplaceAllString(v, "${1}"+masked+"@")
	}
	return value
}

// secret looks at a scalar field. An object under a telling name (secrets{...})
// is masked as a whole; an empty or boolean value gives nothing away and stays.
func (m *masker) secret(name string, field any, in map[string]any) bool {
	switch v := field.(type) {
	case nil, bool:
		return false
	case string:
		if v == "" {
			return false
		}
	}
	lower := strings.ToLower(name)
	if m.fields[lower] {
		return true
	}
	for _, word := range secretWords {
		if strings.Contains(lower, word) {
			return true
		}
	}
	kind, _ := in["type"].(string)
	return lower == "value" && kind == "SECRET"
}
