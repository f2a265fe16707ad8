package tinycloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/transport"
)

// Name is the cloud's name.
const Name = "tinycloud"

// Cloud is the provider.
type Cloud struct{}

// Name is the provider's name.
func (Cloud) Name() string { return Name }

// Manifests lists both kinds.
func (Cloud) Manifests() []*cloud.Manifest { return []*cloud.Manifest{boxManifest, lidManifest} }

// Open opens an account; its apiUrl is required.
func (Cloud) Open(access cloud.AccountAccess) (cloud.ProviderResources, error) {
	u, err := url.Parse(access.APIURL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("account %s: apiUrl %q is no address", access.ID, access.APIURL)
	}
	c := &client{base: strings.TrimSuffix(access.APIURL, "/"), token: access.Token,
		http: transport.Client(transport.Options{Access: access, Hosts: []string{u.Hostname()}})}
	return account{c}, nil
}

type account struct{ *client }

func (a account) Kind(name string) (cloud.Kind, bool) {
	switch name {
	case boxManifest.Kind:
		return box(a), true
	case lidManifest.Kind:
		return lid(a), true
	}
	return nil, false
}

func unsupported(op string) error {
	return &cloud.ProviderError{Class: cloud.ClassUnsupported, Op: op, Message: "this cloud has none"}
}

func (a account) Catalog(context.Context, string) ([]cloud.CatalogItem, error) {
	return nil, unsupported("list applications")
}

func (a account) Signals(context.Context) ([]cloud.Signal, error) {
	return nil, unsupported("list signals")
}

func (a account) Certificates() cloud.Certificates { return nil }

func (a account) Healthy(ctx context.Context) error {
	return a.call(ctx, "check account", http.MethodGet, "/boxes?limit=1", nil, &page{})
}

type client struct {
	base  string
	token cloud.Secret
	http  *http.Client
}

// refusal is how this cloud says no: a word, and how long to wait.
type refusal struct {
	Code string `json:"code"`
	Text string `json:"text"`
	Wait int    `json:"waitSeconds"`
}

var classes = map[string]cloud.Class{
	"ABSENT": cloud.ClassNotFound, "TAKEN": cloud.ClassExists, "BUSY": cloud.ClassBusy,
	"BAD": cloud.ClassRefused, "WHO": cloud.ClassUnreachable, "SLOW": cloud.ClassThrottled,
}

// call sends one request. What is no refusal in this cloud's words is told by
// its status, and an answer that cannot be read is an unknown outcome.
func (c *client) call(ctx context.Context, op, method, path string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	unknown := &cloud.ProviderError{Class: cloud.ClassUnknown, Op: op, Message: "no usable answer"}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, &body)
	if err != nil {
		return unknown
	}
	answer, err := c.http.Do(r)
	if err != nil {
		var known *cloud.ProviderError
		if errors.As(err, &known) {
			return known
		}
		return unknown
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode >= 300 {
		return c.refused(op, answer)
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
		return unknown
	}
	return nil
}

func (c *client) refused(op string, answer *http.Response) error {
	var why refusal
	words := "refused"
	if json.NewDecoder(answer.Body).Decode(&why) == nil && why.Text != "" {
		words = strings.ReplaceAll(why.Text, c.token.Reveal(), "[hidden]")
	}
	e := &cloud.ProviderError{Class: classes[why.Code], Op: op, Status: answer.StatusCode, Message: words}
	if e.Class == "" {
		e.Class = byStatus(answer.StatusCode)
	}
	if e.Class == cloud.ClassThrottled {
		seconds, err := strconv.Atoi(answer.Header.Get("retry-after"))
		if err != nil {
			seconds = max(why.Wait, 1)
		}
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

func byStatus(status int) cloud.Class {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return cloud.ClassUnreachable
	case status == http.StatusTooManyRequests:
		return cloud.ClassThrottled
	case status >= 400 && status < 500:
		return cloud.ClassRefused
	}
	return cloud.ClassUnknown
}

func missing(op string) error {
	return &cloud.ProviderError{Class: cloud.ClassUnknown, Op: op, Message: "the answer holds no object"}
}
