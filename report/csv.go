package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/replay"
)

// replayCSV prints one request a row. Columns are only ever added at the end.
type replayCSV struct {
	w      io.Writer
	header bool
}

var csvColumns = []string{
	"session", "agent", "file", "policy", "counter", "n", "kind", "uuid", "time", "model",
	"raw_tokens", "model_tokens", "payload_tokens", "overhead_tokens", "used_tokens", "messages", "output_tokens",
	"recorded_input", "recorded_cache_write", "recorded_cache_read", "recorded_output",
	"events", "event_kinds", "event_tokens_saved",
	"cache_read", "cache_write_5m", "cache_write_1h", "cache_uncached", "cache_miss", "cost_usd",
}

func (r *replayCSV) Add(tl *replay.Timeline) error {
	if err := r.head(); err != nil {
		return err
	}
	out := csv.NewWriter(r.w)
	own, rest := ownEvents(tl)
	for i := range tl.Requests {
		q := &tl.Requests[i]
		at := ""
		if !q.Time.IsZero() {
			at = q.Time.UTC().Format(time.RFC3339Nano)
		}
		row := append(csvSession(tl), strconv.Itoa(q.N), csvText(q.Kind), csvText(q.UUID), at, csvText(q.Model))
		for _, n := range []int{q.Raw, q.Tokens, q.Payload, q.Overhead, q.Used, q.Messages, q.Output} {
			row = append(row, strconv.Itoa(n))
		}
		if u := q.Recorded; u != nil {
			row = append(row, strconv.Itoa(u.Input), strconv.Itoa(u.CacheWrite), strconv.Itoa(u.CacheRead), strconv.Itoa(u.Output))
		} else {
			row = append(row, "", "", "", "")
		}
		row = append(row, csvEvents(tl, own[i])...)
		if err := out.Write(append(row, csvCache(q)...)); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		row := append(csvSession(tl), "", "end")
		for len(row) < len(csvColumns)-csvCacheColumns-3 {
			row = append(row, "")
		}
		row = append(row, csvEvents(tl, rest)...)
		if err := out.Write(append(row, make([]string, csvCacheColumns)...)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func (r *replayCSV) head() error {
	if r.header {
		return nil
	}
	r.header = true
	_, err := io.WriteString(r.w, strings.Join(csvColumns, ",")+"\n")
	return err
}

func (r *replayCSV) Close() error { return r.head() }

func csvSession(tl *replay.Timeline) []string {
	return []string{csvText(tl.Session), csvText(tl.Agent), csvText(tl.File), csvText(tl.Policy), csvText(tl.Counter)}
}

const csvCacheColumns = 6

// csvCache are the columns of the cache simulation and of the cost, the last six.
func csvCache(q *replay.Request) []string {
	c, miss, cost := q.Cache, "", ""
	if c.Miss != nil {
		miss = string(c.Miss.Kind)
	}
	if q.CostUSD.Known {
		cost = strconv.FormatFloat(q.CostUSD.Dollars, 'f', 6, 64)
	}
	return []string{strconv.Itoa(c.Read), strconv.Itoa(c.Write5m), strconv.Itoa(c.Write1h), strconv.Itoa(c.Uncached), csvText(miss), cost}
}

// csvEvents are the three columns before those of the cache: how many, which, and what they saved.
func csvEvents(tl *replay.Timeline, events []int) []string {
	var kinds []string
	saved := 0
	for _, n := range events {
		e := &tl.Events[n]
		kinds = append(kinds, e.Stage+":"+string(e.Kind))
		saved += e.Saved
	}
	return []string{strconv.Itoa(len(events)), csvText(strings.Join(kinds, ";")), strconv.Itoa(saved)}
}

// csvText cleans a text and keeps spreadsheets from taking it for a formula. A
// number is none.
func csvText(s string) string {
	s = Clean(s)
	if len(s) > 1 && strings.IndexByte("=+-@", s[0]) >= 0 {
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			return "'" + s
		}
	}
	return s
}
