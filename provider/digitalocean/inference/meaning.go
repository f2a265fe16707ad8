package inference

import (
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// deployments are those of a spec in the manifest's form; nil when it has none.
func deployments(s cloud.Spec) []deployment {
	var in struct {
		List []deployment `json:"model_deployments"`
	}
	if s.Decode(&in) != nil { // the schema has seen to the form
		return nil
	}
	return in.List
}

// scaled writes the spec's replicas and the defaults into each accelerator, as
// the API wants them.
func scaled(list []deployment, s cloud.Spec) []deployment {
	replicas, _ := s.Int("replicas")
	for i := range list {
		if list[i].ModelProvider == "" {
			list[i].ModelProvider = defaultProvider
		}
		for j := range list[i].Accelerators {
			a := &list[i].Accelerators[j]
			a.Scale = replicas
			if a.Type == "" {
				a.Type = defaultType
			}
		}
	}
	return list
}

// scaleOf is the one scale of all accelerators, or 0 when they differ.
func scaleOf(list []deployment) (scale int64) {
	for _, d := range list {
		for _, a := range d.Accelerators {
			if scale != 0 && a.Scale != scale {
				return 0
			}
			scale = a.Scale
		}
	}
	return scale
}

// told is the deployments in the manifest's form.
func told(list []deployment) []any {
	out := make([]any, len(list))
	for i, d := range list {
		accelerators := make([]any, len(d.Accelerators))
		for j, a := range d.Accelerators {
			accelerators[j] = map[string]any{"accelerator_slug": a.Slug, "type": a.Type}
		}
		m := map[string]any{"model_slug": d.ModelSlug, "accelerators": accelerators}
		if d.ModelProvider != "" {
			m["model_provider"] = d.ModelProvider
		}
		if d.ProviderModelID != "" {
			m["provider_model_id"] = d.ProviderModelID
		}
		out[i] = m
	}
	return out
}

// Diff compares deployments as a set, words without case, and the token by its
// digest. maxReplicas is not the provider's, so it is never different there.
func (k *dedicated) Diff(r cloud.Request, o *cloud.Observed) []string {
	var out []string
	if have := deployments(o.Spec); len(have) > 0 {
		want := deployments(r.Spec)
		if pairs := match(want, have, same); len(want) != len(have) || slices.Contains(pairs, -1) {
			out = append(out, "model_deployments")
		}
		replicas, set := r.Spec.Int("replicas")
		if scale, _ := o.Spec.Int("replicas"); set && scale != replicas { // 0: they differ among themselves
			out = append(out, "replicas")
		}
	}
	if ref := r.Spec.String(hfToken); ref != "" {
		if version := r.SecretVersions[ref]; version != "" && version != r.Memo[hfToken] {
			out = append(out, hfToken)
		}
	}
	return out
}

// same: the model, on the same accelerators.
func same(want, have deployment) bool {
	kinds := func(d deployment) []string {
		out := make([]string, len(d.Accelerators))
		for i, a := range d.Accelerators {
			out[i] = strings.ToLower(a.Slug + " " + or(a.Type, defaultType))
		}
		slices.Sort(out)
		return out
	}
	return sameModel(want, have) && slices.Equal(kinds(want), kinds(have))
}

// sameModel: the model, whatever it runs on. An id that either side leaves out
// says nothing.
func sameModel(want, have deployment) bool {
	return strings.EqualFold(want.ModelSlug, have.ModelSlug) &&
		strings.EqualFold(or(want.ModelProvider, defaultProvider), or(have.ModelProvider, defaultProvider)) &&
		(want.ProviderModelID == "" || have.ProviderModelID == "" || strings.EqualFold(want.ProviderModelID, have.ProviderModelID))
}

func or(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// match gives each wanted deployment the index of a present one that is left,
// or -1. Earlier rules go first over all of them.
func match(want, have []deployment, rules ...func(want, have deployment) bool) []int {
	pairs := slices.Repeat([]int{-1}, len(want))
	for _, rule := range rules {
		for i := range want {
			for j := range have {
				if pairs[i] < 0 && !slices.Contains(pairs, j) && rule(want[i], have[j]) {
					pairs[i] = j
				}
			}
		}
	}
	return pairs
}
