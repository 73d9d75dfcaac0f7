// Package mock is a model server for real coding agents: it speaks the Messages, Responses, chat completions and Gemini
// APIs, answers from a script, and writes each request to a log.
//
// A prompt carries its script: @@ID step || step || step@@. ID begins with "sub" only where a subagent follows it. A
// step is one answer, of parts joined by "&&":
//
//	ToolName {"json":"input"}  a tool call; several are parallel
//	say TEXT                   a text; without calls, the end of the turn
//	think TEXT                 thinking
//	big N                      a text of N words
//	refuse TEXT                the model refuses, after TEXT
//	error 529                  that HTTP status instead of an answer; error prompt_too_long is the 400 of that name
//	cut                        the connection is cut in the middle of the answer
//	wait MS, stall MS          the answer, or its second half, comes MS later
//
// $PLAN in a step is the plan file that the request names last. A subagent's prompt has %%subID step ;; step%% in its
// place. A name alone, @@ID@@ or %%subID%%, takes the script registered under it (Server.Script): the script of a subagent
// that starts another one has to be registered. A request takes the next step of the script that the user's texts name
// last; without one, of the script that the same agent followed before, or that the request for its summary named. After
// the last step the answer is "done". A request that asks for a summary gets one with the request's number in it, a request
// without tools a title.
//
// Usage is a quarter of the characters of tools, system prompt and conversation. What a request shares with the cached
// part of the one before, of the same model and tools, is read from the cache; up to the last cache mark is written to
// it; the rest is uncached.
package mock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Server is a mock model server. Its fields are set before Start.
type Server struct {
	Log   io.Writer // requests.ndjson
	Whole bool      // log system prompts and tools whole, not as length and digest
	Limit int       // tokens of a request: a larger one is refused as too long, and takes no step of its script; 0: none

	mu       sync.Mutex
	address  string
	requests int
	ids      int
	named    map[string]string
	scripts  map[string]*script
	followed map[string]string // by agent: the script it followed last
	current  string
	summed   bool // the request before asked for a summary
	cached   map[string]cachedPrefix
	unknown  []string
	problems []string
	last     time.Time
}

// cachedPrefix is what the server holds of the last request of a model.
type cachedPrefix struct {
	text   []rune
	marked int
}

// Script registers the steps of a script that prompts name.
func (s *Server) Script(id, steps string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.named == nil {
		s.named = map[string]string{}
	}
	s.named[id] = steps
}

// Start listens on the loopback, at a free port if port is 0, and returns a function that stops the server.
func (s *Server) Start(port int) (stop func(), err error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	s.address = "http://" + listener.Addr().String()
	server := &http.Server{Handler: s}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}

// URL is the address of a started server, without a path.
func (s *Server) URL() string { return s.address }

// Requests is the number of model requests so far, and the time of the last one.
func (s *Server) Requests() (int, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.last
}

// Unknown lists the paths that no API of this server has, each once, in the order they were asked for.
func (s *Server) Unknown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unknown
}

// Problems lists bodies and steps that could not be read.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problems
}

// api is how one API answers.
type api struct {
	name   string
	answer func(*request, *step, *usage) reply
}

// reply is an answer as the API has it: whole, or as events.
type reply struct {
	id     string
	whole  any
	events []event
}

type event struct {
	name string
	data any
}

type usage struct{ total, read, written, out int }

var geminiPath = regexp.MustCompile(`/models/([^/:]+):(streamGenerateContent|generateContent|countTokens)$`)

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	path := r.URL.Path
	gemini := geminiPath.FindStringSubmatch(path)
	var a api
	switch {
	case r.Method != http.MethodPost:
		if strings.HasSuffix(path, "/models") {
			writeJSON(w, 200, object{"object": "list", "data": []object{{"id": "mock-1", "object": "model"}}, "has_more": false})
		} else {
			s.notFound(w, r)
		}
		return
	case strings.HasSuffix(path, "/messages/count_tokens"):
		writeJSON(w, 200, object{"input_tokens": (len(body) + 3) / 4})
		return
	case gemini != nil && gemini[2] == "countTokens":
		writeJSON(w, 200, object{"totalTokens": (len(body) + 3) / 4})
		return
	case strings.HasSuffix(path, "/messages"):
		a = api{"anthropic", s.messagesAPI}
	case strings.HasSuffix(path, "/responses"):
		a = api{"responses", s.responsesAPI}
	case strings.HasSuffix(path, "/chat/completions"):
		a = api{"chat", s.chatAPI}
	case gemini != nil:
		a = api{"gemini", s.geminiAPI}
	default:
		s.notFound(w, r)
		return
	}
	request, err := parseRequest(body)
	if err != nil {
		s.mu.Lock()
		s.problems = append(s.problems, fmt.Sprintf("%s: the body is no JSON: %v", path, err))
		s.mu.Unlock()
		writeError(w, "400")
		return
	}
	request.agent = r.Header.Get("X-Claude-Code-Agent-Id")
	if gemini != nil {
		request.stream = gemini[2] == "streamGenerateContent"
		request.model = gemini[1]
	}
	step, answer := s.answer(a, request, r.Header)
	if step.wait > 0 {
		time.Sleep(time.Duration(step.wait) * time.Millisecond)
	}
	switch {
	case step.fail != "":
		writeError(w, step.fail)
	case !request.stream && step.cut:
		panic(http.ErrAbortHandler)
	case !request.stream:
		writeJSON(w, 200, answer.whole)
	default:
		stream(w, answer.events, step)
	}
}

