package certificates_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/certificates"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spectest"
)

// TestALoadBalancerKeepsItsCertificate lives both lives, as they hang together:
// what is in use cannot be deleted.
func TestALoadBalancerKeepsItsCertificate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := spectest.Start(t, basics.Area(), certificates.Area())
	cert, _, err := s.Client.Certificates.Create(ctx, &godo.CertificateRequest{
		Name: "web", Type: "lets_encrypt", DNSNames: []string{"example.com"},
	})
	require.NoError(t, err)
	require.Equal(t, "pending", cert.State)
	s.Clock.Advance(time.Minute)
	named, _, err := s.Client.Certificates.ListByName(ctx, "web", nil)
	require.NoError(t, err)
	require.Len(t, named, 1)
	require.Equal(t, "verified", named[0].State)

	made, _, err := s.Client.LoadBalancers.Create(ctx, &godo.LoadBalancerRequest{Name: "front", Region: "nyc3",
		DropletIDs: []int{core.DropletID(spectest.Token, "acme")},
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "https", EntryPort: 443, TargetProtocol: "http", TargetPort: 80,
			CertificateID: cert.ID}},
	})
	require.NoError(t, err)
	require.Equal(t, "new", made.Status)
	require.Empty(t, made.IP)
	require.Equal(t, core.VPCID(spectest.Token, "nyc3"), made.VPCUUID)
	require.Equal(t, core.ProjectID(spectest.Token), made.ProjectID)
	s.Clock.Advance(time.Minute)
	balancer, _, err := s.Client.LoadBalancers.Get(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, "active", balancer.Status)
	require.NotEmpty(t, balancer.IP)
	require.Equal(t, 10, balancer.HealthCheck.CheckIntervalSeconds)
	require.Equal(t, "none", balancer.StickySessions.Type)

	// An update replaces everything; what a client read back is a change of nothing.
	same, _, err := s.Client.LoadBalancers.Update(ctx, made.ID, balancer.AsRequest())
	require.NoError(t, err)
	require.Equal(t, balancer, same)
	request := balancer.AsRequest()
	request.SizeUnit, request.RedirectHttpToHttps = 3, true
	request.HealthCheck = &godo.HealthCheck{Protocol: "tcp", Port: 80, CheckIntervalSeconds: 20, ResponseTimeoutSeconds: 5,
		UnhealthyThreshold: 5, HealthyThreshold: 3}
	changed, _, err := s.Client.LoadBalancers.Update(ctx, made.ID, request)
	require.NoError(t, err)
	require.EqualValues(t, 3, changed.SizeUnit)
	require.True(t, changed.RedirectHttpToHttps)
	require.Equal(t, request.HealthCheck, changed.HealthCheck)

	// Droplets and rules change one by one too.
	more := godo.ForwardingRule{EntryProtocol: "tcp", EntryPort: 22, TargetProtocol: "tcp", TargetPort: 22}
	_, err = s.Client.LoadBalancers.AddForwardingRules(ctx, made.ID, more)
	require.NoError(t, err)
	_, err = s.Client.LoadBalancers.RemoveDroplets(ctx, made.ID, made.DropletIDs...)
	require.NoError(t, err)
	parts, _, err := s.Client.LoadBalancers.Get(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, append(request.ForwardingRules, more), parts.ForwardingRules)
	require.Empty(t, parts.DropletIDs)
	_, err = s.Client.LoadBalancers.AddDroplets(ctx, made.ID, made.DropletIDs...)
	require.NoError(t, err)
	_, err = s.Client.LoadBalancers.RemoveForwardingRules(ctx, made.ID, more)
	require.NoError(t, err)
	_, err = s.Client.LoadBalancers.RemoveForwardingRules(ctx, made.ID, request.ForwardingRules...)
	require.ErrorContains(t, err, "at least one forwarding rule")
	_, err = s.Client.LoadBalancers.AddDroplets(ctx, made.ID, 1)
	require.ErrorContains(t, err, "not found")
	parts, _, err = s.Client.LoadBalancers.Get(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, changed, parts)

	request.Region = "ams3"
	_, response, err := s.Client.LoadBalancers.Update(ctx, made.ID, request)
	require.Error(t, err)
	require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode)

	response, err = s.Client.Certificates.Delete(ctx, cert.ID)
	require.ErrorContains(t, err, "Make sure the certificate is not in use before deleting it")
	require.Equal(t, http.StatusForbidden, response.StatusCode)
	balancers, _, err := s.Client.LoadBalancers.List(ctx, nil)
	require.NoError(t, err)
	require.Len(t, balancers, 1)
	_, err = s.Client.LoadBalancers.Delete(ctx, made.ID)
	require.NoError(t, err)
	_, _, err = s.Client.Certificates.Get(ctx, cert.ID)
	require.NoError(t, err)
	_, err = s.Client.Certificates.Delete(ctx, cert.ID)
	require.NoError(t, err)
	s.RequireCovered(certificates.Area())
}
