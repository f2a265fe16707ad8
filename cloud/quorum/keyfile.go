package quorum

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
)

// KeyFile is an approver's private key. It belongs on the approver's machine,
// readable by the owner only, and never on the control plane.
type KeyFile struct {
	Format     string    `json:"format"`
	ApproverID string    `json:"approverId"`
	PublicKey  PublicKey `json:"publicKey"`
	// Seed is the private key of RFC 8032, 32 bytes, base64 in JSON.
	Seed []byte `json:"privateKey"`
	// TrustDomain, when set, is the only domain that the key signs for.
	TrustDomain string `json:"trustDomain,omitempty"`
}

// NewKeyFile makes a key from random, usually crypto/rand.Reader.
func NewKeyFile(approverID, domain string, random io.Reader) (KeyFile, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return KeyFile{}, fmt.Errorf("random bytes: %w", err)
	}
	k := KeyFile{Format: FormatKey, ApproverID: approverID, Seed: seed, TrustDomain: domain}
	k.PublicKey = PublicKey(k.private().Public().(ed25519.PublicKey))
	return k, k.validate()
}

func (k KeyFile) private() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(k.Seed) }

func (k KeyFile) validate() error {
	switch {
	case k.Format != FormatKey:
		return refuse(ReasonMalformed, "format %+q is not %q", k.Format, FormatKey)
	case !validApproverID(k.ApproverID):
		return refuse(ReasonMalformed, "an approver id has 1 to 128 letters, digits or ._:@-")
	case k.TrustDomain != "" && !validDomain(k.TrustDomain):
		return refuse(ReasonMalformed, "a trust domain has 1 to 255 letters, digits or ._:/-")
	case len(k.Seed) != ed25519.SeedSize:
		return refuse(ReasonMalformed, "a private key has %d bytes", ed25519.SeedSize)
	case PublicKey(k.private().Public().(ed25519.PublicKey)) != k.PublicKey:
		return refuse(ReasonMalformed, "the public key does not belong to the private key")
	}
	return nil
}

// Approver is the public half, as policies and the platform file list it.
func (k KeyFile) Approver() Approver { return Approver{ID: k.ApproverID, PublicKey: k.PublicKey} }

// Sign approves a statement; a key kept for one trust domain refuses others
// (wrongDomain).
func (k KeyFile) Sign(st Statement) (ApprovalFile, error) {
	if k.TrustDomain != "" && k.TrustDomain != st.TrustDomain {
		return ApprovalFile{}, refuse(ReasonWrongDomain, "the key signs for %s, the batch is for %+q", k.TrustDomain, st.TrustDomain)
	}
	a, err := Sign(k.private(), k.ApproverID, st)
	return ApprovalFile{Format: FormatApproval, Statement: st, Approval: a}, err
}

// WriteKeyFile creates path with mode 0600. It never replaces a file: an
// overwritten key is lost.
func WriteKeyFile(path string, k KeyFile) error {
	data, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(append(data, '\n')); err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// ReadKeyFile reads a key and refuses one that others on the machine could
// read.
func ReadKeyFile(path string) (KeyFile, error) {
	var k KeyFile
	f, err := os.Open(path)
	if err != nil {
		return k, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return k, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return k, fmt.Errorf("%s may be read by others (mode %04o); run chmod 600 on it", path, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return k, err
	}
	if err := DecodeStrict(data, &k); err != nil {
		return k, fmt.Errorf("%s is not a key file", path) // the decoder's words could quote the key
	}
	return k, k.validate()
}
