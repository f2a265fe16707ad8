package certificates

import (
	"strconv"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

type rule struct {
	EntryProtocol  string `json:"entry_protocol"`
	EntryPort      int    `json:"entry_port"`
	TargetProtocol string `json:"target_protocol"`
	TargetPort     int    `json:"target_port"`
	CertificateID  string `json:"certificate_id"`
	TLSPassthrough bool   `json:"tls_passthrough"`
}

type healthCheck struct {
	Protocol  string `json:"protocol"`
	Port      int    `json:"port"`
	Path      string `json:"path,omitempty"`
	Interval  int    `json:"check_interval_seconds"`
	Timeout   int    `json:"response_timeout_seconds"`
	Unhealthy int    `json:"unhealthy_threshold"`
	Healthy   int    `json:"healthy_threshold"`
}

type sticky struct {
	Type   string `json:"type"`
	Cookie string `json:"cookie_name,omitempty"`
	TTL    int    `json:"cookie_ttl_seconds,omitempty"`
}

type firewall struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// options are what requests may leave out and answers always show.
type options struct {
	Algorithm  string      `json:"algorithm"`
	SizeUnit   int         `json:"size_unit"`
	Rules      []rule      `json:"forwarding_rules"`
	Health     healthCheck `json:"health_check"`
	Sticky     sticky      `json:"sticky_sessions"`
	Redirect   bool        `json:"redirect_http_to_https"`
	Proxy      bool        `json:"enable_proxy_protocol"`
	Keepalive  bool        `json:"enable_backend_keepalive"`
	Idle       int         `json:"http_idle_timeout_seconds"`
	NoDNS      bool        `json:"disable_lets_encrypt_dns_records"`
	Firewall   firewall    `json:"firewall"`
	Type       string      `json:"type"`
	Network    string      `json:"network"`
	Stack      string      `json:"network_stack"`
	TLSPolicy  string      `json:"tls_cipher_policy"`
	DropletIDs []int       `json:"droplet_ids"`
	Tag        string      `json:"tag"`
}

// defaults are the documented ones.
func defaults() options {
	return options{Algorithm: "round_robin", SizeUnit: 1, Idle: 60, Type: "REGIONAL", Network: "EXTERNAL", Stack: "IPV4",
		TLSPolicy:  "DEFAULT",
		Health:     healthCheck{Protocol: "http", Port: 80, Path: "/", Interval: 10, Timeout: 5, Unhealthy: 5, Healthy: 3},
		Sticky:     sticky{Type: "none"},
		DropletIDs: []int{}, Firewall: firewall{Allow: []string{}, Deny: []string{}}}
}

type balancerInput struct {
	Name    string `json:"name"`
	Region  string `json:"region"`
	Size    string `json:"size"`
	VPC     string `json:"vpc_uuid"`
	Project string `json:"project_id"`
	options
}

// units are the old size words in nodes.
var units = map[string]int{"lb-small": 1, "lb-medium": 3, "lb-large": 6}

// readBalancer reads a create or an update: both replace everything, what is left
// out by its default.
func readBalancer(c *core.Call) (balancerInput, error) {
	in := balancerInput{options: defaults()}
	if err := c.Decode(&in); err != nil {
		return in, err
	}
	if n, ok := units[in.Size]; ok && in.SizeUnit <= 1 {
		in.SizeUnit = n
	}
	if in.Health.Protocol == "tcp" {
		in.Health.Path = ""
	}
	// Clients send null for the lists that they leave out.
	in.DropletIDs, in.Firewall.Allow, in.Firewall.Deny = orEmpty(in.DropletIDs), orEmpty(in.Firewall.Allow), orEmpty(in.Firewall.Deny)
	return in, in.check(c)
}

func (in balancerInput) check(c *core.Call) error {
	switch {
	case in.Name == "":
		return core.Unprocessable("Name can't be blank")
	case !basics.IsRegion(in.Region):
		return core.Unprocessable("region %q is invalid", in.Region)
	case len(in.Rules) == 0:
		return core.Unprocessable("at least one forwarding rule is required")
	case in.Type != "REGIONAL" && in.Type != "REGIONAL_NETWORK":
		return core.Unprocessable("type %q is not served", in.Type)
	case in.SizeUnit < 1 || in.SizeUnit > 100:
		return core.Unprocessable("size_unit must be between 1 and 100")
	case in.Tag != "" && len(in.DropletIDs) > 0:
		return core.Unprocessable("droplet_ids and tag are mutually exclusive")
	}
	for _, r := range in.Rules {
		if r.CertificateID != "" && !certificates.Exists(c, r.CertificateID) {
			return core.Unprocessable("certificate %s was not found", r.CertificateID)
		}
	}
	for _, id := range in.DropletIDs {
		if !basics.Droplets.Exists(c, strconv.Itoa(id)) {
			return core.Unprocessable("droplet %d was not found", id)
		}
	}
	return nil
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
