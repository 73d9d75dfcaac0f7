package cmd

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ncruces/go-sqlite3"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/synth"
	"github.com/ctxkit/ctxkit/policy/preset"
)

// TestMutation runs commands on changed inputs, each at one job and at four: sessions of every agent, as a file, in a
// project folder, compressed, in a database or in OpenCode's storage folder; policies, prices, checks and their baselines. No run
// panics, takes long, ends with another exit code than 0, 1 and 2, loses a line, says nothing where it could not do its
// work, or prints other bytes the second time.
//
// It tries a sample; CTXKIT_LONG=1 tries 100,000, CTXKIT_MUTATIONS=N that many, CTXKIT_MUTATIONS_SEED says where to
// begin. A panic in another goroutine ends the test: the folder that it names holds the input and the command line.
func TestMutation(t *testing.T) {
	count := 120
	switch {
	case testing.Short():
		count = 30
	case long():
		count = 100_000
	}
	first := uint64(1)
	for name, set := range map[string]func(n uint64){"CTXKIT_MUTATIONS": func(n uint64) { count = int(n) }, "CTXKIT_MUTATIONS_SEED": func(n uint64) { first = n }} {
		if v := os.Getenv(name); v != "" {
			n := must.Get(strconv.ParseUint(v, 10, 64))(t)
			set(n)
		}
	}
	t.Setenv(nowVariable, "2026-11-20T12:00:00Z")
	t.Setenv("CI", "")
	m := newMutation(t)
	t.Logf("inputs and command line are in %s", m.dir)
	begin := time.Now()
	for seed := first; seed < first+uint64(count); seed++ {
		if seed%200 == 0 { // a pool keeps what it holds for one collection more, and TestMain has these come rarely
			runtime.GC()
		}
		if m.try(t, seed); t.Failed() {
			t.Fatalf("seed %d, %q: again: CTXKIT_MUTATIONS=1 CTXKIT_MUTATIONS_SEED=%d go test ./cmd -run TestMutation", seed, m.args, seed)
		}
	}
	t.Logf("%d inputs in %.0f s; exit codes %v; inputs by kind %v; sessions that were replayed %d", count, time.Since(begin).Seconds(), m.codes, m.kinds, m.replayed)
	if count >= 100 && (m.codes[exitDone] < count/4 || m.replayed < count/60) {
		t.Error("too few runs get past the reading")
	}
}

// mutation is what inputs are made of, and what was seen.
type mutation struct {
	dir      string
	sessions map[string][][]byte // by agent
	agents   []string
	folders  []string
	stores   []databaseFiles
	policies [][]byte
	prices   []byte
	config   []byte
	baseline []byte
	sample   string // a session that nothing is done to
	formats  map[string][]string

	args     []string
	codes    map[int]int
	kinds    map[string]int
	replayed int
}

