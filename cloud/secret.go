package cloud

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
)

const redacted = "[secret]"

// Secret is a value that must not be printed, marshalled or logged: all of
// these give a placeholder. Reveal is the only way to the value.
type Secret struct{ value string }

// NewSecret wraps a value.
func NewSecret(value string) Secret { return Secret{value: value} }

// Reveal returns the value. Callers hand it to the sealer or to the one
// provider call that needs it, and to nothing else.
func (s Secret) Reveal() string { return s.value }

// Empty reports whether there is no value.
func (s Secret) Empty() bool { return s.value == "" }

func (s Secret) String() string               { return redacted }
func (s Secret) GoString() string             { return redacted }
func (s Secret) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(redacted)) }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

var secretRefPattern = regexp.MustCompile(`^secret://([A-Za-z0-9._:-]{1,128})/([A-Za-z0-9._:/-]{1,256})$`)

var secretRefInside = regexp.MustCompile(`secret://[A-Za-z0-9._:-]{1,128}/[A-Za-z0-9._:/-]{1,256}`)

// FindSecretRefs returns the SecretRefs that stand in a longer text (a YAML
// document, say), each once, in the order of their first places.
func FindSecretRefs(text string) []string {
	var refs []string
	for _, ref := range secretRefInside.FindAllString(text, -1) {
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// SecretRef is the address of a sealed secret: secret://<tenant>/<name> (D30).
type SecretRef string

// NewSecretRef makes the address of a tenant's secret.
func NewSecretRef(tenant, name string) SecretRef { return SecretRef("secret://" + tenant + "/" + name) }

// Parse splits a reference; ok is false when it is malformed.
func (r SecretRef) Parse() (tenant, name string, ok bool) {
	m := secretRefPattern.FindStringSubmatch(string(r))
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// OutputSecretName is the name under which an output of a resource is sealed.
// The same output always has the same name (D20).
func OutputSecretName(resourceID, output string) string {
	return "resources/" + resourceID + "/" + output
}
