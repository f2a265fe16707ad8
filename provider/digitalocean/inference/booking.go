package inference

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// countInSlug is where a size says its number of GPUs: gpu-h100x8-640gb.
var countInSlug = regexp.MustCompile(`x(\d{1,3})-\d+gb$`)

// Booking is the GPUs of one replica of every accelerator, times the larger of
// replicas and maxReplicas. It asks the provider for its sizes; one that it does
// not have is INVALID_INPUT.
func (k *dedicated) Booking(ctx context.Context, s cloud.Spec) (map[string]int64, error) {
	var sizes struct {
		List []struct {
			Slug string `json:"gpu_slug"`
			GPU  *struct {
				Count int64 `json:"count"`
			} `json:"gpu"`
		} `json:"sizes"`
	}
	if err := k.Get(ctx, path+"/sizes", &sizes); err != nil {
		return nil, k.Fail(doapi.List, cloud.Request{}, err)
	}
	counts := map[string]int64{}
	for _, size := range sizes.List {
		switch m := countInSlug.FindStringSubmatch(size.Slug); {
		case size.GPU != nil && size.GPU.Count > 0:
			counts[size.Slug] = size.GPU.Count
		case m != nil: // the document knows no count, but the slug has it
			counts[size.Slug], _ = strconv.ParseInt(m[1], 10, 64) // three digits always fit
		}
	}
	if len(counts) == 0 {
		return nil, k.Missing(doapi.List)
	}
	var perReplica int64
	for i, d := range deployments(s) {
		for j, a := range d.Accelerators {
			n := counts[a.Slug]
			if n == 0 {
				return nil, cloud.InvalidField(fmt.Sprintf("the provider has no accelerator %q", a.Slug),
					fmt.Sprintf("spec.model_deployments[%d].accelerators[%d].accelerator_slug", i, j))
			}
			perReplica += n
		}
	}
	replicas, _ := s.Int("replicas")
	most, _ := s.Int("maxReplicas")
	return map[string]int64{"gpu": perReplica * max(replicas, most)}, nil
}
