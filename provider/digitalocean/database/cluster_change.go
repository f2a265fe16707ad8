package database

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/digitalocean/godo"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// change is one call that changes a cluster, and the fields that it settles.
type change struct {
	fields []string
	send   func(ctx context.Context, k *cluster, r cloud.Request, o *cloud.Observed) error
}

// changes are the calls in the order in which they are made: first those that
// move or restart the cluster, since they are refused while anything else runs.
var changes = []change{
	{[]string{"region"}, sendMigrate},
	{[]string{"size", "num_nodes", "storage_size_mib"}, sendResize},
	{[]string{"version"}, sendUpgrade},
	{[]string{"maintenance_window"}, sendMaintenance},
	{[]string{"storage_autoscale"}, sendAutoscale},
	{[]string{"service_cnames"}, sendCNAMEs},
	{[]string{"eviction_policy"}, sendEviction},
	{[]string{"sql_mode"}, sendSQLMode},
	{[]string{"config"}, sendConfig},
	{[]string{"tags"}, sendTags},
}

// Diff names what differs, in the order of changes.
func (k *cluster) Diff(r cloud.Request, o *cloud.Observed) []string {
	var out []string
	for _, c := range changes {
		for _, f := range c.fields {
			if k.Manifest().Property(f) && differs(f, r, o) {
				out = append(out, f)
			}
		}
	}
	return out
}

// Update makes the first of the calls that fields ask for. There is nothing to
// start again in a cluster, so no fields means no call.
func (k *cluster) Update(ctx context.Context, r cloud.Request, o *cloud.Observed, fields []string) (*cloud.Updated, error) {
	for _, c := range changes {
		var settles []string
		for _, f := range c.fields {
			if slices.Contains(fields, f) {
				settles = append(settles, f)
			}
		}
		if len(settles) == 0 {
			continue
		}
		if err := c.send(ctx, k, r, o); err != nil {
			return nil, k.Fail(doapi.Change, r, err, doapi.Fields(settles...))
		}
		return &cloud.Updated{Settles: settles}, nil
	}
	return &cloud.Updated{Settles: fields}, nil
}

func sendMigrate(ctx context.Context, k *cluster, r cloud.Request, o *cloud.Observed) error {
	region := r.Spec.String("region")
	network, err := networkID(k.Base, doapi.Change, r, region)
	if err != nil {
		return err
	}
	_, err = k.API.Databases.Migrate(ctx, o.ProviderID, &godo.DatabaseMigrateRequest{Region: region, PrivateNetworkUUID: network})
	return err
}

func sendResize(ctx context.Context, k *cluster, r cloud.Request, o *cloud.Observed) error {
	return resize(ctx, k.Account, r, o, wantedInt(r.Spec, o.Spec, "num_nodes"))
}

// resize always carries size and nodes, as the provider wants; storage only
// when it is what shall change: a repeated older value may be below the base of
// the new size.
func resize(ctx context.Context, a *doapi.Account, r cloud.Request, o *cloud.Observed, nodes int64) error {
	in := &godo.DatabaseResizeRequest{SizeSlug: r.Spec.String("size"), NumNodes: int(nodes)}
	if in.SizeSlug == "" {
		in.SizeSlug = o.Spec.String("size")
	}
	if differs("storage_size_mib", r, o) {
		storage, _ := r.Spec.Int("storage_size_mib")
		in.StorageSizeMib = uint64(max(storage, 0))
	}
	_, err := a.API.Databases.Resize(ctx, o.ProviderID, in)
	return err
}

func wantedInt(wanted, observed cloud.Spec, field string) int64 {
	if n, ok := wanted.Int(field); ok {
		return n
	}
	n, _ := observed.Int(field)
	return n
}

func sendUpgrade(ctx context.Context, k *cluster, r cloud.Request, o *cloud.Observed) error {
	_, err := k.API.Databases.UpgradeMajorVersion(ctx, o.ProviderID, &godo.UpgradeVersionRequest{Version: r.Spec.String("version")})
	return err
}

