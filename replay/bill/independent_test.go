package bill_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
)

// The sums here read the files by themselves: every usage of every line, on whatever branch and in whatever depth of
// subagents, the largest counts of each response. They know nothing of chains, requests or compactions.

// object is a JSON object.
type object map[string]any

func (o object) object(keys ...string) object {
	for _, k := range keys {
		m, _ := o[k].(map[string]any)
		o = m
	}
	return o
}

func (o object) text(key string) string { s, _ := o[key].(string); return s }
func (o object) count(key string) float64 {
	n, _ := o[key].(float64)
	return max(n, 0)
}

func (o object) list(key string) (list []object) {
	all, _ := o[key].([]any)
	for _, x := range all {
		if m, ok := x.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

// counts is one call.
type counts struct {
	model                                      string
	day                                        time.Time
	input, read, write5m, write1h, output, web float64
	geo, speed, tier                           string
	more                                       []counts
}

func (c *counts) atLeast(o counts) {
	c.input, c.read, c.write5m, c.write1h = max(c.input, o.input), max(c.read, o.read), max(c.write5m, o.write5m), max(c.write1h, o.write1h)
	c.output, c.web = max(c.output, o.output), max(c.web, o.web)
	if len(o.more) > len(c.more) {
		c.more = o.more
	}
}

// usd is what a call costs; 0 where the table has no price.
func (c *counts) usd(table *price.Table) float64 {
	m, ok := table.Find(c.model)
	if !ok {
		return 0
	}
	r := m.On(c.day).RatesFor(int(c.input + c.read + c.write5m + c.write1h))
	per := func(n float64, p price.Price) float64 { return n * float64(p) / 1e15 }
	sum := per(c.input, r.Input) + per(c.read, r.CacheRead) + per(c.write5m, r.CacheWrite5m) + per(c.write1h, r.CacheWrite1h) + per(c.output, r.Output)
	if c.geo == "us" && !strings.HasPrefix(m.ID, "claude-3") {
		sum *= 1.1
	}
	sum += c.web / 100
	for i := range c.more {
		sum += c.more[i].usd(table)
	}
	return sum
}

// reader collects the calls of files by their ids.
type reader struct {
	calls map[string]*counts
	order []string
	named map[string]*reader // subagents that lines name, with the calls that progress lines repeat
	own   map[string]bool    // subagents that have lines
}

func (r *reader) add(id string, c counts) {
	if r.calls == nil {
		r.calls = map[string]*counts{}
	}
	id += "\n" + c.model
	if old := r.calls[id]; old != nil {
		old.atLeast(c)
		return
	}
	r.calls[id] = &c
	r.order = append(r.order, id)
}

func (r *reader) usd(table *price.Table) (sum float64) {
	for _, id := range r.order {
		sum += r.calls[id].usd(table)
	}
	return sum
}

// open reads a file, decompressed.
func open(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(z)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func lines(data []byte, each func(n int, o object)) {
	in := bufio.NewReader(bytes.NewReader(data))
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		dec := json.NewDecoder(bytes.NewReader(line)) // a line may hold several
		for {
			var o object
			if dec.Decode(&o) != nil {
				break
			}
			each(n, o)
		}
		if err != nil {
			return
		}
	}
}

func day(text string) time.Time { t, _ := time.Parse(time.RFC3339, text); return t }

// claude reads a file of Claude Code.
func (r *reader) claude(path string, data []byte) {
	lines(data, func(n int, o object) {
		r.response(path, n, o)
		r.has(o.text("agentId"))
		id := o.object("toolUseResult").text("agentId")
		if o.text("type") == "progress" {
			id = o.object("data").text("agentId")
		}
		if id != "" {
			if r.named == nil {
				r.named = map[string]*reader{}
			}
			if r.named[id] == nil {
				r.named[id] = &reader{}
			}
			r.named[id].response(path, n, o.object("data", "message"))
		}
	})
}

// has notes that lines of a subagent are in the files.
func (r *reader) has(agent string) {
	if r.own == nil {
		r.own = map[string]bool{}
	}
	r.own[agent] = true
}

// unfiled is how many subagents are named that the files have no line of, of how many of these the lines show calls, and what
// those cost.
func (r *reader) unfiled(table *price.Table) (agents, known int, usd float64) {
	more := reader{calls: map[string]*counts{}}
	for id, of := range r.named {
		if r.own[id] {
			continue
		}
		agents++
		if of.usd(table) > 0 {
			known++
		}
		for _, call := range of.order {
			switch c := *of.calls[call]; {
			case r.calls[call] != nil: // billed
			case more.calls[call] != nil:
				more.calls[call].atLeast(c)
			default:
				more.calls[call] = &c
				more.order = append(more.order, call)
			}
		}
	}
	return agents, known, more.usd(table)
}

// response reads a line with a response.
func (r *reader) response(path string, n int, o object) {
	usage := func(u object) counts {
		write, long := u.count("cache_creation_input_tokens"), min(u.object("cache_creation").count("ephemeral_1h_input_tokens"), u.count("cache_creation_input_tokens"))
		return counts{input: u.count("input_tokens"), read: u.count("cache_read_input_tokens"), write1h: long, write5m: write - long, output: u.count("output_tokens")}
	}
	m := o.object("message")
	u := m.object("usage")
	if o.text("type") != "assistant" || u == nil || m.text("model") == "<synthetic>" || m.text("model") == "" {
		return
	}
	c := usage(u)
	if c.input+c.read+c.write5m+c.write1h+c.output == 0 {
		return
	}
	c.model, c.day, c.geo, c.speed, c.tier = m.text("model"), day(o.text("timestamp")), u.text("inference_geo"), u.text("speed"), u.text("service_tier")
	c.web = u.object("server_tool_use").count("web_search_requests")
	messages := 0
	for _, it := range u.list("iterations") {
		if k := it.text("type"); (k == "message" || k == "fallback_message") && (it.text("model") == "" || it.text("model") == c.model) {
			messages++
		}
	}
	seen := 0
	for _, it := range u.list("iterations") {
		one := usage(it)
		one.model, one.day, one.geo = cmp.Or(it.text("model"), c.model), c.day, c.geo
		switch own := one.model == c.model; {
		case own && it.text("type") == "message":
			if seen++; seen < messages { // the last one is the usage
				one.output = 0 // which counts the output of all
				c.more = append(c.more, one)
			}
		case it.text("type") == "compaction", !own && one.output > 0:
			c.more = append(c.more, one)
		}
	}
	r.add(cmp.Or(m.text("id"), o.text("requestId"), fmt.Sprintf("%s:%d", path, n)), c)
}

// codex reads a rollout.
func (r *reader) codex(path string, data []byte) {
	begun, fork, copied := time.Time{}, false, false
	model, total, records := "", -1.0, bytes.Contains(data, []byte(`"token_usage_record"`))
	add := func(n int, id string, o, u object) {
		in, read, write := u.count("input_tokens"), u.count("cached_input_tokens"), u.count("cache_write_input_tokens")
		if copied || in+u.count("output_tokens") == 0 {
			return
		}
		read = min(read, in)
		write = min(write, in-read)
		r.add(cmp.Or(id, fmt.Sprintf("%s:%d", path, n)), counts{model: model, day: day(o.text("timestamp")), input: in - read - write, read: read, write5m: write, output: u.count("output_tokens")})
	}
	lines(data, func(n int, o object) {
		p := o.object("payload")
		if at := day(o.text("timestamp")); begun.IsZero() {
			begun, fork = at, p.text("forked_from_id") != ""
		} else {
			copied = fork && at.Sub(begun) < time.Second // the parent's history, written at once
		}
		if m := p.text("model"); o.text("type") == "turn_context" && m != "" {
			model = m
		}
		switch {
		case o.text("type") == "token_usage_record":
			add(n, p.text("response_id"), o, p.object("usage"))
		case p.text("type") == "token_count" && !records:
			now := p.object("info", "total_token_usage").count("total_tokens")
			if p.object("info") != nil && now != total {
				add(n, "", o, p.object("info", "last_token_usage"))
				total = now
			}
		}
	})
}

// pi reads a session of Pi.
func (r *reader) pi(path string, data []byte) {
	model := ""
	lines(data, func(n int, o object) {
		m := o.object("message")
		u := m.object("usage")
		if u == nil {
			m, u = o, o.object("usage")
		}
		model = cmp.Or(m.text("model"), o.text("modelId"), model)
		if u == nil || u.count("input")+u.count("output")+u.count("cacheRead")+u.count("cacheWrite") == 0 {
			return
		}
		r.add(cmp.Or(m.text("responseId"), fmt.Sprintf("%s:%d", path, n)), counts{
			model: model, day: day(o.text("timestamp")), input: u.count("input"), read: u.count("cacheRead"), write5m: u.count("cacheWrite"), output: u.count("output")})
	})
}

// opencode reads an exported session.
func (r *reader) opencode(path string, data []byte) {
	if i := bytes.IndexByte(data, '{'); i > 0 {
		data = data[i:]
	}
	var doc object
	_ = json.Unmarshal(data, &doc)
	apart := session.CompareVersions(doc.object("info").text("version"), "1.4") >= 0 // before, the output had the reasoning
	for n, m := range doc.list("messages") {
		info := m.object("info")
		tokens := info.object("tokens")
		if info.text("role") != "assistant" || tokens == nil {
			continue
		}
		c := counts{model: info.text("modelID"), day: time.UnixMilli(int64(info.object("time").count("created"))), input: tokens.count("input"),
			read: tokens.object("cache").count("read"), write5m: tokens.object("cache").count("write"), output: tokens.count("output")}
		if apart {
			c.output += tokens.count("reasoning")
		}
		if c.input+c.read+c.write5m+c.output > 0 {
			r.add(fmt.Sprintf("%s:%d", path, n), c)
		}
	}
}

// gemini reads a chat.
func (r *reader) gemini(path string, data []byte) {
	var doc object
	_ = json.Unmarshal(data, &doc)
	for n, m := range doc.list("messages") {
		u := m.object("tokens")
		c := counts{model: m.text("model"), day: day(m.text("timestamp")), input: u.count("input") - u.count("cached") + u.count("tool"), read: u.count("cached"), output: u.count("output") + u.count("thoughts")}
		if c.input+c.read+c.output > 0 {
			r.add(fmt.Sprintf("%s:%d", path, n), c)
		}
	}
}

// sessions are the session files below a folder, without those of subagents.
func sessions(t *testing.T, root string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.Contains(path, "/subagents/") && !strings.Contains(path, "tool-results") &&
			(strings.Contains(e.Name(), ".jsonl") || strings.HasSuffix(e.Name(), ".json.gz")) {
			list = append(list, path)
		}
		return err
	})
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %d sessions in %s", err, len(list), root)
	}
	return list
}

