package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/cmd"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/interval"
)

// corpus is a folder of recorded sessions.
type corpus struct {
	key   string // in names of tables and in templates
	title string
	dir   string
	only  string   // the product whose sessions it is; "": any
	files []string // the sessions
	facts *facts
}

// sources are the folders that everything is made from.
type sources struct {
	claude, more, codex *corpus
	trap                string // folder of the CSV files of The Complexity Trap
}

func (s *sources) all() []*corpus { return []*corpus{s.claude, s.more, s.codex} }

// variables are the environment variables that name the folders.
var variables = []string{"CTXKIT_CORPUS", "CTXKIT_MORE", "CTXKIT_CODEX", "CTXKIT_TRAP"}

// newSources reads the variables. Each has to name a folder.
func newSources(env func(string) string) (*sources, error) {
	var wrong []error
	for _, name := range variables {
		if info, err := os.Stat(env(name)); err != nil || !info.IsDir() {
			wrong = append(wrong, fmt.Errorf("%s: %q is no folder: name one in this variable, or run scripts/findings/all", name, env(name)))
		}
	}
	return &sources{
		claude: &corpus{key: "claude", title: "Claude Code", dir: env(variables[0]), only: session.Product},
		more:   &corpus{key: "more", title: "Claude Code, second", dir: env(variables[1]), only: session.Product},
		codex:  &corpus{key: "codex", title: "Codex CLI", dir: env(variables[2])},
		trap:   env(variables[3]),
	}, errors.Join(wrong...)
}

// ctxkit runs a command and returns what it prints.
func ctxkit(args ...string) ([]byte, error) {
	var out, problems bytes.Buffer
	if code := cmd.Main(append(args, "--quiet", "--no-cache"), strings.NewReader(""), &out, &problems); code != 0 {
		return nil, fmt.Errorf("ctxkit %s: exit code %d: %s", strings.Join(args, " "), code, problems.String())
	}
	return out.Bytes(), nil
}

// figures are the values of a replay by name.
type figures map[string]float64

// comparison is what `ctxkit compare --format json` prints of one group, as far as it is used.
type comparison struct {
	Sessions int         `json:"sessions"`
	Projects int         `json:"projects"`
	Feasible int         `json:"feasible_sessions"`
	Policies []policyRow `json:"policies"`
	Flags    []struct {
		Flag     string `json:"flag"`
		Sessions int    `json:"sessions"`
	} `json:"flags"`
	Each []compared `json:"each"`
}

type policyRow struct {
	Policy string `json:"policy"`
	Ran    []struct {
		Policy   string `json:"policy"`
		Sessions int    `json:"sessions"`
		Older    int    `json:"older"`
	} `json:"ran"`
	Truth      []string `json:"truth"`
	Infeasible int      `json:"infeasible_sessions"`
	Totals     figures  `json:"totals"`
	Score      *struct {
		Recorded int `json:"recorded"`
		Decided  int `json:"decided"`
		Alarms   int `json:"alarms"`
	} `json:"score"`
	Parts []struct {
		Part string  `json:"part"`
		USD  float64 `json:"usd"`
	} `json:"cost_difference"`
	Against *struct {
		Sessions   int               `json:"sessions"`
		Figures    map[string]versus `json:"figures"`
		Correction *struct {
			Stability string  `json:"stability"`
			Extra     float64 `json:"extra_compactions"`
			Low       float64 `json:"low_usd"`
			High      float64 `json:"high_usd"`
			BreakEven float64 `json:"break_even_requests"`
		} `json:"correction"`
	} `json:"against"`
}

// versus is the difference of a figure to that of the first policy.
type versus struct {
	Share  *float64 `json:"share"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Lower  int      `json:"lower"`
	Even   int      `json:"even"`
	Higher int      `json:"higher"`
}

// cells are the cells of the difference: value and bounds.
func (v versus) cells() []cell {
	out := []cell{change(0), blank, blank}
	for i, x := range []*float64{v.Share, v.Low, v.High} {
		if x != nil {
			out[i] = change(*x)
		}
	}
	if v.Share == nil && v.Lower+v.Higher > 0 {
		out[0] = blank
	}
	return out
}

// compared is a session of a comparison.
type compared struct {
	Flags   []string           `json:"flags"`
	File    string             `json:"file"`
	Model   string             `json:"model"`
	Version string             `json:"client_version"`
	Project string             `json:"project"`
	Figures map[string]figures `json:"figures"`
}

// feasible reports whether a policy could have been in charge of a session.
func (s *compared) feasible(policy string) bool {
	f := s.Figures[policy]
	return f["refused"] == 0 && f["violations"] == 0
}

// common are the sessions in which all of the policies are feasible, and whose usage does not contradict their content.
func (c *comparison) common(policies ...string) (list []compared) {
	for _, s := range c.Each {
		if !slices.ContainsFunc(policies, func(p string) bool { return !s.feasible(p) }) && !slices.Contains(s.Flags, "usage_contradicts_content") {
			list = append(list, s)
		}
	}
	return list
}

// sum adds up a figure of a policy.
func sum(list []compared, policy, figure string) (total float64) {
	for _, s := range list {
		total += s.Figures[policy][figure]
	}
	return total
}

// compareIn compares policies over a corpus, with further arguments.
func compareIn(c *corpus, policies []string, more ...string) (*comparison, error) {
	args := append([]string{"compare", "--agent", "main", "--format", "json"}, c.inputs()...)
	for _, p := range policies {
		args = append(args, "--policy", p)
	}
	out, err := ctxkit(append(args, more...)...)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Failed int          `json:"failed_inputs"`
		Groups []comparison `json:"groups"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return nil, err
	}
	if doc.Failed > 0 || len(doc.Groups) != 1 {
		return nil, fmt.Errorf("%s: %d inputs failed, %d groups", c.title, doc.Failed, len(doc.Groups))
	}
	return &doc.Groups[0], nil
}

