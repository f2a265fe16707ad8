package database

import (
	"regexp"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// maintenance is the weekly window: a day in lower case, a UTC hour with
// seconds, whatever was sent.
type maintenance struct {
	Day  string `json:"day"`
	Hour string `json:"hour"`
}

var (
	days       = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	hourFormat = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$`)
)

func (m maintenance) view() core.Map {
	return core.Map{"day": m.Day, "hour": m.Hour, "pending": false, "description": []string{}}
}

func putMaintenance(c *core.Call) (core.Answer, error) {
	r, err := usable(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in maintenance
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	in.Day = strings.ToLower(in.Day)
	if !slices.Contains(days, in.Day) {
		return core.Answer{}, core.Unprocessable("invalid day: %q", in.Day)
	}
	if !hourFormat.MatchString(in.Hour) {
		return core.Answer{}, core.Unprocessable("invalid hour: %q is not a time of day", in.Hour)
	}
	if len(in.Hour) == len("15:04") {
		in.Hour += ":00"
	}
	r.Value.Maintenance = in
	Clusters.Save(c, r)
	return core.NoContent()
}

// installUpdate starts maintenance now; nothing is ever pending here, so only the
// event remains of it.
func installUpdate(c *core.Call) (core.Answer, error) {
	r, err := idle(c)
	if err != nil {
		return core.Answer{}, err
	}
	r.Value.note(c, "cluster_maintenance_perform")
	c.Change(&r.Meta, "online", "online", "online", nil)
	Clusters.Save(c, r)
	return core.NoContent()
}

// autoscale is the growth of the storage by itself.
type autoscale struct {
	Enabled   bool `json:"enabled"`
	Threshold *int `json:"threshold_percent,omitempty"`
	Increment *int `json:"increment_gib,omitempty"`
}

type storageRoot struct {
	Storage *autoscale `json:"storage"`
}

func (a *autoscale) check() error {
	if a.Threshold != nil && (*a.Threshold < 15 || *a.Threshold > 95) {
		return core.Unprocessable("invalid threshold_percent: must be between 15 and 95")
	}
	if a.Increment != nil && (*a.Increment < 10 || *a.Increment > 500) {
		return core.Unprocessable("invalid increment_gib: must be between 10 and 500")
	}
	if a.Enabled && (a.Threshold == nil || a.Increment == nil) {
		return core.Unprocessable("threshold_percent and increment_gib are required when autoscaling is enabled")
	}
	return nil
}

// getAutoscale answers under the documented key and under the one that the
// provider's client library reads.
func getAutoscale(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	scale := r.Value.Autoscale
	if scale == nil {
		scale = &autoscale{}
	}
	return core.OK(core.Map{"autoscale": core.Map{"storage": scale}, "storage": scale})
}

func putAutoscale(c *core.Call) (core.Answer, error) {
	r, err := usable(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in storageRoot
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in.Storage == nil {
		return core.Answer{}, core.Unprocessable("storage is required")
	}
	if err := in.Storage.check(); err != nil {
		return core.Answer{}, err
	}
	r.Value.Autoscale = in.Storage
	Clusters.Save(c, r)
	return core.NoContent()
}

var policies = []string{"noeviction", "allkeys_lru", "allkeys_random", "volatile_lru", "volatile_random", "volatile_ttl"}

// only refuses what another engine has.
func only(r record, what string, names ...string) error {
	if slices.Contains(names, r.Value.Engine) {
		return nil
	}
	return core.Unprocessable("%s not supported for engine %s", what, r.Value.Engine)
}

func getEvictionPolicy(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if err := only(r, "eviction policies are", "valkey"); err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"eviction_policy": r.Value.EvictionPolicy})
}

func putEvictionPolicy(c *core.Call) (core.Answer, error) {
	r, err := usable(c)
	if err != nil {
		return core.Answer{}, err
	}
	if err := only(r, "eviction policies are", "valkey"); err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Policy string `json:"eviction_policy"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if !slices.Contains(policies, in.Policy) {
		return core.Answer{}, core.Unprocessable("invalid eviction_policy: %q", in.Policy)
	}
	r.Value.EvictionPolicy = in.Policy
	Clusters.Save(c, r)
	return core.NoContent()
}

const defaultSQLMode = "ANSI,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,NO_ZERO_DATE,NO_ZERO_IN_DATE,STRICT_ALL_TABLES"

var sqlMode = regexp.MustCompile(`^[A-Z_]*(,[A-Z_]+)*$`)

func getSQLMode(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if err := only(r, "SQL modes are", "mysql"); err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"sql_mode": r.Value.SQLMode})
}

func putSQLMode(c *core.Call) (core.Answer, error) {
	r, err := usable(c)
	if err != nil {
		return core.Answer{}, err
	}
	if err := only(r, "SQL modes are", "mysql"); err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Mode string `json:"sql_mode"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if !sqlMode.MatchString(in.Mode) {
		return core.Answer{}, core.Unprocessable("invalid sql_mode: %q", in.Mode)
	}
	r.Value.SQLMode = in.Mode
	Clusters.Save(c, r)
	return core.NoContent()
}

// doSettings are the provider's own settings of a cluster or replica.
type doSettings struct {
	CNAMEs []string `json:"service_cnames"`
}

var hostname = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)+$`)

func (s *doSettings) check() error {
	if len(s.CNAMEs) > 16 {
		return core.Unprocessable("invalid service_cnames: 16 at most")
	}
	for _, name := range s.CNAMEs {
		if len(name) > 253 || !hostname.MatchString(name) {
			return core.Unprocessable("invalid service_cnames: %q is not a hostname", name)
		}
	}
	return nil
}

func getDOSettings(c *core.Call) (core.Answer, error) {
	if replica, ok := Replicas.Get(c, c.Param("cluster")); ok {
		return core.OK(core.Map{"do_settings": core.Map{"service_cnames": orEmpty(replica.Value.CNAMEs)}})
	}
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"do_settings": core.Map{"service_cnames": orEmpty(r.Value.CNAMEs)}})
}

// putDOSettings also serves replicas, under their own id.
func putDOSettings(c *core.Call) (core.Answer, error) {
	var in struct {
		Settings *doSettings `json:"do_settings"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in.Settings == nil {
		return core.Answer{}, core.Unprocessable("do_settings is required")
	}
	if err := in.Settings.check(); err != nil {
		return core.Answer{}, err
	}
	if replica, ok := Replicas.Get(c, c.Param("cluster")); ok {
		replica.Value.CNAMEs = in.Settings.CNAMEs
		Replicas.Save(c, replica)
		return core.NoContent()
	}
	r, err := usable(c)
	if err != nil {
		return core.Answer{}, err
	}
	r.Value.CNAMEs = in.Settings.CNAMEs
	Clusters.Save(c, r)
	return core.NoContent()
}
