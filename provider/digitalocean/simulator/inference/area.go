package inference

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

const (
	root = "/v2/dedicated-inferences"
	one  = root + "/{inference}"
)

// Area is the product's routes.
func Area() core.Area {
	return core.Area{
		Name: "inference",
		Routes: []core.Route{
			{Method: "GET", Pattern: root, Handle: list},
			{Method: "POST", Pattern: root, Handle: create},
			{Method: "GET", Pattern: root + "/sizes", Handle: listSizes},
			{Method: "GET", Pattern: root + "/gpu-model-config", Handle: listModels},
			{Method: "GET", Pattern: one, Handle: get},
			{Method: "PATCH", Pattern: one, Handle: update},
			{Method: "DELETE", Pattern: one, Handle: remove},
			{Method: "GET", Pattern: one + "/ca", Handle: certificate},
			{Method: "GET", Pattern: one + "/accelerators", Handle: listAccelerators},
			{Method: "GET", Pattern: one + "/accelerators/{accelerator}", Handle: getAccelerator},
			{Method: "GET", Pattern: one + "/tokens", Handle: listTokens},
			{Method: "POST", Pattern: one + "/tokens", Handle: createToken},
			{Method: "DELETE", Pattern: one + "/tokens/{token}", Handle: revokeToken},
		},
		SecretFields: []string{"hugging_face_token"},
	}
}
