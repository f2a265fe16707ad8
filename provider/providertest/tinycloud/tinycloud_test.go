package tinycloud_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/providertest"
	"github.com/better-compute/cloud-resources/provider/providertest/tinycloud"
)

// backend steers the cloud's server for the suite.
type backend struct {
	*tinycloud.Server
	url    string
	count  func() int
	create tinycloud.Effect
}

func start(kind string) func(t *testing.T) providertest.Backend {
	return func(t *testing.T) providertest.Backend {
		b := &backend{Server: &tinycloud.Server{Takes: 20 * time.Millisecond}}
		b.count, b.create = b.Boxes, tinycloud.Effect{Method: http.MethodPost, Path: "/boxes"}
		if kind == "tiny.lid" {
			b.count, b.create.Path = b.Lids, "/boxes/box-1/lids"
		}
		server := httptest.NewServer(b.Server)
		t.Cleanup(server.Close)
		b.url = server.URL
		return b
	}
}

func (b *backend) Provider() cloud.Provider { return tinycloud.Cloud{} }

func (b *backend) Access() cloud.AccountAccess {
	return cloud.AccountAccess{ID: "acct", Provider: tinycloud.Name, Token: cloud.NewSecret("tiny-token-of-the-account"), APIURL: b.url, Deployment: "dep"}
}

func (b *backend) Objects(*testing.T) int { return b.count() }
func (b *backend) Writes(*testing.T) int  { return b.Server.Writes() }
func (b *backend) Clear(*testing.T)       { b.Server.Plan() }

func (b *backend) Refusal(words string) string { return `{"code":"BAD","text":"` + words + `"}` }

func (b *backend) Plan(_ *testing.T, f providertest.Fault) {
	e := tinycloud.Effect{}
	switch f.On {
	case providertest.Creates:
		e = b.create
	case providertest.Reads:
		e.Method = http.MethodGet
	}
	e.Times, e.Drop, e.Lost, e.Late = f.Times, f.Drop, f.Lost, f.Late
	e.Status, e.Body, e.Headers = f.Refuse, f.Body, f.Headers
	b.Server.Plan(e)
}

func TestBox(t *testing.T) {
	providertest.Run(t, providertest.Harness{Start: start("tiny.box"), Kind: "tiny.box", Updates: []cloud.Spec{{"size": 4}, {"size": 9}}})
}

func TestLid(t *testing.T) {
	providertest.Run(t, providertest.Harness{Start: start("tiny.lid"), Kind: "tiny.lid", Updates: []cloud.Spec{{"tight": false}, {"tight": true}}})
}
