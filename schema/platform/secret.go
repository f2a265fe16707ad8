package platform

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// ClearText is a secret that stands in the file itself. It prints and marshals
// as a placeholder.
type ClearText struct{ cloud.Secret }

// UnmarshalJSON reads a string.
func (c *ClearText) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return errors.New("a secret is a string")
	}
	c.Secret = cloud.NewSecret(text)
	return nil
}

// IsZero reports whether there is none.
func (c ClearText) IsZero() bool { return c.Empty() }

// SecretSource says where a secret comes from: exactly one of its fields.
type SecretSource struct {
	Env   string    `json:"env,omitempty"`
	File  string    `json:"file,omitempty"`
	Value ClearText `json:"value,omitzero"` // development only
}

// maxSecret bounds a secret's file, in bytes.
const maxSecret = 64 << 10

// Resolve reads the secret, without the white space around it. An empty one is
// an error, and no error quotes it.
func (s SecretSource) Resolve() (cloud.Secret, error) {
	var text, from string
	switch {
	case s.Env != "":
		text, from = os.Getenv(s.Env), "the variable "+s.Env
	case s.File != "":
		f, err := os.Open(s.File)
		if err != nil {
			return cloud.Secret{}, err
		}
		defer f.Close()
		raw, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
		if err != nil {
			return cloud.Secret{}, err
		}
		if len(raw) > maxSecret {
			return cloud.Secret{}, fmt.Errorf("the file %s has more than %d bytes", s.File, maxSecret)
		}
		text, from = string(raw), "the file "+s.File
	default:
		text, from = s.Value.Reveal(), "the value"
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return cloud.Secret{}, fmt.Errorf("%s is not set or empty", from)
	}
	return cloud.NewSecret(text), nil
}
