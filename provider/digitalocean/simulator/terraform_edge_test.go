package simulator_test

import (
	"strings"
	"testing"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/simtest"
)

func TestTerraformDomainRecords(tt *testing.T) {
	t := newTerraform(tt)
	_, _, err := t.api.Domains.Create(t.ctx, &godo.DomainCreateRequest{Name: "terraform.example"})
	require.NoError(t, err)
	domain, _, err := t.api.Domains.Get(t.ctx, "terraform.example")
	require.NoError(t, err)
	require.Positive(t, domain.TTL)

	for _, asked := range []*godo.DomainRecordEditRequest{
		{Type: "A", Name: "www", Data: "192.0.2.1"},
		{Type: "CNAME", Name: "shop", Data: "www.terraform.example."},
		{Type: "MX", Name: "@", Data: "mail.terraform.example.", Priority: 10},
		{Type: "TXT", Name: "@", Data: "v=spf1 -all"},
		{Type: "SRV", Name: "_sip._tcp", Data: "sip.terraform.example.", Priority: 10, Port: 5060, Weight: 100},
		{Type: "CAA", Name: "@", Data: "letsencrypt.org.", Tag: "issue"},
	} {
		made, _, err := t.api.Domains.CreateRecord(t.ctx, "terraform.example", asked)
		require.NoError(t, err, asked.Type)
		demand := func() {
			t.Helper()
			read, _, err := t.api.Domains.Record(t.ctx, "terraform.example", made.ID)
			require.NoError(t, err)
			value := read.Data
			// To host names Terraform adds the dot that the provider leaves out.
			if strings.HasSuffix(asked.Data, ".") {
				value += "."
			}
			require.Equal(t, asked.Data, value, asked.Type)
			require.Equal(t, asked.Name, read.Name)
			require.Equal(t, []int{asked.Priority, asked.Port, asked.Weight, asked.Flags},
				[]int{read.Priority, read.Port, read.Weight, read.Flags}, asked.Type)
			require.Equal(t, asked.Tag, read.Tag)
			require.Positive(t, read.TTL)
		}
		demand()
		// A change leaves the type out.
		asked.TTL = 300
		sent := *asked
		sent.Type = ""
		_, _, err = t.api.Domains.EditRecord(t.ctx, "terraform.example", made.ID, &sent)
		require.NoError(t, err, asked.Type)
		demand()
		_, err = t.api.Domains.DeleteRecord(t.ctx, "terraform.example", made.ID)
		require.NoError(t, err)
		t.gone(func() (*godo.Response, error) {
			_, r, err := t.api.Domains.Record(t.ctx, "terraform.example", made.ID)
			return r, err
		})
	}
	_, err = t.api.Domains.Delete(t.ctx, "terraform.example")
	require.NoError(t, err)
	t.gone(func() (*godo.Response, error) {
		_, r, err := t.api.Domains.Get(t.ctx, "terraform.example")
		return r, err
	})
}

func TestTerraformCDN(tt *testing.T) {
	settings := simtest.Settings()
	settings.CDNPerTenSeconds = 100
	t := newTerraform(tt, settings)
	made, _, err := t.api.CDNs.Create(t.ctx, &godo.CDNCreateRequest{Origin: "assets.nyc3.digitaloceanspaces.com"})
	require.NoError(t, err)
	read, _, err := t.api.CDNs.Get(t.ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, "assets.nyc3.digitaloceanspaces.com", read.Origin)
	require.Positive(t, read.TTL)
	require.NotEmpty(t, read.Endpoint)
	require.Empty(t, read.CertificateID, "an id is looked up at once")
	require.False(t, read.CreatedAt.IsZero())
	_, _, err = t.api.CDNs.UpdateTTL(t.ctx, made.ID, &godo.CDNUpdateTTLRequest{TTL: 600})
	require.NoError(t, err)
	read, _, err = t.api.CDNs.Get(t.ctx, made.ID)
	require.NoError(t, err)
	require.EqualValues(t, 600, read.TTL)
	_, err = t.api.CDNs.Delete(t.ctx, made.ID)
	require.NoError(t, err)
	t.gone(func() (*godo.Response, error) { _, r, err := t.api.CDNs.Get(t.ctx, made.ID); return r, err })
}
