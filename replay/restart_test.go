package replay_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// restarted is a session of two parallel calls whose client is started again after them, of which 2.1.37 does not read
// the first one back.
func restarted(version string) *script {
	s := newScript()
	s.version = version
	s.tell(`user 40; answer 20000: read t1, read t2`)
	second := s.last
	s.last = s.lines[len(s.lines)-2]["uuid"].(string)
	s.result("t1", 4000)
	s.last = second
	s.tell(`
result t2 4000
answer 22400: text 40
restarted
user 40
answer 22500: text 40
`)
	return s
}

// TestRestart: under every policy a restart is an event, what the client did not read back is gone from the view from
// there on, and the cache of the messages is lost. The raw history keeps everything.
func TestRestart(t *testing.T) {
	must.Rows(t, `
# version | kinds | blocks
2.1.37 | ["restart", "remove", "clear"] | [1, 5, 6]
2.1.80 | ["restart"] | [1, 5, 8]
`, func(version string, theKinds []policy.EditKind, theBlocks []int) {
		for _, pol := range []*policy.Policy{plain(), named(t, "recorded")} {
			conv := restarted(version).load(t)
			var blocks []int
			tl := replayed(t, conv, pol, replay.Options{Observe: func(_ int, v *view.View) {
				n := 0
				for id := range v.Items {
					n += v.SentBlocks(id)
				}
				blocks = append(blocks, n)
			}})
			must.Equal(t, blocks, theBlocks, version, pol.Name)
			var kinds []policy.EditKind
			for _, e := range tl.Events {
				if kinds = append(kinds, e.Kind); e.Stage != "recorded" || e.Recorded == nil || e.Recorded.Line != 7 || *e.Request != 3 {
					t.Errorf("%s, %s: event %+v", version, pol.Name, e)
				}
			}
			must.Equal(t, kinds, theKinds, version, pol.Name)
			if want := []cache.BreakCause{cache.First, "", cache.Restart}; !slices.Equal(misses(tl), want) {
				t.Errorf("%s, %s: misses %q, want %q", version, pol.Name, misses(tl), want)
			}
			if len(tl.Findings) > 0 {
				t.Errorf("%s, %s: findings %+v", version, pol.Name, tl.Findings)
			}
			if tot := tl.Totals; tot.Saved != 0 || (tot.NotReadBack > 0) != (len(theKinds) > 1) {
				t.Errorf("%s, %s: %d tokens saved, %d not read back", version, pol.Name, tot.Saved, tot.NotReadBack)
			}
			if p := tl.Totals.CostParts; p.Restarts.Nano <= 0 || p.Restarts.Nano >= p.Ideal.Nano {
				t.Errorf("%s, %s: restarts lost %s of ideal %s", version, pol.Name, p.Restarts, p.Ideal)
			}
			if rows := mains(tl); rows[2].Raw <= rows[1].Raw {
				t.Errorf("%s, %s: the raw history falls from %d to %d tokens", version, pol.Name, rows[1].Raw, rows[2].Raw)
			}
		}
	})
}

// TestRestartAtEnd: a restart behind the last request belongs to none.
func TestRestartAtEnd(t *testing.T) {
	s := newScript().tell(`
version 2.1.37
user 40
answer 20000: text 40
user 40
restarted
`)
	for _, pol := range []*policy.Policy{plain(), named(t, "recorded")} {
		events := replayed(t, s.load(t), pol, replay.Options{}).Events
		if len(events) != 1 || events[0].Kind != policy.KindRestart || events[0].Request != nil {
			t.Errorf("%s: events %+v", pol.Name, events)
		}
	}
}

