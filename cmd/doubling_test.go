//go:build unix

package cmd

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

// growth is a kind of session that grows with n, about its number of lines.
type growth struct {
	name  string
	write func(g *grower, n int)
}

// grower writes a session line by line, and the files beside it.
type grower struct {
	bytes.Buffer
	t     *testing.T
	dir   string // of the session s.jsonl
	last  string // uuid of the line before, in quotes
	model string // that answers; "": claude-opus-4-5-20251101
	used  int    // tokens in the context
	id    int
	now   time.Time
}

func (g *grower) line(format string, args ...any) {
	g.id++
	uuid := fmt.Sprintf(`"%08x-0000-4000-8000-000000000000"`, g.id)
	parent := g.last
	if parent == "" {
		parent = "null"
	}
	g.now = g.now.Add(7 * time.Second)
	fmt.Fprintf(g, `{"uuid":%s,"parentUuid":%s,"timestamp":"%s","sessionId":"s","version":"2.1.37","cwd":"/w","isSidechain":false,`, uuid, parent, g.now.Format("2006-01-02T15:04:05.000Z"))
	fmt.Fprintf(g, format, args...)
	g.WriteString("}\n")
	g.last = uuid
}

func (g *grower) user(text string) {
	g.used += 10
	g.line(`"type":"user","message":{"role":"user","content":%q}`, text)
}

func (g *grower) assistant(message, content string) {
	g.used += 90
	g.line(`"type":"assistant","message":{"id":%q,"role":"assistant","model":%q,"usage":{"input_tokens":3,"cache_creation_input_tokens":100,"cache_read_input_tokens":%d,"output_tokens":20},"content":[%s]}`, message, cmp.Or(g.model, "claude-opus-4-5-20251101"), g.used, content)
}

func text(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }

func use(id int) string {
	return fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"/w/f%d.go"}}`, id, id%50)
}

func (g *grower) result(id int, content string) {
	g.used += 20
	g.line(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q}]}`, id, content)
}

func (g *grower) step(i int) {
	g.assistant(fmt.Sprint("m", i), use(i))
	g.result(i, fmt.Sprintf("line %d of a file", i))
	if g.used > 160000 {
		g.compact()
	}
}

func (g *grower) compact() {
	pre, before := g.used, g.last
	g.last, g.used = "", 20000
	g.line(`"type":"system","subtype":"compact_boundary","logicalParentUuid":%s,"content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":%d}`, before, pre)
	g.line(`"type":"user","isCompactSummary":true,"message":{"role":"user","content":"This session is being continued from a previous conversation that ran out of context."}`)
}

