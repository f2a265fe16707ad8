package postgres

import (
	"encoding/hex"

	"github.com/tink-crypto/tink-go/v2/prf"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/better-compute/cloud-resources/cloud"
)

// Keyset holds the keys of the secret store: those that seal values and one
// that makes digests. A nil *Keyset is a deployment without a secret store; its
// methods may be called and say so.
//
// Both keys are Tink primitives, so a KMS or a Vault takes part by giving a
// tink.AEAD that wraps the file (WithMasterKey). Nothing else of the store
// knows where keys come from.
type Keyset struct {
	aead tink.AEAD
	prf  *prf.Set
}

// digestBytes is the length of a digest.
const digestBytes = 16

// errNoSecretStore is what every use of secrets answers without keys.
func errNoSecretStore() *cloud.Error {
	return cloud.Errorf(cloud.CodeUnsupported, "this deployment has no secret store").Because(cloud.ReasonSecretStore)
}

// Seal encrypts plaintext with the primary key (AES-256-GCM). Open needs the
// same associatedData, so a sealed value that is moved to another name does not
// open there. UNSUPPORTED (secretStore) without keys.
func (k *Keyset) Seal(plaintext, associatedData []byte) ([]byte, error) {
	if k == nil {
		return nil, errNoSecretStore()
	}
	sealed, err := k.aead.Encrypt(plaintext, associatedData)
	if err != nil {
		return nil, &cloud.Error{Code: cloud.CodeInternal, Message: "a secret could not be sealed", Err: err}
	}
	return sealed, nil
}

// Open decrypts what Seal made with any key of the set. INTERNAL when no key
// fits or the value was changed or moved; UNSUPPORTED without keys.
func (k *Keyset) Open(sealed, associatedData []byte) ([]byte, error) {
	if k == nil {
		return nil, errNoSecretStore()
	}
	plain, err := k.aead.Decrypt(sealed, associatedData)
	if err != nil {
		return nil, &cloud.Error{Code: cloud.CodeInternal, Message: "a sealed secret could not be opened with this deployment's keys", Err: err}
	}
	return plain, nil
}

// Digest is a keyed hash of value in hex: equal values give equal digests, and
// nobody without the key can try guesses against one. It is "" for the empty
// value and without keys.
func (k *Keyset) Digest(value string) string {
	if k == nil || value == "" {
		return ""
	}
	sum, err := k.prf.ComputePrimaryPRF([]byte(value), digestBytes)
	if err != nil { // only a length beyond the PRF's own does this
		return ""
	}
	return hex.EncodeToString(sum)
}

// HasSecretStore says whether secrets can be sealed and opened. Without it,
// kinds with secret outputs are UNSUPPORTED (secretStore).
func (s *Store) HasSecretStore() bool { return s.keys != nil }
