package replay_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
)

// corpus is the folder of real sessions, or skips the test.
func corpus(t testing.TB) string {
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real sessions")
	}
	return dir
}

func corpusFiles(t testing.TB) []string {
	dir := corpus(t)
	var files []string
	for _, pattern := range []string{"*.jsonl", "*.jsonl.gz", "*.jsonl.zst", "*/*.jsonl", "*/*/subagents/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatalf("no session files under %s", dir)
	}
	return files
}

func load(t testing.TB, path string) *session.File {
	f, err := session.Load(path, session.LoadOptions{Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func named(t testing.TB, name string) *policy.Policy {
	reg, err := policy.NewRegistry(stage.All())
	if err != nil {
		t.Fatal(err)
	}
	p, err := preset.Load(name, reg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func run(t testing.TB, conv *session.Conversation, name string) *replay.Timeline {
	tl, err := replay.Run(conv, named(t, name), replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tl.CheckValid(); err != nil {
		t.Fatalf("%s under %s: %v", conv.Path, name, err)
	}
	return tl
}

// tsv reads a table with a header line.
func tsv(t testing.TB, path string) []map[string]string {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	var head []string
	var rows []map[string]string
	for sc.Scan() {
		cells := strings.Split(sc.Text(), "\t")
		if head == nil {
			head = cells
			continue
		}
		row := map[string]string{}
		for i, h := range head {
			row[h] = cells[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// TestCorpusEveryPolicy replays every real file under every built-in policy.
func TestCorpusEveryPolicy(t *testing.T) {
	for _, path := range corpusFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			for _, conv := range load(t, path).Conversations() {
				for _, name := range preset.Names() {
					run(t, conv, name)
				}
			}
		})
	}
}

// TestCorpusRecorded: the recorded track tells exactly the compactions and
// microcompactions that the tables list, and infers the unrecorded ones.
func TestCorpusRecorded(t *testing.T) {
	dir := corpus(t)
	want, got := map[string][]string{}, map[string][]string{}
	for _, r := range tsv(t, filepath.Join(dir, "recorded-compactions.tsv")) {
		want[r["file"]] = append(want[r["file"]], fmt.Sprintf("%s compaction %s %s", r["line"], r["trigger"], r["pre_tokens"]))
	}
	for _, r := range tsv(t, filepath.Join(dir, "recorded-microcompactions.tsv")) {
		want[r["file"]] = append(want[r["file"]], fmt.Sprintf("%s microcompaction %s %s", r["line"], r["micro_pre_tokens"], r["tokens_saved"]))
	}
	unrecorded := map[string]int{}
	for _, path := range corpusFiles(t) {
		base := filepath.Base(path)
		conv := load(t, path).Main
		tl := run(t, conv, "recorded")
		for _, ev := range tl.Events {
			switch {
			case ev.Recorded != nil && ev.Recorded.TokensSaved > 0:
				got[base] = append(got[base], fmt.Sprintf("%d microcompaction %d %d", ev.Recorded.Line, ev.Recorded.PreTokens, ev.Recorded.TokensSaved))
			case ev.Recorded != nil:
				got[base] = append(got[base], fmt.Sprintf("%d compaction %s %d", ev.Recorded.Line, ev.Recorded.Trigger, ev.Recorded.PreTokens))
			case ev.Kind == policy.KindInferred:
				t.Logf("%s request %d: %s", base, *ev.Request, ev.Reason)
				if strings.Contains(ev.Reason, "unrecorded microcompaction") {
					unrecorded[conv.Version]++
				}
			}
		}
	}
	for _, m := range []map[string][]string{want, got} {
		for f := range m {
			slices.Sort(m[f])
		}
	}
	for f := range want {
		if !slices.Equal(want[f], got[f]) {
			t.Errorf("%s: recorded events\n got %q\nwant %q", f, got[f], want[f])
		}
	}
	for f := range got {
		if want[f] == nil {
			t.Errorf("%s: events that the tables do not list: %q", f, got[f])
		}
	}
	if n := unrecorded["2.1.5"] + unrecorded["2.1.7"] + unrecorded["2.1.17"]; n != 5 || len(unrecorded) != 3 {
		t.Errorf("unrecorded microcompactions by version: %v, want 5 in all, at 2.1.5, 2.1.7 and 2.1.17", unrecorded)
	}
}

// band is the policy whose client band a version belongs to.
func band(version string) string {
	switch {
	case session.CompareVersions(version, "2.1.20") <= 0:
		return "claude-code-2.1.19"
	case session.CompareVersions(version, "2.1.22") >= 0 && session.CompareVersions(version, "2.1.51") <= 0:
		return "claude-code-2.1"
	}
	return ""
}

// TestCorpusAutocompact: automatic compactions fire where the client's did.
func TestCorpusAutocompact(t *testing.T) {
	hits, total, lostHits, lost, exact, of := 0, 0, 0, 0, 0, 0
	alarms := 0
	for _, path := range corpusFiles(t) {
		conv := load(t, path).Main
		name := band(conv.Version)
		if name == "" || len(conv.Requests) == 0 {
			continue
		}
		tl := run(t, conv, name)
		used, fired := map[int]int{}, map[int]bool{}
		for _, q := range tl.Requests {
			if q.Kind == "main" {
				used[q.N] = q.Used
			}
		}
		for _, ev := range tl.Events {
			if ev.Kind == policy.KindSummarize && ev.Trigger == "auto" && ev.Request != nil {
				fired[*ev.Request] = true
			}
		}
		near := map[int]bool{}
		for _, b := range conv.Boundaries {
			near[b.Request], near[b.Request+1] = true, true
			if b.Trigger != "auto" || b.Request > len(conv.Requests) {
				continue
			}
			if conv.Messages[b.Before-1].Lost {
				lost++
				if fired[b.Request] {
					lostHits++
				}
				continue
			}
			total++
			if fired[b.Request] {
				hits++
			} else {
				t.Logf("miss: %s line %d request %d: pre_tokens %d, used %d, short by %d", filepath.Base(path), b.Line, b.Request, b.PreTokens, used[b.Request], b.PreTokens-used[b.Request])
			}
			if v := b.Version; session.CompareVersions(v, "2.1.12") >= 0 && session.CompareVersions(v, "2.1.20") <= 0 {
				of++
				if used[b.Request] == b.PreTokens {
					exact++
				} else {
					t.Errorf("%s line %d: used %d, pre_tokens %d: not exact", filepath.Base(path), b.Line, used[b.Request], b.PreTokens)
				}
			}
		}
		for n := range fired {
			if !near[n] {
				alarms++
				t.Logf("false alarm: %s request %d, used %d", filepath.Base(path), n, used[n])
			}
		}
	}
	t.Logf("%d of %d automatic compactions at the recorded request (%s %%), %d of %d with a lost last message, %d of %d exact to the token, %d false alarms",
		hits, total, strconv.FormatFloat(100*float64(hits)/float64(total), 'f', 1, 64), lostHits, lost, exact, of, alarms)
	if hits*100 < total*85 {
		t.Errorf("%d of %d automatic compactions at the recorded request, want 85 %%", hits, total)
	}
	if alarms > 1 {
		t.Errorf("%d false alarms, want at most the known one", alarms)
	}
}