// TestManyRestarts: what a replay with a restart in each turn costs grows with the turns, not with their square.
func TestManyRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures time")
	}
	cost := func(turns int) time.Duration {
		s := newScript().tell(`version 2.1.37; user 40`)
		for i := range turns {
			a, b := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
			s.answer(context(20000+60*i), read(a), read(b))
			second := s.last
			s.last = s.lines[len(s.lines)-2]["uuid"].(string)
			s.result(a, 40)
			s.last = second
			s.result(b, 40)
			s.line("assistant", map[string]any{"message": map[string]any{
				"role": "assistant", "model": "<synthetic>", "content": []any{map[string]any{"type": "text", "text": "No response requested."}},
			}})
		}
		s.answer(context(20000+60*turns), text(40))
		conv, pol := s.load(t), plain()
		if len(conv.Restarts) != turns {
			t.Fatalf("%d restarts in %d turns", len(conv.Restarts), turns)
		}
		least := time.Duration(1 << 62)
		for range 3 {
			start := time.Now()
			replayed(t, conv, pol, replay.Options{})
			least = min(least, time.Since(start))
		}
		return least
	}
	var few, many time.Duration
	for range 5 { // on a busy machine a measurement can be off
		if few, many = cost(250), cost(4000); many <= 90*few {
			break
		}
	}
	if many > 90*few { // in proportion: 16; quadratic: 256
		t.Errorf("%v for 16 times what costs %v", many, few)
	}
}

// TestRestartReinjected: what a client sent after a compaction and recorded on no line it cannot read back.
func TestRestartReinjected(t *testing.T) {
	s := newScript().tell(`
version 2.1.37
user 40
answer 20000: text 40
boundary auto 20100 400
answer 30000: text 40
`)
	s.line("progress", map[string]any{"data": map[string]any{"type": "hook_progress", "hookName": "SessionStart:resume"}})
	s.tell(`user 40; answer 20300: text 40`)
	rows := mains(replayed(t, s.load(t), named(t, "recorded"), replay.Options{}))
	for i := range rows {
		if off := rows[i].Overhead - rows[0].Overhead; off < -200 || off > 200 {
			t.Errorf("request %d: overhead of %d tokens, the first had %d", i+1, rows[i].Overhead, rows[0].Overhead)
		}
	}
}

// TestRestartReminders: the list of skills that a new process sends behind a compaction has a placeholder of its own, and is not
// counted as sent again too.
func TestRestartReminders(t *testing.T) {
	s := newScript().tell(`
version 2.1.76
user 40
answer 20000: text 40
boundary auto 20100 400
answer 19850: text 40
boundary manual 20100 400
`)
	s.line("progress", map[string]any{"data": map[string]any{"type": "hook_progress", "hookName": "SessionStart:resume"}})
	s.tell(`user 40; answer 20000: text 40`)
	tl := replayed(t, s.load(t), named(t, "recorded"), replay.Options{})
	for _, e := range tl.Events {
		if e.Kind == policy.KindAttach {
			t.Errorf("%d tokens were sent again: %s", e.After-e.Before, e.Reason)
		}
	}
	must.Equal(t, tl.Totals.Placeholders, 2)
}

// part is a block of a request, as a client has read it back or a view holds it.
type part struct{ Role, Type, ID string }

func (p part) compare(o part) int {
	return strings.Compare(p.Role+p.Type+p.ID, o.Role+o.Type+o.ID)
}

// TestCorpusRestarts: around every restart the recorded view holds what a client reads back, rebuilt here from the raw
// lines without this module's reader, block for block. No restart is simulated as a full hit.
func TestCorpusRestarts(t *testing.T) {
	folders := []string{corpus(t)}
	if more := os.Getenv("CTXKIT_MORE"); more != "" {
		folders = append(folders, more)
	}
	restarts, compared, blocks := 0, 0, 0
	least := [][3]int{{1, 1, 1}, {27, 26, 5000}}[len(folders)-1]
	for _, folder := range folders {
		t.Setenv("CTXKIT_CORPUS", folder)
		for _, path := range corpusFiles(t) {
			conv := load(t, path).Main
			name := filepath.Base(path)
			raw := readLines(t, path)
			signs := 0
			if n := len(conv.Messages); n > 0 {
				signs = raw.restarts(conv.Messages[n-1].UUID)
			}
			must.Equal(t, signs, len(conv.Restarts), name)
			if len(conv.Restarts) == 0 {
				continue
			}
			restarts += len(conv.Restarts)
			views := map[int][]part{}
			tl := replayRecord(t, recordOf(t, conv), named(t, "recorded"), replay.Options{Observe: func(n int, v *view.View) {
				if conv.RestartedBefore(n) {
					views[n] = partsOf(v)
				}
			}})
			for _, tl := range []*replay.Timeline{tl, runOn(t, recordOf(t, conv), named(t, "opencode"))} {
				events := 0
				for _, e := range tl.Events {
					if e.Kind == policy.KindRestart {
						events++
					}
				}
				must.Equal(t, events, len(conv.Restarts), name, tl.Policy)
				for _, row := range mains(tl) {
					if row.N > 1 && conv.RestartedBefore(row.N) && row.Cache.Miss == nil {
						t.Errorf("%s, %s: request %d after a restart is simulated as a full hit", name, tl.Policy, row.N)
					}
				}
			}
			for _, r := range conv.Restarts {
				if r.Request > len(conv.Requests) {
					continue
				}
				want, ok := raw.readBack(conv.Messages[conv.Requests[r.Request-1].Message].UUID, &r)
				if !ok {
					t.Logf("%s: request %d: the lines have no parents to follow", name, r.Request)
					continue
				}
				compared++
				blocks += len(want)
				got := views[r.Request]
				if session.CompareVersions(r.Version, "2.1.80") >= 0 { // what is beside the path comes in another order
					slices.SortFunc(want, part.compare)
					slices.SortFunc(got, part.compare)
				}
				must.Equal(t, got, want, name, r.Request)
			}
		}
	}
	t.Logf("%d restarts, %d compared, %d blocks", restarts, compared, blocks)
	if restarts < least[0] || compared < least[1] || blocks < least[2] {
		t.Errorf("want %d, %d and %d at least", least[0], least[1], least[2])
	}
}

