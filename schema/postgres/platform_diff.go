package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// table is a list of the platform file and the table that it stands in.
type table struct {
	// noun is what people call one of its rows.
	noun string
	name string
	// key and columns are compared and written; rows have a value for each.
	key     []string
	columns []string
	rows    []map[string]any
	// fixed are columns that cannot change while a live record uses the row,
	// which users asks: a query of descriptions, with the first key as $1.
	fixed []string
	users string
	// hidden columns show as changed, without a value.
	hidden []string
	// keep: ended records may refer to a row, which then stays, undeclared;
	// forget are columns that are emptied in it.
	keep   bool
	forget []string
	// closes is a column that, when it changes, needs the row locked like a
	// dropped one, so that no create passes it.
	closes string
	// noted is told each key that was added or changed.
	noted func(key string)
}

// tableDiff is a table whose rows were compared.
type tableDiff struct {
	table
	added, changed, dropped []rowDiff
}

// rowDiff is a row that differs: as it is wanted and as it is, nil for none.
type rowDiff struct {
	label        string
	key          []string
	wanted, have map[string]any
	raw          []byte   // wanted, as Postgres wrote it
	columns      []string // that differ
}

// diff compares in Postgres' own form: both sides pass through the table's row
// type, so an array, a number or a jsonb compares by meaning.
func (a *apply) diff(ctx context.Context, t table) (*tableDiff, error) {
	raw, err := json.Marshal(t.rows)
	if err != nil {
		return nil, err
	}
	on := make([]string, len(t.key))
	for i, k := range t.key {
		on[i] = fmt.Sprintf("w.%[1]s = h.%[1]s", k)
	}
	rows, err := a.tx.Query(ctx, fmt.Sprintf(`
		SELECT to_jsonb(w), to_jsonb(h) FROM jsonb_populate_recordset(NULL::%[1]s, $1) w
		FULL JOIN %[1]s h ON %[2]s`, t.name, strings.Join(on, " AND ")), raw)
	if err != nil {
		return nil, err
	}
	d := &tableDiff{table: t}
	var wanted, have []byte
	_, err = pgx.ForEachRow(rows, []any{&wanted, &have}, func() error { return d.compare(wanted, have) })
	byLabel := func(x, y rowDiff) int { return strings.Compare(x.label, y.label) }
	for _, list := range [][]rowDiff{d.added, d.changed, d.dropped} {
		slices.SortFunc(list, byLabel)
	}
	return d, err
}

func (d *tableDiff) compare(wanted, have []byte) (err error) {
	row := rowDiff{raw: slices.Clone(wanted)}
	if row.wanted, err = decodeRow(wanted); err != nil {
		return err
	}
	if row.have, err = decodeRow(have); err != nil {
		return err
	}
	from := row.wanted
	if from == nil {
		from = row.have
	}
	for _, k := range d.key {
		row.key = append(row.key, fmt.Sprint(from[k]))
	}
	row.label = d.noun + " " + strings.Join(row.key, " ")
	switch {
	case row.wanted == nil && d.keep && row.have["declared"] == false: // dropped before
	case row.wanted == nil:
		d.dropped = append(d.dropped, row)
	case row.have == nil:
		d.added = append(d.added, row)
	default:
		for _, c := range d.columns {
			if !reflect.DeepEqual(row.wanted[c], row.have[c]) {
				row.columns = append(row.columns, c)
			}
		}
		if len(row.columns) > 0 {
			d.changed = append(d.changed, row)
		}
	}
	return nil
}

