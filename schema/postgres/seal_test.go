package postgres

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"github.com/better-compute/cloud-resources/cloud"
)

func newKeyset(t *testing.T) (*Keyset, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys", "keyset.json")
	k, err := LoadKeyset(path, true)
	require.NoError(t, err)
	return k, path
}

func TestSealBindsValueToItsName(t *testing.T) {
	t.Parallel()
	k, _ := newKeyset(t)
	sealed, err := k.Seal([]byte("CANARY"), []byte("secret://acme/a"))
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "CANARY")
	plain, err := k.Open(sealed, []byte("secret://acme/a"))
	require.NoError(t, err)
	require.Equal(t, "CANARY", string(plain))

	_, err = k.Open(sealed, []byte("secret://globex/a"))
	require.Equal(t, cloud.CodeInternal, cloud.AsError(err).Code)
	sealed[len(sealed)-1] ^= 1
	_, err = k.Open(sealed, []byte("secret://acme/a"))
	require.Error(t, err, "a changed value must not open")
}

func TestKeysetFileIsPrivateAndLasts(t *testing.T) {
	t.Parallel()
	k, path := newKeyset(t)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	sealed, err := k.Seal([]byte("v"), nil)
	require.NoError(t, err)
	again, err := LoadKeyset(path, false)
	require.NoError(t, err)
	plain, err := again.Open(sealed, nil)
	require.NoError(t, err)
	require.Equal(t, "v", string(plain))
	require.Equal(t, k.Digest("v"), again.Digest("v"))

	require.NoError(t, os.Chmod(path, 0o644))
	_, err = LoadKeyset(path, true)
	require.ErrorContains(t, err, "chmod 600")
}

func TestKeysetIsNotMadeUnlessAsked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.json")
	_, err := LoadKeyset(path, false)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = LoadKeyset("gcp-kms://projects/p/keys/k", true)
	require.ErrorContains(t, err, "only files")

	require.NoError(t, os.WriteFile(path, []byte(`{"format":"x","seal":"CANARY"}`), 0o600))
	_, err = LoadKeyset(path, true)
	require.ErrorContains(t, err, "not a key set file")
	require.NotContains(t, err.Error(), "CANARY")
}

func TestRotationKeepsOldSecretsReadable(t *testing.T) {
	t.Parallel()
	before, path := newKeyset(t)
	old, err := before.Seal([]byte("old"), nil)
	require.NoError(t, err)
	require.NoError(t, RotateKeyset(path))
	after, err := LoadKeyset(path, false)
	require.NoError(t, err)
	plain, err := after.Open(old, nil)
	require.NoError(t, err)
	require.Equal(t, "old", string(plain))
	require.Equal(t, before.Digest("x"), after.Digest("x"), "stored digests stay comparable")

	fresh, err := after.Seal([]byte("new"), nil)
	require.NoError(t, err)
	_, err = before.Open(fresh, nil)
	require.Error(t, err, "the new key seals")
}

func TestMasterKeyWrapsTheFile(t *testing.T) {
	t.Parallel()
	h, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	require.NoError(t, err)
	master, err := aead.New(h)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "keyset.json")
	k, err := LoadKeyset(path, true, WithMasterKey(master))
	require.NoError(t, err)
	sealed, err := k.Seal([]byte("v"), nil)
	require.NoError(t, err)

	_, err = LoadKeyset(path, false)
	require.Error(t, err, "the file alone is not enough")
	require.NoError(t, RotateKeyset(path, WithMasterKey(master)))
	again, err := LoadKeyset(path, false, WithMasterKey(master))
	require.NoError(t, err)
	_, err = again.Open(sealed, nil)
	require.NoError(t, err)
}

func TestManyProcessesMakeOneKeyset(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keyset.json")
	digests := make([]string, 8)
	var wg sync.WaitGroup
	for i := range digests {
		wg.Go(func() {
			if k, err := LoadKeyset(path, true); err == nil {
				digests[i] = k.Digest("same")
			}
		})
	}
	wg.Wait()
	require.NotEmpty(t, digests[0])
	for _, d := range digests {
		require.Equal(t, digests[0], d)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".keyset-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestNoKeysetSaysSo(t *testing.T) {
	t.Parallel()
	k, err := LoadKeyset("", true)
	require.NoError(t, err)
	require.Nil(t, k)
	_, err = k.Seal([]byte("v"), nil)
	require.Equal(t, cloud.ReasonSecretStore, cloud.AsError(err).Reason())
	_, err = k.Open([]byte("v"), nil)
	require.Equal(t, cloud.CodeUnsupported, cloud.AsError(err).Code)
	require.Empty(t, k.Digest("v"))
}
