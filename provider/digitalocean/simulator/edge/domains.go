package edge

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

const defaultTTL = 1800

type domain struct{}

// domains are known by their names; the ID is the name.
var domains = core.Table[domain]{Type: "domain"}

var domainName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$`)

func createDomain(c *core.Call) (core.Answer, error) {
	var in struct {
		Name string `json:"name"`
		IP   string `json:"ip_address"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	in.Name = strings.ToLower(in.Name)
	if !domainName.MatchString(in.Name) {
		return core.Answer{}, core.Unprocessable("Name is not a valid domain name")
	}
	taken := domains.Exists(c, in.Name)
	c.OtherAccounts(func(other *core.Call) bool {
		taken = taken || domains.Exists(other, in.Name)
		return !taken
	})
	if taken {
		return core.Answer{}, core.Unprocessable("domain '%s': name already exists", in.Name)
	}
	addr, err := netip.ParseAddr(in.IP)
	if in.IP != "" && err != nil {
		return core.Answer{}, core.Unprocessable("IP address %q is invalid", in.IP)
	}
	d := domains.Insert(c, core.Meta{ID: in.Name, Name: in.Name}, domain{})
	insert(c, in.Name, record{Type: "SOA", Name: "@", Data: "1800", TTL: defaultTTL})
	for n := range 3 {
		insert(c, in.Name, record{Type: "NS", Name: "@", Data: fmt.Sprintf("ns%d.digitalocean.com", n+1), TTL: defaultTTL})
	}
	if in.IP != "" {
		kind := "A"
		if addr.Is6() {
			kind = "AAAA"
		}
		insert(c, in.Name, record{Type: kind, Name: "@", Data: in.IP, TTL: defaultTTL})
	}
	return core.Created(core.Map{"domain": core.Map{"name": d.Name, "ttl": nil, "zone_file": nil}})
}

func listDomains(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, d := range domains.All(c, "") {
		views = append(views, domainView(c, d))
	}
	return core.Paged(c, "domains", views)
}

func findDomain(c *core.Call) (*core.Record[domain], error) {
	d, ok := domains.Get(c, strings.ToLower(c.Param("domain")))
	if !ok {
		return nil, core.NotFound("The resource you were accessing could not be found.")
	}
	return d, nil
}

func getDomain(c *core.Call) (core.Answer, error) {
	d, err := findDomain(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"domain": domainView(c, d)})
}

func removeDomain(c *core.Call) (core.Answer, error) {
	d, err := findDomain(c)
	if err != nil {
		return core.Answer{}, err
	}
	domains.Remove(c, d.ID)
	return core.NoContent()
}

func domainView(c *core.Call, d *core.Record[domain]) core.Map {
	var file strings.Builder
	fmt.Fprintf(&file, "$ORIGIN %s.\n$TTL %d\n", d.Name, defaultTTL)
	for _, r := range records.Everything(c, d.ID) {
		if r.Value.Type != "SOA" {
			fmt.Fprintf(&file, "%s %d IN %s %s\n", r.Value.Name, r.Value.TTL, r.Value.Type, r.Value.Data)
		}
	}
	return core.Map{"name": d.Name, "ttl": defaultTTL, "zone_file": file.String()}
}
