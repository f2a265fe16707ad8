package database

import (
	"context"
	_ "embed"
	"net/http"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed user.json
var userJSON []byte

var userManifests = manifests(userJSON)

// user is a user of one engine's clusters.
type user struct{ child }

// User is the kind of an engine's users.
func User(a *doapi.Account, e Engine) cloud.Kind {
	return &user{child{doapi.NewBase(a, userManifests[string(e)]), e, "users", "users", "user"}}
}

// wireUser is a user as the API shows it. It is read raw: godo lacks the
// replication right.
type wireUser struct {
	Name       string         `json:"name"`
	Role       string         `json:"role"`
	Password   string         `json:"password"`
	AccessCert string         `json:"access_cert"`
	AccessKey  string         `json:"access_key"`
	MySQL      map[string]any `json:"mysql_settings"`
	Settings   map[string]any `json:"settings"`
}

// memoSettings keeps the settings last sent: most answers do not show them.
const memoSettings = "settings"

func (k *user) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	return k.Observe(ctx, r)
}

// Create makes the user with its settings, once the cluster's record knows where
// the cluster is: the user's URI is made of it.
func (k *user) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	parent, err := k.ParentID(doapi.Create, r.Parent)
	if err != nil {
		return nil, err
	}
	if endpoint(r.Parent.Outputs, "host").host == "" && r.Parent.Outputs["status"] != "online" {
		return nil, &cloud.ProviderError{Class: cloud.ClassBusy, Op: k.Op(doapi.Create), Message: "waiting for the cluster to be online"}
	}
	in := map[string]any{"name": r.Spec.String("name")}
	for _, f := range []string{"settings", "mysql_settings"} {
		if r.Spec[f] != nil {
			in[f] = r.Spec[f]
		}
	}
	var u wireUser
	err = k.send(ctx, doapi.Create, http.MethodPost, k.path(parent), r, in, &u, unready(r.Parent), doapi.Fields("name"))
	if err != nil {
		return nil, err
	}
	if u.Name == "" {
		return nil, k.Missing(doapi.Create)
	}
	k.noteSettings(r)
	return k.observed(&u, r.Parent), nil
}

func (k *user) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	var u wireUser
	if err := k.read(ctx, r, &u); err != nil {
		return nil, err
	}
	if u.Name == "" {
		return nil, k.Missing(doapi.Look)
	}
	return k.observed(&u, r.Parent), nil
}

func (k *user) observed(u *wireUser, p *cloud.ParentRef) *cloud.Observed {
	o := k.named(u.Name)
	o.Outputs["role"] = u.Role
	if u.Settings != nil {
		o.Spec["settings"] = u.Settings
	}
	if u.MySQL != nil {
		o.Spec["mysql_settings"] = u.MySQL
	}
	for name, value := range map[string]string{"password": u.Password, "access_cert": u.AccessCert, "access_key": u.AccessKey} {
		setSecret(o, k.Manifest(), name, cloud.NewSecret(value))
	}
	if p != nil {
		for name, host := range map[string]string{"uri": "host", "private_uri": "private_host"} {
			setSecret(o, k.Manifest(), name, k.engine.uri(u.Name, u.Password, endpoint(p.Outputs, host)))
		}
	}
	return o
}

// Diff compares rights as sets. Settings that no answer shows are compared with
// what was last sent: absent means unknown, not empty.
func (k *user) Diff(r cloud.Request, o *cloud.Observed) []string {
	var out []string
	if want := r.Spec.Object("mysql_settings"); want != nil {
		if have := o.Spec.Object("mysql_settings"); have != nil && want.String("auth_plugin") != have.String("auth_plugin") {
			out = append(out, "mysql_settings")
		}
	}
	want := wantedSettings(r)
	if want == nil {
		return out
	}
	if have := o.Spec.Object("settings"); len(have) > 0 {
		if canonicalSettings(want, true) != canonicalSettings(have, true) {
			out = append(out, "settings")
		}
	} else if r.Memo[memoSettings] != canonicalSettings(want, false) {
		out = append(out, "settings")
	}
	return out
}

