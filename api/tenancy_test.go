package api_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// act is one call of a tenant, with its own and its neighbour's things in it.
type act struct {
	Method  string
	Name    int    // which of its resources: create makes it, others use it
	Kind    string // of a create
	Foreign bool   // name the neighbour's resource of that number instead
	Field   string // what an update sets
}

var acts = rapid.Custom(func(t *rapid.T) act {
	return act{
		Method: rapid.SampledFrom([]string{
			"cloudResources/create", "cloudResources/create", "cloudResources/get", "cloudResources/update", "cloudResources/delete",
			"cloudResources/list", "cloudResources/kinds", "cloudResources/release", "cloudResources/signals", "cloudResources/discover",
			"events/list", "usage/list", "secrets/put", "secrets/list", "secrets/reveal", "secrets/delete",
		}).Draw(t, "method"),
		Name:    rapid.IntRange(0, 3).Draw(t, "name"),
		Kind:    rapid.SampledFrom([]string{apitest.Cluster, apitest.Cluster, apitest.User, apitest.Site}).Draw(t, "kind"),
		Foreign: rapid.IntRange(0, 3).Draw(t, "foreign") == 0,
		Field:   rapid.SampledFrom([]string{`{"size":"large"}`, `{"nodes":3}`, `{"region":"ams3"}`, `{"token":"secret://%s/s1"}`, `{}`}).Draw(t, "field"),
	}
})

// player is one tenant of the game. Its ids are known by the number of the
// resource, so that two players' answers can be compared.
type player struct {
	s         *apitest.Server
	tenant    string
	ids       map[int]string
	made      []string // every id that it ever got, in order
	neighbour *player
}

// Ids and names that no player has.
const (
	nobodysID  = "crs_0000000000000000000000000000000000000000000000000000"
	nobodysRef = "secret://nobody/none"
)

// id of the own resource of a number, or of the neighbour's.
func (p *player) id(a act) string {
	owner := p
	if a.Foreign {
		owner = p.neighbour
	}
	if owner == nil || owner.ids[a.Name] == "" {
		return nobodysID
	}
	return owner.ids[a.Name]
}

func (p *player) play(a act) apitest.Answer {
	in := fields{"tenantId": p.tenant}
	ref := "secret://" + p.tenant + "/s" + fmt.Sprint(a.Name)
	if a.Foreign {
		ref = nobodysRef
		if p.neighbour != nil {
			ref = "secret://" + p.neighbour.tenant + "/s" + fmt.Sprint(a.Name)
		}
	}
	switch a.Method {
	case "cloudResources/create":
		spec := map[string]any{"region": "nyc3", "size": "small"}
		switch a.Kind {
		case apitest.Cluster:
			if a.Foreign {
				spec["token"] = ref
			}
		case apitest.User:
			spec = map[string]any{"name": "app"}
			in["parentId"] = p.id(act{Name: 0, Foreign: a.Foreign})
		case apitest.Site:
			spec = map[string]any{"region": "nyc"}
		}
		in["poolId"], in["kind"], in["spec"] = apitest.PoolShared, a.Kind, spec
		in["name"], in["idempotencyKey"] = fmt.Sprintf("n%d", a.Name), fmt.Sprintf("k%d-%s-%v", a.Name, a.Kind, a.Foreign)
	case "cloudResources/get", "cloudResources/delete", "cloudResources/release":
		in["resourceId"] = p.id(a)
	case "cloudResources/update":
		in["resourceId"], in["spec"] = p.id(a), json.RawMessage(strings.ReplaceAll(a.Field, "%s", p.tenant))
	case "cloudResources/kinds", "cloudResources/signals":
		in["poolId"] = apitest.PoolShared
		if a.Method == "cloudResources/signals" && a.Foreign {
			in["resourceId"] = p.id(a)
		}
	case "cloudResources/discover":
		in["poolId"], in["kind"] = apitest.PoolShared, apitest.Cluster
	case "secrets/put":
		in["name"], in["value"] = fmt.Sprint("s", a.Name), "value of "+p.tenant
	case "secrets/reveal":
		in["ref"] = ref
	case "secrets/delete":
		in["name"] = fmt.Sprint("s", a.Name)
	}
	answer := p.s.Call("token-"+p.tenant, a.Method, in)
	if a.Method == "cloudResources/create" && answer.Status == 200 {
		p.ids[a.Name] = answer.Text("id")
		if !slices.Contains(p.made, p.ids[a.Name]) {
			p.made = append(p.made, p.ids[a.Name])
		}
	}
	return answer
}

var (
	volatile  = regexp.MustCompile(`"(createdAt|updatedAt|readyAt|time|hour)":("[^"]*"|\d+)`)
	requestID = regexp.MustCompile(`"requestId":"[^"]*"`)
)

// seen is an answer with everything that is the player's own put in neutral words.
func (p *player) seen(a apitest.Answer) string {
	text := fmt.Sprint(a.Status, " ", string(a.Raw))
	for n, id := range p.made {
		text = strings.ReplaceAll(text, id, fmt.Sprintf("<id %d>", n))
		text = strings.ReplaceAll(text, id[4:28], fmt.Sprintf("<key %d>", n))
	}
	text = strings.ReplaceAll(text, p.tenant, "<tenant>")
	return requestID.ReplaceAllString(volatile.ReplaceAllString(text, `"$1":0`), "")
}

// Two tenants act at random on one shared pool, naming each other's things. A
// third does what the first does, with no neighbour at all: every answer must
// be the same. So nobody can see, name, count, signal or guess what is another's.
func TestTenantsKnowNothingOfEachOther(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	s := w.Serve()
	game := 0
	rapid.Check(t, func(rt *rapid.T) {
		game++
		tenants := []string{fmt.Sprintf("first%d", game), fmt.Sprintf("other%d", game), fmt.Sprintf("alone%d", game)}
		w.Apply(func(f *platform.File) {
			for _, tenant := range tenants {
				f.Tenants = append(f.Tenants, platform.Tenant{ID: tenant})
				f.Principals = append(f.Principals, platform.Principal{Tenant: tenant, User: "u", TokenSHA256: []string{sum("token-" + tenant)}})
				f.Policies = append(f.Policies, platform.Policy{ID: tenant, Principals: []string{tenant + "/u"}, Statements: []platform.Statement{
					{Effect: platform.Allow, Actions: []string{"*"}, Resources: []string{"*"}},
				}})
				f.Offers = append(f.Offers, platform.Offer{Tenant: tenant, Pool: apitest.PoolShared, Status: platform.OfferActive})
			}
		})
		first := &player{s: s, tenant: tenants[0], ids: map[int]string{}}
		other := &player{s: s, tenant: tenants[1], ids: map[int]string{}, neighbour: first}
		alone := &player{s: s, tenant: tenants[2], ids: map[int]string{}}
		first.neighbour = other
		for _, turn := range rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]act {
			return [2]act{acts.Draw(t, "first's"), acts.Draw(t, "other's")}
		}), 1, 12).Draw(rt, "turns") {
			mine, reference := first.play(turn[0]), alone.play(turn[0])
			require.Equal(rt, alone.seen(reference), first.seen(mine), "%+v", turn[0])
			for _, word := range append([]string{other.tenant}, other.made...) {
				if !strings.Contains(string(mine.Raw), word) {
					continue
				}
				require.True(rt, turn[0].Foreign, "%s names %s", mine.Raw, word)
			}
			other.play(turn[1])
		}
	})
}
