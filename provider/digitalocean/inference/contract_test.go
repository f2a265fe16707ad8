package inference_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
)

// D15, D31: replicas travel as the scale of each accelerator; maxReplicas is
// booked, and the provider never hears of it.
func TestReplicasAreSentAsScaleAndTheirLimitIsNot(t *testing.T) {
	account, sim := kindtest.Open(t)
	kind, _ := account.Kind("do.ai.dedicated-inference")
	r := request(kind, cloud.Spec{"replicas": 2, "maxReplicas": 4})
	o := ready(t, kind, &r)
	r.Spec = r.Spec.Merge(cloud.Spec{"replicas": 3})
	_, err := kind.Update(context.Background(), r, o, []string{"replicas"})
	require.NoError(t, err)
	until(t, kind, r, cloud.PhaseReady)
	requests, err := sim.Requests(context.Background(), kindtest.Token, 0)
	require.NoError(t, err)
	var scales []int
	for _, q := range requests {
		require.NotContains(t, string(q.Body), "eplicas")
		if q.Method != http.MethodPost && q.Method != http.MethodPatch || q.Status >= 300 {
			continue
		}
		var in struct {
			Spec struct {
				Deployments []struct {
					Accelerators []struct {
						Scale int `json:"scale"`
					} `json:"accelerators"`
				} `json:"model_deployments"`
			} `json:"spec"`
		}
		require.NoError(t, json.Unmarshal(q.Body, &in))
		for _, d := range in.Spec.Deployments {
			for _, a := range d.Accelerators {
				scales = append(scales, a.Scale)
			}
		}
	}
	require.Equal(t, []int{2, 3}, scales)
}

// A change of maxReplicas alone is no call.
func TestTheLimitOfReplicasIsNobodysCall(t *testing.T) {
	account, _ := kindtest.Open(t)
	kind, _ := account.Kind("do.ai.dedicated-inference")
	require.Contains(t, kind.Manifest().Updatable(), "maxReplicas")
	r := request(kind, nil)
	o := ready(t, kind, &r)
	r.Spec = r.Spec.Merge(cloud.Spec{"maxReplicas": 5})
	require.Empty(t, kind.Diff(r, o))
}
