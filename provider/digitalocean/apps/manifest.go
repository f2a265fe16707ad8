package apps

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/better-compute/cloud-resources/cloud"
)

//go:embed app.json
var appJSON []byte

var appManifest = cloud.MustManifest(expand(appJSON))

// expand writes out the parts that components share: {"$use": "name"} becomes
// spec.definitions.name, with what else stands beside it on top. It panics on a
// malformed file, which a test of this package would have shown.
func expand(raw []byte) []byte {
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		panic(fmt.Sprintf("app manifest: %v", err))
	}
	spec, _ := m["spec"].(map[string]any)
	parts, _ := spec["definitions"].(map[string]any)
	delete(spec, "definitions")
	m["spec"] = written(spec, parts)
	out, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("app manifest: %v", err))
	}
	return out
}

func written(v any, parts map[string]any) any {
	switch t := v.(type) {
	case map[string]any:
		out := map[string]any{}
		if name, ok := t["$use"].(string); ok {
			part, ok := written(parts[name], parts).(map[string]any)
			if !ok {
				panic("app manifest: no definition " + name)
			}
			maps.Copy(out, part)
		}
		for k, e := range t {
			if k != "$use" {
				out[k] = written(e, parts)
			}
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			out[i] = written(e, parts)
		}
		return out
	}
	return v
}
