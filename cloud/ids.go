package cloud

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"regexp"
	"strings"
)

// Prefixes of the ids that this system derives.
const (
	PrefixResource    = "crs_"
	PrefixCertificate = "crt_"
	PrefixBatch       = "cmb_"
)

// nameLength is how many characters of an id go into a provider-side name
// (D2): with the prefix 29 characters, below the tightest limit known (32, App
// Platform names).
const nameLength = 24

// Patterns of the contract's identifiers.
var (
	PatternTenant   = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)
	PatternResource = regexp.MustCompile(`^crs_[0-9a-hjkmnp-tv-z]{26,52}$`)
	PatternPool     = regexp.MustCompile(`^pool_[0-9a-hjkmnp-tv-z]{26,52}$`)
	PatternProject  = regexp.MustCompile(`^prj_[0-9a-hjkmnp-tv-z]{26,52}$`)
	PatternInstance = regexp.MustCompile(`^ins_[0-9a-hjkmnp-tv-z]{26,52}$`)
	PatternNetwork  = regexp.MustCompile(`^net_[0-9a-hjkmnp-tv-z]{26,52}$`)
	PatternKind     = regexp.MustCompile(`^[a-z0-9]+(?:[.-][a-z0-9]+)*$`)
	// PatternProviderID is what a provider's id may look like when a caller names
	// it: one segment of a path, and no other.
	PatternProviderID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,199}$`)
	PatternName       = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// crockford is the lower-case Crockford alphabet: digits and letters without
// i, l, o and u.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// DeriveID returns prefix and 52 characters that depend on every part and on
// nothing else (D1, D2). Each part is preceded by its length, so ("a", "bc")
// and ("ab", "c") differ.
func DeriveID(prefix string, parts ...string) string {
	h := sha256.New()
	var size [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write([]byte(p))
	}
	return prefix + crockford.EncodeToString(h.Sum(nil))
}

// ResourceID is the id of the resource that this caller's key names in this
// tenant, for ever (D1).
func ResourceID(tenant, caller, key string) string {
	return DeriveID(PrefixResource, tenant, caller, key)
}

// LabelKey is the part of an id that provider-side names and labels carry: its
// first 24 characters after the prefix. It is "" for a string that is no id.
func LabelKey(id string) string {
	_, tail, ok := strings.Cut(id, "_")
	if !ok || len(tail) < nameLength {
		return ""
	}
	return tail[:nameLength]
}

// ProviderName is the name of a resource's object at the provider.
func ProviderName(id string) string { return "bc-r-" + LabelKey(id) }

// CertificateName is the name of a certificate's object at the provider.
// Certificates are immutable there, so each replacement has a serial of its own.
func CertificateName(id string, serial int64) string {
	name := "bc-c-" + LabelKey(id)
	if serial > 0 {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(serial))
		name += "-" + strings.TrimLeft(crockford.EncodeToString(b[:]), "0")
	}
	return name
}

// KeyFromProviderName returns the label key inside a provider-side name made
// by ProviderName, or "" for any other name.
func KeyFromProviderName(name string) string {
	key, ok := strings.CutPrefix(name, "bc-r-")
	if !ok || len(key) != nameLength {
		return ""
	}
	return key
}

// EncodeLabel makes any text safe for a label value: lower-case base32 without
// padding (D11). Provider tags fold case and refuse dots, tenant ids have both.
func EncodeLabel(text string) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(text)))
}

// DecodeLabel reverses EncodeLabel; ok is false for text that it never made.
func DecodeLabel(label string) (text string, ok bool) {
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(label))
	return string(raw), err == nil
}