// decodeRow keeps numbers as they are written; nil stays nil.
func decodeRow(raw []byte) (map[string]any, error) {
	if raw == nil {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var row map[string]any
	return row, dec.Decode(&row)
}

// guard finds what live records still use. The rows are locked first: a create
// that is on its way is waited for and counted, a later one sees the change.
func (a *apply) guard(ctx context.Context, d *tableDiff) error {
	if d.users == "" {
		return nil
	}
	check := func(row rowDiff, verb string) error {
		if _, err := a.tx.Exec(ctx, fmt.Sprintf("SELECT FROM %s WHERE %s = $1 FOR UPDATE", d.name, d.key[0]), row.key[0]); err != nil {
			return err
		}
		if verb == "" {
			return nil
		}
		users, err := a.users(ctx, d.users, []any{row.key[0]})
		if err != nil {
			return err
		}
		a.use(verb+" "+row.label, users)
		return nil
	}
	for _, row := range d.dropped {
		if err := check(row, "drop"); err != nil {
			return err
		}
	}
	for _, row := range d.changed {
		verb := ""
		for _, c := range row.columns {
			if slices.Contains(d.fixed, c) {
				verb = "change " + c + " of"
			}
		}
		if verb == "" && (d.closes == "" || !slices.Contains(row.columns, d.closes)) {
			continue
		}
		if err := check(row, verb); err != nil {
			return err
		}
	}
	return nil
}

// users asks for descriptions of what uses something.
func (a *apply) users(ctx context.Context, sql string, args []any) ([]string, error) {
	rows, err := a.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// shownUsers is how many users a refusal names.
const shownUsers = 5

func (a *apply) use(what string, users []string) {
	if len(users) == 0 {
		return
	}
	slices.Sort(users)
	text := strings.Join(users[:min(len(users), shownUsers)], ", ")
	if more := len(users) - shownUsers; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	a.uses = append(a.uses, what+": used by "+text)
}

// write adds and changes rows.
func (a *apply) write(ctx context.Context, d *tableDiff) error {
	all := slices.Concat(d.key, d.columns)
	sets := make([]string, len(d.columns))
	for i, c := range d.columns {
		sets[i] = c + " = excluded." + c
	}
	conflict := "NOTHING"
	if len(sets) > 0 {
		conflict = "UPDATE SET " + strings.Join(sets, ", ")
	}
	sql := fmt.Sprintf(`INSERT INTO %[1]s (%[2]s) SELECT %[2]s FROM jsonb_populate_record(NULL::%[1]s, $1) ON CONFLICT (%[3]s) DO %[4]s`,
		d.name, strings.Join(all, ", "), strings.Join(d.key, ", "), conflict)
	for _, row := range d.added {
		a.note("add %s", row.label)
	}
	for _, row := range d.changed {
		a.note("change %s: %s", row.label, d.describe(row))
	}
	for _, row := range slices.Concat(d.added, d.changed) {
		if _, err := a.tx.Exec(ctx, sql, row.raw); err != nil {
			return err
		}
		if d.noted != nil {
			d.noted(row.key[0])
		}
	}
	return nil
}

// describe says how a row changes.
func (d *tableDiff) describe(row rowDiff) string {
	parts := make([]string, len(row.columns))
	for i, c := range row.columns {
		if slices.Contains(d.hidden, c) {
			parts[i] = c
			continue
		}
		before, _ := json.Marshal(row.have[c])
		after, _ := json.Marshal(row.wanted[c])
		parts[i] = fmt.Sprintf("%s %s -> %s", c, before, after)
	}
	return strings.Join(parts, ", ")
}

// codeForeignKey: other rows still refer to one.
const codeForeignKey = "23503"

// drop removes rows that the file no longer has.
func (a *apply) drop(ctx context.Context, d *tableDiff) error {
	where := make([]string, len(d.key))
	for i, k := range d.key {
		where[i] = fmt.Sprintf("%s::text = $%d", k, i+1)
	}
	on := strings.Join(where, " AND ")
	for _, row := range d.dropped {
		a.note("drop %s", row.label)
		key := make([]any, len(row.key))
		for i, k := range row.key {
			key[i] = k
		}
		err := pgx.BeginFunc(ctx, a.tx, func(inner pgx.Tx) error {
			_, err := inner.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s", d.name, on), key...)
			return err
		})
		var pg *pgconn.PgError
		if d.keep && errors.As(err, &pg) && pg.Code == codeForeignKey {
			sets := "declared = false"
			for _, c := range d.forget {
				sets += ", " + c + " = NULL"
			}
			_, err = a.tx.Exec(ctx, fmt.Sprintf("UPDATE %s SET %s WHERE %s", d.name, sets, on), key...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
