// Package apps simulates App Platform: apps, their deployments, and the
// catalogue of regions and instance sizes.
//
//	PUT spec -> check -> encrypt secrets -> normalise -> keep -> a deployment
//	                                                              |
//	  PENDING_BUILD -> BUILDING -> DEPLOYING -> ACTIVE (or ERROR) with time
//
// What it does as the provider does, because clients stumble over it:
//   - An app has no state of its own. Which deployment is active, in progress or
//     pending is read off the deployments each time an app is shown.
//   - Every PUT replaces the whole spec and starts a deployment; one that still
//     runs is superseded. A failed one leaves the old one serving.
//   - The spec comes back in another shape: secrets encrypted (EV[...]), routes
//     and CORS of components as ingress rules, CORS prefixes as exact matches,
//     GENERAL left out, defaults and a build stack filled in, empty lists gone.
//   - An EV value is taken back only by the app that it was made for.
package apps
