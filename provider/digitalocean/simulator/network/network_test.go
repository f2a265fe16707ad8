package network_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/network"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

func vpc(region string) string { return core.VPCID(spectest.Token, region) }

func wanted(name string) *godo.PartnerAttachmentCreateRequest {
	return &godo.PartnerAttachmentCreateRequest{
		Name: name, ConnectionBandwidthInMbps: 1000, Region: "nyc", NaaSProvider: "megaport", VPCIDs: []string{vpc("nyc3")},
		BGP: godo.BGP{LocalRouterIP: "169.254.0.1/29", PeerRouterIP: "169.254.0.6/29", PeerASN: 64533, AuthKey: "key-one"},
	}
}

func status(t *testing.T, want int, r *godo.Response, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, r.StatusCode, err.Error())
}

func TestLife(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := spectest.Start(t, basics.Area(), network.Area())
	api := s.Client.PartnerAttachment
	made, _, err := api.Create(ctx, wanted("one"))
	require.NoError(t, err)
	require.Equal(t, "CREATING", made.State)
	r, err := api.Delete(ctx, made.ID)
	status(t, http.StatusForbidden, r, err)
	_, r, err = api.Update(ctx, made.ID, &godo.PartnerAttachmentUpdateRequest{Name: "two"})
	status(t, http.StatusConflict, r, err)

	s.Clock.Advance(5 * time.Second)
	got, _, err := api.Get(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, "CREATED", got.State)
	require.Equal(t, 64533, got.BGP.PeerASN)
	key, _, err := api.GetServiceKey(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, "CREATING", key.State, "the key has a state of its own")
	require.Empty(t, key.Value)
	s.Clock.Advance(5 * time.Second)
	key, _, err = api.GetServiceKey(ctx, made.ID)
	require.NoError(t, err)
	require.NotEmpty(t, key.Value)
	_, _, err = api.RegenerateServiceKey(ctx, made.ID)
	require.NoError(t, err)
	s.Clock.Advance(5 * time.Second)
	other, _, err := api.GetServiceKey(ctx, made.ID)
	require.NoError(t, err)
	require.NotEqual(t, key.Value, other.Value)
	auth, _, err := api.GetBGPAuthKey(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, "key-one", auth.Value)
	found, _, err := api.ListRoutes(ctx, made.ID, nil)
	require.NoError(t, err)
	require.Len(t, found, 1)

	_, _, err = api.Update(ctx, made.ID, &godo.PartnerAttachmentUpdateRequest{VPCIDs: []string{vpc("nyc1"), vpc("nyc3")}})
	require.NoError(t, err)
	s.Clock.Advance(5 * time.Second)
	code, answer := s.Do("PATCH", "v2/partner_network_connect/attachments/"+made.ID, core.Map{"bgp": core.Map{
		"local_router_ip": "169.254.0.9/29", "peer_router_ip": "169.254.0.14/29", "peer_router_asn": 64534, "auth_key": "key-two"}})
	require.Equal(t, http.StatusAccepted, code, answer)
	s.Clock.Advance(5 * time.Second)
	got, _, err = api.Get(ctx, made.ID)
	require.NoError(t, err)
	require.Len(t, got.VPCIDs, 2)
	require.Equal(t, 64534, got.BGP.PeerASN)

	spare := wanted("spare")
	spare.ParentUuid, spare.BGP = made.ID, godo.BGP{}
	_, _, err = api.Create(ctx, spare)
	require.NoError(t, err)
	r, err = api.Delete(ctx, made.ID)
	status(t, http.StatusForbidden, r, err)
	s.Clock.Advance(10 * time.Second)
	all, _, err := api.List(ctx, nil)
	require.NoError(t, err)
	require.Len(t, all, 2)
	_, r, err = api.GetBGPAuthKey(ctx, all[1].ID)
	status(t, http.StatusNotFound, r, err)
	for _, a := range []*godo.PartnerAttachment{all[1], all[0]} {
		_, err = api.Delete(ctx, a.ID)
		require.NoError(t, err)
		s.Clock.Advance(5 * time.Second)
	}
	_, r, err = api.Get(ctx, made.ID)
	status(t, http.StatusNotFound, r, err)
	s.RequireCovered(network.Area())
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := spectest.Start(t, basics.Area(), network.Area())
	_, _, err := s.Client.PartnerAttachment.Create(ctx, wanted("taken"))
	require.NoError(t, err)
	for name, change := range map[string]func(*godo.PartnerAttachmentCreateRequest){
		"name":      func(r *godo.PartnerAttachmentCreateRequest) { r.Name = "a name" },
		"taken":     func(r *godo.PartnerAttachmentCreateRequest) { r.Name = "taken" },
		"bandwidth": func(r *godo.PartnerAttachmentCreateRequest) { r.ConnectionBandwidthInMbps = 1 },
		"region":    func(r *godo.PartnerAttachmentCreateRequest) { r.Region = "nyc3" },
		"partner":   func(r *godo.PartnerAttachmentCreateRequest) { r.NaaSProvider = "other" },
		"no vpc":    func(r *godo.PartnerAttachmentCreateRequest) { r.VPCIDs = nil },
		"vpc":       func(r *godo.PartnerAttachmentCreateRequest) { r.VPCIDs = []string{vpc("ams3")} },
		"zone":      func(r *godo.PartnerAttachmentCreateRequest) { r.RedundancyZone = "GREEN" },
		"parent":    func(r *godo.PartnerAttachmentCreateRequest) { r.ParentUuid = "other" },
		"bgp":       func(r *godo.PartnerAttachmentCreateRequest) { r.BGP.AuthKey = "" },
	} {
		in := wanted("bad")
		change(in)
		_, r, err := s.Client.PartnerAttachment.Create(ctx, in)
		require.Error(t, err, name)
		require.Equal(t, http.StatusUnprocessableEntity, r.StatusCode, "%s: %v", name, err)
	}
}
