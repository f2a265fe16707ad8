package postgres

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/better-compute/cloud-resources/schema/platform"
)

// liveUsers describes the live records that match a condition on their common
// columns.
func liveUsers(where string) string {
	return fmt.Sprintf(`'resource ' || id FROM resources WHERE state NOT IN ('deleted', 'released') AND (%[1]s)
		UNION ALL SELECT 'certificate ' || id FROM certificates WHERE state <> 'deleted' AND (%[1]s)`, where)
}

// specUsers describes the live resources whose spec names an id.
const specUsers = `SELECT 'resource ' || id FROM resources
	WHERE state NOT IN ('deleted', 'released') AND strpos(spec::text, '"' || $1 || '"') > 0`

type rows = []map[string]any

// tables are the lists of the file, each after those that it refers to.
func (a *apply) tables(ctx context.Context) ([]table, error) {
	accounts, err := a.accountTable(ctx)
	if err != nil {
		return nil, err
	}
	daemons, err := a.daemonTable(ctx)
	if err != nil {
		return nil, err
	}
	subscribers, err := a.subscriberTable(ctx)
	if err != nil {
		return nil, err
	}
	budgets, err := a.budgetTable(ctx)
	if err != nil {
		return nil, err
	}
	return []table{
		a.tenantTable(), a.principalTable(), a.policyTable(), a.projectTable(), accounts, a.poolTable(),
		a.offerTable(), a.quotaTable(), a.capacityTable(), budgets, a.instanceTable(), a.networkTable(), daemons, subscribers,
	}, nil
}

// collect makes rows of a list.
func collect[T any](list []T, row func(i int, v T) map[string]any) rows {
	out := rows{} // never nil: null is no recordset
	for i, v := range list {
		out = append(out, row(i, v))
	}
	return out
}

