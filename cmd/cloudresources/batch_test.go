package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// desk is an approver's folder with a batch file and key files.
type desk struct {
	t      *testing.T
	folder string
}

func newDesk(t *testing.T) desk { return desk{t, t.TempDir()} }

func (d desk) path(name string) string { return filepath.Join(d.folder, name) }

// run carries out `cloudresources batch args...` with in as standard input.
func (d desk) run(in string, args ...string) (stdout, stderr string, err error) {
	d.t.Helper()
	return runCommand(newBatchCommand(), in, args...)
}

func runCommand(cmd *cobra.Command, in string, args ...string) (string, string, error) {
	var out, errs bytes.Buffer
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs(args)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.Execute()
	return out.String(), errs.String(), err
}

func (d desk) write(name string, value any) string {
	d.t.Helper()
	data, err := json.Marshal(value)
	require.NoError(d.t, err)
	require.NoError(d.t, os.WriteFile(d.path(name), data, 0o600))
	return d.path(name)
}

// key makes a key and returns the approver that was printed for the platform
// file, read as the YAML it is.
func (d desk) key(id string) quorum.Approver {
	d.t.Helper()
	out, _, err := d.run("", "keygen", "--id", id, "--out", d.path(id+".key"))
	require.NoError(d.t, err)
	var entries []map[string]string
	require.NoError(d.t, yaml.Unmarshal([]byte(out), &entries))
	require.Len(d.t, entries, 1)
	a := quorum.Approver{ID: entries[0]["id"]}
	require.NoError(d.t, a.PublicKey.UnmarshalText([]byte(entries[0]["publicKey"])))
	return a
}

func (d desk) batch() quorum.Batch {
	d.t.Helper()
	bound := func(subject, payload string) quorum.BatchLeaf {
		leaf := quorum.Leaf{Subject: subject, Kind: "cloudResource.delete"}.Bind([]byte(payload))
		return quorum.BatchLeaf{Leaf: leaf, Payload: []byte(payload)}
	}
	hidden := bound("crs_hidden", "not in the file")
	hidden.Payload = nil
	b, err := quorum.NewBatch("prod.example", "cmb_1", time.Now().Add(time.Hour), []quorum.BatchLeaf{
		bound("crs_one", `{"force":true}`),
		{Leaf: quorum.Leaf{Subject: "crs_two", Kind: "cloudResource.release"}},
		hidden,
	})
	require.NoError(d.t, err)
	return b
}

