package database

import (
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

// manifests makes the manifests of a template, by engine. It panics on a
// malformed file, which a test of this package would have shown.
func manifests(raw []byte) map[string]*cloud.Manifest {
	var t template
	if err := json.Unmarshal(raw, &t); err != nil {
		panic(fmt.Sprintf("database manifest: %v", err))
	}
	made := map[string]*cloud.Manifest{}
	for name, patch := range t.Engines {
		text := string(t.Manifest.Merge(patch).JSON())
		text = strings.NewReplacer("{engine}", name, "{Engine}", engines[name].title).Replace(text)
		made[name] = cloud.MustManifest([]byte(text))
	}
	return made
}
