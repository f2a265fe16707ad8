package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// stopGrace is how long running commands may go on after the daemon was told
// to stop.
const stopGrace = 30 * time.Second

// Run serves the configuration until ctx ends, then lets running commands end
// for up to 30 seconds. ready, when not nil, is called with the address once
// the daemon listens.
func Run(ctx context.Context, c Config, log *slog.Logger, ready func(net.Addr)) (err error) {
	if err := c.Validate(); err != nil {
		return err
	}
	token, err := c.token()
	if err != nil {
		return err
	}
	executors, err := Executors(c.Kinds, log)
	if err != nil {
		return err
	}
	journal, err := OpenJournal(c.Journal, time.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	d, err := New(Options{Policy: c.Policy, Executors: executors, Journal: journal, Log: log, Now: time.Now})
	if err != nil {
		return err
	}
	listener, err := listen(c)
	if err != nil {
		return err
	}
	records, head, _ := journal.State()
	log.Info("listening", "address", listener.Addr().String(), "trustDomain", c.TrustDomain,
		"threshold", c.Threshold, "unapproved", c.AllowUnapproved, "records", records, "head", head)
	if ready != nil {
		ready(listener.Addr())
	}
	server := &http.Server{Handler: d.Handler(token), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	d.Close(grace)
	// Answers of commands that just ended still go out; nothing new starts.
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancelLast()
	return errors.Join(err, server.Shutdown(last))
}

func listen(c Config) (net.Listener, error) {
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil || c.TLSCert == "" {
		return listener, err
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("tls: %w", err)
	}
	return tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}
