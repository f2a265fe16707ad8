package postgres

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	"github.com/tink-crypto/tink-go/v2/tink"
)

const keysetFormat = "better-compute/keyset/v1"

// keysetFile is the file: two Tink key sets in Tink's own JSON.
type keysetFile struct {
	Format string `json:"format"`
	// Seal has one primary key that seals, and older ones that still open.
	Seal json.RawMessage `json:"seal"`
	// Digest is not rotated with Seal: stored digests are compared with new ones.
	Digest json.RawMessage `json:"digest"`
}

// KeysetOption changes how a key set file is read and written.
type KeysetOption func(*keysetOptions)

type keysetOptions struct{ master tink.AEAD }

// WithMasterKey says that the keys in the file are themselves encrypted by
// master, for instance the Tink client of a KMS or of Vault's transit engine.
// Without it the file's mode is all that protects them.
func WithMasterKey(master tink.AEAD) KeysetOption {
	return func(o *keysetOptions) { o.master = master }
}

// LoadKeyset reads the file at path. An empty path gives a nil Keyset: a
// deployment without a secret store. A missing file is made with new keys and
// mode 0600 when createIfMissing is set and is an error otherwise, since new
// keys would open none of the old secrets. Any number of processes may start on
// the same missing file at once. A file that others on the machine may read is
// refused.
func LoadKeyset(path string, createIfMissing bool, opts ...KeysetOption) (*Keyset, error) {
	if path == "" {
		return nil, nil
	}
	if strings.Contains(path, "://") {
		return nil, fmt.Errorf("key set %s: only files are read here; a KMS joins in through WithMasterKey", path)
	}
	o := keyOptions(opts)
	file, err := readKeyset(path)
	if errors.Is(err, fs.ErrNotExist) && createIfMissing {
		if err := o.create(path); err != nil {
			return nil, fmt.Errorf("key set: %w", err)
		}
		file, err = readKeyset(path)
	}
	if err != nil {
		return nil, fmt.Errorf("key set: %w", err)
	}
	k, err := o.open(file)
	if err != nil {
		return nil, fmt.Errorf("key set %s: %w", path, err)
	}
	return k, nil
}

// RotateKeyset adds a new sealing key to the file and makes it the primary one.
// Older keys stay and open what they sealed. Processes use the new key once
// they have loaded the file again; give it to all of them before one seals.
func RotateKeyset(path string, opts ...KeysetOption) error {
	o := keyOptions(opts)
	file, err := readKeyset(path)
	if err != nil {
		return fmt.Errorf("key set: %w", err)
	}
	h, err := o.decode(file.Seal)
	if err != nil {
		return fmt.Errorf("key set %s: %w", path, err)
	}
	m := keyset.NewManagerFromHandle(h)
	id, err := m.Add(aead.AES256GCMKeyTemplate())
	if err == nil {
		err = m.SetPrimary(id)
	}
	if err == nil {
		h, err = m.Handle()
	}
	if err == nil {
		file.Seal, err = o.encode(h)
	}
	if err != nil {
		return fmt.Errorf("key set %s: %w", path, err)
	}
	return writeKeyset(path, file, os.Rename)
}

func keyOptions(opts []KeysetOption) keysetOptions {
	var o keysetOptions
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// create makes a new file. Of several processes that try at once one wins, and
// the others read the winner's.
func (o keysetOptions) create(path string) error {
	seal, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return err
	}
	digest, err := keyset.NewHandle(prf.HMACSHA256PRFKeyTemplate())
	if err != nil {
		return err
	}
	file := keysetFile{Format: keysetFormat}
	if file.Seal, err = o.encode(seal); err != nil {
		return err
	}
	if file.Digest, err = o.encode(digest); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	err = writeKeyset(path, file, os.Link) // refuses an existing file, which a rename would replace
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (o keysetOptions) open(file keysetFile) (*Keyset, error) {
	seal, err := o.decode(file.Seal)
	if err != nil {
		return nil, err
	}
	digest, err := o.decode(file.Digest)
	if err != nil {
		return nil, err
	}
	k := &Keyset{}
	if k.aead, err = aead.New(seal); err != nil {
		return nil, err
	}
	if k.prf, err = prf.NewPRFSet(digest); err != nil {
		return nil, err
	}
	return k, nil
}

func (o keysetOptions) encode(h *keyset.Handle) (json.RawMessage, error) {
	var b bytes.Buffer
	w := keyset.NewJSONWriter(&b)
	var err error
	if o.master == nil {
		err = insecurecleartextkeyset.Write(h, w)
	} else {
		err = h.Write(w, o.master)
	}
	return b.Bytes(), err
}

func (o keysetOptions) decode(raw json.RawMessage) (*keyset.Handle, error) {
	r := keyset.NewJSONReader(bytes.NewReader(raw))
	if o.master == nil {
		return insecurecleartextkeyset.Read(r)
	}
	return keyset.Read(r, o.master)
}

// readKeyset never quotes the file in its errors.
func readKeyset(path string) (keysetFile, error) {
	var file keysetFile
	f, err := os.Open(path)
	if err != nil {
		return file, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return file, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return file, fmt.Errorf("%s may be read by others (mode %04o); run chmod 600 on it", path, info.Mode().Perm())
	}
	raw, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return file, err
	}
	if json.Unmarshal(raw, &file) != nil || file.Format != keysetFormat {
		return file, fmt.Errorf("%s is not a key set file (format %q)", path, keysetFormat)
	}
	return file, nil
}

// writeKeyset writes beside path and lets place put the whole file there, so
// that no reader ever sees half of it.
func writeKeyset(path string, file keysetFile, place func(from, to string) error) error {
	raw, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".keyset-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(raw, '\n'))
	if err == nil {
		err = tmp.Sync()
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return place(tmp.Name(), path)
}