// partsOf are the blocks of a view that are sent, without attachments.
func partsOf(v *view.View) (list []part) {
	for id := range v.Items {
		if v.Message(id) == nil {
			continue
		}
		for b := range v.Blocks(id) {
			target := policy.Target{Item: id, Block: b}
			raw := v.Raw(target)
			if c := v.Replacement(target); c != nil && c.Gone || raw.Kind == jsonl.KindAttachment {
				continue
			}
			list = append(list, part{v.Role(id).String(), raw.Type, raw.ID})
		}
	}
	return list
}

// rawLine is a line of a session file, as far as reading a history back needs it.
type rawLine struct {
	UUID       string          `json:"uuid"`
	Parent     string          `json:"parentUuid"`
	Logical    string          `json:"logicalParentUuid"`
	Type       string          `json:"type"`
	Subtype    string          `json:"subtype"`
	Version    string          `json:"version"`
	Time       string          `json:"timestamp"`
	APIError   bool            `json:"isApiErrorMessage"`
	Attachment json.RawMessage `json:"attachment"`
	Data       json.RawMessage `json:"data"`
	Sidechain  bool            `json:"isSidechain"`
	Meta       bool            `json:"isMeta"`
	Message    struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	parts []rawPart
	at    int
}

type rawPart struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Of   string `json:"tool_use_id"`
	Text string `json:"text"`
}

type rawLines struct {
	list   []*rawLine
	byUUID map[string]*rawLine
}

// readLines reads a session file with nothing but encoding/json. Lines that are not JSON are left out.
func readLines(t *testing.T, path string) *rawLines {
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	text, _, free, err := jsonl.Unpack(f)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	all := must.Get(io.ReadAll(text))(t)
	r := &rawLines{byUUID: map[string]*rawLine{}}
	for _, l := range strings.Split(string(all), "\n") {
		for dec := json.NewDecoder(strings.NewReader(l)); dec.More(); { // a line may hold several objects
			line := &rawLine{at: len(r.list)}
			if dec.Decode(line) != nil {
				break
			}
			if json.Unmarshal(line.Message.Content, &line.parts) != nil && len(line.Message.Content) > 0 {
				line.parts = []rawPart{{Type: "text", Text: "a string"}}
			}
			if line.UUID != "" && r.byUUID[line.UUID] == nil {
				r.list, r.byUUID[line.UUID] = append(r.list, line), line
			}
		}
	}
	return r
}