func sendMaintenance(ctx context.Context, k *cluster, r cloud.Request, o *cloud.Observed) error {
	w := cloud.Spec(normalWindow(r.Spec.Object("maintenance_window")))
	_, err := k.API.Databases.UpdateMaintenance(ctx, o.ProviderID,
		&godo.DatabaseUpdateMaintenanceRequest{Day: w.String("day"), Hour: w.String("hour")})
	return err
}

func sendAutoscale(ctx context.Context, k *cluster, r cloud.Request, o *cloud.Observed) error {
	in := &godo.DatabaseStorageAutoscale{}
	want := r.Spec.Object("storage_autoscale")
	in.Enabled, _ = want.Bool("enabled")
	if n, ok := want.Int("threshold_percent"); ok {
		percent := int(n)
		in.ThresholdPercent = &percent
	}
	if n, ok := want.Int("increment_gib"); ok {
		gib := uint64(max(n, 0))
		in.IncrementGib = &gib
	}
	_, err := k.API.Databases.UpdateStorageAutoscale(ctx, o.ProviderID, in)
	return err
}

func sendCNAMEs(ctx context.Context, k *cluster, r cloud.Request, o *cloud.Observed) error {
	return putCNAMEs(ctx, k.Account, r, o)
}

// putCNAMEs is raw because godo drops an empty list, which is how all are removed.
func putCNAMEs(ctx context.Context, a *doapi.Account, r cloud.Request, o *cloud.Observed) error {
	names := r.Spec.Strings("service_cnames")
	if names == nil {
		names = []string{}
	}
	in := map[string]any{"do_settings": map[string]any{"service_cnames": names}}
	return a.Call(ctx, http.MethodPut, doapi.Path("v2", "databases", o.ProviderID, "do_settings"), in, nil)
}

func sendEviction(ctx context.Context, k *cluster, r cloud.Request, o *cloud.Observed) error {
	_, err := k.API.Databases.SetEvictionPolicy(ctx, o.ProviderID, r.Spec.String("eviction_policy"))
	return err
}

func sendSQLMode(ctx context.Context, k *cluster, r cloud.Request, o *cloud.Observed) error {
	_, err := k.API.Databases.SetSQLMode(ctx, o.ProviderID, sqlModes(r.Spec.String("sql_mode"))...)
	return err
}

// sendConfig is raw so that false and 0 arrive, and so that one piece of code
// serves every engine's settings.
func sendConfig(ctx context.Context, k *cluster, r cloud.Request, o *cloud.Observed) error {
	in := map[string]any{"config": r.Spec["config"]}
	err := k.Call(ctx, http.MethodPatch, doapi.Path("v2", "databases", o.ProviderID, "config"), in, nil)
	if err == nil {
		noteConfig(r)
	}
	return err
}

// sendTags adds the tenant's new tags and removes those that it took out of its
// spec. Tags of others are not touched.
func sendTags(ctx context.Context, k *cluster, r cloud.Request, o *cloud.Observed) error {
	add, remove := tagChanges(r, o)
	if err := k.Tag(ctx, godo.DatabaseResourceType, o.ProviderID, add...); err != nil {
		return err
	}
	return k.Untag(ctx, godo.DatabaseResourceType, o.ProviderID, remove...)
}

func tagChanges(r cloud.Request, o *cloud.Observed) (add, remove []string) {
	has := doapi.Foreign(cloud.Spec(o.Outputs).Strings("tags"))
	wants := doapi.Foreign(r.Spec.Strings("tags"))
	for _, t := range wants {
		if !slices.Contains(has, t) {
			add = append(add, t)
		}
	}
	for _, t := range doapi.Foreign(r.Applied.Strings("tags")) {
		if slices.Contains(has, t) && !slices.Contains(wants, t) {
			remove = append(remove, t)
		}
	}
	return add, remove
}

func sqlModes(text string) []string {
	modes := strings.FieldsFunc(strings.ToUpper(text), func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(modes)
	return slices.Compact(modes)
}
