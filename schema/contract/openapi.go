package contract

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
)

// Version is the contract's version; it grows with every change of a schema.
const Version = "1.1.0"

var openAPI = sync.OnceValue(func() []byte { return New().openAPI() })

// OpenAPI is the contract as an OpenAPI 3.1 document in JSON, made from the
// schemas. Callers do not change it.
func OpenAPI() []byte { return openAPI() }

type object = map[string]any

func (c *Contract) openAPI() []byte {
	paths := object{"/healthz": object{"get": object{
		"summary": "Whether everything that a call needs is there", "operationId": "health", "tags": []string{"service"}, "security": []any{},
		"responses": object{
			"200": object{"description": "Postgres, Temporal and a worker answer."},
			"503": object{"description": "Something does not; the body names it."},
		},
	}}}
	for _, m := range c.Methods() {
		if !m.Internal {
			paths[m.Path()] = object{"post": m.operation()}
		}
	}
	schemas := object{}
	for name, d := range c.definitions {
		schemas[name] = d
	}
	document := object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
		"info": object{
			"title": "Cloud Resources", "version": Version,
			"description": "A cloud provider's managed services through one provider-neutral API. Every call is a POST with a JSON object; unknown fields are refused. Mutations record what is wanted and answer at once.",
			"license":     object{"name": "See LICENSE", "identifier": "LicenseRef-LICENSE"},
		},
		"servers":  []any{object{"url": "/"}},
		"security": []any{object{"bearer": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas": schemas,
			"securitySchemes": object{"bearer": object{
				"type": "http", "scheme": "bearer",
				"description": "A static token, or a JWT of a declared OpenID Connect issuer.",
			}},
			"responses": object{"Error": object{
				"description": "A refusal or a failure. INVALID_INPUT 400, UNAUTHENTICATED 401, ACCESS_DENIED, QUOTA_EXCEEDED and BUDGET_EXCEEDED 403, NOT_FOUND 404, CONFLICT and INVALID_STATE 409, UNSUPPORTED 422, THROTTLED 429 with Retry-After, INTERNAL 500, PROVIDER_ERROR 502, UNAVAILABLE 503.",
				"content":     object{"application/json": object{"schema": object{"$ref": definitionPrefix + "ErrorBody"}}},
			}},
		},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		panic(err) // plain maps and JSON that was read already
	}
	return []byte(strings.ReplaceAll(b.String(), definitionPrefix, "#/components/schemas/"))
}

func (m *Method) operation() object {
	group, _, _ := strings.Cut(m.Name, ".")
	kind := "Reads."
	if m.Mutation {
		kind = "Mutates."
	}
	return object{
		"summary":     m.Summary,
		"description": strings.TrimSpace(m.Description + "\n\n" + kind + " Decided: " + m.Decided + "."),
		"operationId": m.Name,
		"tags":        []string{group},
		"requestBody": object{"required": true, "content": object{"application/json": object{"schema": m.Input}}},
		"responses": object{
			"200":     object{"description": "Done.", "content": object{"application/json": object{"schema": m.Output}}},
			"default": object{"$ref": "#/components/responses/Error"},
		},
	}
}
