package database

import (
	"context"
	"encoding/json"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// memoCA keeps the CA certificate, which is public and does not change.
const memoCA = "ca"

// observed is what one answer tells of a cluster.
func (k *cluster) observed(db *godo.Database, r cloud.Request) *cloud.Observed {
	o := &cloud.Observed{
		ProviderID: db.ID, Name: db.Name, Region: db.RegionSlug, CreatedAt: db.CreatedAt,
		Owner: k.Owner(db.Tags, cloud.LabelKey(r.ResourceID)),
		Phase: statusPhase(db.Status), Message: statusMessage(db.Status),
		Spec:    clusterSpec(db),
		Outputs: clusterOutputs(db),
	}
	if ca := r.Memo[memoCA]; ca != "" {
		o.Outputs["ca_certificate"] = ca
	}
	k.addSecrets(o, db)
	return o
}

func clusterSpec(db *godo.Database) cloud.Spec {
	s := cloud.Spec{}
	texts := map[string]string{"region": db.RegionSlug, "version": db.VersionSlug, "size": db.SizeSlug}
	for field, text := range texts {
		if text != "" {
			s[field] = text
		}
	}
	if db.NumNodes > 0 {
		s["num_nodes"] = int64(db.NumNodes)
	}
	if db.StorageSizeMib > 0 {
		s["storage_size_mib"] = int64(db.StorageSizeMib)
	}
	if w := db.MaintenanceWindow; w != nil && w.Day != "" {
		s["maintenance_window"] = normalWindow(map[string]any{"day": w.Day, "hour": w.Hour})
	}
	if db.DOSettings != nil {
		s["service_cnames"] = anyList(db.DOSettings.ServiceCnames)
	}
	return s
}

func clusterOutputs(db *godo.Database) map[string]any {
	out := map[string]any{
		"id": db.ID, "urn": db.URN(), "status": db.Status, "version": db.VersionSlug, "engine": db.EngineSlug,
		"private_network_uuid": db.PrivateNetworkUUID, "storage_size_mib": int64(db.StorageSizeMib),
		// Not in the spec: an adopted cluster must not come to want the tags of others.
		"tags": anyList(doapi.Foreign(db.Tags)),
	}
	if c := db.Connection; c != nil && c.Host != "" {
		out["host"], out["port"], out["user"] = c.Host, int64(c.Port), c.User
		if c.Database != "" {
			out["database"] = c.Database
		}
	}
	for name, c := range map[string]*godo.DatabaseConnection{
		"private_host": db.PrivateConnection, "standby_host": db.StandbyConnection, "ui_host": db.UIConnection,
	} {
		if c != nil && c.Host != "" {
			out[name] = c.Host
		}
	}
	if c := db.UIConnection; c != nil && c.Host != "" {
		out["ui_port"] = int64(c.Port)
	}
	if len(db.MetricsEndpoints) > 0 {
		list := []any{}
		for _, e := range db.MetricsEndpoints {
			if e != nil {
				list = append(list, map[string]any{"host": e.Host, "port": int64(e.Port)})
			}
		}
		out["metrics_endpoints"] = list
	}
	return out
}

// addSecrets takes the credentials that this answer carries. A token without
// the right to see them, and MongoDB after its creation, show none.
func (k *cluster) addSecrets(o *cloud.Observed, db *godo.Database) {
	c := db.Connection
	if c == nil {
		return
	}
	password := c.Password
	setSecret(o, k.Manifest(), "password", cloud.NewSecret(password))
	for name, at := range map[string]*godo.DatabaseConnection{
		"uri": c, "private_uri": db.PrivateConnection, "standby_uri": db.StandbyConnection, "ui_uri": db.UIConnection,
	} {
		setSecret(o, k.Manifest(), name, k.engine.connectionURI(at, c.User, password))
	}
}

// RecoverSecrets resets the primary user's password where the provider shows
// it only once.
func (k *cluster) RecoverSecrets(ctx context.Context, r cloud.Request, o *cloud.Observed) (*cloud.Observed, error) {
	if k.engine != MongoDB {
		return nil, &cloud.ProviderError{Class: cloud.ClassBusy, Op: k.Op(doapi.Look),
			Message: "the provider does not show the cluster's password; the account's token may lack the scope database:view_credentials"}
	}
	user, _, err := k.API.Databases.ResetUserAuth(ctx, o.ProviderID, k.engine.facts().primary, &godo.DatabaseResetUserAuthRequest{})
	if err != nil {
		return nil, k.Fail(doapi.Change, r, err)
	}
	if user == nil || user.Password == "" {
		return nil, k.Missing(doapi.Change)
	}
	setSecret(o, k.Manifest(), "password", cloud.NewSecret(user.Password))
	for name, host := range map[string]string{"uri": "host", "private_uri": "private_host"} {
		setSecret(o, k.Manifest(), name, k.engine.uri(k.engine.facts().primary, user.Password, endpoint(o.Outputs, host)))
	}
	return o, nil
}

// readSettings reads what only endpoints of their own tell, as far as the spec
// sets it.
func (k *cluster) readSettings(ctx context.Context, r cloud.Request, o *cloud.Observed) error {
	if r.Spec["storage_autoscale"] != nil {
		s, _, err := k.API.Databases.GetStorageAutoscale(ctx, o.ProviderID)
		if err != nil && !cloud.IsNotFound(k.Fail(doapi.Look, r, err)) {
			return k.Fail(doapi.Look, r, err)
		}
		o.Spec["storage_autoscale"] = autoscaleSpec(s)
	}
	if r.Spec["eviction_policy"] != nil {
		policy, _, err := k.API.Databases.GetEvictionPolicy(ctx, o.ProviderID)
		if err != nil {
			return k.Fail(doapi.Look, r, err)
		}
		o.Spec["eviction_policy"] = policy
	}
	if r.Spec["sql_mode"] != nil {
		mode, _, err := k.API.Databases.GetSQLMode(ctx, o.ProviderID)
		if err != nil {
			return k.Fail(doapi.Look, r, err)
		}
		o.Spec["sql_mode"] = mode
	}
	if r.Spec["config"] != nil {
		var answer struct {
			Config json.RawMessage `json:"config"`
		}
		if err := k.Get(ctx, doapi.Path("v2", "databases", o.ProviderID, "config"), &answer); err != nil {
			return k.Fail(doapi.Look, r, err)
		}
		if config := exactObject(answer.Config); config != nil {
			o.Spec["config"] = map[string]any(config)
		}
	}
	return nil
}

func autoscaleSpec(s *godo.DatabaseStorageAutoscale) map[string]any {
	out := map[string]any{"enabled": s != nil && s.Enabled}
	if s != nil && s.ThresholdPercent != nil {
		out["threshold_percent"] = int64(*s.ThresholdPercent)
	}
	if s != nil && s.IncrementGib != nil {
		out["increment_gib"] = int64(*s.IncrementGib)
	}
	return out
}

// readCA adds the CA certificate: one more call, once in a cluster's life. A
// cluster that has none goes without.
func (k *cluster) readCA(ctx context.Context, r cloud.Request, o *cloud.Observed) error {
	if r.Memo == nil || r.Memo[memoCA] != "" {
		return nil
	}
	ca, _, err := k.API.Databases.GetCA(ctx, o.ProviderID)
	if err != nil {
		err = k.Fail(doapi.Look, r, err)
		switch cloud.ClassOf(err) {
		case cloud.ClassNotFound, cloud.ClassRefused, cloud.ClassUnsupported:
			return nil
		}
		return err
	}
	if ca != nil && len(ca.Certificate) > 0 {
		r.Memo[memoCA] = string(ca.Certificate)
		o.Outputs["ca_certificate"] = r.Memo[memoCA]
	}
	return nil
}

func anyList[T any](items []T) []any {
	out := make([]any, len(items))
	for i, v := range items {
		out[i] = v
	}
	return out
}