func newMutation(t *testing.T) *mutation {
	t.Helper()
	m := &mutation{dir: t.TempDir(), sessions: map[string][][]byte{}, codes: map[int]int{}, kinds: map[string]int{}, formats: map[string][]string{}}
	add := func(agent string, files ...string) {
		for _, file := range files {
			if text, err := os.ReadFile(file); err != nil {
				t.Fatal(err)
			} else if len(text) < 60_000 {
				m.sessions[agent] = append(m.sessions[agent], text)
			}
		}
	}
	glob := func(pattern string) []string {
		files := must.Glob(t, 1, filepath.FromSlash(pattern))
		return files
	}
	add("claude-code", glob("../testdata/sessions/*.jsonl")...)
	for _, version := range strings.Fields("1.0.17 2.0.76 2.1.19 2.1.50 2.1.139 2.1.239") {
		o := synth.Default()
		o.Version, o.Requests, o.ResultChars, o.Subagents, o.Rewinds = version, 6, 300, 0, 0.2
		var text bytes.Buffer
		must.Get(synth.Generate(&text, o))(t)
		m.sessions["claude-code"] = append(m.sessions["claude-code"], text.Bytes())
	}
	m.agents = strings.Fields("cline codex copilot gemini kimi opencode pi qwen tables")
	for _, reader := range m.agents {
		add(reader, glob("../jsonl/internal/"+reader+"/testdata/*.json*")...)
	}
	m.agents = append(m.agents, "claude-code", "claude-code")
	m.folders = []string{"../testdata/sessions/subagent", "../testdata/sessions/offload", "../jsonl/internal/cline/testdata/cli", "../jsonl/internal/cline/testdata/task", "../jsonl/internal/kimi/testdata/share/sessions", ""}
	m.stores = databases(t)
	sys := newSystem(strings.NewReader(""), io.Discard, io.Discard)
	root := newRoot(sys)
	for _, name := range preset.Names(sys.stages) {
		text, _, err := sys.presets.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		m.policies = append(m.policies, text)
	}
	for _, c := range root.Commands() {
		m.formats[c.Name()] = formatsOf(c)
	}
	m.prices = []byte(`{"schema":"ctxkit.prices/v1","as_of":"2026-11-20","models":[{"id":"claude-opus-4-5","input":5,"cache_write_5m":6.25,"cache_write_1h":10,"cache_read":0.5,"output":25,"context":200000,"max_output":64000,"min_cacheable":4096,"tokenizer":"old"}]}`)
	keep := t.TempDir()
	m.sample = filepath.Join(keep, "sample.jsonl")
	m.config = []byte("version: 1\nsessions: [sample.jsonl]\nbaseline: base.json\ncases:\n  - name: a\n    policy: opencode\n    set: {window.context: 60000}\n    expect:\n      model_peak: {max: 500000}\n      misses: {max: 10}\n")
	for name, text := range map[string][]byte{"sample.jsonl": m.sessions["claude-code"][len(m.sessions["claude-code"])-1], "c.yaml": m.config} {
		writeFile(t, filepath.Join(keep, name), string(text))
	}
	var said bytes.Buffer
	if code := Main([]string{"check", filepath.Join(keep, "c.yaml"), "--update"}, strings.NewReader(""), io.Discard, &said); code != exitDone {
		t.Fatalf("%d %s", code, said.Bytes())
	}
	m.baseline = must.Get(os.ReadFile(filepath.Join(keep, "base.json")))(t)
	return m
}

// try makes the input of a seed and runs a command on it.
func (m *mutation) try(t *testing.T, seed uint64) {
	t.Helper()
	d := rand.New(rand.NewPCG(seed, 29))
	dir := filepath.Join(m.dir, "input")
	must.Do(t, os.RemoveAll(dir))
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		writeFile(t, path, string(text))
		return path
	}
	var kind string
	switch n := d.IntN(100); {
	case n < 60:
		agent := m.agents[d.IntN(len(m.agents))]
		kind = agent
		texts := m.sessions[agent]
		text := mutateSession(d, texts[d.IntN(len(texts))])
		name := pickWord(d, "s.jsonl", "rollout-2026-01-15T09-00-00-0a0a0a0a-0000-4000-8000-000000000000.jsonl", "s.json")
		if d.IntN(12) == 0 {
			text, name = compressed(d, text), name+pickWord(d, ".gz", ".zst", "")
			kind += " compressed"
		}
		m.args = m.sessionLine(d, write(name, text), false)
	case n < 72:
		store := m.stores[d.IntN(len(m.stores))]
		kind = "database " + store.ids[0][:1]
		path := write("s.db", store.text)
		if store.log != nil {
			kind += " with a log"
			write("s.db-wal", store.log)
		}
		mutateDatabase(t, d, path)
		if folder := d.IntN(4) == 0; folder {
			m.args = m.sessionLine(d, path, true)
		} else {
			m.args = m.sessionLine(d, path+"#"+pickWord(d, store.ids...), false)
		}
	case n < 82:
		kind = "folder"
		m.folder(t, d, dir)
		m.args = m.sessionLine(d, dir, true)
	case n < 90:
		kind = "policy"
		file := write("p.yaml", mutateText(d, m.policies[d.IntN(len(m.policies))]))
		m.args = [][]string{{"replay", m.sample, "-p", file, "-f", "json"}, {"policy", "lint", file}, {"policy", "show", file}, {"policy", "diff", file, "none"}, {"thresholds", "-p", file}}[d.IntN(5)]
	case n < 94:
		kind = "prices"
		file := write("prices.json", mutateSession(d, m.prices))
		m.args = [][]string{{"cost", m.sample, "-p", "opencode", "--prices", file, "-f", "json"}, {"prices", "--prices", file}, {"resume", m.sample, "--prices", file}}[d.IntN(3)]
	default:
		config, baseline := m.config, m.baseline
		if kind = "check"; d.IntN(2) == 0 {
			config = mutateText(d, config)
		} else {
			baseline = mutateSession(d, baseline)
		}
		sample := must.Get(os.ReadFile(m.sample))(t)
		write("sample.jsonl", sample)
		write("base.json", baseline)
		m.args = []string{"check", write("c.yaml", config), "-f", pickWord(d, m.formats["check"]...)}
	}
	m.kinds[kind]++
	m.run(t)
}