// overProjects is a ratio of sums over sessions with its interval over projects. add gives what a session adds to the
// numerator and the denominator.
func overProjects(list []compared, add func(s *compared) (num, den float64)) interval.Interval {
	by := map[string]interval.Ratio{}
	for i := range list {
		num, den := add(&list[i])
		r := by[list[i].Project]
		by[list[i].Project] = interval.Ratio{Num: r.Num + fixed(num), Den: r.Den + fixed(den)}
	}
	return interval.Of(slices.Collect(maps.Values(by)))
}

// fixed is a number in thousandths.
func fixed(x float64) int64 {
	if x < 0 {
		return -fixed(-x)
	}
	return int64(x*1000 + 0.5)
}

// request is a main request as it was recorded.
type request struct {
	session                    string // its file
	input, read, wrote, output int    // tokens
}

func (r *request) context() int { return r.input + r.read + r.wrote }

// facts are what is said of every corpus.
type facts struct {
	sessions []compared // the main conversations with a request
	requests []request
	first    string // day
	last     string
	flags    map[string]int
	recorded figures // totals of the recorded track
	projects int
	texts    map[string]*texts // by file
}

// inputs are the sessions of the corpus, or its folder before they are known.
func (c *corpus) inputs() []string {
	if c.files == nil {
		return []string{c.dir}
	}
	return c.files
}

// find looks for the sessions of the corpus in its folder, and measures their texts.
func (c *corpus) find() (map[string]*texts, error) {
	all, err := compareIn(c, []string{"none"}, "--no-regret")
	if err != nil {
		return nil, err
	}
	measured := map[string]*texts{}
	for _, s := range all.Each {
		f, err := session.Load(s.File, session.LoadOptions{})
		if err != nil {
			return nil, err
		}
		if c.only == "" || f.Main.Product == c.only {
			c.files = append(c.files, s.File)
			measured[s.File] = textsOf(f.Main)
		}
		f.Close()
	}
	if len(c.files) == 0 {
		return nil, fmt.Errorf("%s: no session of %s", c.dir, c.only)
	}
	return measured, nil
}

// load reads what is said of a corpus.
func (c *corpus) load() error {
	measured, err := c.find()
	if err != nil {
		return err
	}
	all, err := compareIn(c, []string{"recorded"})
	if err != nil {
		return err
	}
	f := &facts{sessions: all.Each, projects: all.Projects, flags: map[string]int{}, texts: measured, recorded: all.Policies[0].Totals}
	for _, one := range all.Flags {
		f.flags[one.Flag] = one.Sessions
	}
	out, err := ctxkit(append([]string{"replay", "--policy", "recorded", "--format", "csv"}, c.inputs()...)...)
	if err != nil {
		return err
	}
	lines, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil {
		return err
	}
	at := func(line []string, name string) string { return line[slices.Index(lines[0], name)] }
	for _, line := range lines[1:] {
		if at(line, "kind") != "main" {
			continue
		}
		if day, _, ok := strings.Cut(at(line, "time"), "T"); ok {
			f.first, f.last = min(cmp.Or(f.first, day), day), max(f.last, day)
		}
		r := request{session: at(line, "file")}
		for name, to := range map[string]*int{"recorded_input": &r.input, "recorded_cache_read": &r.read, "recorded_cache_write": &r.wrote, "recorded_output": &r.output} {
			if s := at(line, name); s != "" {
				if *to, err = strconv.Atoi(s); err != nil {
					return err
				}
			}
		}
		f.requests = append(f.requests, r)
	}
	c.facts = f
	return nil
}

// versions are the oldest and the newest client of the sessions.
func (f *facts) versions() (oldest, newest string) {
	var list []string
	for _, s := range f.sessions {
		if s.Version != "" {
			list = append(list, s.Version)
		}
	}
	if len(list) == 0 {
		return "", ""
	}
	return slices.MinFunc(list, session.CompareVersions), slices.MaxFunc(list, session.CompareVersions)
}

// corpora is the table of the corpora.
func corpora(s *sources) *table {
	t := newTable("corpora", column{"corpus", "corpus"}, column{"sessions", "sessions"}, column{"projects", "projects"}, column{"requests", "requests"},
		column{"sent", "sent, millions of tokens"}, column{"compactions", "recorded compactions"}, column{"versions", "client"}, column{"days", "days"},
		column{"midway", "begin midway"}, column{"outputs", "outputs estimated"}, column{"subagents", "subagents left out"})
	for _, c := range s.all() {
		f := c.facts
		oldest, newest := f.versions()
		t.add(text(c.title), count(len(f.sessions)), count(f.projects), whole(f.recorded["requests"]), millions(f.recorded["payload_input"]),
			whole(f.recorded["compactions"]), text(oldest+" to "+newest), text(f.first+" to "+f.last),
			count(f.flags["begins_mid_conversation"]), count(f.flags["outputs_estimated"]), count(f.flags["subagents_left_out"]))
	}
	return t
}
