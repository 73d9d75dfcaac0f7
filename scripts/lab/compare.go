package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/scripts/lab/mock"
)

// result is what ctxkit says of a recording, held against its log. A request is equal in a column if all of it is.
type result struct {
	name     string
	failed   bool // the client failed, so the numbers are not to be judged
	unread   bool // ctxkit cannot read a session
	requests int  // in the log, answered and on the file
	seen     int  // by ctxkit
	left     int  // of branches that were left, asked for by --leaf
	talk     int  // requests whose conversation is equal
	whole    int  // ... every block, the client's own too
	bounds   int  // ... roles and boundaries of messages (Messages API)
	marks    int  // ... cache breakpoints on the same blocks
	places   int  // ... at the same message and block
	params   int  // ... model and max_tokens
	equal    int  // blocks
	onFile   int  // blocks that only the log has, whose words are on a line of the file
	offFile  int  // ... are on no line
	ours     int  // blocks that only ctxkit has
	counted  int  // compactions that ctxkit counts
	asked    int  // summaries that the client asked for
	first    string
	where    string // first without words of the client
	seconds  float64
	// decisions are the numbers of the requests before which the client compacted, and those before which ctxkit says so:
	// by the session, and by the policy that was asked for.
	askedAt, countedAt, policyAt []int
	policy                       string
}

func (r result) String() string {
	seen := strconv.Itoa(r.seen)
	if r.left > 0 {
		seen += fmt.Sprintf("+%d", r.left)
	}
	if r.unread {
		seen = "?"
	}
	text := fmt.Sprintf("%-40s %3d/%-5s %4d %4d %4d %4d %4d %4d  %5d %4d+%-4d %4d  %d/%d", r.name, r.requests, seen, r.talk, r.whole, r.bounds, r.marks, r.places, r.params,
		r.equal, r.onFile, r.offFile, r.ours, r.counted, r.asked)
	if r.seconds > 0 {
		text += fmt.Sprintf("  %.0f s", r.seconds)
	}
	if !slices.Equal(r.askedAt, r.countedAt) {
		text += fmt.Sprintf("\n    the client compacted before requests %d, ctxkit reads it before %d", r.askedAt, r.countedAt)
	}
	if r.policy != "" {
		text += fmt.Sprintf("\n    the client compacted before requests %d, policy %s compacts before %d", r.askedAt, r.policy, r.policyAt)
	}
	if r.first != "" {
		text += "\n    " + r.first
	}
	return text
}

const header = "recording                                 requests  conv whole bnds mark plcs parm  equal  only true ours  compactions"

// good reports whether all conversations are equal and every compaction is counted.
func (r result) good() bool {
	return !r.unread && r.talk == r.requests && r.requests == r.seen+r.left && r.counted == r.asked
}

func compareCommand(args []string) (int, error) {
	flags := flag.NewFlagSet("compare", flag.ExitOnError)
	ctxkit := flags.String("ctxkit", "ctxkit", "the program that is judged")
	policy := flags.String("policy", "", "also say before which requests this policy compacts")
	_ = flags.Parse(args)
	if flags.NArg() == 0 {
		return 2, errors.New("compare takes folders of recordings")
	}
	fmt.Println(header)
	code := 0
	for _, folder := range flags.Args() {
		results, err := compareFolder(*ctxkit, folder, filepath.Base(folder), *policy)
		if err != nil {
			fmt.Printf("%-40s FAILED: %v\n", filepath.Base(folder), err)
			code = 2
			continue
		}
		for _, r := range results {
			fmt.Println(r)
			if !r.good() {
				code = max(code, 1)
			}
		}
	}
	return code, nil
}

