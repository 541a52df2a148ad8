package usage

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// piece is a part of the time of a query: whole spans, or jobs one by one where span is 0.
type piece struct{ span, from, to int64 }

// pieces cut the time of a query into whole days, the whole hours before and after them, and the
// rest.
func (m marks) pieces(from, to int64) []piece {
	hours, hoursEnd := ceil(max(from, m.low()), hour), floor(to, hour)
	if hours >= hoursEnd {
		return []piece{{0, from, to}}
	}
	days, daysEnd := ceil(hours, day), floor(hoursEnd, day)
	if days >= daysEnd {
		days, daysEnd = hoursEnd, hoursEnd
	}
	all := []piece{{0, from, hours}, {hour, hours, days}, {day, days, daysEnd}, {hour, daysEnd, hoursEnd}, {0, hoursEnd, to}}
	return slices.DeleteFunc(all, func(p piece) bool { return p.from >= p.to })
}

// sums returns the sums by the keys of a query.
func sums(ctx context.Context, tx *sql.Tx, q *api.HistoryQuery, w condition) ([]api.UsageSum, error) {
	from, to := bounds(q)
	all := []piece{{0, from, to}}
	if q.Name == "" && q.Job == "" && !slices.Contains(q.By, api.ByName) {
		var m marks
		if err := tx.QueryRowContext(ctx, "SELECT filled, removed FROM summed").Scan(&m.filled, &m.removed); err != nil {
			return nil, err
		}
		all = m.pieces(from, to)
	}
	return sumsOver(ctx, tx, q.By, w, all)
}

func sumsOver(ctx context.Context, tx *sql.Tx, by []string, w condition, all []piece) (list []api.UsageSum, err error) {
	lines := map[string]*totals{}
	for _, p := range all {
		err := p.each(ctx, tx, by, w, func(keys []string, state api.State, s *sum) error {
			id := lineID(keys)
			if lines[id] == nil {
				if len(lines) == api.HistorySums {
					return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("it has more than %d lines", api.HistorySums), Subject: "the history by " + strings.Join(by, ", "), Tried: "summing it up", Next: "select less with --since, --owner, --class or --state, or sum up by less"}
				}
				lines[id] = &totals{keys: slices.Clone(keys)}
			}
			lines[id].addOf(state, s)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, t := range slices.SortedFunc(maps.Values(lines), func(a, b *totals) int { return slices.Compare(a.keys, b.keys) }) {
		list = append(list, t.usage())
	}
	return list, nil
}

// lineID distinguishes lines, whatever bytes their keys have.
func lineID(keys []string) string {
	if len(keys) == 1 {
		return keys[0]
	}
	var id strings.Builder
	for _, k := range keys {
		id.WriteString(strconv.Itoa(len(k)))
		id.WriteByte(':')
		id.WriteString(k)
	}
	return id.String()
}

// each passes on the sums of a piece, with the keys by which they are grouped.
func (p piece) each(ctx context.Context, tx *sql.Tx, by []string, w condition, do func([]string, api.State, *sum) error) error {
	from, column, selected := "jobs", "ended", jobColumns
	w = condition{slices.Clone(w.text), slices.Clone(w.args)}
	if p.span > 0 {
		from, column, selected = "sums", "start", sumColumns
		w.and("span = ?", p.span)
	}
	w.between(column, p.from, p.to)
	names := make([]string, len(by))
	for i, key := range by {
		if names[i] = key; key == api.ByDay {
			names[i] = column + " / " + strconv.FormatInt(day, 10)
		}
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+strings.Join(names, ", ")+", state, "+selected+" FROM "+from+w.String(), w.args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err has what went wrong
	for rows.Next() {
		if err := p.row(rows, by, do); err != nil {
			return err
		}
	}
	return rows.Err()
}

// row passes on the sum of a row.
func (p piece) row(rows *sql.Rows, by []string, do func([]string, api.State, *sum) error) error {
	var s sum
	var state api.State
	var waits []byte
	var bucket int64
	keys := make([]string, len(by))
	into := make([]any, 0, len(by)+12)
	for i := range keys {
		into = append(into, &keys[i])
	}
	into = append(append(into, &state), s.fields()...)
	if p.span > 0 {
		into = append(into, &waits)
	} else {
		into = append(into, &bucket)
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	for i, key := range by {
		if key == api.ByDay {
			n, err := strconv.ParseInt(keys[i], 10, 64)
			if err != nil {
				return err
			}
			keys[i] = time.Unix(n*86400, 0).UTC().Format(time.DateOnly)
		}
	}
	if p.span == 0 && bucket >= 0 {
		s.count(bucket, 1)
	}
	if err := s.decodeWaits(waits); err != nil {
		return err
	}
	return do(keys, state, &s)
}