// sessionLine is a command line over a session, or a folder of them.
func (m *mutation) sessionLine(d *rand.Rand, input string, folder bool) []string {
	commands := strings.Fields("replay replay replay stats cost compare lint why regret backtest backtest sweep resume diff view convert anonymize")
	if folder {
		commands = strings.Fields("sessions replay compare lint stats why resume cost")
	}
	name := pickWord(d, commands...)
	args := []string{name, input}
	policy := pickWord(d, strings.Fields("opencode claude-code recorded none codex gemini-cli claude-code-pipeline langchain-summarization decay")...)
	switch name {
	case "replay", "cost", "stats", "regret", "view", "why":
		args = append(args, "-p", policy)
	case "backtest":
		if d.IntN(2) == 0 {
			args = append(args, "--counters")
		}
	case "diff":
		args = append(args, "-p", pickWord(d, "opencode", "claude-code", "decay"))
	case "sweep":
		args = append(args, "-p", "opencode", "--vary", "opencode_prune.protect=1000,2000")
	case "compare":
		args = append(args, "-p", policy, "-p", "three-layer")
	}
	if slices.Contains(strings.Fields("replay cost regret view diff"), name) && policy == "opencode" && d.IntN(2) == 0 && name != "diff" {
		args = append(args, "--set", "window.context=30000", "--set", "opencode_prune.protect=500", "--set", "opencode_prune.minimum=100")
	}
	if name == "view" && d.IntN(2) == 0 {
		args = append(args, "--as", pickWord(d, strings.Fields("raw model payload scrollback transcript")...))
	}
	if name == "anonymize" {
		if d.IntN(2) == 0 {
			return args // prints the session
		}
		args = append(args, "--check")
	}
	if formats := m.formats[name]; len(formats) > 0 {
		format := pickWord(d, formats...)
		if d.IntN(2) == 0 && slices.Contains(formats, "json") {
			format = "json"
		}
		args = append(args, "-f", format)
	}
	return args
}

// longRun is how long a run may take on a busy machine.
const longRun = 5 * time.Minute

// run runs the line twice.
func (m *mutation) run(t *testing.T) {
	t.Helper()
	writeFile(t, filepath.Join(m.dir, "line"), string(fmt.Appendf(nil, "%q\n", m.args)))
	slow := time.AfterFunc(longRun, func() { panic(fmt.Sprintf("%q takes longer than %v", m.args, longRun)) })
	defer slow.Stop()
	var codes [2]int
	var out, said [2]bytes.Buffer
	for i, jobs := range []string{"1", "4"} {
		args := m.args
		if slices.Contains(strings.Fields("replay cost compare regret stats why lint sweep backtest resume sessions check"), args[0]) {
			args = append(slices.Clone(args), "--jobs", jobs)
		}
		codes[i] = Main(args, strings.NewReader(""), &out[i], &said[i])
	}
	m.codes[codes[0]]++
	text := out[0].Bytes()
	switch {
	case codes[0] < 0 || codes[0] > 2:
		t.Errorf("exit code %d", codes[0])
	case codes[0] != codes[1] || !bytes.Equal(text, out[1].Bytes()) || !bytes.Equal(said[0].Bytes(), said[1].Bytes()):
		t.Errorf("exit codes %v; it prints\n%.3000s\nand then\n%.3000s\nit says\n%.2000s\nand then\n%.2000s", codes, text, out[1].Bytes(), said[0].Bytes(), said[1].Bytes())
	case codes[0] == exitNotDone && !bytes.Contains(said[0].Bytes(), []byte("ctxkit: ")):
		t.Errorf("it could not do its work and says %q", said[0].Bytes())
	case strings.Contains(said[0].String(), "unknown flag"), strings.Contains(said[0].String(), "unknown command"):
		t.Errorf("a command line of the test: %s", said[0].Bytes())
	}
	if !slices.Contains(m.args, "json") || codes[0] == exitNotDone && len(text) == 0 {
		return
	}
	if slices.Contains(m.args, "transcript") { // a line as it is in the file: its keys may be there twice
		if !json.Valid(text) {
			t.Error("it prints no JSON")
		}
	} else if err := judge("json", text); err != nil {
		t.Errorf("it prints %v", err)
	}
	if m.args[0] != "replay" {
		return
	}
	var one struct {
		Lines    *readLines
		Sessions []struct{ Lines *readLines }
	}
	must.Do(t, json.Unmarshal(text, &one))
	if one.Lines != nil {
		one.Sessions = append(one.Sessions, struct{ Lines *readLines }{one.Lines})
	}
	for _, s := range one.Sessions {
		if s.Lines == nil {
			t.Fatal("a session without a count of its lines")
		}
		m.replayed++
		sum := s.Lines.Used
		for _, n := range s.Lines.SetAside {
			sum += n
		}
		if sum != s.Lines.Read {
			t.Errorf("lines are lost: %+v", *s.Lines)
		}
	}
}

