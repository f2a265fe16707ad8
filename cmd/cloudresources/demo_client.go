//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// caller is a client of the HTTP API with one token.
type caller struct {
	base   string
	token  string
	client *http.Client
}

// object is a JSON object of a request.
type object map[string]any

// shownResource is what the demo shows of a resource.
type shownResource struct {
	ID            string            `json:"id"`
	Kind          string            `json:"kind"`
	Name          string            `json:"name"`
	State         string            `json:"state"`
	Message       string            `json:"message"`
	Outputs       map[string]any    `json:"outputs"`
	SecretOutputs map[string]string `json:"secretOutputs"`
	Version       int64             `json:"version"`
}

// call posts the input to a method such as cloudResources/create and decodes the
// answer. An answer other than 200 is an error with the API's own words.
func (c caller) call(ctx context.Context, method string, input object, answer any) error {
	body, err := json.Marshal(input)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/api/compute/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", method, refusal(res.Status, data))
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

func refusal(status string, body []byte) string {
	var answer struct {
		Error struct {
			Code    string          `json:"code"`
			Message string          `json:"message"`
			Details json.RawMessage `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error.Code == "" {
		return status + " " + strings.TrimSpace(string(body))
	}
	return fmt.Sprintf("%s %s: %s %s", status, answer.Error.Code, answer.Error.Message, answer.Error.Details)
}
