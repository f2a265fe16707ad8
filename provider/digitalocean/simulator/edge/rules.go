package edge

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// pointsToHost: the data is a host name.
func (r record) pointsToHost() bool {
	if r.Type == "CAA" {
		return r.Tag == nil || *r.Tag != "iodef"
	}
	return slices.Contains([]string{"CNAME", "MX", "NS", "SRV"}, r.Type)
}

// checked is the record as it will be shown, or why it cannot be. id is its own
// when it is changed.
func (r record) checked(c *core.Call, domain, id string) (record, error) {
	r.Name = relative(r.Name, domain)
	if r.Name == "" {
		return r, core.Unprocessable("Name can't be blank")
	}
	if r.TTL < 30 {
		return r, core.Unprocessable("TTL must be at least 30")
	}
	if err := r.checkData(); err != nil {
		return r, err
	}
	if err := r.checkFields(); err != nil {
		return r, err
	}
	if r.pointsToHost() {
		r.Data = strings.TrimSuffix(r.Data, ".")
	}
	for _, other := range records.Everything(c, domain) {
		if other.ID != id && other.Value.Name == r.Name && (other.Value.Type == "CNAME" || r.Type == "CNAME") {
			return r, core.Unprocessable("CNAME records cannot share a name with other records")
		}
	}
	return r, nil
}

// relative is the name below the domain; "@" is the domain itself.
func relative(name, domain string) string {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if name == domain {
		return "@"
	}
	return strings.TrimSuffix(name, "."+domain)
}

func (r record) checkData() error {
	addr, notAddr := netip.ParseAddr(r.Data)
	switch {
	case r.Data == "":
		return core.Unprocessable("Data can't be blank")
	case r.Type == "A" && (notAddr != nil || !addr.Is4()):
		return core.Unprocessable("IP address %q is not an IPv4 address", r.Data)
	case r.Type == "AAAA" && (notAddr != nil || !addr.Is6()):
		return core.Unprocessable("IP address %q is not an IPv6 address", r.Data)
	case r.pointsToHost() && r.Data != "@" && !strings.HasSuffix(r.Data, "."):
		return core.Unprocessable("Data needs to end with a dot (.)")
	case !slices.Contains([]string{"A", "AAAA", "CAA", "CNAME", "MX", "NS", "SRV", "TXT"}, r.Type):
		return core.Unprocessable("Type %q is not supported", r.Type)
	}
	return nil
}

func (r record) checkFields() error {
	bad := func(n *int, most int) bool { return n == nil || *n < 0 || *n > most }
	switch r.Type {
	case "MX":
		if bad(r.Priority, 65535) {
			return core.Unprocessable("Priority can't be blank and must be between 0 and 65535")
		}
	case "SRV":
		if bad(r.Priority, 65535) || bad(r.Port, 65535) || bad(r.Weight, 65535) {
			return core.Unprocessable("Priority, port and weight can't be blank and must be between 0 and 65535")
		}
	case "CAA":
		if bad(r.Flags, 255) || r.Tag == nil || !slices.Contains([]string{"issue", "issuewild", "iodef"}, *r.Tag) {
			return core.Unprocessable("Flags and tag can't be blank")
		}
	}
	return nil
}
