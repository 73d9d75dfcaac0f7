package replay_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/replay/trace"
)

// sentBlock is one block of a payload. Messages that the policy made have negative numbers.
type sentBlock struct {
	item   int
	block  int
	tokens int
}

// payloadOf lists the blocks of a view's payload. made numbers the messages that the policy made as they are sent first.
func payloadOf(v *view.View, made map[policy.ItemID]int) (list []sentBlock) {
	for id := range v.Items {
		item := int(id)
		if id < 0 {
			if made[id] == 0 {
				made[id] = -1 - len(made)
			}
			item = made[id]
		}
		for b := range v.Blocks(id) {
			list = append(list, sentBlock{item, b, v.PayloadBlockTokens(policy.Target{Item: id, Block: b})})
		}
	}
	return list
}

// readTrace rebuilds the payload of each request from a trace, as the page does, and what fills it by category.
func readTrace(conv int, t *trace.Trace, each func(step int, list []sentBlock, sums map[category.Name]int)) {
	var order []int
	state := map[int]int{}
	for i, s := range t.Steps {
		for _, sp := range s.Splices {
			order = slices.Replace(order, sp.At, sp.At+sp.Delete, sp.Insert...)
		}
		for _, c := range s.Changes {
			state[c.Block] = c.State + 1
		}
		var list []sentBlock
		sums := map[category.Name]int{category.System: s.System, category.Earlier: s.Less}
		for _, at := range order {
			it := &t.Items[at]
			if it.Tag >= 0 && state[it.Tag] > 0 {
				sums[t.Blocks[it.Tag].Class] += t.States[state[it.Tag]-1].Tokens
			}
			id := at
			if at >= conv {
				id = conv - at - 1
			}
			for b := range it.Blocks {
				tokens := t.Blocks[it.First+b].Tokens
				if n := state[it.First+b]; n > 0 {
					tokens = t.States[n-1].Tokens
				}
				list = append(list, sentBlock{id, b, tokens})
				sums[t.Blocks[it.First+b].Class] += tokens
			}
		}
		each(i, list, sums)
	}
}

// TestTrace rebuilds every payload from the trace and compares it with the view, block by block. Some policies are tried
// with every session, the others with a quarter of them; CTXKIT_LONG=1 tries all.
func TestTrace(t *testing.T) {
	policies := []string{"recorded", "none", "opencode", "claude-code", "claude-code-2.1.19", "anthropic-context-editing", "sliding-window", "gemini-cli", "goose"}
	tried := map[string]bool{}
	files := shippedFiles(t)
	if os.Getenv("CTXKIT_CORPUS") != "" {
		for i, path := range corpusFiles(t) {
			if i%25 == 3 {
				files = append(files, path)
			}
		}
	}
	for i, path := range files {
		for _, conv := range load(t, path).Conversations() {
			rec := recordOf(t, conv)
			for k, pol := range presets(t) {
				if !slices.Contains(policies, pol.Name) && (testing.Short() || os.Getenv("CTXKIT_LONG") != "1" && i%4 != k%4) {
					continue
				}
				var want [][]sentBlock
				made := map[policy.ItemID]int{}
				ledger := stats.NewLedger(conv)
				opt := replay.Options{Trace: &trace.TextLimit{Text: 50_000}, Window: 60_000, Observe: func(n int, v *view.View) {
					want = append(want, payloadOf(v, made))
					ledger.Observe(n, v)
				}}
				tl := must.Get(rec.Replay(pol, opt))(t)
				if len(tl.Trace.Steps) != len(conv.Requests) {
					t.Fatalf("%s under %s: %d steps of %d requests", path, pol.Name, len(tl.Trace.Steps), len(conv.Requests))
				}
				ledger.Close()
				readTrace(len(conv.Messages), tl.Trace, func(i int, got []sentBlock, sums map[category.Name]int) {
					must.Equal(t, got, want[i], path, pol.Name)
					if every := len(conv.Requests)/5 + 1; i%every != every-1 {
						return
					}
					filled := must.Get(stats.New(conv, tl, ledger, stats.Extent{Request: i + 1, Until: i + 1}, nil))(t)
					for _, c := range filled.Categories {
						if c.Category != category.Unrecorded && sums[c.Category] != c.Tokens {
							t.Errorf("%s under %s, request %d: %s is %d tokens in the trace, %d in stats", path, pol.Name, i+1, c.Category, sums[c.Category], c.Tokens)
						}
						delete(sums, c.Category)
					}
					for name, tokens := range sums {
						must.Equal(t, tokens, 0, path, pol.Name, name)
					}
				})
				for _, s := range tl.Trace.Steps {
					for _, l := range s.Left {
						tried[string(tl.Trace.Edits[l.Edit].Kind)] = true
					}
					for _, c := range s.Changes {
						if c.State >= 0 {
							tried[string(tl.Trace.Edits[tl.Trace.States[c.State].Edit].Kind)] = true
						}
					}
				}
			}
		}
	}
	for _, kind := range []policy.EditKind{policy.KindClear, policy.KindRemove, policy.KindSummarize, policy.KindTag, policy.KindServerClear} {
		if !tried[string(kind)] && !testing.Short() {
			t.Errorf("no trace had an edit of kind %s", kind)
		}
	}
}

// TestTraceTexts holds that a trace keeps each text once, within the room it is given, and none where it gets none.
func TestTraceTexts(t *testing.T) {
	conv := load(t, shipped+"/big.jsonl").Conversations()[0]
	rec := recordOf(t, conv)
	for _, room := range []int{0, 20_000, 300_000, 100_000_000} {
		tl := must.Get(rec.Replay(named(t, "opencode"), replay.Options{Trace: &trace.TextLimit{Text: room}}))(t)
		seen, all := map[string]bool{}, 0
		for _, text := range tl.Trace.Texts {
			if seen[text] {
				t.Errorf("room for %d bytes: the text %.40q is kept twice", room, text)
			}
			seen[text] = true
			all += len(text)
			if cut := tl.Trace.Cut; cut > 0 && len(text) > cut+60 {
				t.Errorf("room for %d bytes: a text of %d bytes, cut at %d", room, len(text), cut)
			}
		}
		if room == 0 && all > 0 || room > 0 && all == 0 || all > room+60*len(tl.Trace.Texts) {
			t.Errorf("room for %d bytes: %d bytes of text", room, all)
		}
		must.Equal(t, tl.Trace.Cut == 0, room == 0 || room == 100_000_000, room, tl.Trace.Cut)
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"short", 0, "short"}, {"short", 5, "short"}, {"", 1, ""},
		{strings.Repeat("a", 4) + strings.Repeat("b", 8), 8, "aaaabb\n[… 4 bytes are left out here …]\nbb"},
		{"äöüäöü", 8, "äöü\n[… 4 bytes are left out here …]\nü"},
	} {
		must.Equal(t, trace.Shorten(c.text, c.most), c.want, c.text, c.most)
	}
}
