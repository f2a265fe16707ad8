package edge_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/edge"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

func status(t *testing.T, want int, r *godo.Response, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, r.StatusCode, err.Error())
}

func TestEverything(t *testing.T) {
	t.Parallel()
	s := spectest.Start(t, basics.Area(), edge.Area())
	zone(t, s)
	cdn(t, s)
	s.RequireCovered(edge.Area())
}

func zone(t *testing.T, s *spectest.Sim) {
	ctx, api := context.Background(), s.Client.Domains
	_, _, err := api.Create(ctx, &godo.DomainCreateRequest{Name: "Example.com", IPAddress: "192.0.2.1"})
	require.NoError(t, err)
	_, r, err := s.ClientOf("dop_v1_other").Domains.Create(ctx, &godo.DomainCreateRequest{Name: "example.com"})
	status(t, http.StatusUnprocessableEntity, r, err)
	_, r, err = api.Create(ctx, &godo.DomainCreateRequest{Name: "no domain"})
	status(t, http.StatusUnprocessableEntity, r, err)
	_, r, err = api.Create(ctx, &godo.DomainCreateRequest{Name: "example.org", IPAddress: "nowhere"})
	status(t, http.StatusUnprocessableEntity, r, err)
	all, _, err := api.List(ctx, nil)
	require.NoError(t, err)
	require.Len(t, all, 1)
	got, _, err := api.Get(ctx, "example.com")
	require.NoError(t, err)
	require.Contains(t, got.ZoneFile, "192.0.2.1")

	made, _, err := api.CreateRecord(ctx, "example.com", &godo.DomainRecordEditRequest{Type: "CNAME", Name: "WWW.example.com.", Data: "host.example.net.", TTL: 600})
	require.NoError(t, err)
	require.Equal(t, "www", made.Name)
	require.Equal(t, "host.example.net", made.Data, "shown without the dot")
	made, _, err = api.EditRecord(ctx, "example.com", made.ID, &godo.DomainRecordEditRequest{Type: "CNAME", Name: "www", Data: "@"})
	require.NoError(t, err)
	require.Equal(t, 600, made.TTL, "what is not sent stays")
	code, answer := s.Do("PATCH", "v2/domains/example.com/records/"+number(made.ID), core.Map{"type": "CNAME", "data": "other.example.net."})
	require.Equal(t, http.StatusOK, code, answer)
	_, r, err = api.EditRecord(ctx, "example.com", made.ID, &godo.DomainRecordEditRequest{Type: "A", Name: "www", Data: "192.0.2.2"})
	status(t, http.StatusUnprocessableEntity, r, err)
	again, _, err := api.Record(ctx, "example.com", made.ID)
	require.NoError(t, err)
	require.Equal(t, "other.example.net", again.Data)
	some, _, err := api.RecordsByTypeAndName(ctx, "example.com", "CNAME", "www.example.com", nil)
	require.NoError(t, err)
	require.Len(t, some, 1)

	mx := &godo.DomainRecordEditRequest{Type: "MX", Name: "@", Data: "mail.example.net.", Priority: 10}
	for range 2 {
		_, _, err = api.CreateRecord(ctx, "example.com", mx)
		require.NoError(t, err, "a record may stand there twice")
	}
	soa, _, err := api.RecordsByType(ctx, "example.com", "SOA", nil)
	require.NoError(t, err)
	r, err = api.DeleteRecord(ctx, "example.com", soa[0].ID)
	status(t, http.StatusUnprocessableEntity, r, err)
	_, err = api.DeleteRecord(ctx, "example.com", made.ID)
	require.NoError(t, err)
	_, r, err = api.Record(ctx, "example.com", made.ID)
	status(t, http.StatusNotFound, r, err)
	_, err = api.Delete(ctx, "example.com")
	require.NoError(t, err)
	_, r, err = api.Records(ctx, "example.com", nil)
	status(t, http.StatusNotFound, r, err)
}

func number(id int) string { return godo.Stringify(id) }