// wantedSettings is nil when the tenant never set any; settings taken out of
// the spec are wanted empty.
func wantedSettings(r cloud.Request) cloud.Spec {
	if want := r.Spec.Object("settings"); want != nil {
		return want
	}
	if r.Applied.Object("settings") != nil {
		return cloud.Spec{}
	}
	return nil
}

// Update changes rights in place. Another way of authentication takes a reset,
// which makes a new password too.
func (k *user) Update(ctx context.Context, r cloud.Request, o *cloud.Observed, fields []string) (*cloud.Updated, error) {
	parent, err := k.ParentID(doapi.Change, r.Parent)
	if err != nil {
		return nil, err
	}
	path := k.path(parent, o.ProviderID)
	var u wireUser
	switch {
	case slices.Contains(fields, "settings"):
		in := map[string]any{"settings": map[string]any(wantedSettings(r))}
		if err := k.send(ctx, doapi.Change, http.MethodPut, path, r, in, &u, doapi.Fields("settings")); err != nil {
			return nil, err
		}
		k.noteSettings(r)
		return &cloud.Updated{Settles: []string{"settings"}}, nil
	case slices.Contains(fields, "mysql_settings"):
		in := map[string]any{"mysql_settings": r.Spec["mysql_settings"]}
		if err := k.send(ctx, doapi.Change, http.MethodPost, path+"/reset_auth", r, in, &u, doapi.Fields("mysql_settings")); err != nil {
			return nil, err
		}
		done := &cloud.Updated{Settles: []string{"mysql_settings"}}
		if u.Name != "" {
			done.Observed = k.observed(&u, r.Parent)
		}
		return done, nil
	}
	return &cloud.Updated{Settles: fields}, nil
}

// RecoverSecrets resets the password, where the provider shows it only once.
func (k *user) RecoverSecrets(ctx context.Context, r cloud.Request, o *cloud.Observed) (*cloud.Observed, error) {
	if k.engine != MongoDB {
		return nil, &cloud.ProviderError{Class: cloud.ClassBusy, Op: k.Op(doapi.Look),
			Message: "the provider does not show the user's password; the account's token may lack the scope database:view_credentials"}
	}
	parent, err := k.ParentID(doapi.Change, r.Parent)
	if err != nil {
		return nil, err
	}
	var u wireUser
	if err := k.send(ctx, doapi.Change, http.MethodPost, k.path(parent, o.ProviderID)+"/reset_auth", r, struct{}{}, &u); err != nil {
		return nil, err
	}
	if u.Name == "" || u.Password == "" {
		return nil, k.Missing(doapi.Change)
	}
	return k.observed(&u, r.Parent), nil
}

// List returns the users of a cluster, or of every cluster of the engine.
func (k *user) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	return list(ctx, &k.child, s, func(u *wireUser, p *cloud.ParentRef) *cloud.Observed { return k.observed(u, p) })
}

func (k *user) noteSettings(r cloud.Request) {
	if want := wantedSettings(r); want != nil && r.Memo != nil {
		r.Memo[memoSettings] = canonicalSettings(want, false)
	}
}

// canonicalSettings is one text for equal settings: lists of rights are sets,
// the ids that the provider adds do not count, and its spellings of a right are
// folded. A word that is not known is kept as it is. Whether unset values count
// as their default (false, none) is asked by defaults.
func canonicalSettings(s cloud.Spec, defaults bool) string {
	var lines []string
	for _, e := range s.List("acl") {
		a, _ := e.(map[string]any)
		lines = append(lines, "acl "+cloud.Spec(a).String("topic")+" "+right(cloud.Spec(a).String("permission")))
	}
	for _, e := range s.List("opensearch_acl") {
		a, _ := e.(map[string]any)
		lines = append(lines, "index "+cloud.Spec(a).String("index")+" "+right(cloud.Spec(a).String("permission")))
	}
	if on, ok := s.Bool("pg_allow_replication"); on || ok && !defaults {
		lines = append(lines, "replication "+map[bool]string{true: "on", false: "off"}[on])
	}
	if m := s.Object("mongo_user_settings"); m != nil {
		names := m.Strings("databases")
		slices.Sort(names)
		lines = append(lines, "mongo "+m.String("role")+" "+strings.Join(names, ","))
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// right folds the provider's spellings: produce_consume is produceconsume.
func right(word string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(word))
}
