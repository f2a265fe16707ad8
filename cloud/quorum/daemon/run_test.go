//go:build unix

package daemon

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// running starts Run and returns its address, a way to stop it and its end.
func running(t *testing.T, c Config) (addr string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- Run(ctx, c, slog.New(slog.DiscardHandler), func(a net.Addr) { ready <- a.String() })
	}()
	select {
	case addr = <-ready:
	case err := <-done:
		require.NoError(t, err)
	}
	return addr, cancel, done
}

func TestStopLetsRunningCommandsEnd(t *testing.T) {
	path, trace := writeConfig(t, `echo started >> $trace; while [ ! -e $trace.go ]; do sleep 0.02; done; echo ended`)
	c, err := LoadConfig(path)
	require.NoError(t, err)
	addr, stop, ended := running(t, c)
	type result struct {
		answer quorum.Answer
		err    error
	}
	got := make(chan result, 1)
	command := commands(t, "cmb_1", 2, time.Now().Add(time.Hour))[0]
	go func() {
		a, err := quorum.Client{}.Send(context.Background(), "http://"+addr, command)
		got <- result{a, err}
	}()
	require.Eventually(t, func() bool { return len(lines(t, trace)) == 1 }, 10*time.Second, 5*time.Millisecond)
	stop()
	require.NoError(t, os.WriteFile(trace+".go", nil, 0o600))
	r := <-got
	require.NoError(t, r.err)
	require.Equal(t, quorum.OutcomeSucceeded, r.answer.Outcome)
	require.Equal(t, "ended\n", r.answer.Output)
	require.NoError(t, <-ended)
	journal, err := OpenJournal(c.Journal, time.Now)
	require.NoError(t, err, "the lock is free again")
	require.NoError(t, journal.Close())
}

func TestServesTLS(t *testing.T) {
	c := testConfig()
	c.Journal = filepath.Join(t.TempDir(), "journal")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	c.TLSCert, c.TLSKey = filepath.Join(t.TempDir(), "c.pem"), filepath.Join(t.TempDir(), "k.pem")
	require.NoError(t, os.WriteFile(c.TLSCert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(c.TLSKey, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	addr, stop, ended := running(t, c)
	roots := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots.AddCert(parsed)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(fmt.Sprintf("https://%s/healthz", addr))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	stop()
	require.NoError(t, <-ended)
}