func TestKeygenKeepsTheKeyToItself(t *testing.T) {
	d := newDesk(t)
	out, notes, err := d.run("", "keygen", "--id", "alice", "--out", d.path("k"))
	require.NoError(t, err)
	info, err := os.Stat(d.path("k"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	key, err := quorum.ReadKeyFile(d.path("k"))
	require.NoError(t, err)
	require.Contains(t, out, key.PublicKey.String())
	secret, err := json.Marshal(key.Seed)
	require.NoError(t, err)
	require.NotContains(t, out+notes, strings.Trim(string(secret), `"`))
	_, _, err = d.run("", "keygen", "--id", "alice", "--out", d.path("k"))
	require.ErrorIs(t, err, os.ErrExist)
}

func TestSignShowsEverythingThenAsks(t *testing.T) {
	d := newDesk(t)
	alice := d.key("alice")
	batch := d.batch()
	file := d.write("batch.json", batch)
	for _, answer := range []string{"", "no\n", "2\n", "y\n", "33\n"} {
		_, _, err := d.run(answer, "sign", "--key", d.path("alice.key"), "--batch", file, "--out", d.path("a.json"))
		require.ErrorIs(t, err, errNotSigned, "answer %q", answer)
		require.NoFileExists(t, d.path("a.json"))
	}
	policy := quorum.Policy{TrustDomain: "prod.example", Threshold: 1, Approvers: []quorum.Approver{alice}}
	for _, answer := range []string{"3\n", "yes\n", "yes"} {
		out, _, err := d.run(answer, "sign", "--key", d.path("alice.key"), "--batch", file, "--out", d.path("a.json"))
		require.NoError(t, err)
		for _, want := range []string{
			"cmb_1", "prod.example", batch.Root.String(), `cloudResource.delete  "crs_one"`, `cloudResource.release  "crs_two"`,
			`"{\"force\":true}"`, "not bound to a payload", batch.Leaves[2].PayloadDigest.String(), "not included", "alice",
		} {
			require.Contains(t, out, want)
		}
		data, err := os.ReadFile(d.path("a.json"))
		require.NoError(t, err)
		approval, err := quorum.DecodeApproval(data)
		require.NoError(t, err)
		require.NoError(t, quorum.VerifyApproval(policy, approval.Statement, approval.Approval, time.Now()))
		require.NoError(t, os.Remove(d.path("a.json")))
	}
}

func TestSignNamesItsFileAfterBatchAndApprover(t *testing.T) {
	d := newDesk(t)
	d.key("alice")
	t.Chdir(d.folder)
	_, _, err := d.run("", "sign", "--key", "alice.key", "--batch", d.write("batch.json", d.batch()), "--yes")
	require.NoError(t, err)
	require.FileExists(t, d.path("cmb_1.alice.approval.json"))
}

func TestSignRefuses(t *testing.T) {
	d := newDesk(t)
	d.key("alice")
	_, _, err := d.run("", "keygen", "--id", "bob", "--out", d.path("bob.key"), "--trust-domain", "other.example")
	require.NoError(t, err)
	good := d.write("good.json", d.batch())
	sign := func(key, batch string) error {
		_, _, err := d.run("", "sign", "--yes", "--key", d.path(key), "--batch", batch, "--out", d.path("a.json"))
		require.NoFileExists(t, d.path("a.json"))
		return err
	}
	require.Equal(t, quorum.ReasonWrongDomain, quorum.ReasonOf(sign("bob.key", good)))

	swapped := d.batch()
	swapped.Leaves[1].Subject = "crs_other"
	require.Equal(t, quorum.ReasonRootMismatch, quorum.ReasonOf(sign("alice.key", d.write("swapped.json", swapped))))

	late := d.batch()
	late.ExpiresAt = time.Now().Add(-time.Second).UnixMilli()
	require.ErrorContains(t, sign("alice.key", d.write("late.json", late)), "expired")

	require.NoError(t, os.Chmod(d.path("alice.key"), 0o644))
	require.ErrorContains(t, sign("alice.key", good), "may be read by others")
}

// TestSignedRootIsTheShownOne: a file without a root, or with any, gives the
// signature over the commands that were shown.
func TestSignedRootIsTheShownOne(t *testing.T) {
	d := newDesk(t)
	d.key("alice")
	batch := d.batch()
	root := *batch.Root
	batch.Root = nil
	_, _, err := d.run("", "sign", "--yes", "--key", d.path("alice.key"), "--batch", d.write("b.json", batch), "--out", d.path("a.json"))
	require.NoError(t, err)
	data, err := os.ReadFile(d.path("a.json"))
	require.NoError(t, err)
	approval, err := quorum.DecodeApproval(data)
	require.NoError(t, err)
	require.Equal(t, root, approval.Statement.Root)
}

// TestNothingMovesTheCursor: subjects and payloads may hold anything, the
// terminal gets printable ASCII.
func TestNothingMovesTheCursor(t *testing.T) {
	d := newDesk(t)
	d.key("alice")
	evil := "crs_\x1b[2K\x1b[1A\r\u202etxt\u200b\u0430\u009b2J\nfake line"
	leaf := quorum.Leaf{Subject: evil, Kind: "k"}.Bind([]byte(evil + "\xff"))
	b, err := quorum.NewBatch("prod.example", "cmb_1", time.Now().Add(time.Hour), []quorum.BatchLeaf{{Leaf: leaf, Payload: []byte(evil + "\xff")}})
	require.NoError(t, err)
	out, _, err := d.run("", "sign", "--yes", "--key", d.path("alice.key"), "--batch", d.write("b.json", b), "--out", d.path("a.json"))
	require.NoError(t, err)
	for _, r := range out {
		require.True(t, r == '\n' || r >= ' ' && r < 0x7f, "%q in the output", r)
	}
	require.NotContains(t, out, "\nfake line")
	require.Contains(t, out, `\x1b[2K`)
	require.Contains(t, out, `\u202e`)
	require.Contains(t, out, `\u0430`)

	for _, text := range []string{`{"\u001b[2J":1}`, `{"format":"\u001b[2J"}`, `{"format":"better-compute/batch/v1","trustDomain":"\u001b[2J","batchId":"b","expiresAt":1,"leaves":[{"subject":"s","kind":"k"}]}`} {
		require.NoError(t, os.WriteFile(d.path("bad.json"), []byte(text), 0o600))
		_, _, err = d.run("", "sign", "--yes", "--key", d.path("alice.key"), "--batch", d.path("bad.json"))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "\x1b")
	}
}

func TestLongPayloadSaysWhatIsNotShown(t *testing.T) {
	d := newDesk(t)
	d.key("alice")
	payload := []byte(strings.Repeat("x", shownPayloadBytes+7))
	leaf := quorum.Leaf{Subject: "s", Kind: "k"}.Bind(payload)
	b, err := quorum.NewBatch("prod.example", "cmb_1", time.Now().Add(time.Hour), []quorum.BatchLeaf{{Leaf: leaf, Payload: payload}})
	require.NoError(t, err)
	out, _, err := d.run("", "sign", "--yes", "--key", d.path("alice.key"), "--batch", d.write("b.json", b), "--out", d.path("a.json"))
	require.NoError(t, err)
	require.Contains(t, out, "and 7 more bytes that are not shown")
}

func TestVerifySaysWhatIsMissing(t *testing.T) {
	d := newDesk(t)
	policy := d.write("policy.json", quorum.Policy{TrustDomain: "prod.example", Threshold: 2,
		Approvers: []quorum.Approver{d.key("alice"), d.key("bob"), d.key("carol")}})
	d.key("mallory")
	batch := d.write("batch.json", d.batch())
	for _, id := range []string{"alice", "bob", "mallory"} {
		_, _, err := d.run("", "sign", "--yes", "--key", d.path(id+".key"), "--batch", batch, "--out", d.path(id+".json"))
		require.NoError(t, err)
	}
	verify := func(approvals ...string) (string, error) {
		out, _, err := d.run("", append([]string{"verify", "--batch", batch, "--policy", policy}, approvals...)...)
		return out, err
	}
	out, err := verify(d.path("alice.json"), d.path("bob.json"))
	require.NoError(t, err)
	require.Contains(t, out, "Approved by 2 of 2.")

	out, err = verify(d.path("bob.json"))
	require.ErrorIs(t, err, errNotApproved)
	require.Contains(t, out, "Missing 1 more, of: alice, carol")

	out, err = verify()
	require.ErrorIs(t, err, errNotApproved)
	require.Contains(t, out, "Missing 2 more, of: alice, bob, carol")

	out, err = verify(d.path("alice.json"), d.path("mallory.json"), d.path("none.json"))
	require.ErrorIs(t, err, errNotApproved)
	require.Contains(t, out, "mallory.json: refused: unknownApprover")
	require.Contains(t, out, "none.json: refused")

	out, err = verify(d.path("alice.json"), d.path("alice.json"))
	require.ErrorIs(t, err, errNotApproved)
	require.Contains(t, out, "repeatedApprover")

	other := d.batch()
	other.BatchID, other.Root = "cmb_2", nil
	batch = d.write("other.json", other)
	out, err = verify(d.path("alice.json"))
	require.ErrorIs(t, err, errNotApproved)
	require.Contains(t, out, "it approves something else")
}

func TestDaemonChecksItsFile(t *testing.T) {
	d := newDesk(t)
	file := d.write("daemon.json", map[string]any{
		"trustDomain": "prod.example", "threshold": 1, "approvers": []quorum.Approver{d.key("alice")},
		"listen": "127.0.0.1:0", "journal": d.path("journal"), "kinds": map[string]any{"k": map[string]string{"executor": "log"}},
	})
	_, _, err := runCommand(newDaemonCommand(), "", "--config", file, "--check")
	require.NoError(t, err)
	require.NoFileExists(t, d.path("journal"))
	_, _, err = runCommand(newDaemonCommand(), "", "--config", d.write("bad.json", map[string]any{"trustDomain": "x"}))
	require.ErrorContains(t, err, "no approvers")
}
