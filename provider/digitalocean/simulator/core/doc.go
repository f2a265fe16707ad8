// Package core is the machinery of the simulated DigitalOcean API; the products
// are areas that plug into it.
//
//	request -> bearer token -> rate limit -> fault? -> route -> handler -> answer
//	              |               |            |                  |          |
//	           account         headers     delay, refuse       tables     ledger
//	                                       or act and lose
//
// Invariants:
//   - One account per token; nothing of one account is seen by another.
//   - A handler runs alone and at one time (Call.Now). What it reads are copies,
//     so nothing changes unless it is saved.
//   - Time moves objects, not timers: every object carries the steps that will
//     happen to it, and they are taken when the account is next looked at. A
//     restart in between therefore changes nothing.
//   - Late visibility, failed states, refusals and lost answers are the business
//     of this package and work for every area alike.
//   - The control surface (/_simulator/) is never counted, faulted or recorded.
//
// On failure: a handler that panics is a 500 and keeps what it had saved by then;
// a kill loses at most the last tenth of a second of changes, never the file.
//
// # Control surface
//
// It is for development only, needs no token and may show secrets. Durations are
// strings such as "3s"; unknown fields are refused.
//
//	GET    /_simulator/requests?account=&since=   the ledger; since is a seq or a time
//	DELETE /_simulator/requests
//	GET    /_simulator/faults
//	POST   /_simulator/faults                     a Fault; answers {id}
//	DELETE /_simulator/faults[/{id}]
//	POST   /_simulator/signals                    a Signal
//	GET    /_simulator/settings
//	PUT    /_simulator/settings                   changes the fields named
//	GET    /_simulator/accounts
//	PUT    /_simulator/accounts                   {account, status, statusMessage, hideCredentials}
//	GET    /_simulator/objects?account=           everything that exists, seen or not
//	POST   /_simulator/reset
//
// The effect of a fault is one or several of
//
//	{"status":503,"headers":{},"body":{}}   answer this without doing it; a string body goes out as it is
//	{"accept":true,"then":"drop"}           do it, then close the connection
//	{"accept":true,"then":502}              do it, then answer that status
//	{"delay":"3s"}                          wait first, in real time
//	{"invisibleFor":"60s"}                  what is created is absent from reads for that long
//	{"busy":412}                            refuse: something else runs
//	{"fail":"why"}                          accept, then end in the product's failed state
//
// # How to add an area
//
// An area is a package beside this one (simulator/apps, say) with one exported
// function, listed in simulator.areas:
//
//	func Area() core.Area {
//		return core.Area{
//			Name: "widgets",
//			Routes: []core.Route{
//				{Method: "POST", Pattern: "/v2/widgets", Handle: create},
//				{Method: "GET", Pattern: "/v2/widgets", Handle: list},
//				{Method: "GET", Pattern: "/v2/widgets/{id}", Handle: get},
//				{Method: "DELETE", Pattern: "/v2/widgets/{id}", Handle: remove},
//			},
//			URNs: map[string]string{"widget": widgets.Type},
//		}
//	}
//
//	type widget struct {
//		Size string `json:"size"`
//	}
//
//	var widgets = core.Table[widget]{Type: "widget"}
//
//	func create(c *core.Call) (core.Answer, error) {
//		var in struct {
//			Name string `json:"name"`
//			Size string `json:"size"`
//		}
//		if err := c.Decode(&in); err != nil {
//			return core.Answer{}, err
//		}
//		if _, taken := widgets.Named(c, "", in.Name); taken {
//			return core.Answer{}, core.Conflict("name is already in use")
//		}
//		meta := core.Meta{ID: core.NewUUID(), Name: in.Name}
//		c.Provision(&meta, "creating", "active", "errored")
//		made := widgets.Insert(c, meta, widget{Size: in.Size})
//		return core.Created(core.Map{"widget": view(made)})
//	}
//
//	func list(c *core.Call) (core.Answer, error) {
//		views := []core.Map{}
//		for _, w := range widgets.All(c, "") {
//			views = append(views, view(w))
//		}
//		return core.Paged(c, "widgets", views)
//	}
//
//	func get(c *core.Call) (core.Answer, error) {
//		w, ok := widgets.Get(c, c.Param("id"))
//		if !ok {
//			return core.Answer{}, core.NotFound("widget not found")
//		}
//		return core.OK(core.Map{"widget": view(w)})
//	}
//
//	func remove(c *core.Call) (core.Answer, error) {
//		w, ok := widgets.Get(c, c.Param("id"))
//		if !ok {
//			return core.Answer{}, core.NotFound("widget not found")
//		}
//		c.Doom(&w.Meta, "deleting") // or widgets.Remove(c, w.ID) when it is immediate
//		widgets.Save(c, w)
//		return core.NoContent()
//	}
//
// The pieces:
//   - Table[T]: Insert, Save, Remove, Get, All, Everything, Named. Get and All
//     see only what is visible; Everything and Named see all (uniqueness).
//     A child sets Meta.Parent and goes with its parent; one that the API knows
//     by name has the ID ChildID(parent, name).
//   - Lifecycle: Call.Provision (provisionTime), Call.Change (updateTime, with a
//     merge patch that time applies to the value), Call.Doom (deleteTime),
//     Meta.Then for anything longer, Meta.Become for a change at once. A dying
//     object has Meta.Dying() true; a planned one Meta.Busy().
//   - Errors: NotFound, Unprocessable, Conflict, PreconditionFailed, Forbidden,
//     BadRequest, Refuse(status). Another error shape: Area.ErrorBody.
//   - Paging: Paged, or Page for the pieces. Unpaged lists are a plain OK.
//   - Tags: Call.EnsureTags on create, Meta.Tags and Meta.HasTag, Area.Taggable.
//   - Ids and times: NewUUID, StableUUID, StableNumber, Secret, Blob, Time.
//   - Overlap in one parent: Route.OneAtATime.
//   - Faults need no code, except that a handler which plans its own steps asks
//     Call.FailWith.
//   - Secrets in bodies: the ledger masks the usual names; Area.SecretFields
//     adds others.
//   - Other products: import their package for its exported tables
//     (basics.VPCs, say); never the other way round.
//
// The area's tests are in an external package (widgets_test) and use
// spectest.Start(t, basics.Area(), widgets.Area()), which validates every answer
// against the OpenAPI document and has a clock that the test advances. One test
// walks through every operation and ends with RequireCovered(widgets.Area()).
package core