// notFound answers 404 and remembers the path.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := r.Method + " " + r.URL.Path
	known := false
	for _, u := range s.unknown {
		known = known || u == asked
	}
	if !known {
		s.unknown = append(s.unknown, asked)
	}
	writeJSON(w, 404, object{})
}

// answer takes the next step for a request, builds the reply and logs both.
func (s *Server) answer(a api, r *request, header http.Header) (*step, reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scripts == nil {
		s.scripts, s.followed, s.cached = map[string]*script{}, map[string]string{}, map[string]cachedPrefix{}
	}
	s.requests++
	s.last = time.Now()
	next, err := step{fail: s.refusal(r)}, error(nil)
	if next.fail == "" {
		next, err = s.nextStep(r, s.requests)
	}
	if err != nil {
		s.problems = append(s.problems, err.Error())
		next.fail = "400"
	}
	if s.summed && !next.summary {
		next.wait = max(next.wait, afterSummary)
	}
	s.summed = next.summary
	u := s.usageOf(r, &next)
	var answer reply
	if next.fail == "" {
		answer = a.answer(r, &next, u)
	}
	s.log(a, r, header, &next, u, answer)
	return &next, answer
}

// refusal is the error step of a request that is larger than the limit, "" of another.
func (s *Server) refusal(r *request) string {
	text, _ := r.prefix()
	if size := (len(text) + 3) / 4; s.Limit > 0 && size > s.Limit {
		return fmt.Sprintf("prompt_too_long %d %d", size, s.Limit)
	}
	return ""
}

// afterSummary is how many milliseconds the answer after a summary takes at least. A client writes down the compaction
// meanwhile: Claude Code 2.1.119 once wrote an answer that came within 90 ms in front of the summary, below what it had summed up.
const afterSummary = 700

// usageOf counts a request and its answer, and caches its prefix.
func (s *Server) usageOf(r *request, next *step) *usage {
	key := fmt.Sprint(r.model, r.toolCount())
	text, marked := r.prefix()
	before := s.cached[key]
	s.cached[key] = cachedPrefix{text, marked}
	read := 0
	for read < len(text) && read < before.marked && text[read] == before.text[read] {
		read++
	}
	u := &usage{total: (len(text) + 3) / 4, read: read / 4}
	if u.read > u.total-3 { // the server always reads the end anew
		u.read = max(0, u.total-3)
	}
	u.written = max(0, min(marked/4, u.total-3)-u.read)
	size := len(next.think) + len(next.text)
	for _, c := range next.calls {
		size += len(c.name) + len(c.input) + 20
	}
	u.out = size/4 + 1
	return u
}

// size is a system prompt or a list of tools as length and digest.
type size struct {
	Chars       int    `json:"chars"`
	SHA256      string `json:"sha256"`
	Parts       int    `json:"parts"`
	Breakpoints int    `json:"breakpoints"`
}

// sized returns a value as length and digest, or whole.
func (s *Server) sized(v json.RawMessage) any {
	switch {
	case len(v) == 0:
		return nil
	case s.Whole:
		return v
	}
	digest := sha256.Sum256(v)
	d := size{len([]rune(string(v))), hex.EncodeToString(digest[:]), 1, strings.Count(string(v), `"cache_control"`)}
	var list []json.RawMessage
	if json.Unmarshal(v, &list) == nil {
		d.Parts = len(list)
	}
	return d
}

// LoggedRequest is a request in the log.
type LoggedRequest struct {
	N        int                        `json:"n"`
	At       string                     `json:"at"`
	API      string                     `json:"api"` // anthropic, responses, chat or gemini
	Who      string                     `json:"who"` // main, subagent, summary (a compaction's own) or aside (titles and the like)
	Of       string                     `json:"of,omitempty"`
	Session  string                     `json:"session,omitempty"`
	Agent    string                     `json:"agent,omitempty"`
	Parent   string                     `json:"parent,omitempty"`
	Params   map[string]json.RawMessage `json:"params"`
	System   any                        `json:"system"`
	Tools    any                        `json:"tools"`
	Messages json.RawMessage            `json:"messages"` // as sent, cache marks included
	Answer   Answer                     `json:"answer"`
}