func TestRecordsAreChecked(t *testing.T) {
	t.Parallel()
	s := spectest.Start(t, basics.Area(), edge.Area())
	_, _, err := s.Client.Domains.Create(context.Background(), &godo.DomainCreateRequest{Name: "example.com"})
	require.NoError(t, err)
	for name, body := range map[string]core.Map{
		"no name":          {"type": "A", "data": "192.0.2.1"},
		"no data":          {"type": "A", "name": "a"},
		"type":             {"type": "PTR", "name": "a", "data": "b."},
		"IPv4":             {"type": "A", "name": "a", "data": "2001:db8::1"},
		"IPv6":             {"type": "AAAA", "name": "a", "data": "192.0.2.1"},
		"dot":              {"type": "CNAME", "name": "a", "data": "b.example.net"},
		"ttl":              {"type": "A", "name": "a", "data": "192.0.2.1", "ttl": 1},
		"priority":         {"type": "MX", "name": "a", "data": "b.example.net."},
		"port":             {"type": "SRV", "name": "_a._tcp", "data": "b.example.net.", "priority": 1, "weight": 1},
		"flags":            {"type": "CAA", "name": "a", "data": "b.example.net.", "tag": "issue"},
		"tag":              {"type": "CAA", "name": "a", "data": "b.example.net.", "flags": 0, "tag": "all"},
		"CNAME at the top": {"type": "CNAME", "name": "@", "data": "b.example.net."},
	} {
		code, answer := s.Do("POST", "v2/domains/example.com/records", body)
		require.Equal(t, http.StatusUnprocessableEntity, code, "%s: %v", name, answer)
	}
	for _, body := range []core.Map{
		{"type": "SRV", "name": "_a._tcp", "data": "b.example.net.", "priority": 0, "weight": 0, "port": 0},
		{"type": "CAA", "name": "a", "data": "mailto:ops@example.com", "flags": 128, "tag": "iodef"},
		{"type": "TXT", "name": "a", "data": "v=spf1 -all"},
		{"type": "AAAA", "name": "a", "data": "2001:db8::1"},
	} {
		code, answer := s.Do("POST", "v2/domains/example.com/records", body)
		require.Equal(t, http.StatusCreated, code, answer)
	}
}

func cdn(t *testing.T, s *spectest.Sim) {
	ctx, api := context.Background(), s.Client.CDNs
	pause := func() { s.Clock.Advance(10 * time.Second) }
	made, _, err := api.Create(ctx, &godo.CDNCreateRequest{Origin: "static.nyc3.digitaloceanspaces.com", TTL: 3600})
	require.NoError(t, err)
	require.Equal(t, "static.nyc3.cdn.digitaloceanspaces.com", made.Endpoint)
	for _, in := range []*godo.CDNCreateRequest{
		{Origin: "example.com", TTL: 3600}, {Origin: "a.nyc3.digitaloceanspaces.com", TTL: 7},
		{Origin: "a.nyc3.digitaloceanspaces.com", TTL: 60, CustomDomain: "a.example.com"},
	} {
		_, r, err := api.Create(ctx, in)
		status(t, http.StatusUnprocessableEntity, r, err)
	}
	_, r, err := api.Create(ctx, &godo.CDNCreateRequest{Origin: made.Origin, TTL: 3600})
	status(t, http.StatusConflict, r, err)

	_, r, err = api.Get(ctx, made.ID)
	status(t, http.StatusTooManyRequests, r, err)
	require.Equal(t, "10", r.Header.Get("retry-after"), "the sixth within ten seconds")
	pause()
	_, _, err = api.UpdateTTL(ctx, made.ID, &godo.CDNUpdateTTLRequest{TTL: 60})
	require.NoError(t, err)
	_, _, err = api.UpdateCustomDomain(ctx, made.ID, &godo.CDNUpdateCustomDomainRequest{CustomDomain: "static.example.com", CertificateID: core.NewUUID()})
	require.NoError(t, err)
	got, _, err := api.Get(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, "static.example.com", got.CustomDomain)
	require.EqualValues(t, 60, got.TTL)
	got, _, err = api.UpdateCustomDomain(ctx, made.ID, &godo.CDNUpdateCustomDomainRequest{})
	require.NoError(t, err)
	require.Empty(t, got.CustomDomain)
	pause()
	all, _, err := api.List(ctx, nil)
	require.NoError(t, err)
	require.Len(t, all, 1)
	_, err = api.FlushCache(ctx, made.ID, &godo.CDNFlushCacheRequest{Files: []string{"*"}})
	require.NoError(t, err)
	_, err = api.Delete(ctx, made.ID)
	require.NoError(t, err)
	_, r, err = api.Get(ctx, made.ID)
	status(t, http.StatusNotFound, r, err)
}
