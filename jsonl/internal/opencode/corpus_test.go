package opencode_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/internal/outline"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// rawExport is what the tests of real exports read on their own.
type rawExport struct {
	Info struct {
		ParentID, Version string
		Cost              *float64
		Tokens            *rawTokens
	}
	Messages []rawMessage
}

type rawMessage struct {
	Info struct {
		ID, Role string
		Summary  any
		Cost     float64
		Tokens   rawTokens
		Time     struct{ Created int64 }
	}
	Parts []struct {
		Type, CallID string
		Auto         bool
		State        struct {
			Time struct{ Compacted int64 }
		}
	}
}

type rawTokens struct {
	Total, Input, Output, Reasoning int
	Cache                           struct{ Read, Write int }
}

// sums are tokens and billionths of dollars of a session.
type sums struct {
	Input, Output, Read, Write int
	Nano                       int64
}

func (s *sums) add(tokens *rawTokens, apart bool, cost float64) {
	s.Input, s.Read, s.Write = s.Input+tokens.Input, s.Read+tokens.Cache.Read, s.Write+tokens.Cache.Write
	if s.Output += tokens.Output; apart {
		s.Output += tokens.Reasoning
	}
	s.Nano += int64(math.Round(cost * 1e9))
}

func (s *sums) usage(u *jsonl.Usage) {
	s.Input, s.Output, s.Read, s.Write = s.Input+u.Input, s.Output+u.Output, s.Read+u.CacheRead, s.Write+u.CacheWrite
	s.Nano += u.Nano
}

// TestCorpus compares what is read of real exports with what is in them.
func TestCorpus(t *testing.T) {
	prunes, pruned, compactions, requests := 0, 0, 0, 0
	for _, path := range corpus(t) {
		name := filepath.Base(path)
		var raw rawExport
		if err := json.Unmarshal(unzipped(t, path), &raw); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		conv := load(t, path)
		if a := conv.Lines; a.Read != units(raw.Messages) || !a.Balanced() {
			t.Errorf("%s: %+v, want %d units", name, a, units(raw.Messages))
		}
		if len(conv.Warnings) > 0 {
			t.Errorf("%s: %v", name, conv.Warnings)
		}
		must.Equal(t, conv.Agent != "", raw.Info.ParentID != "", name, conv.Agent, raw.Info.ParentID)

		apart := !strings.HasPrefix(raw.Info.Version, "1.2.") && !strings.HasPrefix(raw.Info.Version, "1.3.")
		var want, got sums
		var wantIDs, gotIDs []string // of requests with usage
		for i := range raw.Messages {
			m := &raw.Messages[i].Info
			if m.Role != "assistant" {
				continue
			}
			want.add(&m.Tokens, apart, m.Cost)
			if m.Summary != true && m.Tokens.Input+m.Tokens.Cache.Read+m.Tokens.Cache.Write > 0 {
				wantIDs = append(wantIDs, m.ID)
			}
			if sum := &m.Tokens; sum.Total > 0 { // the export tells its convention
				var one sums
				if one.add(sum, apart, 0); one.Input+one.Output+one.Read+one.Write != sum.Total {
					t.Errorf("%s, message %d: %+v is not %d", name, i, one, sum.Total)
				}
			}
		}
		for _, q := range conv.Requests {
			if m := &conv.Messages[q.Message]; m.HasUsage {
				u := m.Usage
				got.usage(&u)
				gotIDs = append(gotIDs, m.ID)
			}
		}
		for i := range conv.Boundaries {
			got.usage(conv.Boundaries[i].Usage)
		}
		outline.Same(t, wantIDs, gotIDs, name)
		outline.Same(t, want, got, name)
		if own := raw.Info.Tokens; own != nil {
			var totals sums
			if totals.add(own, apart, *raw.Info.Cost); totals != got {
				t.Errorf("%s: the session's own totals are %+v, read %+v", name, totals, got)
			}
		}

		wantEdits, gotEdits := recordedOf(&raw, conv), editsOf(conv)
		outline.Same(t, wantEdits, gotEdits, name)
		compactions += len(conv.Boundaries)
		for _, m := range conv.Micro {
			prunes++
			pruned += len(m.ToolIDs)
		}
		requests += len(gotIDs)
	}
	t.Logf("%d requests with usage, %d prunes of %d results, %d compactions", requests, prunes, pruned, compactions)
	if requests == 0 || prunes == 0 || compactions == 0 {
		t.Error("the sessions hold too little")
	}
}

// units counts the session's info, each message's and each part.
func units(messages []rawMessage) int {
	n := 1
	for i := range messages {
		n += 1 + len(messages[i].Parts)
	}
	return n
}

// recordedOf lists the prunes and compactions of an export: "response that comes next: calls" or "trigger".
func recordedOf(raw *rawExport, conv *session.Conversation) map[string][]string {
	read := map[string]bool{}
	for _, q := range conv.Requests {
		read[conv.Messages[q.Message].ID] = true
	}
	next := func(at int64) string {
		for i := range raw.Messages {
			if m := &raw.Messages[i].Info; m.Time.Created > at && read[m.ID] {
				return m.ID
			}
		}
		return "the end"
	}
	out := map[string][]string{}
	for i := range raw.Messages {
		m := &raw.Messages[i]
		for _, p := range m.Parts {
			if at := p.State.Time.Compacted; at > 0 {
				out[next(at)] = append(out[next(at)], p.CallID)
			}
			if p.Type == "compaction" {
				out[next(m.Info.Time.Created)] = append(out[next(m.Info.Time.Created)], map[bool]string{true: "auto", false: "manual"}[p.Auto])
			}
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// editsOf lists the prunes and compactions of a conversation likewise.
func editsOf(conv *session.Conversation) map[string][]string {
	next := func(request int) string {
		if request > len(conv.Requests) {
			return "the end"
		}
		return conv.Messages[conv.Requests[request-1].Message].ID
	}
	out := map[string][]string{}
	for _, m := range conv.Micro {
		out[next(m.Request)] = append(out[next(m.Request)], m.ToolIDs...)
	}
	for _, b := range conv.Boundaries {
		out[next(b.Request)] = append(out[next(b.Request)], b.Trigger)
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// corpus are recorded sessions; without any the test skips itself.
func corpus(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("CTXKIT_AGENTS")
	if dir == "" {
		t.Skip("CTXKIT_AGENTS is not set: no recorded sessions")
	}
	list, err := filepath.Glob(filepath.Join(dir, "opencode", "*.json.gz"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no sessions in %s/opencode: %v", dir, err)
	}
	return list
}

func unzipped(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", path, err))
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", path, err))
	}
	return text
}
