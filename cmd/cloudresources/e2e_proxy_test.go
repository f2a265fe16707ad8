//go:build unix

package main

import (
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// cable is the way to a server, which a test can pull out and put back.
type cable struct {
	addr, to string

	mu       sync.Mutex
	listener net.Listener
	ends     map[net.Conn]bool
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	c := &cable{to: to, addr: "127.0.0.1:0", ends: map[net.Conn]bool{}}
	c.plug(t)
	t.Cleanup(c.pull)
	return c
}

// plug lets connections through, on the same address each time.
func (c *cable) plug(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", c.addr)
	require.NoError(t, err)
	c.mu.Lock()
	c.listener, c.addr = listener, listener.Addr().String()
	c.mu.Unlock()
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go c.connect(near)
		}
	}()
}

// pull cuts every connection and refuses new ones.
func (c *cable) pull() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.listener.Close()
	for end := range c.ends {
		_ = end.Close()
	}
	c.ends = map[net.Conn]bool{}
}

func (c *cable) connect(near net.Conn) {
	far, err := net.Dial("tcp", c.to)
	if err != nil {
		_ = near.Close()
		return
	}
	c.mu.Lock()
	c.ends[near], c.ends[far] = true, true
	c.mu.Unlock()
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{near: far, far: near} {
		both.Go(func() {
			_, _ = io.Copy(to, from)
			_ = to.Close()
		})
	}
	both.Wait()
}

func temporalServer(t *testing.T) string {
	t.Helper()
	server := os.Getenv("TEST_TEMPORAL_ADDRESS")
	if server == "" {
		t.Fatal("TEST_TEMPORAL_ADDRESS is not set: these tests need a Temporal development server; `make test` starts one")
	}
	return server
}
