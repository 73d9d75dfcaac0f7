package replay_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestCorpusEveryPolicy replays every real file under every built-in policy:
// what each sends breaks no rule of the API that the transcript does not.
func TestCorpusEveryPolicy(t *testing.T) {
	for _, path := range corpusFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			for _, conv := range load(t, path).Conversations() {
				own := violations(run(t, conv, "none"))
				for _, name := range preset.Names() {
					for broken := range violations(run(t, conv, name)) {
						if !own[broken] {
							t.Errorf("%s: %s", name, broken)
						}
					}
				}
			}
		})
	}
}

// violations is the rules of the API that a timeline says are broken, by line
// and rule.
func violations(tl *replay.Timeline) map[string]bool {
	const what = "breaks a rule of the API: "
	found := map[string]bool{}
	for _, w := range tl.Warnings {
		if _, rule, ok := strings.Cut(w.Message, what); ok {
			found[fmt.Sprintf("line %d: %s", w.Line, rule)] = true
		}
	}
	return found
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
// Each decision is scored on the recorded view; the free replay, in which one
// late compaction moves the next, is reported beside it.
func TestCorpusAutocompact(t *testing.T) {
	var score, free struct{ hits, alarms int }
	total, lost, lostHits, exact, of := 0, 0, 0, 0, 0
	for _, path := range corpusFiles(t) {
		conv := load(t, path).Main
		name := band(conv.Version)
		if name == "" || len(conv.Requests) == 0 {
			continue
		}
		base := filepath.Base(path)
		decisions := decide(t, conv, name)
		fired := firings(run(t, conv, name))
		near := map[int]bool{}
		for _, b := range conv.Boundaries {
			near[b.Request], near[b.Request+1] = true, true
			if b.Trigger != "auto" || b.Request > len(conv.Requests) {
				continue
			}
			d := decisions[b.Request-1]
			if conv.Messages[b.Before-1].Lost {
				lost++
				if d.Compact {
					lostHits++
				}
				continue
			}
			total++
			if d.Compact {
				score.hits++
			} else {
				t.Logf("miss: %s line %d request %d (client %s): pre_tokens %d, used %d, short by %d", base, b.Line, b.Request, b.Version, b.PreTokens, d.Used, b.PreTokens-d.Used)
			}
			if fired[b.Request] {
				free.hits++
			}
			if session.CompareVersions(b.Version, "2.1.12") >= 0 && session.CompareVersions(b.Version, "2.1.20") <= 0 {
				of++
				if d.Used == b.PreTokens {
					exact++
				} else {
					t.Errorf("%s line %d: used %d, pre_tokens %d: not exact", base, b.Line, d.Used, b.PreTokens)
				}
			}
		}
		for _, d := range decisions {
			if d.Compact && !near[d.Request] {
				score.alarms++
				t.Logf("false alarm: %s request %d: %s", base, d.Request, d.Reason)
			}
		}
		for n := range fired {
			if !near[n] {
				free.alarms++
			}
		}
	}
	t.Logf("%d of %d automatic compactions at the recorded request (%.1f %%), %d false alarms; %d of %d more whose last message is lost; %d of %d exact to the token (2.1.12-2.1.20)",
		score.hits, total, percent(score.hits, total), score.alarms, lostHits, lost, exact, of)
	t.Logf("replayed freely, one decision moving the next: %d of %d (%.1f %%), %d false alarms", free.hits, total, percent(free.hits, total), free.alarms)
	if percent(score.hits, total) < 85 {
		t.Errorf("%d of %d automatic compactions at the recorded request, want 85 %%", score.hits, total)
	}
	if score.alarms > 1 {
		t.Errorf("%d false alarms, want at most the known one", score.alarms)
	}
}

// TestCorpusTail: from 2.1.119 on used is counted from the first line of the
// last response, and by no version before.
func TestCorpusTail(t *testing.T) {
	exact := map[string]int{}
	of := 0
	for _, path := range corpusFiles(t) {
		conv := load(t, path).Main
		if len(conv.Requests) == 0 || session.CompareVersions(conv.Version, "2.1.119") < 0 {
			continue
		}
		for _, name := range []string{"claude-code-2.1.37", "claude-code-2.1.119"} {
			var decisions []replay.Decision
			for _, b := range conv.Boundaries {
				if b.Trigger != "auto" || b.Request > len(conv.Requests) {
					continue
				}
				if decisions == nil {
					decisions = decide(t, conv, name)
				}
				if decisions[b.Request-1].Used == b.PreTokens {
					exact[name]++
				}
				of++
			}
		}
	}
	t.Logf("used is pre_tokens to the token in %d of %d automatic compactions from 2.1.119 on, %d counted from the last line", exact["claude-code-2.1.119"], of/2, exact["claude-code-2.1.37"])
	if exact["claude-code-2.1.119"] < 5 || exact["claude-code-2.1.37"] > 0 {
		t.Errorf("want 5 and 0")
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

func decide(t testing.TB, conv *session.Conversation, name string) []replay.Decision {
	rec, err := replay.NewRecord(conv)
	if err != nil {
		t.Fatal(err)
	}
	d, err := rec.Decide(named(t, name), replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// firings is at which requests a timeline compacts of itself.
func firings(tl *replay.Timeline) map[int]bool {
	fired := map[int]bool{}
	for _, ev := range tl.Events {
		if ev.Kind == policy.KindSummarize && ev.Trigger == "auto" && ev.Request != nil {
			fired[*ev.Request] = true
		}
	}
	return fired
}

// TestCorpusMicrocompact: with its own state the size microcompaction clears
// what the client's cleared, and fires where an unrecorded one shows in the
// usage.
func TestCorpusMicrocompact(t *testing.T) {
	same, close, recorded, confirmed, unrecorded := 0, 0, 0, 0, 0
	for _, path := range corpusFiles(t) {
		conv := load(t, path).Main
		if band(conv.Version) != "claude-code-2.1.19" || len(conv.Requests) == 0 {
			continue
		}
		base := filepath.Base(path)
		type firing struct {
			ids   []string
			saved int
		}
		fired := map[int]firing{}
		for _, ev := range run(t, conv, "claude-code-2.1.19").Events {
			if ev.Stage != "microcompact_size" || ev.Kind != policy.KindPersist {
				continue
			}
			f := firing{saved: ev.Detail["tokens_saved"]}
			for _, target := range ev.Targets {
				f.ids = append(f.ids, target.ToolUse)
			}
			fired[*ev.Request] = f
		}
		known := map[int]bool{}
		for _, m := range conv.Micro {
			known[m.Request] = true
			found := 0
			for _, id := range m.ToolIDs {
				if _, _, ok := conv.ToolUse(id); ok {
					found++
				}
			}
			if found == 0 {
				t.Logf("%s line %d: its results lie before the file", base, m.Line)
				continue
			}
			recorded++
			f := fired[m.Request]
			got, want := slices.Sorted(slices.Values(f.ids)), slices.Sorted(slices.Values(m.ToolIDs))
			if slices.Equal(got, want) {
				same++
			} else {
				t.Errorf("%s line %d, request %d: %d ids cleared, recorded %d", base, m.Line, m.Request, len(got), len(want))
			}
			if diff := f.saved - m.TokensSaved; diff*100 <= m.TokensSaved && -diff*100 <= m.TokensSaved {
				close++
			} else {
				t.Logf("%s line %d: %d tokens saved, recorded %d", base, m.Line, f.saved, m.TokensSaved)
			}
		}
		for _, ev := range run(t, conv, "recorded").Events {
			if ev.Kind == policy.KindInferred && strings.Contains(ev.Reason, "unrecorded microcompaction") {
				known[*ev.Request] = true
				unrecorded++
				if _, ok := fired[*ev.Request]; ok {
					confirmed++
				} else {
					t.Errorf("%s request %d: no firing where the usage drops: %s", base, *ev.Request, ev.Reason)
				}
			}
		}
		for n, f := range fired {
			if !known[n] {
				t.Logf("other firing: %s request %d, %d saved", base, n, f.saved)
			}
		}
	}
	t.Logf("%d of %d recorded microcompactions with the same ids, %d within 1 %% of tokens_saved; %d of %d unrecorded ones", same, recorded, close, confirmed, unrecorded)
	if recorded != 6 || same != 6 || close < 5 || unrecorded != 5 || confirmed != 5 {
		t.Errorf("want the same ids on all 6, 5 of them within 1 %%, and all 5 unrecorded ones")
	}
}

// TestCorpusNoLateMicrocompact: no client from 2.1.25 on has recorded a
// microcompaction by size, or left the drop of one, and the policy makes none
// in their sessions.
func TestCorpusNoLateMicrocompact(t *testing.T) {
	sessions := 0
	for _, path := range corpusFiles(t) {
		conv := load(t, path).Main
		if len(conv.Requests) == 0 || session.CompareVersions(conv.Version, "2.1.25") < 0 {
			continue
		}
		sessions++
		for _, ev := range run(t, conv, "claude-code-2.1").Events {
			if ev.Stage == "microcompact_size" {
				t.Errorf("%s (client %s): microcompaction at request %d", filepath.Base(path), conv.Version, *ev.Request)
			}
		}
	}
	t.Logf("%d sessions of clients from 2.1.25 on", sessions)
}

// TestCorpusOffloadStubs: where the client wrote a result to a file that is
// there, the budget leaves the same stub, its path aside.
func TestCorpusOffloadStubs(t *testing.T) {
	path := regexp.MustCompile(`saved to: \S+`)
	same, of := 0, 0
	for _, file := range corpusFiles(t) {
		for _, conv := range load(t, file).Conversations() {
			if conv.Offloads.Read == 0 {
				continue
			}
			var last *policy.View
			_, err := replay.Run(conv, named(t, "claude-code-2.1"), replay.Options{Observe: func(_ int, v *policy.View) { last = v }})
			if err != nil {
				t.Fatal(err)
			}
			for m := range conv.Messages {
				for b := range conv.Messages[m].Blocks {
					if !conv.Messages[m].Blocks[b].ReadBack() {
						continue
					}
					of++
					want, err := conv.Text(m, b)
					if err != nil {
						t.Fatal(err)
					}
					c := last.Replacement(policy.Target{Item: policy.ItemID(m), Block: b})
					if c != nil && path.ReplaceAllString(c.Text, "") == path.ReplaceAllString(want, "") {
						same++
						continue
					}
					t.Logf("%s line %d: the client's stub is another", filepath.Base(file), conv.Messages[m].Blocks[b].Line)
				}
			}
		}
	}
	t.Logf("%d of %d stubs come out byte for byte", same, of)
	if of == 0 || of-same > 3 {
		t.Errorf("%d of %d stubs are the client's", same, of)
	}
}