func (g *grower) beside(name, text string) {
	path := filepath.Join(g.dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

func shapes() []growth {
	turns := func(g *grower, n int) {
		for i := range n / 4 {
			g.user(fmt.Sprint("do step ", i))
			g.step(i)
			g.assistant(fmt.Sprint("d", i), text(fmt.Sprint("done ", i)))
		}
	}
	return []growth{
		{"plain", func(g *grower, n int) {
			for i := range n / 2 {
				g.user(fmt.Sprint("question ", i))
				g.assistant(fmt.Sprint("m", i), text(fmt.Sprint("answer ", i)))
				if g.used > 160000 {
					g.compact()
				}
			}
		}},
		{"requests", turns},
		{"parallel", func(g *grower, n int) {
			g.user("read all")
			for i := range n / 2 {
				g.assistant("m", use(i))
			}
			for i := range n / 2 {
				g.result(i, "content")
			}
			g.assistant("end", text("done"))
		}},
		{"turn", func(g *grower, n int) {
			g.user("do it all")
			for i := range n / 2 {
				g.step(i)
			}
		}},
		{"boundaries", func(g *grower, n int) {
			for i := range n / 4 {
				g.user("hi")
				g.assistant(fmt.Sprint("m", i), text("ok"))
				g.compact()
			}
		}},
		{"subagents", func(g *grower, n int) {
			for i := range n / 20 {
				g.user("look")
				g.step(i)
				sub := &grower{t: g.t, now: g.now}
				for k := range 4 {
					sub.user("find it")
					sub.step(k)
				}
				id := fmt.Sprintf("a%06x", i)
				lines := strings.ReplaceAll(sub.String(), `"isSidechain":false`, `"isSidechain":true,"agentId":"`+id+`"`)
				g.beside("s/subagents/agent-"+id+".jsonl", lines)
			}
		}},
		{"offloads", func(g *grower, n int) {
			g.user("run it")
			for i := range n / 20 {
				g.assistant(fmt.Sprint("m", i), use(i))
				g.result(i, fmt.Sprintf("<persisted-output>\nOutput too large (40 KB). Full output saved to: /w/tool-results/t%d.txt\n\nPreview (first 2KB):\nabc\n</persisted-output>", i))
				g.beside(fmt.Sprintf("s/tool-results/t%d.txt", i), strings.Repeat("a line of output\n", 100))
				if g.used > 160000 {
					g.compact()
				}
			}
		}},
		{"falling", func(g *grower, n int) {
			for i := range n / 4 {
				g.user("next")
				g.step(i)
				if i%3 == 2 {
					g.used = max(20000, g.used-500)
				}
				g.assistant(fmt.Sprint("d", i), text("done"))
			}
		}},
		{"roots", func(g *grower, n int) {
			for i := range n {
				g.last = ""
				g.assistant("m", use(i))
			}
		}},
		{"snips", func(g *grower, n int) {
			for i := range n / 3 {
				g.user("hi")
				gone := g.last
				g.assistant(fmt.Sprint("m", i), text("ok"))
				g.line(`"type":"system","subtype":"snip_boundary","removedUuids":[%s]`, gone)
			}
		}},
		{"micro", func(g *grower, n int) {
			g.user("do it all")
			for i := range n / 3 {
				g.step(i)
				g.line(`"type":"system","subtype":"microcompact_boundary","microcompactMetadata":{"trigger":"auto","preTokens":%d,"tokensSaved":5,"compactedToolIds":["t%d","t%d"]}`, g.used, i, max(0, i-i%37))
			}
		}},
		{"models", func(g *grower, n int) {
			for i := range n / 2 {
				g.user(fmt.Sprint("question ", i))
				g.model = fmt.Sprint("model-", i)
				g.assistant(fmt.Sprint("m", i), text(fmt.Sprint("answer ", i)))
				if g.used > 160000 {
					g.compact()
				}
			}
		}},
		{"little", func(g *grower, n int) {
			for i := range n / 4 {
				g.user("hi")
				g.used = 1000 // the policies are not led to compact
				g.assistant(fmt.Sprint("m", i), text("ok"))
				g.compact()
			}
		}},
		{"fused", func(g *grower, n int) {
			turns(g, n)
			one := strings.ReplaceAll(g.String(), "}\n{", "}{")
			g.Reset()
			g.WriteString(one)
		}},
		{"sessions", func(g *grower, n int) {
			for i := range n / 20 {
				one := &grower{t: g.t, now: g.now}
				turns(one, 20)
				g.beside(fmt.Sprintf("s%d.jsonl", i), strings.ReplaceAll(one.String(), `"sessionId":"s"`, fmt.Sprintf(`"sessionId":"s%d"`, i)))
			}
			turns(g, 20)
		}},
	}
}

// spent is what a run costs.
type spent struct {
	cpu   time.Duration
	bytes uint64 // allocated
}

func (s spent) less(base spent) spent {
	return spent{max(0, s.cpu-base.cpu), s.bytes - min(s.bytes, base.bytes)}
}

// cost runs a command and measures it: the least of a few runs.
func cost(t *testing.T, runs int, args []string) (least spent) {
	t.Helper()
	for i := range runs {
		var said bytes.Buffer
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := cpu(t)
		code := Main(args, strings.NewReader(""), io.Discard, &said)
		one := spent{cpu: cpu(t) - start}
		runtime.ReadMemStats(&after)
		one.bytes = after.TotalAlloc - before.TotalAlloc
		if code == exitNotDone {
			t.Fatalf("%q: %s", args, said.String())
		}
		if i == 0 || one.cpu < least.cpu {
			least.cpu = one.cpu
		}
		if i == 0 || one.bytes < least.bytes {
			least.bytes = one.bytes
		}
	}
	return least
}

func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must.Do(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// doubling runs commands over inputs of two sizes.
type doubling struct {
	dir  string
	made map[string]bool // files

	n          int           // lines of the smaller input, about
	leastCPU   time.Duration // of the larger one: less says nothing
	mostGrowth float64       // how much more time a command may take where the input is twice as large
	mostBytes  float64       // and how much more memory
}

// input makes an input once. It returns its file.
func (d *doubling) input(t *testing.T, s growth, n int) string {
	own := filepath.Join(d.dir, s.name, fmt.Sprint(n))
	if !d.made[own] {
		d.made[own] = true
		g := &grower{t: t, dir: own, used: 20000, now: time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)}
		s.write(g, n)
		g.beside("s.jsonl", g.String())
	}
	return filepath.Join(own, "s.jsonl")
}

// check runs a command over a session, or with folder over its folder, as a test of its own.
func (d *doubling) check(t *testing.T, s growth, folder bool, args []string) {
	t.Run(strings.ReplaceAll(strings.Join(args, " "), "/", "|")+" "+s.name, func(t *testing.T) {
		run := func(n int) []string {
			in := d.input(t, s, n)
			if folder {
				in = filepath.Dir(in)
			}
			return append(slices.Clone(args), in)
		}
		base := cost(t, 2, run(40))
		// The fixed cost is taken off: what is left at n has to double. What a table that grows by doubling adds, and
		// what other processes do to the time, is not seen twice.
		grows := func(runs, n int) (cpu, bytes float64, once spent) {
			once, twice := cost(t, runs, run(n)).less(base), cost(t, runs, run(2*n)).less(base)
			if twice.cpu >= d.leastCPU {
				cpu = float64(twice.cpu) / float64(max(once.cpu, 1))
			}
			return cpu, float64(twice.bytes) / float64(max(once.bytes, 1)), twice
		}
		cpu, bytes, at := grows(1, d.n)
		for i := 0; (cpu > d.mostGrowth || bytes > d.mostBytes) && i < 2; i++ {
			c, b, a := grows(2, d.n<<i)
			cpu, bytes, at = min(cpu, c), min(bytes, b), a
		}
		if cpu > d.mostGrowth || bytes > d.mostBytes {
			t.Errorf("twice the input takes %.2f times the time and %.2f times the memory (%v, %d MB)", cpu, bytes, at.cpu.Round(time.Millisecond), at.bytes>>20)
		}
	})
}

// TestDoubling holds that time and memory of every command, and of replays under every policy, grow with the input and
// not with its square, for inputs of many shapes. Each command line takes a few of the shapes in turn, small ones; with
// CTXKIT_LONG=1 it takes all, and large ones.
func TestDoubling(t *testing.T) {
	must.BeCI(t)
	t.Setenv("CTXKIT_CACHE", "off")
	// Tables that grow in steps weigh more in small inputs.
	d, taken := &doubling{dir: t.TempDir(), made: map[string]bool{}, n: 800, leastCPU: 60 * time.Millisecond, mostGrowth: 3.0, mostBytes: 3.0}, 1
	if long() {
		d.n, taken, d.leastCPU, d.mostGrowth, d.mostBytes = 12000, len(shapes()), 200*time.Millisecond, 2.2, 2.2
	}
	turn := 0
	try := func(folder bool, args ...string) {
		list := shapes()
		for range taken {
			s := list[turn%len(list)]
			turn++
			if folder != (s.name == "sessions") && s.name == "sessions" {
				if s = list[turn%len(list)]; long() {
					continue
				}
			}
			d.check(t, s, folder, args)
		}
	}
	reg := must.Get(policy.NewRegistry(stage.Families()...))(t)
	more := map[string][][]string{
		"sweep":     {{"-p", "opencode", "--vary", "opencode_prune.protect=1000,2000"}},
		"compare":   {{"-p", "none", "-p", "opencode"}, {"--by", "project", "-p", "claude-code"}},
		"cost":      {{"-p", "claude-code"}},
		"regret":    {{"-p", "opencode"}, {"-p", "claude-code"}},
		"replay":    {{"-p", "recorded", "--agent", "all"}},
		"diff":      {{"-p", "opencode"}, {"-p", "opencode", "--at", "all", "--stat"}, {"-p", "claude-code", "--at", "all"}},
		"backtest":  {{}, {"--agent", "all"}},
		"anonymize": {{}, {"--check"}},
	}
	for i, as := range views {
		if as == asSummary {
			continue // of sessions in which the policy makes a call
		}
		more["view"] = append(more["view"], []string{"--as", as, "-p", []string{"opencode", "claude-code"}[i%2]})
	}
	for _, c := range newRoot(newSystem(strings.NewReader(""), io.Discard, io.Discard)).Commands() {
		if !strings.Contains(c.Use, "INPUT") && c.Name() != "sessions" || c.Name() == "export" || c.Name() == "explore" { // a new folder, a terminal
			continue
		}
		formats := formatsOf(c)
		folder := strings.Contains(c.Use, "INPUT...") || c.Name() == "sessions"
		lists := more[c.Name()]
		if lists == nil {
			lists = [][]string{{}}
		}
		for i, list := range lists {
			args := append([]string{c.Name()}, list...)
			if c.Flags().Lookup("quiet") != nil {
				args = append(args, "-q")
			}
			if c.Flags().Lookup("jobs") != nil {
				args = append(args, "--jobs", "1")
			}
			if len(formats) > 0 && !slices.Contains(list, "session") {
				format := formats[(i+turn)%len(formats)]
				if format == "html" && slices.Contains(list, "--stat") {
					format = "json"
				}
				args = append(args, "-f", format)
			}
			try(folder && !(len(formats) > 0 && slices.Contains(args, "svg")), args...)
		}
	}
	for i, name := range preset.Names(reg) {
		if long() || i%8 == 0 {
			try(false, "replay", "-q", "--jobs", "1", "-f", "ndjson", "-p", name)
		}
	}
}
