package database

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// A template is the manifest of one kind for all engines that have it: Manifest
// holds what they share, Engines what each changes (an RFC 7396 patch). In all
// texts {engine} is the engine's word in kind names and {Engine} its title.
type template struct {
	Manifest cloud.Spec            `json:"manifest"`
	Engines  map[string]cloud.Spec `json:"engines"`
}

//go:embed config.json
var configJSON []byte

// configs are the settings of each engine, as properties of a schema.
var configs = func() (c map[string]cloud.Spec) {
	mustDecode(configJSON, &c)
	return c
}()

// mustDecode reads an embedded file with all digits of its numbers. It panics on
// a malformed one, which a test of this package would have shown.
func mustDecode(raw []byte, into any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		panic(fmt.Sprintf("embedded database file: %v", err))
	}
}

// withConfig fills an engine's settings into a cluster's manifest.
func withConfig(engine string) cloud.Spec {
	config := map[string]any{"properties": map[string]any(configs[engine])}
	return cloud.Spec{"spec": map[string]any{"properties": map[string]any{"config": config}}}
}

// manifests makes the manifests of a template, by engine; more patches each
// further.
func manifests(raw []byte, more ...func(engine string) cloud.Spec) map[string]*cloud.Manifest {
	var t template
	mustDecode(raw, &t)
	made := map[string]*cloud.Manifest{}
	for name, patch := range t.Engines {
		whole := t.Manifest.Merge(patch)
		for _, m := range more {
			whole = whole.Merge(m(name))
		}
		text := string(whole.JSON())
		text = strings.NewReplacer("{engine}", name, "{Engine}", engines[name].title).Replace(text)
		made[name] = cloud.MustManifest([]byte(text))
	}
	return made
}
