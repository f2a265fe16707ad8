package apps

import (
	"encoding/json"
	"reflect"

	"github.com/better-compute/cloud-resources/cloud"
)

// memoNotes is where a record keeps its notes.
const memoNotes = "app"

// notes are what a record remembers between looks: no secret, no ciphertext.
type notes struct {
	// Deployment is the one that our last call started, until it has ended well.
	Deployment string `json:"deployment,omitempty"`
	// Set is the shape of what we sent last: which parts of the provider's spec
	// came from the tenant, so that removed ones can be told. After a lost answer
	// it is that of both specs.
	Set shape `json:"set,omitempty"`
	// Sent is, by field, what was last sent and what the provider made of it.
	Sent map[string]echo `json:"sent,omitempty"`
	// Secrets are the secrets sent, by their place.
	Secrets map[string]sealed `json:"secrets,omitempty"`
}

// echo pairs a wanted value with the observed one that the provider made of it,
// both as digests. As long as neither changes they mean the same, in whatever
// form the provider keeps it. Observed is "" until the deployment ended well.
type echo struct {
	Wanted   string `json:"w"`
	Observed string `json:"o,omitempty"`
}

// sealed is one secret at the provider.
type sealed struct {
	// Version is the digest of the value that was sent.
	Version string `json:"v"`
	// Shown is the fingerprint under which the provider shows it, "" before it
	// was seen.
	Shown string `json:"e,omitempty"`
	// Before is the fingerprint that stood there before it was sent.
	Before string `json:"b,omitempty"`
}

func readNotes(memo map[string]string) notes {
	var n notes
	_ = json.Unmarshal([]byte(memo[memoNotes]), &n) // absent or broken: nothing is known
	if n.Sent == nil {
		n.Sent = map[string]echo{}
	}
	if n.Secrets == nil {
		n.Secrets = map[string]sealed{}
	}
	return n
}

func (n notes) save(memo map[string]string) {
	if memo == nil {
		return
	}
	if raw, err := json.Marshal(n); err == nil {
		memo[memoNotes] = string(raw)
	}
}

// was is the shape of what the provider has from the tenant, as far as known.
func (n notes) was(r cloud.Request) shape {
	if n.Set != nil {
		return n.Set
	}
	if r.Applied == nil {
		return nil
	}
	form, _ := wantedForm(r.Applied, r.Networks)
	return shapeOf(wantedMeaning(form))
}

// trim forgets the shape of what was sent once the record's own spec has it.
func (n *notes) trim(r cloud.Request) {
	if n.Set == nil || r.Applied == nil || n.Deployment != "" {
		return
	}
	form, _ := wantedForm(r.Applied, r.Networks)
	if reflect.DeepEqual(n.Set, shapeOf(wantedMeaning(form))) {
		n.Set = nil
	}
}

// applied notes, when a deployment of ours has ended well, what the provider
// made of each field, unless it was changed since.
func (n *notes) applied(r cloud.Request, o *cloud.Observed, ran, now cloud.Spec) {
	if r.Digest == nil {
		return
	}
	for field, e := range n.Sent {
		if e.Observed == "" && cloud.SameValue(ran[field], now[field]) {
			e.Observed = observedDigest(r, o, field)
			n.Sent[field] = e
		}
	}
}

func observedDigest(r cloud.Request, o *cloud.Observed, field string) string {
	return r.Digest(string(cloud.Spec{field: o.Spec[field]}.JSON()))
}

// wantedDigest changes with the wanted value of a field of the form, and with
// the secrets that it names.
func wantedDigest(r cloud.Request, form cloud.Spec, field string) string {
	part := cloud.Spec{field: form[field]}
	text := string(part.JSON())
	for _, path := range sortedKeys(secretPlaces(part)) {
		text += "\n" + path + " " + r.SecretVersions[secretPlaces(part)[path].text()]
	}
	return r.Digest(text)
}
