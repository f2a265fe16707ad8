package api

import (
	"github.com/labstack/echo/v4"
	"github.com/swaggest/swgui/v5emb"
)

// routes is every path that is served. What each method takes and answers, and
// what is decided on what, stands in schema/contract under the same name. A
// repeat of a call: create, adopt and commandBatches.create return what the
// same key made; delete, release, approve and cancel return what is; an update
// counts a version and otherwise changes nothing.
func (s *server) routes(e *echo.Echo) {
	e.GET("/healthz", s.health)
	e.GET("/metrics", echo.WrapHandler(s.metrics.handler()))
	e.GET("/openapi.json", s.openAPI)
	e.GET("/docs", func(c echo.Context) error { return c.Redirect(308, "/docs/") })
	e.GET("/docs/*", echo.WrapHandler(v5emb.New("Cloud Resources", "/openapi.json", "/docs/")))

	post(s, e, "cloudResources.kinds", s.kinds)       // read; tenant, then kinds
	post(s, e, "cloudResources.catalog", s.catalog)   // read; tenant
	post(s, e, "cloudResources.signals", s.signals)   // read; tenant
	post(s, e, "cloudResources.create", s.create)     // mutation; resource
	post(s, e, "cloudResources.list", s.list)         // read; tenant, then items
	post(s, e, "cloudResources.get", s.get)           // read; resource
	post(s, e, "cloudResources.update", s.update)     // mutation; resource
	post(s, e, "cloudResources.delete", s.delete)     // mutation; resource
	post(s, e, "cloudResources.discover", s.discover) // read; tenant, then items
	post(s, e, "cloudResources.adopt", s.adopt)       // mutation; resource
	post(s, e, "cloudResources.release", s.release)   // mutation; resource

	post(s, e, "secrets.put", s.putSecret)       // mutation; secret
	post(s, e, "secrets.list", s.listSecrets)    // read; items
	post(s, e, "secrets.reveal", s.revealSecret) // mutation (audited); secret
	post(s, e, "secrets.delete", s.deleteSecret) // mutation; secret

	post(s, e, "events.list", s.listEvents) // read; tenant
	post(s, e, "usage.list", s.listUsage)   // read; tenant

	post(s, e, "certificates.create", s.createCertificate) // mutation; certificate
	post(s, e, "certificates.list", s.listCertificates)    // read; items
	post(s, e, "certificates.get", s.getCertificate)       // read; certificate
	post(s, e, "certificates.update", s.updateCertificate) // mutation; certificate
	post(s, e, "certificates.delete", s.deleteCertificate) // mutation; certificate

	post(s, e, "commandBatches.create", s.createBatch)   // mutation; batch
	post(s, e, "commandBatches.get", s.getBatch)         // read; batch
	post(s, e, "commandBatches.list", s.listBatches)     // read; items
	post(s, e, "commandBatches.approve", s.approveBatch) // mutation; batch
	post(s, e, "commandBatches.cancel", s.cancelBatch)   // mutation; batch
}