// holdUnfiled holds what a bill says of subagents without a file against the lines.
func holdUnfiled(t *testing.T, path string, b *bill.Bill, r *reader, table *price.Table) {
	t.Helper()
	agents, known, usd := r.unfiled(table)
	if got := b.Unfiled; got.Agents != agents || got.Known != known || math.Abs(got.CostUSD.Decimal().Float()-usd) > 1e-6 {
		t.Errorf("%s: without a file %+v, by the lines %d, %d known, %.6f USD", path, got, agents, known, usd)
	}
}

// TestIndependentSum holds the bills of recorded sessions against sums that read the files by themselves, each session
// alone and all of a folder.
func TestIndependentSum(t *testing.T) {
	table := price.Default()
	looked := 0
	for _, env := range []string{"CTXKIT_CORPUS", "CTXKIT_MORE", "CTXKIT_CODEX", "CTXKIT_AGENTS"} {
		root := os.Getenv(env)
		if root == "" {
			continue
		}
		var folder reader
		var ledger bill.Ledger
		least := map[string]int{}
		for _, path := range sessions(t, root) {
			f, err := session.Load(path, session.LoadOptions{})
			if err != nil {
				continue // no session
			}
			var alone reader
			read := map[string]func(r *reader, path string, data []byte){"codex": (*reader).codex, "pi": (*reader).pi, "opencode": (*reader).opencode, "gemini-cli": (*reader).gemini}[f.Main.Product]
			if read == nil {
				read = (*reader).claude
			}
			if strings.HasPrefix(f.Main.Product, "copilot") {
				f.Close()
				continue
			}
			agents := f.Sidechains
			files := []string{path}
			subagents, _, err := session.Subagents(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range subagents {
				sub := must.Get(session.Load(a.Path, session.LoadOptions{}))(t)
				defer sub.Close()
				agents = append(agents, sub.Conversations()...)
				files = append(files, a.Path)
			}
			for _, file := range files {
				data := open(t, file)
				read(&alone, file, data)
				read(&folder, file, data)
			}
			b := bill.OfSession(f.Main, agents, table)
			ledger.Add(b)
			if want := alone.usd(table); math.Abs(b.CostUSD.Decimal().Float()-want) > 1e-6 {
				t.Errorf("%s: %.6f USD for %d calls, by the lines %.6f for %d", path, b.CostUSD.Decimal().Float(), b.Calls, want, len(alone.order))
			}
			holdUnfiled(t, path, b, &alone, table)
			for reason, is := range map[string]bool{"any": b.AtLeast(), "partial outputs": b.Partial.Calls > 0, "without usage": b.Without > 0, "compactions": b.Unbilled > 0, "no file": b.Unfiled.Agents > 0, "not priced": len(b.NotPriced) > 0} {
				if is {
					least[reason]++
				}
			}
			least["sessions"]++
			looked++
			f.Close()
		}
		b := ledger.Bill()
		want := folder.usd(table)
		t.Logf("%s: %.6f USD, copies %+v, beside it %+v; at least: %v", env, want, b.Copies, b.Unfiled, least)
		holdUnfiled(t, env, b, &folder, table)
		if math.Abs(b.CostUSD.Decimal().Float()-want) > 1e-6 {
			t.Errorf("%s: %.6f USD, by the lines %.6f", env, b.CostUSD.Decimal().Float(), want)
		}
	}
	if looked == 0 {
		t.Skip("no folder of recorded sessions is set")
	}
}
