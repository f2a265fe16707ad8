package inference

import (
	"context"
	"net/http"
	"slices"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// Update sends the whole spec, made from the live one as it is now, so that a
// change of somebody else in between is refused and not undone. Without fields
// it sends a failed endpoint its spec again, which starts it anew.
func (k *dedicated) Update(ctx context.Context, r cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	live, err := k.read(ctx, doapi.Change, r)
	if err != nil {
		return nil, err
	}
	switch phase := live.phase(); {
	case phase == cloud.PhaseBusy || live.changing():
		return nil, &cloud.ProviderError{Class: cloud.ClassBusy, Op: k.Op(doapi.Change), Message: "waiting for the change before this one"}
	case live.Spec == nil:
		return nil, k.Missing(doapi.Change)
	case len(fields) == 0 && phase != cloud.PhaseFailed:
		return &cloud.Updated{}, nil
	}
	in := body{Spec: next(live, r)}
	if slices.Contains(fields, hfToken) {
		in.Secrets = k.secrets(r)
	}
	var got answer
	err = k.Call(ctx, http.MethodPatch, doapi.Path("v2", "dedicated-inferences", r.ProviderID), in, &got)
	if err != nil {
		return nil, k.Fail(doapi.Change, r, err, doapi.Means(http.StatusForbidden, cloud.ClassBusy), doapi.Fields(fields...))
	}
	if in.Secrets != nil {
		k.remember(r)
	}
	u := &cloud.Updated{Settles: fields}
	if len(fields) == 0 {
		u.Settles = []string{"model_deployments"}
	}
	if got.Endpoint != nil && got.Endpoint.ID == r.ProviderID {
		u.Observed = seen(got.Endpoint)
	}
	return u, nil
}

// next is the live spec with the wanted deployments. One that is there keeps
// its id and what else it has.
func next(live *wireEndpoint, r cloud.Request) wireSpec {
	spec := *live.Spec
	spec.Name = r.ProviderName
	spec.Region = or(spec.Region, live.Region)
	if spec.VPC == nil {
		spec.VPC = &wireVPC{live.VPCUUID}
	}
	want := scaled(deployments(r.Spec), r.Spec)
	for i, j := range match(want, live.Spec.Deployments, same, sameModel) {
		if j < 0 {
			continue
		}
		present := live.Spec.Deployments[j]
		want[i].ModelID, want[i].WorkloadConfig = present.ModelID, present.WorkloadConfig
		want[i].ProviderModelID = or(want[i].ProviderModelID, present.ProviderModelID)
	}
	spec.Deployments = want
	return spec
}

// RecoverSecrets makes a token under the endpoint's own name. One of that name
// is from an earlier attempt whose answer was lost, so nobody has its value: it
// is revoked first.
func (k *dedicated) RecoverSecrets(ctx context.Context, r cloud.Request, o *cloud.Observed) (*cloud.Observed, error) {
	t := tokens{k.Base, o.ProviderID}
	all, err := t.all(ctx, 0)
	if err != nil {
		return nil, k.Fail(doapi.Look, r, err)
	}
	for _, old := range all {
		if old.Name != r.ProviderName {
			continue
		}
		if err := k.Fail(doapi.Delete, r, t.revoke(ctx, old.ID)); err != nil && !cloud.IsNotFound(err) {
			return nil, err
		}
	}
	made, err := t.create(ctx, r.ProviderName)
	switch {
	case err != nil:
		return nil, k.Fail(doapi.Change, r, err)
	case made == nil || made.Value == "":
		return nil, k.Missing(doapi.Change)
	}
	again := *o
	again.Secrets = map[string]cloud.Secret{"token": cloud.NewSecret(made.Value)}
	return &again, nil
}
