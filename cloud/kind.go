package cloud

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Family groups kinds for policies.
type Family string

// The seven families of the contract.
const (
	FamilyStorage       Family = "storage"
	FamilyNetwork       Family = "network"
	FamilyEdge          Family = "edge"
	FamilyData          Family = "data"
	FamilyPlatform      Family = "platform"
	FamilyAI            Family = "ai"
	FamilyObservability Family = "observability"
)

// Families lists all seven.
var Families = []Family{FamilyStorage, FamilyNetwork, FamilyEdge, FamilyData, FamilyPlatform, FamilyAI, FamilyObservability}

// Ownership says what makes an object at the provider ours (D11, D12).
type Ownership string

// The ways an object is owned.
const (
	// OwnedByLabels: tags or labels; can be adopted and released.
	OwnedByLabels Ownership = "labels"
	// OwnedByName: its name is the provider-side name of the record.
	OwnedByName Ownership = "name"
	// OwnedByParent: it lives in an object that is ours, under its identity.
	OwnedByParent Ownership = "parent"
	// OwnedByRecord: nothing at the provider tells; only our noted attempt does.
	OwnedByRecord Ownership = "record"
)

// Recovery says how a secret is had again when the run that received it died (D19).
type Recovery string

// The recoveries.
const (
	RecoverRead     Recovery = "read"     // every look returns it
	RecoverReset    Recovery = "reset"    // a reset call makes a new value
	RecoverRecreate Recovery = "recreate" // delete the object and make it again
)

// Output is a plain output of a kind.
type Output struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// SecretOutput is an output that is only ever returned as a SecretRef.
type SecretOutput struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Recover says how it is had again; RecoverRead when empty.
	Recover Recovery `json:"recover,omitempty"`
	// Optional outputs do not hold back ready when the provider has none
	// (a private URI of a cluster without a private network).
	Optional bool `json:"optional,omitempty"`
}

// Identity says what is unique within a parent: the values of Fields, or with
// Single the parent itself (one per parent).
type Identity struct {
	Fields []string `json:"fields,omitempty"`
	Single bool     `json:"single,omitempty"`
}