type readLines struct {
	Read, Used int
	SetAside   map[string]int `json:"set_aside"`
}

// folder makes a project folder and changes it.
func (m *mutation) folder(t *testing.T, d *rand.Rand, dir string) {
	t.Helper()
	if from := m.folders[d.IntN(len(m.folders))]; from != "" {
		must.Do(t, os.CopyFS(dir, os.DirFS(from)))
	} else {
		storage(t, dir)
	}
	for range 1 + d.IntN(3) {
		var files []string
		if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && path != dir {
				files = append(files, path)
			}
			return err
		}); err != nil || len(files) == 0 {
			return
		}
		at, other := files[d.IntN(len(files))], files[d.IntN(len(files))]
		var text []byte
		st, err := os.Stat(at)
		isFile := err == nil && st.Mode().IsRegular() // a pipe would be waited for
		if isFile {
			text = must.Get(os.ReadFile(at))(t)
		}
		try := func(err error) {
			if err != nil && !os.IsExist(err) && !os.IsNotExist(err) && !strings.Contains(err.Error(), "directory") {
				t.Logf("%v", err) // the folder stays as it is
			}
		}
		remove := func() { try(os.RemoveAll(at)) }
		switch d.IntN(9) {
		case 0:
			remove()
		case 1:
			try(os.Rename(at, other))
		case 2:
			remove()
			try(os.Symlink(pickWord(d, at, other, ".", "..", "/dev/null", "/dev/zero", "nowhere"), at))
		case 3:
			remove()
			try(makeFIFO(at))
		case 4:
			remove()
			try(os.Mkdir(at, 0o755))
		case 5:
			if isFile {
				try(os.WriteFile(at+pickWord(d, ".gz", ".zst"), compressed(d, text), 0o600))
			}
		default:
			if isFile {
				try(os.WriteFile(at, mutateSession(d, text), 0o600))
			}
		}
	}
}

// storage makes the folder in which early versions of OpenCode keep a session.
func storage(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"session/p/ses_1.json":   `{"id":"ses_1","projectID":"p","directory":"/p","title":"T","version":"1.0.0","time":{"created":1768467600000,"updated":1768467700000}}`,
		"message/ses_1/m_1.json": `{"id":"m_1","sessionID":"ses_1","role":"user","time":{"created":1768467600000}}`,
		"message/ses_1/m_2.json": `{"id":"m_2","sessionID":"ses_1","role":"assistant","parentID":"m_1","providerID":"anthropic","modelID":"claude-sonnet-4-5","time":{"created":1768467601000,"completed":1768467602000},"tokens":{"input":1000,"output":50,"reasoning":0,"cache":{"read":0,"write":900}},"cost":0.01}`,
		"part/m_1/a_1.json":      `{"id":"a_1","sessionID":"ses_1","messageID":"m_1","type":"text","text":"read the file"}`,
		"part/m_2/a_2.json":      `{"id":"a_2","sessionID":"ses_1","messageID":"m_2","type":"tool","callID":"c_1","tool":"read","state":{"status":"completed","input":{"filePath":"/p/a.go"},"output":"package a","time":{"start":1,"end":2}}}`,
	} {
		path := filepath.Join(dir, "storage", filepath.FromSlash(name))
		writeFile(t, path, text)
	}
}

func pickWord(d *rand.Rand, words ...string) string { return words[d.IntN(len(words))] }

// databaseFiles are the file of a database, its write-ahead log if it has one, and ids of sessions in it.
type databaseFiles struct {
	text, log []byte
	ids       []string
}