var (
	ownName   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f-]{27}\.jsonl$`)
	knownName = []string{"session.jsonl", "export.json", "ses_*.json", "rollout*.jsonl", "events.jsonl", "session-*.json*"}
)

// compareFolder compares a recording: a row of the main conversation and, where there are files of subagents, one of those.
func compareFolder(ctxkit, folder, name, policy string) ([]result, error) {
	plainFolder, err := os.MkdirTemp("", "ctxkit-lab-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(plainFolder)
	if err := unzipped(folder, plainFolder); err != nil {
		return nil, err
	}
	log, err := readLog(filepath.Join(plainFolder, "requests.ndjson"))
	if err != nil {
		return nil, err
	}
	if len(log) == 0 {
		return nil, errors.New("no request in requests.ndjson")
	}
	sessions, err := sessionsOf(plainFolder)
	if err != nil {
		return nil, err
	}
	if len(sessions) == 0 {
		return nil, errors.New("no session file")
	}
	c := comparison{ctxkit: ctxkit, policy: policy, ids: slices.ContainsFunc(log, func(l mock.LoggedRequest) bool { return l.Answer.ID != "" })}
	c.named = c.ids && log[0].API == "anthropic"
	var main, agents, summaries, agentSummaries []mock.LoggedRequest
	for i, l := range log {
		answered := l.Answer.Error == "" && (!c.named || l.Answer.ID != "")
		switch {
		case !answered:
		case l.Who == "main":
			main = append(main, l)
		case l.Who == "subagent":
			agents = append(agents, l)
		case l.Who != "summary":
		case l.Of != "":
			agentSummaries = append(agentSummaries, l)
		case l.API == "chat" && i > 0 && log[i-1].Who == "summary": // Pi asks twice for one compaction
		default:
			summaries = append(summaries, l)
		}
	}
	all := result{name: name, policy: policy}
	for _, file := range sessions {
		if err := c.session(&all, file, main, summaries); err != nil {
			return nil, err
		}
	}
	results := []result{all}
	files, _ := filepath.Glob(filepath.Join(plainFolder, "*", "subagents", "agent-*.jsonl"))
	deeper, _ := filepath.Glob(filepath.Join(plainFolder, "*", "subagents", "*", "agent-*.jsonl"))
	if files = append(files, deeper...); c.named && len(files) > 0 {
		of := result{name: name + "+agents"}
		for _, file := range files {
			if err := c.session(&of, file, agents, agentSummaries); err != nil {
				return nil, err
			}
		}
		results = append(results, of)
	}
	return results, nil
}

// unzipped copies a folder and unpacks its .gz files.
func unzipped(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, below)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if short, ok := strings.CutSuffix(target, ".gz"); ok {
			reader, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			var out bytes.Buffer
			if _, err := out.ReadFrom(reader); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return os.WriteFile(short, out.Bytes(), 0o644)
		}
		return os.WriteFile(target, text, 0o644)
	})
}

func readLog(file string) ([]mock.LoggedRequest, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var log []mock.LoggedRequest
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var l mock.LoggedRequest
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", filepath.Base(file), i+1, err)
		}
		log = append(log, l)
	}
	return log, nil
}

// sessionsOf lists the session files of a recording. Several of Claude Code's are in the order of their first line.
func sessionsOf(folder string) ([]string, error) {
	for _, pattern := range knownName {
		if found, _ := filepath.Glob(filepath.Join(folder, pattern)); len(found) > 0 {
			return found[:1], nil
		}
	}
	all, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(slices.Clone(all), func(f string) bool { return !ownName.MatchString(filepath.Base(f)) })
	if len(own) == 0 {
		return all[:min(len(all), 1)], nil
	}
	begins := map[string]string{}
	for _, file := range own {
		lines, err := linesOf(file)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if l.Timestamp != "" {
				begins[file] = l.Timestamp
				break
			}
		}
	}
	slices.SortStableFunc(own, func(a, b string) int { return strings.Compare(begins[a], begins[b]) })
	return own, nil
}

// line is a line of Claude Code's files, as far as requests are matched by it.
type line struct {
	Type, UUID, Timestamp string
	Message               struct{ ID string }
}

// linesOf reads the lines that are JSON.
func linesOf(file string) ([]line, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []line
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<30)
	for scanner.Scan() {
		var l line
		if json.Unmarshal(scanner.Bytes(), &l) == nil || l.Type != "" {
			lines = append(lines, l)
		}
	}
	return lines, scanner.Err()
}

// comparison compares the sessions of one recording.
type comparison struct {
	ctxkit string
	policy string
	ids    bool // the log has ids of answers; without, requests are counted
	named  bool // answers are matched by the ids of messages
}

// replayed is the part of ctxkit replay -f json that is compared.
type replayed struct {
	Totals struct{ Requests, Compactions int }
	Events []struct {
		Request int
		Kind    string
	}
	Requests []struct {
		N        int
		UUID     string
		Recorded *struct {
			Input      int
			CacheWrite int `json:"cache_write"`
			CacheRead  int `json:"cache_read"`
			Output     int
		}
	}
}

// asked is a request of the log, and the arguments that ask ctxkit for it.
type asked struct {
	line mock.LoggedRequest
	args []string
}

// session compares one session file with the requests of the log that it holds.
func (c *comparison) session(all *result, file string, requests, summaries []mock.LoggedRequest) error {
	texts, err := textsOf(file)
	if err != nil {
		return err
	}
	said, err := c.replay(file, "recorded")
	if err != nil {
		all.unread = true
		all.note("replay: "+err.Error(), "the session cannot be read")
	}
	all.seen += said.Totals.Requests
	all.counted += said.Totals.Compactions
	all.countedAt = append(all.countedAt, said.compactions()...)
	if c.policy != "" && !all.unread {
		other, err := c.replay(file, c.policy)
		if err != nil {
			return err
		}
		all.policyAt = append(all.policyAt, other.compactions()...)
	}
	matched, left, err := c.match(file, texts.all, said, requests)
	if err != nil {
		return err
	}
	for _, s := range summaries {
		if !c.named || strings.Contains(texts.own, fmt.Sprintf("request %d.", s.N)) {
			all.asked++
			before := 0
			for _, m := range matched {
				if m.line.N < s.N {
					before++
				}
			}
			all.askedAt = append(all.askedAt, before+1)
		}
	}
	all.left += left
	all.requests += len(matched)
	for i, m := range matched {
		if err := c.request(all, file, texts.all, i+1, m); err != nil {
			return err
		}
	}
	return nil
}

// replay replays a session under a policy.
func (c *comparison) replay(file, policy string) (replayed, error) {
	var said replayed
	out, err := c.run("replay", file, "-p", policy, "-f", "json")
	if err != nil {
		return said, err
	}
	return said, json.Unmarshal(out, &said)
}

// compactions are the numbers of the requests before which the conversation was summed up.
func (r replayed) compactions() []int {
	var at []int
	for _, e := range r.Events {
		if e.Kind == "summarize" {
			at = append(at, e.Request)
		}
	}
	return at
}

// fileTexts are the text of a session file, and of the file with those beside it.
type fileTexts struct{ own, all string }

func textsOf(file string) (fileTexts, error) {
	own, err := os.ReadFile(file)
	if err != nil {
		return fileTexts{}, err
	}
	t := fileTexts{string(own), string(own)}
	folder := strings.TrimSuffix(file, filepath.Ext(file))
	if _, err := os.Stat(folder); err != nil {
		return t, nil
	}
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		t.all += string(text)
		return err
	})
	return t, err
}

func (c *comparison) run(args ...string) ([]byte, error) {
	cmd := exec.Command(c.ctxkit, append(args, "-q", "--no-cache")...)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, tail(failure.String()))
	}
	return out, nil
}

// none is a number that no request has.
const none = 1000000

// match finds ctxkit's number of each request that the session holds. Claude Code's are matched by the id of the message
// that answered: one that ctxkit does not count is of a branch that was left, and is asked for by --leaf. Other clients'
// are those whose calls or text are on the file, matched by their usage.
func (c *comparison) match(file, text string, said replayed, requests []mock.LoggedRequest) (matched []asked, left int, err error) {
	if !c.named {
		unmatched := 0
		for i, l := range requests {
			if !c.ids {
				matched = append(matched, asked{l, []string{"--at", strconv.Itoa(i + 1)}})
				continue
			}
			nameless := l.API == "gemini" && l.Answer.Text == "" // its calls have no ids
			if !nameless && !slices.ContainsFunc(l.Answer.Calls, func(id string) bool { return strings.Contains(text, id) }) && !strings.Contains(text, quoted(l.Answer.Text)) {
				continue
			}
			if l.Answer.Cut {
				continue
			}
			n := none
			for i, r := range said.Requests {
				u := r.Recorded
				if u != nil && u.Input+u.CacheWrite+u.CacheRead == l.Answer.Usage.Total && u.Output == l.Answer.Usage.Out {
					n = r.N
					said.Requests = slices.Delete(slices.Clone(said.Requests), i, i+1)
					break
				}
			}
			if n == none {
				unmatched++
			}
			matched = append(matched, asked{l, []string{"--at", strconv.Itoa(n)}})
		}
		if unmatched > 0 && len(matched) == said.Totals.Requests { // a client that records another usage: by counting
			for i := range matched {
				matched[i].args[1] = strconv.Itoa(i + 1)
			}
		}
		return matched, 0, nil
	}
	lines, err := linesOf(file)
	if err != nil {
		return nil, 0, err
	}
	leaf, message := map[string]string{}, map[string]string{}
	for _, l := range lines {
		if l.Type == "assistant" && l.UUID != "" && l.Message.ID != "" {
			leaf[l.Message.ID] = l.UUID
			message[l.UUID] = l.Message.ID
		}
	}
	number := map[string]int{}
	for _, r := range said.Requests {
		if id := message[r.UUID]; id != "" && number[id] == 0 {
			number[id] = r.N
		}
	}
	for _, l := range requests {
		id := l.Answer.ID
		switch {
		case leaf[id] == "":
		case number[id] > 0:
			matched = append(matched, asked{l, []string{"--at", strconv.Itoa(number[id])}})
		default:
			matched = append(matched, asked{l, []string{"--leaf", leaf[id], "--at", "last"}})
			left++
		}
	}
	return matched, left, nil
}

// quoted is a text as JSON has it; of no text, something that no file has.
func quoted(text string) string {
	if text == "" {
		return "\x00"
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	return strings.TrimSpace(b.String())
}

// request compares one request.
func (c *comparison) request(all *result, file, text string, n int, a asked) error {
	name := fmt.Sprintf("request %d (%s)", n, strings.Join(a.args, " "))
	where := fmt.Sprintf("request %d", n)
	out, err := c.run(append([]string{"view", file, "--as", "payload", "--policy", "recorded", "-f", "json"}, a.args...)...)
	if err != nil {
		all.note(name+": "+err.Error(), where+": no such request")
		return nil
	}
	var body struct {
		Model     string
		MaxTokens int `json:"max_tokens"`
		Messages  json.RawMessage
	}
	if err := json.Unmarshal(out, &body); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	true_, err := blocksOf(a.line.API, a.line.Messages)
	if err != nil {
		return fmt.Errorf("requests.ndjson: request %d: %w", a.line.N, err)
	}
	ours, err := blocksOf("anthropic", body.Messages)
	if err != nil {
		return fmt.Errorf("view: %w", err)
	}
	ids := a.line.API != "gemini"
	onlyTrue, onlyOurs := equalRuns(true_, ours, ids)
	all.equal += len(true_) - len(onlyTrue)
	all.ours += len(onlyOurs)
	for _, i := range onlyTrue {
		if wordsIn(true_[i].text, text) {
			all.onFile++
		} else {
			all.offFile++
		}
	}
	if len(onlyTrue) == 0 && len(onlyOurs) == 0 {
		all.whole++
	}
	prompts := map[string]bool{}
	for _, b := range true_ {
		if b.role == "user" && b.kind == "text" {
			prompts[withoutReminders(b.text)] = true
		}
	}
	if d := firstDifference(conversation(true_, nil), conversation(ours, prompts), ids); d == nil {
		all.talk++
	} else {
		all.note(name+": "+d.full, where+": "+d.where)
	}
	if a.line.API == "anthropic" && slices.Equal(boundaries(true_), boundaries(ours)) {
		all.bounds++
	}
	trueMarks, ourMarks := marked(true_), marked(ours)
	if slices.EqualFunc(trueMarks, ourMarks, func(x, y block) bool { return x.same(y, ids) }) {
		all.marks++
	}
	if slices.EqualFunc(trueMarks, ourMarks, func(x, y block) bool { return x.message == y.message && x.at == y.at }) {
		all.places++
	}
	var model string
	var limit int
	_ = json.Unmarshal(a.line.Params["model"], &model)
	_ = json.Unmarshal(a.line.Params["max_tokens"], &limit)
	if (model == "" || model == body.Model) && (limit == 0 || limit == body.MaxTokens) {
		all.params++
	}
	return nil
}

// note keeps the first difference.
func (r *result) note(full, where string) {
	if r.first == "" {
		r.first, r.where = full, where
	}
}

// difference is where two conversations part: full with the words, where without.
type difference struct{ full, where string }

// firstDifference returns the first block in which two conversations differ, by its place in the true body, or in ours
// where the true one has ended; nil if there is none.
func firstDifference(true_, ours []block, ids bool) *difference {
	for i := range max(len(true_), len(ours)) {
		switch {
		case i >= len(true_):
			b := ours[i]
			where := fmt.Sprintf("message %d block %d of ctxkit's: %s that was not sent", b.message+1, b.at+1, b.kind)
			return &difference{where + ": " + cut(b), where}
		case i >= len(ours):
			b := true_[i]
			where := fmt.Sprintf("message %d block %d: %s is missing", b.message+1, b.at+1, b.kind)
			return &difference{where + ": " + cut(b), where}
		case !true_[i].same(ours[i], ids):
			b, o := true_[i], ours[i]
			where := fmt.Sprintf("message %d block %d: %s, ctxkit has %s", b.message+1, b.at+1, b.kind, o.kind)
			if b.kind == o.kind {
				where = fmt.Sprintf("message %d block %d: another %s", b.message+1, b.at+1, b.kind)
			}
			return &difference{fmt.Sprintf("%s: sent %s, ctxkit has %s", where, cut(b), cut(o)), where}
		}
	}
	return nil
}

// cut shows a block on one line.
func cut(b block) string {
	text := fmt.Sprintf("%s %.80q", b.call, b.text)
	return strings.TrimSpace(text)
}

// boundaries are roles and numbers of blocks of the messages.
func boundaries(blocks []block) []string {
	var out []string
	for i, b := range blocks {
		if i+1 == len(blocks) || blocks[i+1].message != b.message {
			out = append(out, fmt.Sprintf("%s %d", b.role, b.at+1))
		}
	}
	return out
}

func marked(blocks []block) []block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b block) bool { return !b.marked })
}

var reminderTags = regexp.MustCompile(`</?system-reminder>`)

// wordsIn reports whether 60 characters of a block's longest line are on the file.
func wordsIn(text, file string) bool {
	longest := ""
	for l := range strings.SplitSeq(reminderTags.ReplaceAllString(text, ""), "\n") {
		if len([]rune(l)) > len([]rune(longest)) {
			longest = l
		}
	}
	words := []rune(strings.TrimSpace(longest))
	if len(words) == 0 {
		return true
	}
	q := quoted(string(words[:min(len(words), 60)]))
	return strings.Contains(file, q[1:len(q)-1])
}
