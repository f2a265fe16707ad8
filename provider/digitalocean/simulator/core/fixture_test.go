package core_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

const token = "dop_v1_test"

// widget is the object of a small product that the tests of the machinery use.
type widget struct {
	Size int `json:"size"`
}

var widgets = core.Table[widget]{Type: "widget"}

func widgetArea() core.Area {
	return core.Area{
		Name: "widgets",
		Routes: []core.Route{
			{Method: "POST", Pattern: "/v2/widgets", Handle: createWidget},
			{Method: "GET", Pattern: "/v2/widgets", Handle: listWidgets},
			{Method: "GET", Pattern: "/v2/widgets/special", Handle: func(*core.Call) (core.Answer, error) {
				return core.OK(core.Map{"special": true})
			}},
			{Method: "GET", Pattern: "/v2/widgets/{id}", Handle: getWidget},
			{Method: "PUT", Pattern: "/v2/widgets/{id}", Handle: resizeWidget},
			{Method: "DELETE", Pattern: "/v2/widgets/{id}", Handle: deleteWidget},
			{Method: "POST", Pattern: "/v2/alone", Handle: func(*core.Call) (core.Answer, error) { return core.OK(core.Map{}) },
				OneAtATime: func(*core.Call) string { return "alone" }},
			{Method: "POST", Pattern: "/v2/panic", Handle: func(*core.Call) (core.Answer, error) { panic("boom") }},
		},
		Seed: func(c *core.Call) {
			widgets.Insert(c, core.Meta{ID: "seed", Name: "seed", State: "active", Seeded: true}, widget{Size: 1})
		},
		Taggable: map[string]string{"widget": widgets.Type},
	}
}

func createWidget(c *core.Call) (core.Answer, error) {
	var in struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
		widget
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if _, taken := widgets.Named(c, "", in.Name); taken {
		return core.Answer{}, core.Conflict("name is taken")
	}
	tags, err := c.EnsureTags(in.Tags)
	if err != nil {
		return core.Answer{}, err
	}
	meta := core.Meta{ID: in.Name, Name: in.Name, Tags: tags}
	c.Provision(&meta, "creating", "active", "errored")
	return core.Created(showWidget(widgets.Insert(c, meta, in.widget)))
}

func listWidgets(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, w := range widgets.All(c, "") {
		views = append(views, showWidget(w))
	}
	return core.Paged(c, "widgets", views)
}

func findWidget(c *core.Call) (*core.Record[widget], error) {
	w, ok := widgets.Get(c, c.Param("id"))
	if !ok {
		return nil, core.NotFound("widget not found")
	}
	return w, nil
}

func getWidget(c *core.Call) (core.Answer, error) {
	w, err := findWidget(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(showWidget(w))
}

func resizeWidget(c *core.Call) (core.Answer, error) {
	w, err := findWidget(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in widget
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	c.Change(&w.Meta, "resizing", "active", "errored", in)
	widgets.Save(c, w)
	return core.Accepted(nil)
}

func deleteWidget(c *core.Call) (core.Answer, error) {
	w, err := findWidget(c)
	if err != nil {
		return core.Answer{}, err
	}
	c.Doom(&w.Meta, "deleting")
	widgets.Save(c, w)
	return core.NoContent()
}

func showWidget(w *core.Record[widget]) core.Map {
	return core.Map{"id": w.ID, "name": w.Name, "state": w.State, "note": w.Note, "size": w.Value.Size, "tags": w.Tags}
}

// sim is a running server with a clock that stands still.
type sim struct {
	t      *testing.T
	server *core.Server
	url    string
	mu     sync.Mutex
	now    time.Time
}

func start(t *testing.T, opts core.Options) *sim {
	t.Helper()
	s := &sim{t: t, now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}
	opts.Now = s.time
	server, err := core.New(opts, widgetArea())
	require.NoError(t, err)
	s.server = server
	listener := httptest.NewServer(server)
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		listener.Close()
	})
	s.url = listener.URL
	return s
}

func (s *sim) time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *sim) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// reply is an answer with its body decoded.
type reply struct {
	status int
	header http.Header
	body   core.Map
	text   string
}

// try makes a request as the account and returns the transport's error.
func (s *sim) try(account, method, path string, body any) (reply, error) {
	data, err := json.Marshal(body)
	require.NoError(s.t, err)
	request, err := http.NewRequest(method, s.url+path, bytes.NewReader(data))
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+account)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, err
	}
	r := reply{status: response.StatusCode, header: response.Header, text: string(raw)}
	// A list of the control surface is no object, and a page is no JSON.
	_ = json.Unmarshal(raw, &r.body)
	return r, nil
}

func (s *sim) do(method, path string, body any) reply {
	s.t.Helper()
	r, err := s.try(token, method, path, body)
	require.NoError(s.t, err)
	return r
}

func (s *sim) fault(fault core.Map) string {
	s.t.Helper()
	r := s.do("POST", "/_simulator/faults", fault)
	require.Equal(s.t, http.StatusCreated, r.status, r.text)
	return r.body["id"].(string)
}

// list decodes an answer of the control surface that is an array.
func (s *sim) list(path string) []core.Map {
	s.t.Helper()
	var items []core.Map
	require.NoError(s.t, json.Unmarshal([]byte(s.do("GET", path, nil).text), &items))
	return items
}

func (s *sim) create(name string) reply {
	s.t.Helper()
	return s.do("POST", "/v2/widgets", core.Map{"name": name, "size": 1})
}
