package platform

import (
	"fmt"
	"net"
)

// CheckFree fails when nobody can listen on the address now. The message names
// what wanted it and the environment variable that moves it.
func CheckFree(what, addr, variable string) error {
	listener, err := net.Listen("tcp", addr)
	if err == nil {
		return listener.Close()
	}
	host, port, splitErr := net.SplitHostPort(addr)
	if splitErr != nil {
		return fmt.Errorf("%s=%q, the address of the %s, is not host:port", variable, addr, what)
	}
	return fmt.Errorf("port %s on %q, wanted by the %s, cannot be used: %w; stop what holds it, or set %s to another",
		port, host, what, err, variable)
}

// FreePorts finds n different free ports on 127.0.0.1.
func FreePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		// Held until all are found, so that none is found twice.
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
