package quorum_test

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.json")
	key, err := quorum.NewKeyFile("alice", "", rand.Reader)
	require.NoError(t, err)
	require.NoError(t, quorum.WriteKeyFile(path, key))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.ErrorIs(t, quorum.WriteKeyFile(path, key), os.ErrExist, "a key is never overwritten")

	back, err := quorum.ReadKeyFile(path)
	require.NoError(t, err)
	require.Equal(t, key, back)

	st := statementOf(treeOf(t, 3))
	file, err := back.Sign(st)
	require.NoError(t, err)
	p := quorum.Policy{TrustDomain: domain, Threshold: 1, Approvers: []quorum.Approver{key.Approver()}}
	require.NoError(t, quorum.VerifyApproval(p, file.Statement, file.Approval, now))

	data, err := json.Marshal(file)
	require.NoError(t, err)
	decoded, err := quorum.DecodeApproval(data)
	require.NoError(t, err)
	require.Equal(t, file, decoded)

	require.NoError(t, os.Chmod(path, 0o640))
	_, err = quorum.ReadKeyFile(path)
	require.ErrorContains(t, err, "chmod 600")
}

func TestKeyForOneDomain(t *testing.T) {
	key, err := quorum.NewKeyFile("alice", "prod.example", rand.Reader)
	require.NoError(t, err)
	_, err = key.Sign(statementOf(treeOf(t, 3)))
	require.Equal(t, quorum.ReasonWrongDomain, quorum.ReasonOf(err))
}

func TestKeyFileRefuses(t *testing.T) {
	_, err := quorum.NewKeyFile("al ice", "", rand.Reader)
	require.Equal(t, quorum.ReasonMalformed, quorum.ReasonOf(err))
	for name, change := range map[string]func(*quorum.KeyFile){
		"format":             func(k *quorum.KeyFile) { k.Format = quorum.FormatBatch },
		"short private key":  func(k *quorum.KeyFile) { k.Seed = k.Seed[:31] },
		"another public key": func(k *quorum.KeyFile) { k.PublicKey = public(mallory) },
		"approver":           func(k *quorum.KeyFile) { k.ApproverID = "" },
	} {
		key, err := quorum.NewKeyFile("alice", "", rand.Reader)
		require.NoError(t, err)
		change(&key)
		path := filepath.Join(t.TempDir(), "key.json")
		require.NoError(t, quorum.WriteKeyFile(path, key))
		_, err = quorum.ReadKeyFile(path)
		require.Equal(t, quorum.ReasonMalformed, quorum.ReasonOf(err), name)
	}
}

func TestBrokenKeyFileIsNotQuoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"privateKey": 5, "SECRETSEED": 1}`), 0o600))
	_, err := quorum.ReadKeyFile(path)
	require.ErrorContains(t, err, "is not a key file")
	require.NotContains(t, err.Error(), "SECRETSEED")
}
