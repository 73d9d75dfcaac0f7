package mock

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// call is a tool call of an answer. id is set when the answer is built.
type call struct {
	name  string
	input json.RawMessage
	id    string
}

// step is one answer of a script.
type step struct {
	think   string
	text    string
	calls   []call
	fail    string // an HTTP status, or prompt_too_long
	refuse  bool
	cut     bool
	wait    int // milliseconds before the answer
	stall   int // milliseconds between its halves
	summary bool
	remote  bool // a compaction by the server (Responses API)
	aside   bool
	script  string
}

// script is a list of steps with the position of the next one.
type script struct {
	steps []string
	next  int
}

var (
	mainScript = regexp.MustCompile(`@@(\w+)(?: ((?s:.*?)))?@@`)
	subScript  = regexp.MustCompile(`%%(\w+)(?: ((?s:.*?)))?%%`)
	summaries  = regexp.MustCompile(`(?i)detailed summary|summar(y|ize) (of )?(the|our|this) conversation|CONTEXT CHECKPOINT|anchored summary|state_snapshot|Create a.*summary`)
	begins     = regexp.MustCompile(`<conversation>|conversation so far|^# Conversation`) // of a request for a summary without tools
	word       = regexp.MustCompile(`^(\w+)\s*((?s:.*))$`)
	planFile   = regexp.MustCompile("/[^\\s\"\\\\`]*/plans/[\\w-]+\\.md")
)

// splitSteps parses the text of a script. Steps of a subagent's are separated by ";;".
func splitSteps(text, separator string) []string {
	steps := strings.Split(text, separator)
	for i := range steps {
		steps[i] = strings.TrimSpace(steps[i])
	}
	return steps
}

// parseStep reads one step: parts joined by "&&", each a word with its argument. Any other word is the name of a
// tool, its argument the input as JSON.
func parseStep(text string) (step, error) {
	var s step
	for part := range strings.SplitSeq(text, "&&") {
		m := word.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return s, fmt.Errorf("script: %q is no step: it begins with no word", part)
		}
		var err error
		switch m[1] {
		case "say":
			s.text = m[2]
		case "think":
			s.think = m[2]
		case "error":
			s.fail = m[2]
		case "refuse":
			s.refuse, s.text = true, m[2]
		case "cut":
			s.cut = true
		case "wait":
			s.wait, err = strconv.Atoi(m[2])
		case "stall":
			s.stall, err = strconv.Atoi(m[2])
		case "big":
			var n int
			n, err = strconv.Atoi(m[2])
			words := make([]string, n)
			for i := range words {
				words[i] = "word" + strconv.Itoa(i)
			}
			s.text = strings.Join(words, " ")
		default:
			input := m[2]
			if input == "" {
				input = "{}"
			}
			if !json.Valid([]byte(input)) {
				input = strings.ReplaceAll(input, `\"`, `"`) // opencode run quotes its argument
			}
			if !json.Valid([]byte(input)) {
				return s, fmt.Errorf("script: the input of %s is no JSON: %s", m[1], input)
			}
			s.calls = append(s.calls, call{name: m[1], input: json.RawMessage(input)})
		}
		if err != nil {
			return s, fmt.Errorf("script: %q: %w", part, err)
		}
	}
	return s, nil
}

// summaryText is the answer to a request for a summary. The number of the request tells summaries apart.
func summaryText(n int) string {
	return fmt.Sprintf("<analysis>looked at it all</analysis>\n<summary>\n1. Primary Request: the scripted work.\n2. Files: a.txt b.txt. The mock summary of request %d.\n</summary>", n)
}

// nextStep chooses the answer to a request: the next step of the script that the user's texts name last, or else of
// the script that the same agent followed before. Requests for summaries and requests without tools get fixed texts.
func (s *Server) nextStep(r *request, n int) (step, error) {
	texts := r.userTexts()
	last := ""
	if len(texts) > 0 {
		last = texts[len(texts)-1]
	}
	match, sub := lastMatch(mainScript, texts), false
	if match == nil {
		match, sub = lastMatch(subScript, texts), true
	}
	key := r.agent
	if key == "" {
		key = strconv.Itoa(r.toolCount())
	}
	id := s.followed[key]
	if id == "" {
		id = s.current
	}
	if match != nil {
		id = match[1]
	}
	asksSummary := r.wantsRemoteCompaction() || summaries.MatchString(last) && !strings.Contains(last, "@@")
	if asksSummary && match != nil && s.followed[key] != "" {
		// What is summed up names what is to be done next, also where the prompt itself is not kept.
		s.follow(key, match, sub)
	}
	if r.wantsRemoteCompaction() {
		return step{summary: true, remote: true, text: summaryText(n), script: id}, nil
	}
	if asksSummary {
		return step{summary: true, text: summaryText(n), script: id}, nil
	}
	if r.toolCount() == 0 && begins.MatchString(last[:min(len(last), 400)]) {
		return step{summary: true, text: summaryText(n), script: id}, nil
	}
	if r.toolCount() == 0 {
		return step{aside: true, text: `{"title":"Mock title","isNewTopic":true}`}, nil
	}
	if match != nil {
		s.follow(key, match, sub)
	}
	running := s.scripts[id]
	if running == nil {
		return step{text: "ok"}, nil
	}
	text := "say done"
	if running.next < len(running.steps) {
		text = running.steps[running.next]
	}
	running.next++
	if strings.Contains(text, "$PLAN") {
		plan := "plan.md"
		if all := planFile.FindAllString(string(r.conversation), -1); len(all) > 0 {
			plan = all[len(all)-1]
		}
		text = strings.ReplaceAll(text, "$PLAN", plan)
	}
	next, err := parseStep(text)
	next.script = id
	return next, err
}

// follow lets an agent follow the script of a match from now on.
func (s *Server) follow(key string, match []string, sub bool) {
	id := match[1]
	s.followed[key] = id
	if !strings.HasPrefix(id, "sub") {
		s.current = id
	}
	if s.scripts[id] == nil {
		s.scripts[id] = s.newScript(match, sub)
	}
}

// newScript is the script of a match: its own steps, or those registered under its name.
func (s *Server) newScript(match []string, sub bool) *script {
	text, separator := match[2], "||"
	switch {
	case text == "":
		var ok bool
		if text, ok = s.named[match[1]]; !ok {
			text = "say no such script"
		}
	case sub:
		separator = ";;"
	}
	return &script{steps: splitSteps(text, separator)}
}

// Played reports whether every step of a script was answered.
func (s *Server) Played(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := s.scripts[id]
	return running != nil && running.next >= len(running.steps)
}

func lastMatch(pattern *regexp.Regexp, texts []string) []string {
	for _, text := range slices.Backward(texts) {
		if all := pattern.FindAllStringSubmatch(text, -1); len(all) > 0 {
			return all[len(all)-1]
		}
	}
	return nil
}