// databases are one of OpenCode, and one of each client of jsonl/internal/tables, with what was written in the file and in the log.
func databases(t *testing.T) (list []databaseFiles) {
	t.Helper()
	read := func(path string) []byte {
		text := must.Get(os.ReadFile(path))(t)
		return text
	}
	list = []databaseFiles{{text: read("../jsonl/internal/opencode/testdata/opencode.db"), ids: []string{"ses_2a0001ffe001AbCdEfGhIjKlMn", "ses_2a0002"}}}
	for _, words := range []string{"goose 20261120_1 20261120_2", "crush c-1 c-2"} {
		client, ids := strings.Fields(words)[0], strings.Fields(words)[1:]
		path := filepath.Join(t.TempDir(), "s.db")
		conn := must.Get(sqlite3.Open(path))(t)
		must.Do(t, conn.Exec("PRAGMA journal_mode=wal;"+string(read("../jsonl/internal/tables/testdata/"+client+".sql"))))
		list = append(list, databaseFiles{read(path), read(path + "-wal"), ids})
		must.Do(t, conn.Close())
		list = append(list, databaseFiles{text: read(path), ids: ids})
	}
	return list
}

// mutateDatabase changes bytes of a database or its log, or values in rows.
func mutateDatabase(t *testing.T, d *rand.Rand, path string) {
	t.Helper()
	if d.IntN(3) == 0 {
		if _, err := os.Stat(path + "-wal"); err == nil && d.IntN(2) == 0 {
			path += "-wal"
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, mutateText(d, text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	conn := must.Get(sqlite3.Open(path))(t)
	defer conn.Close()
	if _, err := conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err != nil { // what is in the log stays there
		t.Fatal(err)
	}
	texts := func(query string) (list []string) {
		stmt, _, err := conn.Prepare(query)
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		for stmt.Step() {
			list = append(list, stmt.ColumnText(0))
		}
		return list
	}
	for range 1 + d.IntN(3) {
		table := pickWord(d, texts("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1")...)
		column := pickWord(d, texts("SELECT name FROM pragma_table_info('"+table+"') ORDER BY 1")...)
		rows := texts("SELECT rowid FROM \"" + table + "\"")
		if len(rows) == 0 {
			continue
		}
		row := " FROM \"" + table + "\" WHERE rowid = " + pickWord(d, rows...)
		value := "?"
		switch d.IntN(8) {
		case 0:
			value = pickWord(d, strings.Fields("NULL -1 1e300 9223372036854775807 x'00ff' zeroblob(3000) ''")...)
		case 1:
			value = "(SELECT \"" + column + "\" FROM \"" + table + "\" WHERE rowid = " + pickWord(d, rows...) + ")"
		case 2:
			_ = conn.Exec("DELETE" + row) // a constraint may forbid it
			continue
		}
		stmt, _, err := conn.Prepare("UPDATE OR REPLACE \"" + table + "\" SET \"" + column + "\" = " + value + strings.TrimPrefix(row, " FROM \""+table+"\""))
		if err != nil {
			t.Fatal(err)
		}
		if value == "?" {
			must.Do(t, stmt.BindText(1, string(mutateSession(d, []byte(strings.Join(texts("SELECT \""+column+"\""+row), ""))))))
		}
		_ = stmt.Exec() // as above
		_ = stmt.Close()
	}
}

// compressed is a text in a compressed form, mostly a broken one.
func compressed(d *rand.Rand, text []byte) []byte {
	var b bytes.Buffer
	if d.IntN(2) == 0 {
		w := gzip.NewWriter(&b)
		_, _ = w.Write(text) // to memory
		_ = w.Close()
	} else if w, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1)); err == nil {
		_, _ = w.Write(text)
		_ = w.Close()
	}
	out := b.Bytes()
	switch d.IntN(4) {
	case 0:
		return out[:d.IntN(len(out)+1)]
	case 1:
		out[d.IntN(len(out))] ^= 1 << d.IntN(8)
	case 2:
		return append(out, text[:min(len(text), d.IntN(200))]...)
	}
	return out
}

// mutateText changes bytes and lines of a text.
func mutateText(d *rand.Rand, text []byte) []byte {
	text = slices.Clone(text)
	for range 1 + d.IntN(3) {
		if len(text) < 2 {
			return text
		}
		at := d.IntN(len(text))
		lines := bytes.SplitAfter(text, []byte("\n"))
		i, j := d.IntN(len(lines)), d.IntN(len(lines))
		switch d.IntN(10) {
		case 0, 1:
			text[at] ^= 1 << d.IntN(8)
		case 2:
			text = slices.Delete(text, at, min(len(text), at+1+d.IntN(200)))
		case 3:
			text = slices.Insert(text, at, []byte(pickWord(d, "\x00", "\xff", "\r", "\u2028", "\ufeff", "{", "]", "\"", "\n", "- ", ": ", "&a ", "*a", "99999999999999999999"))...)
		case 4:
			text = text[:at]
		case 5:
			lines[i], lines[j] = lines[j], lines[i]
			text = bytes.Join(lines, nil)
		case 6:
			text = bytes.Join(slices.Insert(slices.Clone(lines), i, lines[j]), nil)
		case 7:
			text = bytes.Join(slices.Delete(lines, i, i+1), nil)
		case 8:
			lines[i] = bytes.TrimSuffix(lines[i], []byte("\n"))
			text = bytes.Join(lines, nil)
		case 9:
			lines[i] = slices.Concat(lines[i][:d.IntN(len(lines[i])+1)], []byte("\n"))
			text = bytes.Join(lines, nil)
		}
	}
	return text
}

// mutateSession changes bytes, lines, or values of JSON in a text of lines, or one document.
func mutateSession(d *rand.Rand, text []byte) []byte {
	for range 1 + d.IntN(3) {
		lines := bytes.SplitAfter(text, []byte("\n"))
		i := d.IntN(len(lines))
		var tree any
		dec := json.NewDecoder(bytes.NewReader(lines[i]))
		dec.UseNumber()
		if whole := bytes.HasPrefix(text, []byte("{\n")); whole {
			dec = json.NewDecoder(bytes.NewReader(text))
			dec.UseNumber()
			lines, i = [][]byte{text}, 0
		}
		if d.IntN(3) == 0 || dec.Decode(&tree) != nil {
			text = mutateText(d, text)
			continue
		}
		var places []func(any)
		var values []any
		var keys []string
		walkJSON(&tree, func(key string, v any, set func(any)) {
			places, values, keys = append(places, set), append(values, v), append(keys, key)
		})
		if len(places) == 0 {
			continue
		}
		at := d.IntN(len(places))
		var now any
		switch d.IntN(8) {
		case 0:
			now = gone{}
		case 1:
			now = values[d.IntN(len(values))]
		case 2:
			deep := any("deep")
			for range 1 + d.IntN(300) {
				deep = []any{deep}
			}
			now = deep
		case 3:
			now = json.Number(pickWord(d, strings.Fields("0 -1 1e9 9007199254740993 99999999999999999999 1e300 -0.0 0.5 4294967296")...))
		case 4:
			now = pickWord(d, "", "assistant", "user", "tool_result", "compact_boundary", "summary", strings.Repeat("x", d.IntN(3000)), "2026-13-45T99:00:00Z", "0001-01-01T00:00:00Z", "../../etc/passwd")
		case 5:
			now = []any{nil, true, false, []any{}, map[string]any{}}[d.IntN(5)]
		case 6: // an id of another place
			for range 20 {
				if k := d.IntN(len(values)); strings.Contains(strings.ToLower(keys[k]), "id") {
					now = values[k]
					break
				}
			}
		case 7:
			now = []any{values[at], values[at]}
		}
		places[at](now)
		out, err := json.Marshal(tree)
		if err != nil {
			continue
		}
		if d.IntN(10) == 0 && len(out) > 2 && out[0] == '{' { // a key twice
			out = slices.Concat([]byte(`{"`+pickWord(d, strings.Fields("type uuid message parentUuid timestamp payload role")...)+`":`), []byte(pickWord(d, "null", `"x"`, "{}", "1")), []byte(","), out[1:])
		}
		lines[i] = append(out, '\n')
		text = bytes.Join(lines, nil)
	}
	return text
}

// gone stands for a value that is to be left out.
type gone struct{}

// walkJSON calls visit with every value below a tree.
func walkJSON(tree *any, visit func(key string, v any, set func(any))) {
	switch x := (*tree).(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			v := x[k]
			visit(k, v, func(now any) {
				if _, out := now.(gone); out {
					delete(x, k)
				} else {
					x[k] = now
				}
			})
			walkJSON(&v, visit)
		}
	case []any:
		for i := range x {
			v := x[i]
			visit("", v, func(now any) {
				if _, out := now.(gone); out {
					now = nil
				}
				x[i] = now
			})
			walkJSON(&v, visit)
		}
	}
}
