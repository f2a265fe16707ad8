package network

import (
	"context"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

type wireKey struct {
	Value string `json:"value"`
	State string `json:"state"`
}

// there: a key without a state of its own is there when it has a value.
func (w wireKey) there() bool {
	return w.Value != "" && (w.State == "" || strings.EqualFold(w.State, "CREATED") || strings.EqualFold(w.State, "ACTIVE"))
}

// withKeys adds the keys of an attachment that stands. While one of them is
// being made, the attachment is busy.
func (k *attachment) withKeys(ctx context.Context, r cloud.Request, o *cloud.Observed) (*cloud.Observed, error) {
	if o.Phase != cloud.PhaseReady {
		return o, nil
	}
	service, err := k.key(ctx, r, o.ProviderID, "service_key")
	if err != nil {
		return nil, err
	}
	o.Secrets = map[string]cloud.Secret{}
	switch {
	case service.there():
		o.Secrets["service_key"] = cloud.NewSecret(service.Value)
	case !strings.EqualFold(service.State, "CREATED"): // one that is made and not shown is another matter
		o.Phase, o.Message = cloud.PhaseBusy, "the provider is making the service key"
	}
	bgp := o.Spec.Object("bgp")
	if bgp == nil {
		return o, nil
	}
	auth, err := k.key(ctx, r, o.ProviderID, "bgp_auth_key")
	if err != nil {
		return nil, err
	}
	if auth.there() {
		o.Secrets["bgp_auth_key"] = cloud.NewSecret(auth.Value)
		if r.Digest != nil {
			bgp["auth_key"] = r.Digest(auth.Value)
		}
	}
	return o, nil
}

// key reads one of the keys; none yet is no error.
func (k *attachment) key(ctx context.Context, r cloud.Request, id, which string) (wireKey, error) {
	var got map[string]wireKey
	err := k.Fail(doapi.Look, r, k.Get(ctx, path+"/"+doapi.Path(id, which), &got))
	if err != nil && !cloud.IsNotFound(err) {
		return wireKey{}, err
	}
	return got[which], nil
}
