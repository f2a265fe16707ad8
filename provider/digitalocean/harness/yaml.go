package harness

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/better-compute/cloud-resources/cloud"
)

// secretKeys name the parts of a manifest that hold secrets; elsewhere the
// provider would show a value again.
var secretKeys = []string{"secrets", "credentials"}

// parse reads a manifest: one YAML document that is a mapping.
func parse(text string) (*yaml.Node, error) {
	var doc, more yaml.Node
	in := yaml.NewDecoder(strings.NewReader(text))
	if err := in.Decode(&doc); err != nil {
		return nil, cloud.InvalidField("not a YAML document", "spec.manifest_yaml")
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, cloud.InvalidField("the document is not a mapping", "spec.manifest_yaml")
	}
	if err := in.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, cloud.InvalidField("more than one YAML document", "spec.manifest_yaml")
	}
	return &doc, nil
}

// scalars calls f for every value of a document, with the keys on the way.
// Aliases are left out: what they repeat is seen where it stands.
func scalars(n *yaml.Node, path []string, f func(n *yaml.Node, path []string)) {
	switch n.Kind {
	case yaml.DocumentNode, yaml.SequenceNode:
		for _, e := range n.Content {
			scalars(e, path, f)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			scalars(n.Content[i+1], append(slices.Clone(path), n.Content[i].Value), f)
		}
	case yaml.ScalarNode:
		f(n, path)
	}
}

// fill is the manifest with the values of its SecretRefs. A value becomes a
// string whatever is in it. The document is written anew only if there is one.
func fill(text string, resolve func(string) string) (string, error) {
	if len(cloud.FindSecretRefs(text)) == 0 {
		return text, nil
	}
	doc, err := parse(text)
	if err != nil {
		return "", err
	}
	scalars(doc, nil, func(n *yaml.Node, _ []string) {
		for _, ref := range cloud.FindSecretRefs(n.Value) {
			n.Value = strings.ReplaceAll(n.Value, ref, resolve(ref))
			n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
		}
	})
	out, err := yaml.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("manifest: %w", err)
	}
	return string(out), nil
}

// CheckSpec refuses a manifest that is no YAML mapping, SecretRefs where their
// values would be shown, and secrets in plain text.
func (k *environment) CheckSpec(s cloud.Spec) error {
	doc, err := parse(s.String("manifest_yaml"))
	if err != nil {
		return err
	}
	message := ""
	scalars(doc, nil, func(n *yaml.Node, path []string) {
		place := slices.IndexFunc(path, func(key string) bool { return slices.Contains(secretKeys, key) })
		_, _, whole := cloud.SecretRef(n.Value).Parse()
		where := strings.Join(path, ".")
		switch {
		case message != "":
		case place < 0 && len(cloud.FindSecretRefs(n.Value)) > 0:
			message = "a SecretRef stands under secrets only, or its value would be shown: " + where
		case place >= 0 && isValue(path[place+1:]) && n.Value != "" && !whole:
			message = "the value of a secret is a SecretRef: " + where
		}
	})
	if message != "" {
		return cloud.InvalidField(message, "spec.manifest_yaml")
	}
	return nil
}

// isValue reports whether the keys below secrets lead to a secret's value: the
// name alone, or a declaration's value.
func isValue(below []string) bool {
	return len(below) == 1 && !slices.Contains([]string{"name", "source", "provider"}, below[0]) ||
		len(below) > 1 && below[len(below)-1] == "value"
}
