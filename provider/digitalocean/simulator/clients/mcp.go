package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// services are the parts of the MCP server that are switched on.
const services = "accounts,apps,databases,droplets,insights,marketplace,networking,spaces"

// session is a running MCP server: JSON-RPC 2.0, one message a line.
type session struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	last int
}

// object is a JSON object.
type object = map[string]any

func start(ctx context.Context, program, url string) (*session, error) {
	cmd := exec.CommandContext(ctx, program, "-digitalocean-api-endpoint", url, "-digitalocean-api-token", account,
		"-services", services, "-log-level", "error")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the MCP server: %w", err)
	}
	s := &session{cmd: cmd, in: in, out: bufio.NewReader(out)}
	var hello struct {
		Server struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"serverInfo"`
	}
	err = s.request("initialize", object{"protocolVersion": "2024-11-05", "capabilities": object{},
		"clientInfo": object{"name": "clients", "version": "1"}}, &hello)
	if err == nil {
		s.name = hello.Server.Name + " " + hello.Server.Version
		err = s.send(object{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("greet the MCP server: %w", err)
	}
	return s, nil
}

// close ends the server by the end of its input.
func (s *session) close() {
	_ = s.in.Close()
	_ = s.cmd.Wait() // how it ends says nothing of the simulator
}

func (s *session) send(message object) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = s.in.Write(append(line, '\n'))
	return err
}

// request sends one message and reads until its answer.
func (s *session) request(method string, params, result any) error {
	s.last++
	if err := s.send(object{"jsonrpc": "2.0", "id": s.last, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return err
		}
		var answer struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return fmt.Errorf("%w in %q", err, line)
		}
		if answer.ID != s.last {
			continue
		}
		if answer.Error != nil {
			return errors.New(answer.Error.Message)
		}
		return json.Unmarshal(answer.Result, result)
	}
}

// call uses a tool. What the tool reports as an error is one.
func (s *session) call(tool string, arguments object) (string, error) {
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Failed bool `json:"isError"`
	}
	if err := s.request("tools/call", object{"name": tool, "arguments": arguments}, &result); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, part := range result.Content {
		text.WriteString(part.Text)
	}
	if result.Failed {
		return "", errors.New(text.String())
	}
	return text.String(), nil
}
