package report

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/report/golden"
)

func TestResume(t *testing.T) {
	schema := compileSchemaAt(t, filepath.Join("..", "docs", "schemas", "resume.v1.json"))
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	item := func(id string, idle time.Duration, compact *replay.NextCompaction) ResumeItem {
		last := now.Add(-idle)
		i := ResumeItem{SessionItem: SessionItem{FileInfo: session.FileInfo{ID: id, Path: id + ".jsonl", Folder: "p", Project: "/home/dev/harbor", Title: "=T\x1b[31m\u202e " + id, Last: last}}}
		i.Next = &replay.Continuation{
			Model: "claude-opus-4-5", Context: 100_000, Last: last, Expires: last.Add(5 * time.Minute), Warm: idle <= 5*time.Minute,
			IfWarm: replay.NextCost{Input: cache.Split{Read: 99_000, Write5m: 1_000}, USD: amount(0.06)}, IfCold: replay.NextCost{Input: cache.Split{Write5m: 100_000}, USD: amount(0.63)}, Compact: compact,
		}
		return i
	}
	compact := &replay.NextCompaction{Policy: "claude-code-2.1.19", Context: 30_000, Summary: 5_000,
		IfWarm: replay.CompactionCost{Call: replay.NextCost{USD: amount(0.18)}, First: replay.NextCost{USD: amount(0.1)}, USD: amount(0.28), Pays: 8},
		IfCold: replay.CompactionCost{Call: replay.NextCost{USD: amount(0.4)}, First: replay.NextCost{USD: amount(0.1)}, USD: amount(0.5), Pays: 1}}
	none := ResumeItem{SessionItem: SessionItem{FileInfo: session.FileInfo{ID: "none", Folder: "p"}}}
	unknown := item("unknown", time.Hour, nil)
	unknown.Next.Expires, unknown.Next.Unknown, unknown.Next.Misfit = time.Time{}, true, true
	for name, list := range map[string][]ResumeItem{
		"several": {none, item("warm", 2*time.Minute, compact), item("cold", time.Hour, compact), item("alone", 30*time.Hour, nil)}, "cold": {item("cold", time.Hour, compact)}, "empty": {none},
		"unknown": {unknown},
		"ahead":   {item("ahead", -time.Hour, nil)}, // a clock before the session
	} {
		for _, f := range ListFormats {
			var b bytes.Buffer
			must.Do(t, Resume(&b, list, Layout{Now: now, Format: f}))
			if s := b.String(); strings.ContainsAny(s, "\x1b\u202e") {
				t.Errorf("%s as %s lets control characters through", name, f)
			}
			if f == FormatJSON {
				if err := validate(schema, b.Bytes()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			golden.Check(t, filepath.Join("testdata", "resume-"+name+"."+string(f)), b.Bytes())
		}
	}
}
