package core

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration that JSON writes as a string such as "3s".
type Duration time.Duration

// MarshalJSON writes the duration in Go's notation.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}

// UnmarshalJSON reads Go's notation; negative durations are refused.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("a duration is a string such as \"3s\"")
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	if parsed < 0 {
		return fmt.Errorf("a duration cannot be negative: %s", text)
	}
	*d = Duration(parsed)
	return nil
}

// Settings are the knobs of the simulated provider. They are the same for every
// account; a change counts for what happens afterwards.
type Settings struct {
	// ProvisionTime is how long a new object takes to become usable.
	ProvisionTime Duration `json:"provisionTime"`
	// UpdateTime is how long an asynchronous change takes.
	UpdateTime Duration `json:"updateTime"`
	// DeleteTime is how long an asynchronously deleted object lingers, and how
	// long its name stays taken.
	DeleteTime Duration `json:"deleteTime"`
	// VisibleAfter is how long a new object is absent from reads.
	VisibleAfter Duration `json:"visibleAfter"`
	// PerHour and PerMinute are the requests that one account may make in any
	// hour and any minute.
	PerHour   int `json:"perHour"`
	PerMinute int `json:"perMinute"`
	// CDNPerTenSeconds is the requests for CDN endpoints, all of them together,
	// that one account may make in any ten seconds.
	CDNPerTenSeconds int `json:"cdnPerTenSeconds"`
	// BackupAfter is how long after its creation ended a database cluster has its
	// first backup; a replica before that is refused.
	BackupAfter Duration `json:"backupAfter"`
	// OverlapTime is how long (in real time) a call takes that must not overlap
	// another one in the same cluster.
	OverlapTime Duration `json:"overlapTime"`
}

// DefaultSettings suit development: slow enough to watch, fast enough to wait.
func DefaultSettings() Settings {
	return Settings{
		ProvisionTime:    Duration(5 * time.Second),
		UpdateTime:       Duration(3 * time.Second),
		DeleteTime:       Duration(2 * time.Second),
		PerHour:          5000,
		PerMinute:        250,
		CDNPerTenSeconds: 5,
		BackupAfter:      Duration(2 * time.Second),
		OverlapTime:      Duration(20 * time.Millisecond),
	}
}

func (s Settings) validate() error {
	if s.PerHour < 1 || s.PerMinute < 1 || s.CDNPerTenSeconds < 1 {
		return fmt.Errorf("perHour, perMinute and cdnPerTenSeconds must be at least 1")
	}
	return nil
}
