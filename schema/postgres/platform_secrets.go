package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// Associated data of the secrets that the platform file brings: each opens in
// its own place only.
func accountSecret(id string) string    { return "account/" + id }
func subscriberSecret(id string) string { return "subscriber/" + id }
func daemonSecret(url string) string    { return "daemon/" + url }

// fileSecrets are the values of the file's secrets by place.
type fileSecrets map[string]cloud.Secret

// readSecrets reads every secret of the file before the transaction begins.
func readSecrets(f *platform.File) (fileSecrets, error) {
	all := fileSecrets{}
	read := func(path, place string, src platform.SecretSource) error {
		v, err := src.Resolve()
		if err != nil {
			return cloud.InvalidField(fmt.Sprintf("%s: %v", path, err), path)
		}
		all[place] = v
		return nil
	}
	for i, a := range f.Accounts {
		if err := read(fmt.Sprintf("accounts[%d].token", i), accountSecret(a.ID), a.Token); err != nil {
			return nil, err
		}
	}
	for i, d := range f.Daemons {
		if d.Token == nil {
			continue
		}
		if err := read(fmt.Sprintf("daemons[%d].token", i), daemonSecret(d.URL), *d.Token); err != nil {
			return nil, err
		}
	}
	for i, s := range f.Subscribers {
		path, place := fmt.Sprintf("subscribers[%d].secret", i), subscriberSecret(s.ID)
		if err := read(path, place, s.Secret); err != nil {
			return nil, err
		}
		if err := platform.CheckWebhookSecret(all[place]); err != nil {
			return nil, cloud.InvalidField(fmt.Sprintf("%s: %v", path, err), path)
		}
	}
	return all, nil
}

// seal gives the two columns of a secret: what is sealed there already when it
// opens to the same value, else sealed anew; without a secret store the place
// where processes shall read it.
func (a *apply) seal(place string, src platform.SecretSource, have []byte) (sealed, source any, err error) {
	if !a.s.HasSecretStore() {
		if !src.Value.IsZero() {
			return nil, nil, errNoSecretStore()
		}
		return nil, src, nil
	}
	value := a.secrets[place].Reveal()
	if have != nil {
		if plain, err := a.s.keys.Open(have, []byte(place)); err == nil && string(plain) == value {
			return byteaText(have), nil, nil
		}
	}
	fresh, err := a.s.keys.Seal([]byte(value), []byte(place))
	return byteaText(fresh), nil, err
}

// sealedNow reads what is sealed in a table, by the text of a column.
func (a *apply) sealedNow(ctx context.Context, sql string) (map[string][]byte, error) {
	rows, err := a.tx.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	have := map[string][]byte{}
	var key string
	var sealed []byte
	_, err = pgx.ForEachRow(rows, []any{&key, &sealed}, func() error {
		have[key], sealed = sealed, nil
		return nil
	})
	return have, err
}

func (a *apply) accountTable(ctx context.Context) (table, error) {
	t := table{
		noun: "account", name: "provider_accounts", key: []string{"id"},
		columns: []string{"provider", "owner_tenant_id", "api_url", "regions", "previews", "declared", "token_sealed", "token_source"},
		fixed:   []string{"provider", "owner_tenant_id"}, users: `SELECT ` + liveUsers("account_id = $1"),
		hidden: []string{"token_sealed", "token_source"}, keep: true, forget: []string{"token_sealed", "token_source"},
		rows:  rows{},
		noted: func(id string) { a.accounts = append(a.accounts, id) },
	}
	have, err := a.sealedNow(ctx, "SELECT id, token_sealed FROM provider_accounts")
	if err != nil {
		return t, err
	}
	for _, acc := range a.file.Accounts {
		sealed, source, err := a.seal(accountSecret(acc.ID), acc.Token, have[acc.ID])
		if err != nil {
			return t, err
		}
		t.rows = append(t.rows, map[string]any{
			"id": acc.ID, "provider": acc.Provider, "owner_tenant_id": acc.Owner, "api_url": acc.APIURL, "regions": list(acc.Regions),
			"previews": acc.Previews, "declared": true, "token_sealed": sealed, "token_source": source,
		})
	}
	return t, nil
}

func (a *apply) daemonTable(ctx context.Context) (table, error) {
	t := table{
		noun: "daemon", name: "daemons", key: []string{"position"}, columns: []string{"kinds", "url", "token_sealed", "token_source"},
		hidden: []string{"token_sealed", "token_source"}, rows: rows{},
	}
	have, err := a.sealedNow(ctx, "SELECT url, token_sealed FROM daemons")
	if err != nil {
		return t, err
	}
	for i, d := range a.file.Daemons {
		row := map[string]any{"position": i, "kinds": d.Kinds, "url": d.URL, "token_sealed": nil, "token_source": nil}
		if d.Token != nil {
			row["token_sealed"], row["token_source"], err = a.seal(daemonSecret(d.URL), *d.Token, have[d.URL])
			if err != nil {
				return t, err
			}
		}
		t.rows = append(t.rows, row)
	}
	return t, nil
}

func (a *apply) subscriberTable(ctx context.Context) (table, error) {
	t := table{
		noun: "subscriber", name: "subscribers", key: []string{"id"},
		columns: []string{"tenant_id", "url", "types", "active", "secret_sealed", "secret_source"},
		hidden:  []string{"secret_sealed", "secret_source"}, rows: rows{},
		noted: func(id string) { a.subscribers = append(a.subscribers, id) },
	}
	have, err := a.sealedNow(ctx, "SELECT id, secret_sealed FROM subscribers")
	if err != nil {
		return t, err
	}
	for _, sub := range a.file.Subscribers {
		sealed, source, err := a.seal(subscriberSecret(sub.ID), sub.Secret, have[sub.ID])
		if err != nil {
			return t, err
		}
		t.rows = append(t.rows, map[string]any{
			"id": sub.ID, "tenant_id": sub.Tenant, "url": sub.URL, "types": list(sub.Types), "active": true,
			"secret_sealed": sealed, "secret_source": source,
		})
	}
	return t, nil
}
