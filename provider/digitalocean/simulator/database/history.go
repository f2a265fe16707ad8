package database

import (
	"encoding/base64"
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// event is one line of a cluster's history.
type event struct {
	ID   string    `json:"id"`
	Kind string    `json:"event_type"`
	At   time.Time `json:"create_time"`
}

// note adds to the history.
func (v *Cluster) note(c *core.Call, kind string) {
	v.Events = append(v.Events, event{ID: core.Secret("pe", 4), Kind: kind, At: c.Now})
}

func listEvents(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, e := range r.Value.Events {
		views = append(views, core.Map{"id": e.ID, "cluster_name": r.Name, "event_type": e.Kind, "create_time": core.Time(e.At)})
	}
	return core.OK(core.Map{"events": views})
}

// keptBackups is how many daily backups the provider keeps.
const keptBackups = 7

// backupsOf returns when the backups of a cluster were made, oldest first: the
// first some time after it came online, then one a day.
func backupsOf(c *core.Call, r record) []time.Time {
	var taken []time.Time
	first := r.Value.OnlineAt.Add(time.Duration(c.Settings().BackupAfter))
	for at := first; !at.After(c.Now); at = at.Add(24 * time.Hour) {
		taken = append(taken, at)
	}
	return taken[max(0, len(taken)-keptBackups):]
}

func listBackups(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if !r.Value.engine().backups {
		return core.Answer{}, core.Unprocessable("backups are not supported for engine %s", r.Value.Engine)
	}
	views := []core.Map{}
	for _, at := range backupsOf(c, r) {
		views = append(views, core.Map{"created_at": core.Time(at), "size_gigabytes": 0.03364864, "incremental": false})
	}
	first := r.Value.OnlineAt.UTC()
	return core.OK(core.Map{"backups": views, "scheduled_backup_time": core.Map{
		"backup_hour": first.Hour(), "backup_minute": first.Minute(), "backup_interval_hours": 24}})
}

// getCA answers a certificate of the right shape; nothing is signed with it.
func getCA(c *core.Call) (core.Answer, error) {
	if _, err := find(c); err != nil {
		return core.Answer{}, err
	}
	body := base64.StdEncoding.EncodeToString([]byte(core.StableUUID("ca", c.Account.Token)))
	pem := "-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n"
	return core.OK(core.Map{"ca": core.Map{"certificate": base64.StdEncoding.EncodeToString([]byte(pem))}})
}

// migration is an online migration from a database elsewhere.
type migration struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	DoneAt time.Time `json:"done_at"`
}

func (m *migration) view(c *core.Call) core.Map {
	status := "running"
	if !m.DoneAt.After(c.Now) {
		status = "done"
	}
	return core.Map{"id": m.ID, "status": status, "created_at": core.Time(m.At)}
}

func getOnlineMigration(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if r.Value.Migration == nil {
		return core.Answer{}, core.NotFound("no online migration was started")
	}
	return core.OK(r.Value.Migration.view(c))
}

func putOnlineMigration(c *core.Call) (core.Answer, error) {
	r, err := usable(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Source *struct {
			Host string `json:"host"`
		} `json:"source"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in.Source == nil || in.Source.Host == "" {
		return core.Answer{}, core.Unprocessable("source is required")
	}
	r.Value.Migration = &migration{ID: core.NewUUID(), At: c.Now,
		DoneAt: c.Now.Add(time.Duration(c.Settings().UpdateTime))}
	Clusters.Save(c, r)
	return core.OK(r.Value.Migration.view(c))
}

func deleteOnlineMigration(c *core.Call) (core.Answer, error) {
	r, err := usable(c)
	if err != nil {
		return core.Answer{}, err
	}
	if r.Value.Migration == nil || r.Value.Migration.ID != c.Param("migration") {
		return core.Answer{}, core.NotFound("online migration not found")
	}
	r.Value.Migration = nil
	Clusters.Save(c, r)
	return core.NoContent()
}
