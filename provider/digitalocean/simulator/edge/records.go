package edge

import (
	"strconv"
	"strings"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// record is a DNS record as it is shown: host names without their last dot.
type record struct {
	Type     string  `json:"type"`
	Name     string  `json:"name"`
	Data     string  `json:"data"`
	TTL      int     `json:"ttl"`
	Priority *int    `json:"priority"`
	Port     *int    `json:"port"`
	Weight   *int    `json:"weight"`
	Flags    *int    `json:"flags"`
	Tag      *string `json:"tag"`
}

// records are known by a number.
var records = core.Table[record]{Type: "domain.record"}

func insert(c *core.Call, domain string, r record) *core.Record[record] {
	id := core.StableNumber(core.NewUUID())
	return records.Insert(c, core.Meta{ID: strconv.Itoa(id), Parent: domain, Name: r.Name}, r)
}

func createRecord(c *core.Call) (core.Answer, error) {
	d, err := findDomain(c)
	if err != nil {
		return core.Answer{}, err
	}
	in := record{TTL: defaultTTL}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in, err = in.checked(c, d.Name, ""); err != nil {
		return core.Answer{}, err
	}
	return core.Created(core.Map{"domain_record": recordView(insert(c, d.ID, in))})
}

// listRecords filters by type and by the full name.
func listRecords(c *core.Call) (core.Answer, error) {
	d, err := findDomain(c)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, r := range records.All(c, d.ID) {
		full := d.Name
		if r.Value.Name != "@" {
			full = r.Value.Name + "." + d.Name
		}
		if kind := c.Query("type"); kind != "" && kind != r.Value.Type {
			continue
		}
		if name := c.Query("name"); name != "" && !strings.EqualFold(strings.TrimSuffix(name, "."), full) {
			continue
		}
		views = append(views, recordView(r))
	}
	return core.Paged(c, "domain_records", views)
}

func findRecord(c *core.Call) (*core.Record[record], error) {
	d, err := findDomain(c)
	if err != nil {
		return nil, err
	}
	r, ok := records.Get(c, c.Param("record"))
	if !ok || r.Parent != d.ID {
		return nil, core.NotFound("The resource you were accessing could not be found.")
	}
	return r, nil
}

func getRecord(c *core.Call) (core.Answer, error) {
	r, err := findRecord(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"domain_record": recordView(r)})
}

// updateRecord changes what is sent and keeps the rest, by PUT as by PATCH.
func updateRecord(c *core.Call) (core.Answer, error) {
	r, err := findRecord(c)
	if err != nil {
		return core.Answer{}, err
	}
	in := r.Value
	if in.Data != "@" && in.pointsToHost() {
		in.Data += "." // as it would be sent
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in.Type != r.Value.Type {
		return core.Answer{}, core.Unprocessable("Type can't be changed")
	}
	if r.Value.Type == "SOA" {
		r.Value.TTL = in.TTL
	} else if r.Value, err = in.checked(c, r.Parent, r.ID); err != nil {
		return core.Answer{}, err
	}
	r.Name = r.Value.Name
	records.Save(c, r)
	return core.OK(core.Map{"domain_record": recordView(r)})
}

func removeRecord(c *core.Call) (core.Answer, error) {
	r, err := findRecord(c)
	if err != nil {
		return core.Answer{}, err
	}
	if r.Value.Type == "SOA" {
		return core.Answer{}, core.Unprocessable("SOA records can't be deleted")
	}
	records.Remove(c, r.ID)
	return core.NoContent()
}

func recordView(r *core.Record[record]) core.Map {
	id, err := strconv.Atoi(r.ID)
	if err != nil {
		panic("edge: a record's id is no number: " + r.ID)
	}
	v := r.Value
	return core.Map{
		"id": id, "type": v.Type, "name": v.Name, "data": v.Data, "ttl": v.TTL,
		"priority": v.Priority, "port": v.Port, "weight": v.Weight, "flags": v.Flags, "tag": v.Tag,
	}
}