// list keeps an absent list from becoming null.
func list(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

func (a *apply) tenantTable() table {
	return table{
		noun: "tenant", name: "tenants", key: []string{"id"}, columns: []string{"declared"}, keep: true,
		users: `SELECT ` + liveUsers("tenant_id = $1") + `
			UNION ALL SELECT 'command batch ' || id FROM command_batches WHERE tenant_id = $1 AND ended_at IS NULL
			UNION ALL SELECT 'secret ' || name FROM secrets WHERE tenant_id = $1 AND resource_id = ''`,
		rows: collect(a.file.Tenants, func(_ int, t platform.Tenant) map[string]any {
			return map[string]any{"id": t.ID, "declared": true}
		}),
	}
}

func (a *apply) principalTable() table {
	return table{
		noun: "principal", name: "principals", key: []string{"id"}, columns: []string{"tenant_id", "user_name", "token_sha256"},
		hidden: []string{"token_sha256"},
		rows: collect(a.file.Principals, func(_ int, p platform.Principal) map[string]any {
			digests := []string{}
			for _, d := range p.TokenSHA256 {
				digests = append(digests, `\x`+d)
			}
			return map[string]any{"id": p.ID(), "tenant_id": p.Tenant, "user_name": p.User, "token_sha256": digests}
		}),
	}
}

func (a *apply) policyTable() table {
	return table{
		noun: "policy", name: "policies", key: []string{"id"}, columns: []string{"document"}, hidden: []string{"document"},
		rows: collect(a.file.Policies, func(_ int, p platform.Policy) map[string]any {
			return map[string]any{"id": p.ID, "document": p}
		}),
	}
}

func (a *apply) projectTable() table {
	return table{
		noun: "project", name: "projects", key: []string{"id"}, columns: []string{"tenant_id", "declared"},
		fixed: []string{"tenant_id"}, users: `SELECT ` + liveUsers("project_id = $1"), keep: true,
		rows: collect(a.file.Projects, func(_ int, p platform.Project) map[string]any {
			return map[string]any{"id": p.ID, "tenant_id": p.Tenant, "declared": true}
		}),
	}
}

func (a *apply) poolTable() table {
	return table{
		noun: "pool", name: "pools", key: []string{"id"},
		columns: []string{"type", "owner_tenant_id", "account_id", "billing", "destructive_quorum", "withdrawn", "declared"},
		fixed:   []string{"type", "owner_tenant_id", "account_id"}, users: `SELECT ` + liveUsers("pool_id = $1"),
		closes: "withdrawn", keep: true,
		rows: collect(a.file.Pools, func(_ int, p platform.Pool) map[string]any {
			return map[string]any{
				"id": p.ID, "type": p.Type, "owner_tenant_id": p.Owner, "account_id": nullable(p.Account), "billing": p.Billing,
				"destructive_quorum": p.DestructiveQuorum, "withdrawn": p.Withdrawn, "declared": true,
			}
		}),
	}
}

func (a *apply) offerTable() table {
	return table{
		noun: "offer", name: "offers", key: []string{"tenant_id", "pool_id"}, columns: []string{"status", "excluded_regions"},
		rows: collect(a.file.Offers, func(_ int, o platform.Offer) map[string]any {
			return map[string]any{"tenant_id": o.Tenant, "pool_id": o.Pool, "status": o.Status, "excluded_regions": list(o.ExcludedRegions)}
		}),
	}
}

func (a *apply) quotaTable() table {
	return table{
		noun: "quota", name: "quotas", key: []string{"tenant_id", "kind"}, columns: []string{"max_count"},
		rows: collect(a.file.Quotas, func(_ int, q platform.Quota) map[string]any {
			if q.Kind == platform.AllKinds {
				q.Kind = ""
			}
			return map[string]any{"tenant_id": q.Tenant, "kind": q.Kind, "max_count": q.Max}
		}),
	}
}

func (a *apply) capacityTable() table {
	return table{
		noun: "capacity", name: "capacities", key: []string{"tenant_id", "pool_id", "capacity"}, columns: []string{"amount"},
		rows: collect(a.file.Capacity, func(_ int, c platform.Capacity) map[string]any {
			return map[string]any{"tenant_id": c.Tenant, "pool_id": c.Pool, "capacity": c.Name, "amount": c.Amount}
		}),
	}
}

// budgetTable leaves what is spent as it is unless the file sets it.
func (a *apply) budgetTable(ctx context.Context) (table, error) {
	used := map[string]any{}
	t := table{
		noun: "budget", name: "budgets", key: []string{"tenant_id", "id"}, columns: []string{"max_amount", "used_amount"},
	}
	have, err := a.tx.Query(ctx, "SELECT tenant_id || ' ' || id, used_amount::text FROM budgets")
	if err != nil {
		return t, err
	}
	for have.Next() {
		var key, amount string
		if err := have.Scan(&key, &amount); err != nil {
			return t, err
		}
		used[key] = amount
	}
	t.rows = collect(a.file.Budgets, func(_ int, b platform.Budget) map[string]any {
		row := map[string]any{"tenant_id": b.Tenant, "id": b.ID, "max_amount": b.Max, "used_amount": used[b.Tenant+" "+b.ID]}
		switch {
		case b.Used != "":
			row["used_amount"] = b.Used
		case row["used_amount"] == nil:
			row["used_amount"] = 0
		}
		return row
	})
	return t, have.Err()
}

func (a *apply) instanceTable() table {
	return table{
		noun: "instance", name: "instances", key: []string{"id"},
		columns: []string{"tenant_id", "account_id", "provider_id", "live"},
		fixed:   []string{"tenant_id", "account_id", "provider_id"}, users: specUsers,
		rows: collect(a.file.Instances, func(_ int, n platform.Instance) map[string]any {
			return map[string]any{"id": n.ID, "tenant_id": n.Tenant, "account_id": n.Account, "provider_id": n.ProviderID, "live": n.IsLive()}
		}),
	}
}

func (a *apply) networkTable() table {
	return table{
		noun: "network", name: "networks", key: []string{"id"}, columns: []string{"tenant_id", "account_id", "vpcs", "live"},
		fixed: []string{"tenant_id", "account_id"}, users: specUsers,
		rows: collect(a.file.Networks, func(_ int, n platform.Network) map[string]any {
			return map[string]any{"id": n.ID, "tenant_id": n.Tenant, "account_id": n.Account, "vpcs": n.VPCs, "live": n.IsLive()}
		}),
	}
}

func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// byteaText is the form in which bytes pass through jsonb.
func byteaText(b []byte) any {
	if b == nil {
		return nil
	}
	return `\x` + hex.EncodeToString(b)
}