// restarts counts the restarts that the lines have signs of: the output of a SessionStart:resume hook, the
// client's own answer "No response requested.", or another version. Signs between which nobody spoke are of one restart.
// Only lines that the parents of the last one lead to count, and those before a root.
func (r *rawLines) restarts(last string) (n int) {
	on, root := map[*rawLine]bool{}, len(r.list)
	for l := r.byUUID[last]; l != nil && !on[l]; {
		on[l], root = true, l.at
		if l = r.byUUID[l.Parent]; l == nil {
			l = r.byUUID[r.list[root].Logical]
		}
	}
	version, responded, said := "", false, true
	cleared := root < len(r.list) && strings.Contains(string(r.list[root].Data), `"SessionStart:clear"`)
	for _, l := range r.list {
		if l.Sidechain || l.at > root && !on[l] || l.at < root && cleared { // before a clear is another conversation
			continue
		}
		own := l.Type == "assistant" && l.Message.Model == "<synthetic>"
		sign := own && len(l.parts) > 0 && l.parts[0].Text == "No response requested." ||
			strings.Contains(string(l.Data)+string(l.Attachment), `"SessionStart:resume"`)
		if speaks := l.Type == "user" || l.Type == "assistant" || l.Type == "attachment"; speaks && l.Version != "" {
			sign = sign || version != "" && version != l.Version
			version = l.Version
		}
		if sign && responded && said {
			n++
			said = false
		}
		responded = responded || l.Type == "assistant" && !own
		said = said || (l.Type == "user" && !l.Meta || l.Type == "assistant" && !own)
	}
	return n
}

// readBack is the history of the response with that uuid, of which a client read back what was said before a restart:
// the lines on the way of the parents, by 2.1.80 and later also the other calls and results of the responses there.
func (r *rawLines) readBack(uuid string, restart *session.Restart) (parts []part, ok bool) {
	var path []*rawLine
	for l := r.byUUID[r.byUUID[uuid].Parent]; l != nil; l = r.byUUID[l.Parent] {
		path = append(path, l)
	}
	if slices.Reverse(path); len(path) < 2 {
		return nil, false
	}
	on, sign := map[*rawLine]bool{}, r.byUUID[restart.UUID]
	for _, l := range path {
		on[l] = true
	}
	var history []*rawLine
	for i, l := range path {
		history = append(history, l)
		if session.CompareVersions(restart.Version, "2.1.80") < 0 || l.Type != "assistant" || l.at >= sign.at ||
			slices.ContainsFunc(path[i+1:], func(o *rawLine) bool { return o.Message.ID == l.Message.ID }) {
			continue
		}
		var calls, results []*rawLine
		for _, o := range r.list {
			switch {
			case o.Type == "assistant" && o.Message.ID == l.Message.ID && !on[o]:
				calls = append(calls, o)
			case o.Type == "user" && !on[o] && r.byUUID[o.Parent] != nil && r.byUUID[o.Parent].Message.ID == l.Message.ID &&
				slices.ContainsFunc(o.parts, func(p rawPart) bool { return p.Type == "tool_result" }):
				results = append(results, o)
			}
		}
		history = slices.Concat(history, calls, results)
	}
	answered := map[string]bool{}
	for _, l := range history {
		for _, p := range l.parts {
			if p.Type == "tool_result" {
				answered[p.Of] = true
			}
		}
	}
	history = slices.DeleteFunc(history, func(l *rawLine) bool { // calls of which none has a result
		calls, open := 0, 0
		for _, p := range l.parts {
			if p.Type == "tool_use" {
				calls++
				if !answered[p.ID] {
					open++
				}
			}
		}
		return l.at < sign.at && calls > 0 && open == calls
	})
	for _, l := range joinedResponses(history) {
		for _, p := range l.parts {
			parts = append(parts, part{l.Type, p.Type, p.ID + p.Of})
		}
	}
	return parts, true
}

// joinedResponses are the messages of a history as a client sends them: a line of a response stands with the earlier
// ones, before the results between them.
func joinedResponses(history []*rawLine) (sent []*rawLine) {
	for _, l := range history {
		if l.Type != "user" && l.Type != "assistant" || l.APIError {
			continue
		}
		at := len(sent)
		for k := len(sent) - 1; l.Type == "assistant" && k >= 0; k-- {
			if o := sent[k]; o.Type == "assistant" && o.Message.ID == l.Message.ID {
				at = k + 1
				break
			} else if o.Type == "user" && !slices.ContainsFunc(o.parts, func(p rawPart) bool { return p.Type == "tool_result" }) {
				break
			}
		}
		sent = slices.Insert(sent, at, l)
	}
	return sent
}
