package database

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// configFile lists each engine's configuration keys with type, bounds and
// default, drawn from the provider's OpenAPI document (its example where it
// gives no default).
//
//go:embed config.json
var configFile []byte

// parameter is one configuration key; one with Properties is an object of keys.
type parameter struct {
	Type       string               `json:"type"`
	Minimum    *float64             `json:"minimum"`
	Maximum    *float64             `json:"maximum"`
	MinLength  *int                 `json:"minLength"`
	MaxLength  *int                 `json:"maxLength"`
	Pattern    string               `json:"pattern"`
	Enum       []any                `json:"enum"`
	Default    any                  `json:"default"`
	Properties map[string]parameter `json:"properties"`
}

var parameters = readParameters()

func readParameters() map[string]map[string]parameter {
	decoder := json.NewDecoder(bytes.NewReader(configFile))
	// Some defaults are the largest 64-bit number.
	decoder.UseNumber()
	var all map[string]map[string]parameter
	if err := decoder.Decode(&all); err != nil {
		panic("simulator: config.json: " + err.Error())
	}
	return all
}

// advancedKey is where the advanced editions keep their parameters.
var advancedKey = map[string]string{"advanced_pg": "pg_parameters", "advanced_mysql": "mysql_parameters"}

// advancedDefaults are the parameters of the advanced editions.
var advancedDefaults = map[string]map[string]string{
	"advanced_pg":    {"work_mem": "4096", "max_connections": "100", "statement_timeout": "0"},
	"advanced_mysql": {"max_connections": "151", "wait_timeout": "28800", "sql_mode": "ANSI"},
}

// values are configuration values as they were sent. They are kept with numbers
// as they were written: some are larger than a float64 can tell apart.
type values map[string]any

// UnmarshalJSON reads what is stored.
func (v *values) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode((*map[string]any)(v))
}

// getConfig answers every key: what was set, the default otherwise.
func getConfig(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if key, ok := advancedKey[r.Value.Engine]; ok {
		return core.OK(core.Map{"config": core.Map{key: advancedConfig(r.Value)}})
	}
	return core.OK(core.Map{"config": withDefaults(parameters[r.Value.Engine], r.Value.Config)})
}

func withDefaults(known map[string]parameter, set map[string]any) core.Map {
	full := core.Map{}
	for key, p := range known {
		if p.Properties != nil {
			inner, _ := set[key].(map[string]any)
			full[key] = withDefaults(p.Properties, inner)
		} else if value, ok := set[key]; ok {
			full[key] = value
		} else {
			full[key] = p.Default
		}
	}
	return full
}

func advancedConfig(v Cluster) []core.Map {
	set, _ := v.Config[advancedKey[v.Engine]].(map[string]any)
	list := []core.Map{}
	for _, name := range slices.Sorted(maps.Keys(advancedDefaults[v.Engine])) {
		usual := advancedDefaults[v.Engine][name]
		shown := core.Map{"name": name, "value": usual, "default_value": usual, "description": name, "requires_restart": false}
		if value, ok := set[name]; ok {
			shown["value"] = value
		}
		list = append(list, shown)
	}
	return list
}

// patchConfig sets the keys sent and keeps the others; the provider never goes
// back to a default by itself.
func patchConfig(c *core.Call) (core.Answer, error) {
	r, err := usable(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Config map[string]any `json:"config"`
	}
	decoder := json.NewDecoder(bytes.NewReader(c.Body()))
	decoder.UseNumber()
	if err := decoder.Decode(&in); err != nil {
		return core.Answer{}, core.BadRequest("The request body could not be read: %s", err)
	}
	known := parameters[r.Value.Engine]
	if key, ok := advancedKey[r.Value.Engine]; ok {
		known = map[string]parameter{key: {Properties: advancedParameters(r.Value.Engine)}}
	}
	if r.Value.Config == nil {
		r.Value.Config = map[string]any{}
	}
	if err := apply(known, r.Value.Config, in.Config, ""); err != nil {
		return core.Answer{}, err
	}
	Clusters.Save(c, r)
	return core.OK(nil)
}

func advancedParameters(engine string) map[string]parameter {
	known := map[string]parameter{}
	for name := range advancedDefaults[engine] {
		known[name] = parameter{Type: "string"}
	}
	return known
}

func apply(known map[string]parameter, config, change map[string]any, path string) error {
	for key, value := range change {
		p, ok := known[key]
		if !ok {
			return core.Unprocessable("invalid config: unknown key %s%s", path, key)
		}
		if p.Properties != nil {
			inner, isObject := value.(map[string]any)
			if !isObject {
				return core.Unprocessable("invalid config: %s%s must be an object", path, key)
			}
			old, _ := config[key].(map[string]any)
			if old == nil {
				old = map[string]any{}
			}
			if err := apply(p.Properties, old, inner, path+key+"."); err != nil {
				return err
			}
			config[key] = old
			continue
		}
		if !p.takes(value) {
			return core.Unprocessable("invalid config: %s%s has a value out of range: %v", path, key, value)
		}
		config[key] = value
	}
	return nil
}

// takes tells whether a value has the type and lies in the bounds.
func (p parameter) takes(value any) bool {
	if len(p.Enum) > 0 {
		return slices.Contains(p.Enum, value)
	}
	switch p.Type {
	case "boolean":
		_, ok := value.(bool)
		return ok
	case "integer", "number":
		return p.takesNumber(value)
	case "array":
		_, ok := value.([]any)
		return ok
	}
	text, ok := value.(string)
	if !ok {
		return false
	}
	length := utf8.RuneCountInString(text)
	if (p.MinLength != nil && length < *p.MinLength) || (p.MaxLength != nil && length > *p.MaxLength) {
		return false
	}
	if p.Pattern == "" {
		return true
	}
	pattern, err := regexp.Compile(p.Pattern)
	// A pattern that Go cannot express is not checked.
	return err != nil || pattern.MatchString(text)
}

func (p parameter) takesNumber(value any) bool {
	number, ok := value.(json.Number)
	if !ok {
		return false
	}
	f, err := number.Float64()
	if err != nil || (p.Type == "integer" && strings.ContainsAny(number.String(), ".eE")) {
		return false
	}
	return (p.Minimum == nil || f >= *p.Minimum) && (p.Maximum == nil || f <= *p.Maximum)
}
