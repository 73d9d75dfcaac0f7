package replay_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
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
		found := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatalf("no session files under %s", dir)
	}
	return files
}

func load(t testing.TB, path string) *session.File {
	f := must.Get(session.Load(path, session.LoadOptions{Jobs: 2}))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// registry holds all stages, for all tests: to make one tries every default.
var registry = sync.OnceValues(stage.Registry)

// loaded holds the built-in policies by name.
var loaded = sync.OnceValues(func() (map[string]*policy.Policy, error) {
	reg, err := registry()
	if err != nil {
		return nil, err
	}
	all := map[string]*policy.Policy{}
	for _, name := range preset.Names(reg) {
		if all[name], err = preset.Load(name, reg); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// named is a copy of a built-in policy, by its own name or a product's.
func named(t testing.TB, name string) *policy.Policy {
	all := must.Get(loaded())(t)
	if p := all[name]; p != nil {
		return p.Clone()
	}
	reg := must.Get(registry())(t)
	p := must.Get(preset.Load(name, reg))(t)
	return p
}

// written is the policy of a text.
func written(t testing.TB, yaml string) *policy.Policy {
	reg := must.Get(registry())(t)
	p := must.Get(policy.Decode("test.yaml", []byte(yaml), reg, nil))(t)
	return p
}

// presetNames lists the built-in policies.
func presetNames(t testing.TB) []string {
	t.Helper()
	reg := must.Get(registry())(t)
	return preset.Names(reg)
}

// presets are all built-in policies, for tests that only replay them.
func presets(t testing.TB) []*policy.Policy {
	var list []*policy.Policy
	for _, name := range presetNames(t) {
		list = append(list, named(t, name))
	}
	return list
}

// inTurn are the policies whose turn it is with a session: one of every n, with CTXKIT_LONG=1 all.
func inTurn(t testing.TB, session, n int) (list []*policy.Policy) {
	for p, pol := range presets(t) {
		if (session+p)%n == 0 || os.Getenv("CTXKIT_LONG") == "1" {
			list = append(list, pol)
		}
	}
	return list
}

// recordOf is a record that keeps digests of its texts, as for many replays; TestSharedRecord compares it with others.
func recordOf(t testing.TB, conv *session.Conversation) *replay.Record {
	rec := must.Get(replay.NewRecord(conv))(t)
	return rec
}

func run(t testing.TB, conv *session.Conversation, name string) *replay.Timeline {
	return runOn(t, recordOf(t, conv), named(t, name))
}

func runOn(t testing.TB, rec *replay.Record, pol *policy.Policy) *replay.Timeline {
	tl := must.Get(rec.Replay(pol, replay.Options{}))(t)
	if err := tl.CheckValid(); err != nil {
		t.Fatalf("%s under %s: %v", rec.Conv.Path, pol.Name, err)
	}
	return tl
}

// tsv reads a table with a header line.
func tsv(t testing.TB, path string) []map[string]string {
	f := must.Get(os.Open(path))(t)
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

// TestCorpusEveryPolicy replays every real file under a fifth of the built-in policies in turn, with CTXKIT_LONG=1
// under all: what each sends breaks no rule of the API that the transcript does not.
func TestCorpusEveryPolicy(t *testing.T) {
	none := named(t, "none")
	for i, path := range corpusFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			for _, conv := range load(t, path).Conversations() {
				rec := recordOf(t, conv)
				own := violations(runOn(t, rec, none))
				for _, pol := range inTurn(t, i, 5) {
					for broken := range violations(runOn(t, rec, pol)) {
						if !own[broken] {
							t.Errorf("%s: %s", pol.Name, broken)
						}
					}
				}
			}
		})
	}
}

// violations is the rules of the API that a timeline says are broken, by line and rule.
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

// TestCorpusRecorded: the recorded track tells exactly the compactions and microcompactions that the tables list, and
// infers the unrecorded ones.
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
			case ev.Kind == policy.KindRestart || ev.Trigger == policy.TriggerRestart: // TestCorpusRestarts
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
		must.Equal(t, want[f], got[f], f)
	}
	for f := range got {
		if want[f] == nil {
			t.Errorf("%s: events that the tables do not list: %q", f, got[f])
		}
	}
	n := unrecorded["2.1.5"] + unrecorded["2.1.7"] + unrecorded["2.1.17"]
	must.Say(t, "5 3", n, len(unrecorded))
}

// TestCorpusNoLateMicrocompact: no client from 2.1.25 on has recorded a microcompaction by size, or left the drop of
// one, and the policy of their version makes none in their sessions.
func TestCorpusNoLateMicrocompact(t *testing.T) {
	sessions := 0
	for _, path := range corpusFiles(t) {
		conv := load(t, path).Main
		if len(conv.Requests) == 0 || session.CompareVersions(conv.Version, "2.1.25") < 0 {
			continue
		}
		sessions++
		for _, ev := range run(t, conv, "claude-code@"+conv.Version).Events {
			if ev.Stage == "microcompact_size" {
				t.Errorf("%s (client %s): microcompaction at request %d", filepath.Base(path), conv.Version, *ev.Request)
			}
		}
	}
	t.Logf("%d sessions of clients from 2.1.25 on", sessions)
}

// TestCorpusOffloadStubs: where the client wrote a result to a file that is there, the budget leaves the same stub,
// its path aside.
func TestCorpusOffloadStubs(t *testing.T) {
	path := regexp.MustCompile(`saved to: \S+`)
	same, of := 0, 0
	for _, file := range corpusFiles(t) {
		for _, conv := range load(t, file).Conversations() {
			if conv.Offloads.Read == 0 {
				continue
			}
			var last *view.View
			must.Get(replay.Run(conv, named(t, "claude-code-2.1"), replay.Options{Observe: func(_ int, v *view.View) { last = v }}))(t)
			for m := range conv.Messages {
				for b := range conv.Messages[m].Blocks {
					if conv.Messages[m].Blocks[b].Offload == nil {
						continue
					}
					of++
					want := must.Get(conv.Text(m, b))(t)
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
