package database

import (
	"net/http"
	"regexp"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// User is a user of a cluster; the cluster's own one has the role primary.
type User struct {
	Role     string   `json:"role"`
	Password string   `json:"password"`
	Cert     string   `json:"access_cert,omitempty"`
	Key      string   `json:"access_key,omitempty"`
	Plugin   string   `json:"auth_plugin,omitempty"`
	Settings settings `json:"settings"`
}

// Users is the table of users, children of a cluster by name.
var Users = core.Table[User]{Type: "database.user"}

var userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$`)

type userInput struct {
	Name  string      `json:"name"`
	MySQL *mysqlInput `json:"mysql_settings"`
	Sent  *settings   `json:"settings"`
}

type mysqlInput struct {
	Plugin string `json:"auth_plugin"`
}

func newUser(engine, role string) User {
	u := User{Role: role}
	if engine == "mysql" || engine == "advanced_mysql" {
		u.Plugin = "caching_sha2_password"
	}
	u.renew(engine)
	return u
}

// renew makes a new password and, for Kafka, a new certificate.
func (u *User) renew(engine string) {
	u.Password = core.Secret("AVNS_", 12)
	if engine == "kafka" {
		u.Cert = "-----BEGIN CERTIFICATE-----\n" + core.Blob(96) + "\n-----END CERTIFICATE-----\n"
		u.Key = "-----BEGIN PRIVATE KEY-----\n" + core.Blob(96) + "\n-----END PRIVATE KEY-----\n"
	}
}

// withUsers is the cluster of the path if its engine has users.
func withUsers(c *core.Call, get func(*core.Call) (record, error)) (record, error) {
	r, err := get(c)
	if err != nil {
		return nil, err
	}
	if !r.Value.engine().users {
		return nil, core.Unprocessable("users are not supported for engine %s", r.Value.Engine)
	}
	return r, nil
}

func findUser(c *core.Call, get func(*core.Call) (record, error)) (record, *core.Record[User], error) {
	r, err := withUsers(c, get)
	if err != nil {
		return nil, nil, err
	}
	u, ok := Users.Get(c, core.ChildID(r.ID, c.Param("user")))
	if !ok {
		return nil, nil, core.NotFound("user not found")
	}
	return r, u, nil
}

func listUsers(c *core.Call) (core.Answer, error) {
	r, err := withUsers(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"users": userViews(c, r)})
}

func createUser(c *core.Call) (core.Answer, error) {
	r, err := withUsers(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	var in userInput
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if !userName.MatchString(in.Name) {
		return core.Answer{}, core.Unprocessable("invalid user name: %q", in.Name)
	}
	if Users.Exists(c, core.ChildID(r.ID, in.Name)) {
		return core.Answer{}, core.Unprocessable("user name is not available")
	}
	u := newUser(r.Value.Engine, "normal")
	if err := u.set(r.Value.Engine, in); err != nil {
		return core.Answer{}, err
	}
	made := Users.Insert(c, core.Meta{ID: core.ChildID(r.ID, in.Name), Parent: r.ID, Name: in.Name}, u)
	return core.Created(core.Map{"user": userView(c, r, made, true, true)})
}

// set applies the settings sent, those of another engine refused.
func (u *User) set(engine string, in userInput) error {
	if in.MySQL != nil {
		if u.Plugin == "" {
			return core.Unprocessable("mysql_settings are not supported for engine %s", engine)
		}
		if in.MySQL.Plugin != "mysql_native_password" && in.MySQL.Plugin != "caching_sha2_password" {
			return core.Unprocessable("invalid auth_plugin: %q", in.MySQL.Plugin)
		}
		u.Plugin = in.MySQL.Plugin
	}
	if in.Sent == nil {
		return nil
	}
	made, err := in.Sent.made(engine, u.Settings)
	if err != nil {
		return err
	}
	u.Settings = made
	return nil
}

func getUser(c *core.Call) (core.Answer, error) {
	r, u, err := findUser(c, find)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"user": userView(c, r, u, false, false)})
}

// updateUser replaces the settings and answers 201, as the API documents.
func updateUser(c *core.Call) (core.Answer, error) {
	r, u, err := findUser(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	var in userInput
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in.Sent == nil {
		return core.Answer{}, core.Unprocessable("settings are required")
	}
	in.MySQL = nil
	if err := u.Value.set(r.Value.Engine, in); err != nil {
		return core.Answer{}, err
	}
	Users.Save(c, u)
	return core.Answer{Status: http.StatusCreated, Body: core.Map{"user": userView(c, r, u, false, true)}}, nil
}

func deleteUser(c *core.Call) (core.Answer, error) {
	_, u, err := findUser(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	if u.Value.Role == "primary" {
		return core.Answer{}, core.Unprocessable("the primary user cannot be deleted")
	}
	Users.Remove(c, u.ID)
	return core.NoContent()
}

// resetAuth makes a new password, also when it only changes MySQL's plugin.
func resetAuth(c *core.Call) (core.Answer, error) {
	r, u, err := findUser(c, usable)
	if err != nil {
		return core.Answer{}, err
	}
	var in userInput
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := u.Value.set(r.Value.Engine, in); err != nil {
		return core.Answer{}, err
	}
	u.Value.renew(r.Value.Engine)
	Users.Save(c, u)
	return core.OK(core.Map{"user": userView(c, r, u, true, in.Sent != nil)})
}

// userViews is what a cluster shows of its users; null where it has none.
func userViews(c *core.Call, r record) []core.Map {
	if !r.Value.engine().users {
		return nil
	}
	views := []core.Map{}
	for _, u := range within(c, Users, r) {
		views = append(views, userView(c, r, u, false, false))
	}
	return views
}

// userView shows a user; made is the answer that created or reset the password,
// and only an answer that changes the settings shows them.
func userView(c *core.Call, r record, u *core.Record[User], made, changed bool) core.Map {
	engine := r.Value.Engine
	shown := core.Map{"name": u.Name, "role": u.Value.Role}
	if engine != "mongodb" || made {
		shown["password"] = visible(c, engine, u.Value.Password, made)
	}
	if u.Value.Cert != "" {
		shown["access_cert"] = visible(c, engine, u.Value.Cert, made)
		shown["access_key"] = visible(c, engine, u.Value.Key, made)
	}
	if u.Value.Plugin != "" {
		shown["mysql_settings"] = core.Map{"auth_plugin": u.Value.Plugin}
	}
	if changed && !u.Value.Settings.empty() {
		shown["settings"] = u.Value.Settings.view()
	}
	return shown
}
