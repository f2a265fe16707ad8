package network

import (
	"net/netip"
	"slices"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// CheckSpec holds what a pattern cannot: that addresses are addresses, and
// stand in one subnet.
func (k *attachment) CheckSpec(s cloud.Spec) error {
	bgp := s.Object("bgp")
	if bgp == nil {
		return nil
	}
	var subnets [2]netip.Prefix
	for i, field := range []string{"local_router_ip", "peer_router_ip"} {
		p, err := netip.ParsePrefix(bgp.String(field))
		if err != nil {
			return cloud.InvalidField("not an address with a prefix length", "spec.bgp."+field)
		}
		subnets[i] = p.Masked()
	}
	if subnets[0] != subnets[1] {
		return cloud.InvalidField("the two routers are not in one subnet", "spec.bgp.local_router_ip", "spec.bgp.peer_router_ip")
	}
	return nil
}

// vpcs are the provider's ids of the wanted networks' VPCs within the region,
// sorted. complete is false when one of the networks has none there.
func vpcs(r cloud.Request) (ids []string, complete bool) {
	complete = true
	for _, network := range r.Spec.Strings("networks") {
		found := false
		for _, datacenter := range attachmentManifest.RegionMap[r.Spec.String("region")] {
			if id := r.Networks[network][datacenter]; id != "" {
				ids, found = append(ids, id), true
			}
		}
		complete = complete && found
	}
	slices.Sort(ids)
	return slices.Compact(ids), complete
}

func (k *attachment) wantedVPCs(v doapi.Verb, r cloud.Request) ([]string, error) {
	ids, complete := vpcs(r)
	if !complete {
		return nil, cloud.Refuse(k.Op(v), "a network reaches no VPC in region "+r.Spec.String("region"), "spec.networks")
	}
	return ids, nil
}

// wantedBGP is the spec's BGP as the API takes it, nil when it has none.
func wantedBGP(r cloud.Request) map[string]any {
	bgp := r.Spec.Object("bgp")
	if bgp == nil {
		return nil
	}
	asn, _ := bgp.Int("peer_router_asn")
	return map[string]any{
		"local_router_ip": bgp.String("local_router_ip"), "peer_router_ip": bgp.String("peer_router_ip"),
		"peer_router_asn": asn, "auth_key": r.Resolve(bgp.String("auth_key")),
	}
}

// Diff compares the VPCs as a set, and BGP field by field.
func (k *attachment) Diff(r cloud.Request, o *cloud.Observed) []string {
	var out []string
	have := cloud.Spec(o.Outputs).Strings("vpc_ids")
	if want, complete := vpcs(r); complete && len(have) > 0 && !slices.Equal(want, slices.Sorted(slices.Values(have))) {
		out = append(out, "networks")
	}
	if want := r.Spec.Object("bgp"); want != nil && !sameBGP(want, o.Spec.Object("bgp"), r.SecretVersions) {
		out = append(out, "bgp")
	}
	return out
}

func sameBGP(want, have cloud.Spec, versions map[string]string) bool {
	if have == nil {
		return false
	}
	for _, field := range []string{"local_router_ip", "peer_router_ip"} {
		if !sameAddress(want.String(field), have.String(field)) {
			return false
		}
	}
	asn, _ := want.Int("peer_router_asn")
	if theirs, told := have.Int("peer_router_asn"); told && asn != theirs {
		return false
	}
	key, version := have.String("auth_key"), versions[want.String("auth_key")]
	return key == "" || version == "" || key == version
}

// sameAddress compares by value; one that stands without its prefix is that
// address.
func sameAddress(want, have string) bool {
	if have == "" || want == have {
		return true
	}
	w, err := netip.ParsePrefix(want)
	if err != nil {
		return false
	}
	if a, err := netip.ParseAddr(have); err == nil {
		return a == w.Addr()
	}
	h, err := netip.ParsePrefix(have)
	return err == nil && h == w
}
