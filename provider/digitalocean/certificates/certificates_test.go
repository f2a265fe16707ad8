package certificates_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/certtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

func TestEveryAnswerHasItsClass(t *testing.T) {
	t.Parallel()
	account, sim := kindtest.Open(t)
	certs, ctx := account.Certificates(), context.Background()
	made := certtest.Self(t, time.Now(), 90*24*time.Hour, "example.com", "*.example.com")
	upload := cloud.CertificateRequest{Name: "bc-c-one", Type: "custom", Leaf: made.PEM, PrivateKey: cloud.NewSecret(made.Key)}
	o, err := certs.Create(ctx, upload)
	require.NoError(t, err)
	require.Equal(t, cloud.PhaseReady, o.Phase)
	require.Equal(t, []string{"example.com", "*.example.com"}, o.Domains)
	require.WithinDuration(t, made.Cert.NotAfter, o.NotAfter, time.Second)
	require.Len(t, o.Fingerprint, 40)

	_, err = certs.Create(ctx, upload)
	require.Equal(t, cloud.ClassExists, cloud.ClassOf(err), "%v", err)
	found, err := certs.Find(ctx, "bc-c-one")
	require.NoError(t, err)
	require.Equal(t, o.ProviderID, found.ProviderID)
	_, err = certs.Find(ctx, "bc-c-on")
	require.True(t, cloud.IsNotFound(err), "a part of a name is none")
	seen, err := certs.Observe(ctx, o.ProviderID)
	require.NoError(t, err)
	require.Equal(t, found, seen)

	other := certtest.Self(t, time.Now(), time.Hour, "example.org")
	_, err = certs.Create(ctx, cloud.CertificateRequest{Name: "bc-c-two", Type: "custom", Leaf: made.PEM, PrivateKey: cloud.NewSecret(other.Key)})
	require.Equal(t, cloud.ClassRefused, cloud.ClassOf(err))
	_, err = certs.Create(ctx, cloud.CertificateRequest{Name: "bc-c-two", Type: "lets_encrypt", Domains: []string{"no domain"}})
	require.Equal(t, cloud.ClassRefused, cloud.ClassOf(err))

	issued, err := certs.Create(ctx, cloud.CertificateRequest{Name: "bc-c-three", Type: "lets_encrypt", Domains: []string{"example.com"}})
	require.NoError(t, err)
	require.Equal(t, cloud.PhaseBusy, issued.Phase)
	require.True(t, issued.NotAfter.IsZero())
	require.Eventually(t, func() bool {
		issued, err = certs.Observe(ctx, issued.ProviderID)
		return err == nil && issued.Phase == cloud.PhaseReady && !issued.NotAfter.IsZero()
	}, 5*time.Second, 10*time.Millisecond)

	id := balance(t, sim.URL, o.ProviderID)
	require.Equal(t, cloud.ClassBusy, cloud.ClassOf(certs.Delete(ctx, o.ProviderID)), "a load balancer uses it")
	console(t, http.MethodDelete, sim.URL+"/v2/load_balancers/"+id, "")
	require.NoError(t, certs.Delete(ctx, o.ProviderID))
	require.True(t, cloud.IsNotFound(certs.Delete(ctx, o.ProviderID)))
	_, err = certs.Observe(ctx, o.ProviderID)
	require.True(t, cloud.IsNotFound(err))
}

// A provider that quotes what it was sent does not make us repeat the key.
func TestTheKeyIsInNoError(t *testing.T) {
	t.Parallel()
	account, sim := kindtest.Open(t)
	made := certtest.Self(t, time.Now(), time.Hour, "example.com")
	_, err := sim.AddFault(context.Background(), simulator.Fault{Method: http.MethodPost, Path: "/v2/certificates", Effect: simulator.Effect{
		Status: 422, Body: map[string]any{"id": "unprocessable_entity", "message": "cannot read " + made.Key},
	}})
	require.NoError(t, err)
	_, err = account.Certificates().Create(context.Background(), cloud.CertificateRequest{Name: "bc-c-one", Type: "custom", Leaf: made.PEM, PrivateKey: cloud.NewSecret(made.Key)})
	require.Error(t, err)
	for line := range strings.Lines(made.Key) {
		require.NotContains(t, err.Error(), strings.TrimSpace(line))
	}
}

func TestAListIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	account, _ := kindtest.Open(t)
	certs, ctx := account.Certificates(), context.Background()
	const n = 230
	for i := range n {
		_, err := certs.Create(ctx, cloud.CertificateRequest{Name: fmt.Sprintf("bc-c-%d", i), Type: "lets_encrypt", Domains: []string{"example.com"}})
		require.NoError(t, err)
	}
	list, err := certs.List(ctx)
	require.NoError(t, err)
	require.Len(t, list, n)
}

func balance(t *testing.T, url, certificate string) (id string) {
	t.Helper()
	body := `{"name":"lb","region":"nyc3","forwarding_rules":[{"entry_protocol":"https","entry_port":443,"target_protocol":"http","target_port":80,"certificate_id":"` + certificate + `"}]}`
	console(t, http.MethodPost, url+"/v2/load_balancers", body)
	objects, err := simulator.Control{URL: url}.Objects(context.Background(), kindtest.Token)
	require.NoError(t, err)
	for _, o := range objects {
		if o.Text("type") == "load_balancer" {
			return o.Text("id")
		}
	}
	t.Fatal("no load balancer")
	return ""
}

func console(t *testing.T, method, url, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+kindtest.Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Less(t, resp.StatusCode, 300)
}
