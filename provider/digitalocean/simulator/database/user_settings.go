package database

import (
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// settings are the rights of a user; each engine has its own part.
type settings struct {
	Replication *bool       `json:"pg_allow_replication,omitempty"`
	Indexes     []indexACL  `json:"opensearch_acl,omitempty"`
	Topics      []topicACL  `json:"acl,omitempty"`
	Mongo       *mongoRight `json:"mongo_user_settings,omitempty"`
}

type indexACL struct {
	Index      string `json:"index"`
	Permission string `json:"permission"`
}

type topicACL struct {
	ID         string `json:"id"`
	Topic      string `json:"topic"`
	Permission string `json:"permission"`
}

type mongoRight struct {
	Databases []string `json:"databases"`
	Role      string   `json:"role"`
}

var (
	topicWords = []string{"admin", "consume", "produce", "produceconsume"}
	indexWords = []string{"deny", "admin", "read", "readwrite", "write"}
	mongoWords = []string{"readOnly", "readWrite", "dbAdmin"}
)

// made checks what was sent and returns it as the provider keeps it: access list
// entries with ids (old ones keep theirs) and the permission in its own words.
func (s settings) made(engine string, old settings) (settings, error) {
	if err := s.foreign(engine); err != nil {
		return settings{}, err
	}
	for _, acl := range s.Indexes {
		if !slices.Contains(indexWords, acl.Permission) {
			return settings{}, core.Unprocessable("invalid permission: %q", acl.Permission)
		}
	}
	if s.Mongo != nil && !slices.Contains(mongoWords, s.Mongo.Role) {
		return settings{}, core.Unprocessable("invalid role: %q", s.Mongo.Role)
	}
	topics := make([]topicACL, 0, len(s.Topics))
	for _, acl := range s.Topics {
		acl.Permission = foldPermission(acl.Permission)
		if acl.Topic == "" || !slices.Contains(topicWords, acl.Permission) {
			return settings{}, core.Unprocessable("invalid acl: topic %q, permission %q", acl.Topic, acl.Permission)
		}
		acl.ID = "acl" + core.Secret("", 5)
		for _, kept := range old.Topics {
			if kept.Topic == acl.Topic && kept.Permission == acl.Permission {
				acl.ID = kept.ID
			}
		}
		topics = append(topics, acl)
	}
	s.Topics = topics
	return s, nil
}

// foreign refuses the settings of other engines.
func (s settings) foreign(engine string) error {
	for word, wrong := range map[string]bool{
		"pg_allow_replication": s.Replication != nil && engine != "pg" && engine != "advanced_pg",
		"opensearch_acl":       len(s.Indexes) > 0 && engine != "opensearch",
		"acl":                  len(s.Topics) > 0 && engine != "kafka",
		"mongo_user_settings":  s.Mongo != nil && engine != "mongodb",
	} {
		if wrong {
			return core.Unprocessable("settings.%s is not supported for engine %s", word, engine)
		}
	}
	return nil
}

// foldPermission turns the spellings in use (produce_consume, ProduceConsume)
// into the documented word.
func foldPermission(word string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(word))
}

func (s settings) empty() bool {
	return s.Replication == nil && len(s.Indexes) == 0 && len(s.Topics) == 0 && s.Mongo == nil
}

// view lists access entries last first: the provider keeps no order.
func (s settings) view() settings {
	s.Topics = slices.Clone(s.Topics)
	slices.Reverse(s.Topics)
	s.Indexes = slices.Clone(s.Indexes)
	slices.Reverse(s.Indexes)
	return s
}