// Manifest describes a kind as data: everything callers and the rules need
// to know without its code. It is read from <kind>.json beside the code.
type Manifest struct {
	Kind        string `json:"kind"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Family      Family `json:"family"`
	// Parent is the kind that it lives in, or "".
	Parent   string    `json:"parent,omitempty"`
	Identity *Identity `json:"identity,omitempty"`
	Regional bool      `json:"regional"`
	// RegionMap maps the product's own region words to the datacenters that
	// make them allowed (D32). Empty: spec.region is a datacenter word.
	RegionMap map[string][]string `json:"regionMap,omitempty"`
	Preview   bool                `json:"preview"`
	// Spec is the JSON Schema (draft-07) of the spec. Annotations on top-level
	// properties: x-updatable (changed in place). On any property: x-account-wide,
	// x-secret-ref (the value must be a SecretRef), x-secret-ref-allowed (may be
	// one), x-secret-refs-inside (the text may hold SecretRefs), x-instances and
	// x-networks (lists or strings of ids), x-default-from-provider.
	Spec          json.RawMessage `json:"spec"`
	Outputs       []Output        `json:"outputs"`
	SecretOutputs []SecretOutput  `json:"secretOutputs"`
	Meters        []string        `json:"meters,omitempty"`
	// Books names the capacity that the kind books (such as "gpu"), or "".
	Books     string    `json:"books,omitempty"`
	Ownership Ownership `json:"ownership"`
	// IdempotentCreate: creating is a PUT that may be repeated and may find
	// something there already (a cluster's firewall).
	IdempotentCreate bool `json:"idempotentCreate,omitempty"`
	// NoDiscover: the provider cannot list what we did not make.
	NoDiscover bool `json:"noDiscover,omitempty"`
	// Examples are valid specs; the first is what tests and forms start from.
	Examples []json.RawMessage `json:"examples"`

	schema *schemaNode
}

// schemaNode is the little of JSON Schema that the rules walk.
type schemaNode struct {
	Properties       map[string]*schemaNode `json:"properties"`
	Items            *schemaNode            `json:"items"`
	Additional       json.RawMessage        `json:"additionalProperties"`
	Required         []string               `json:"required"`
	Updatable        bool                   `json:"x-updatable"`
	AccountWide      bool                   `json:"x-account-wide"`
	AccountWideWhen  []string               `json:"x-account-wide-values"`
	SecretRef        bool                   `json:"x-secret-ref"`
	SecretRefAllowed bool                   `json:"x-secret-ref-allowed"`
	SecretRefsInside bool                   `json:"x-secret-refs-inside"`
	Instances        bool                   `json:"x-instances"`
	Networks         bool                   `json:"x-networks"`
	FromProvider     bool                   `json:"x-default-from-provider"`
}

// ParseManifest reads and checks a manifest.
func ParseManifest(raw []byte) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	m.schema = &schemaNode{}
	if err := json.Unmarshal(m.Spec, m.schema); err != nil {
		return nil, fmt.Errorf("manifest %s: spec: %w", m.Kind, err)
	}
	return &m, m.check()
}

// MustManifest is ParseManifest for embedded files, which tests have checked.
func MustManifest(raw []byte) *Manifest {
	m, err := ParseManifest(raw)
	if err != nil {
		panic(err)
	}
	return m
}

func (m *Manifest) check() error {
	switch {
	case !PatternKind.MatchString(m.Kind) || len(m.Kind) > 64:
		return fmt.Errorf("manifest: kind %q is not a kind name", m.Kind)
	case !slices.Contains(Families, m.Family):
		return fmt.Errorf("manifest %s: family %q", m.Kind, m.Family)
	case m.Title == "" || m.Description == "":
		return fmt.Errorf("manifest %s: title and description are required", m.Kind)
	case len(m.Examples) == 0:
		return fmt.Errorf("manifest %s: an example is required", m.Kind)
	case m.Ownership == OwnedByParent && m.Parent == "":
		return fmt.Errorf("manifest %s: owned by a parent that it does not name", m.Kind)
	case m.Regional && m.schema.Properties["region"] == nil:
		return fmt.Errorf("manifest %s: regional without spec.region", m.Kind)
	}
	if m.Identity != nil {
		for _, f := range m.Identity.Fields {
			if m.schema.Properties[f] == nil {
				return fmt.Errorf("manifest %s: identity field %q is not in the spec", m.Kind, f)
			}
		}
	}
	return nil
}

// Releasable reports whether the provider can let an object of the kind go.
func (m *Manifest) Releasable() bool { return m.Ownership == OwnedByLabels && m.Parent == "" }

// Adoptable reports whether an existing object of the kind can be taken over.
func (m *Manifest) Adoptable() bool { return m.Releasable() && m.Books == "" }

// Updatable lists the spec fields that change in place, sorted.
func (m *Manifest) Updatable() []string {
	fields := []string{}
	for name, p := range m.schema.Properties {
		if p.Updatable {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields
}

// NotUpdatable returns those of the fields that cannot change in place.
func (m *Manifest) NotUpdatable(fields []string) []string {
	var out []string
	for _, f := range fields {
		if p := m.schema.Properties[f]; p == nil || !p.Updatable {
			out = append(out, f)
		}
	}
	return out
}

// Chosen leaves out of a spec that an adoption recorded the fields whose value
// the provider chooses when nobody does, except those that patch names.
func (m *Manifest) Chosen(spec, patch Spec) Spec {
	out := Spec{}
	for field, value := range spec {
		_, named := patch[field]
		if p := m.schema.Properties[field]; named || p == nil || !p.FromProvider {
			out[field] = value
		}
	}
	return out
}

// Property reports whether the schema has the top-level field.
func (m *Manifest) Property(field string) bool { return m.schema.Properties[field] != nil }

// OutputNames and SecretNames list the names of the outputs.
func (m *Manifest) OutputNames() []string {
	names := make([]string, len(m.Outputs))
	for i, o := range m.Outputs {
		names[i] = o.Name
	}
	return names
}

// SecretNames lists the names of the secret outputs.
func (m *Manifest) SecretNames() []string {
	names := make([]string, len(m.SecretOutputs))
	for i, o := range m.SecretOutputs {
		names[i] = o.Name
	}
	return names
}

// IdentityOf is what must be unique within the parent for this spec, or ""
// when the kind declares no identity. Text is compared as it stands.
func (m *Manifest) IdentityOf(spec Spec) string {
	switch {
	case m.Identity == nil:
		return ""
	case m.Identity.Single:
		return "single"
	}
	parts := make([]string, len(m.Identity.Fields))
	for i, f := range m.Identity.Fields {
		parts[i] = fmt.Sprint(spec[f])
	}
	return strings.Join(parts, "\x1f")
}

// RegionAllowed reports whether a region word is one that an account with
// these regions configures, by the kind's own words (D32). Words are exact.
func (m *Manifest) RegionAllowed(word string, regions []string) bool {
	if slices.Contains(regions, word) {
		return len(m.RegionMap) == 0 || m.RegionMap[word] != nil
	}
	return slices.ContainsFunc(m.RegionMap[word], func(dc string) bool { return slices.Contains(regions, dc) })
}

// Refs are the places of a spec that reach beyond it, found by the schema's
// annotations. Paths look like spec.services[0].git.
type Refs struct {
	AccountWide []string    // fields that reach account-wide objects and are set
	Secrets     []PathValue // values that are SecretRefs, or must be
	Instances   []PathValue // instance ids
	Networks    []PathValue // network ids
	BadSecrets  []string    // fields that must be SecretRefs and are not
}

// PathValue is a string in a spec and where it stands.
type PathValue struct{ Path, Value string }

// InstanceIDs and NetworkIDs list the ids without their places.
func (r Refs) InstanceIDs() []string { return values(r.Instances) }

// NetworkIDs lists the network ids.
func (r Refs) NetworkIDs() []string { return values(r.Networks) }

func values(list []PathValue) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.Value
	}
	return out
}

// Refs finds what a spec refers to.
func (m *Manifest) Refs(spec Spec) Refs {
	var r Refs
	r.walk(m.schema, map[string]any(spec), "spec")
	slices.Sort(r.AccountWide)
	slices.Sort(r.BadSecrets)
	return r
}

func (r *Refs) walk(n *schemaNode, v any, path string) {
	if n == nil || v == nil {
		return
	}
	r.note(n, v, path)
	switch t := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(t))
		for k := range t {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			child := n.Properties[k]
			if child == nil && len(n.Additional) > 0 && n.Additional[0] == '{' {
				child = &schemaNode{}
				_ = json.Unmarshal(n.Additional, child)
			}
			r.walk(child, t[k], path+"."+k)
		}
	case []any:
		for i, e := range t {
			r.walk(n.Items, e, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

func (r *Refs) note(n *schemaNode, v any, path string) {
	text, isText := v.(string)
	if n.AccountWide || isText && slices.Contains(n.AccountWideWhen, text) {
		r.AccountWide = append(r.AccountWide, path)
	}
	if n.SecretRef || n.SecretRefAllowed {
		switch {
		case isText && strings.HasPrefix(text, "secret://"):
			r.Secrets = append(r.Secrets, PathValue{path, text})
		case n.SecretRef:
			r.BadSecrets = append(r.BadSecrets, path)
		}
	}
	if n.SecretRefsInside && isText {
		for _, ref := range FindSecretRefs(text) {
			r.Secrets = append(r.Secrets, PathValue{path, ref})
		}
	}
	ids := func(into *[]PathValue) {
		if isText {
			*into = append(*into, PathValue{path, text})
		}
		if list, ok := v.([]any); ok {
			for i, e := range list {
				if id, ok := e.(string); ok {
					*into = append(*into, PathValue{fmt.Sprintf("%s[%d]", path, i), id})
				}
			}
		}
	}
	if n.Instances {
		ids(&r.Instances)
	}
	if n.Networks {
		ids(&r.Networks)
	}
}