// Answer is what the server answered to a logged request. ID and Calls are the ids of the message and its calls.
type Answer struct {
	ID      string   `json:"id,omitempty"`
	Usage   Usage    `json:"u"`
	Summary bool     `json:"summary,omitempty"`
	Text    string   `json:"text,omitempty"`
	Cut     bool     `json:"cut,omitempty"`
	Error   string   `json:"error,omitempty"`
	Refused bool     `json:"refused,omitempty"`
	Calls   []string `json:"calls,omitempty"`
}

// Usage is the usage of an answer, in tokens. Total is the whole input, Read its part from the cache.
type Usage struct {
	Total int `json:"total"`
	Read  int `json:"read"`
	Out   int `json:"out"`
}

func (s *Server) log(a api, r *request, header http.Header, next *step, u *usage, answer reply) {
	if s.Log == nil {
		return
	}
	line := LoggedRequest{
		N: s.requests, At: s.last.UTC().Format("2006-01-02T15:04:05.000Z"), API: a.name, Who: "main",
		Session: header.Get("X-Claude-Code-Session-Id"), Agent: r.agent, Parent: header.Get("X-Claude-Code-Parent-Agent-Id"),
		Params: r.params(), System: s.sized(r.system), Tools: s.sized(r.tools), Messages: r.conversation,
		Answer: Answer{ID: answer.id, Usage: Usage{u.total, u.read, u.out}, Summary: next.summary, Text: next.text, Cut: next.cut, Error: next.fail, Refused: next.refuse},
	}
	for _, c := range next.calls {
		if c.id != "" {
			line.Answer.Calls = append(line.Answer.Calls, c.id)
		}
	}
	texts := r.userTexts()
	all := strings.Join(texts, "\n")
	sub := r.agent != "" || strings.HasPrefix(next.script, "sub") || strings.Contains(all, "%%sub") && !strings.Contains(all, "@@")
	switch {
	case next.summary:
		line.Who = "summary"
		if sub {
			line.Of = "subagent"
		}
	case next.aside:
		line.Who = "aside"
	case sub:
		line.Who = "subagent"
	}
	if line.Messages == nil {
		line.Messages = json.RawMessage("[]")
	}
	out := json.NewEncoder(s.Log)
	out.SetEscapeHTML(false)
	if err := out.Encode(line); err != nil {
		s.problems = append(s.problems, "log: "+err.Error())
	}
}

// stream writes events of a stream: half of them where the connection is cut or stalls.
func stream(w http.ResponseWriter, events []event, next *step) {
	w.Header().Set("Content-Type", "text/event-stream")
	half := len(events)
	if next.cut || next.stall > 0 {
		half = (len(events) + 1) / 2
	}
	put := func(events []event) {
		for _, e := range events {
			if e.name != "" {
				fmt.Fprintf(w, "event: %s\n", e.name)
			}
			if text, ok := e.data.(string); ok {
				fmt.Fprintf(w, "data: %s\n\n", text)
				continue
			}
			fmt.Fprintf(w, "data: %s\n\n", marshal(e.data))
		}
		_ = http.NewResponseController(w).Flush()
	}
	put(events[:half])
	if next.cut {
		time.Sleep(300 * time.Millisecond) // the client reads the half before the connection ends
		panic(http.ErrAbortHandler)
	}
	time.Sleep(time.Duration(next.stall) * time.Millisecond)
	put(events[half:])
}

// object is a JSON object of an answer.
type object map[string]any

func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // answers are built of strings, numbers and valid JSON
	}
	return data
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(marshal(v))
}

// writeError answers with the status of an error step, in the form that all four APIs share.
func writeError(w http.ResponseWriter, name string) {
	var status int
	kind, message := "api_error", "Internal server error"
	detail := object{}
	size, limit := 210000, 200000
	name, numbers, _ := strings.Cut(name, " ")
	_, _ = fmt.Sscan(numbers, &size, &limit)
	switch name {
	case "prompt_too_long":
		status, kind, message = 400, "invalid_request_error", fmt.Sprintf("prompt is too long: %d tokens > %d maximum", size, limit)
		detail["code"] = "context_length_exceeded"
	case "529":
		status, kind, message = 529, "overloaded_error", "Overloaded"
	case "429":
		status, kind, message = 429, "rate_limit_error", "Rate limited"
	default:
		if _, err := fmt.Sscan(name, &status); err != nil || status < 400 || status > 599 {
			status = 500
		}
	}
	detail["type"], detail["message"] = kind, message
	writeJSON(w, status, object{"type": "error", "error": detail})
}

// newID returns the next id with a prefix. Ids count up, so that a run repeated has the same ones.
func (s *Server) newID(prefix string) string {
	s.ids++
	return fmt.Sprintf("%s%020d", prefix, s.ids)
}
