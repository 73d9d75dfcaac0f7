package mock

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// started is a server with a log.
func started(t *testing.T) (*Server, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	s := &Server{Log: log}
	stop, err := s.Start(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return s, log
}

// post sends a body and returns status and answer.
func post(t *testing.T, s *Server, path, body string) (int, string) {
	t.Helper()
	response, err := http.Post(s.URL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return response.StatusCode, string(text) + " CUT"
	}
	return response.StatusCode, string(text)
}

// prompt is a request to an API with one prompt.
func prompt(path, text string, stream bool) string {
	quoted, _ := json.Marshal(text)
	switch {
	case strings.Contains(path, "gemini"):
		return fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":%s}]}],"tools":[{"functionDeclarations":[{"name":"sh"}]}]}`, quoted)
	case strings.HasSuffix(path, "responses"):
		return fmt.Sprintf(`{"model":"m","stream":%t,"input":[{"role":"user","content":[{"type":"input_text","text":%s}]}],"tools":[{"type":"function","name":"sh"},{"type":"custom","name":"patch"}]}`, stream, quoted)
	}
	return fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":%s}],"tools":[{"name":"sh"}]}`, stream, quoted)
}

var paths = strings.Fields("/v1/messages /v1/responses /v1/chat/completions /v1beta/models/gemini-x:generateContent")

func TestSteps(t *testing.T) {
	got, err := parseStep(`think a plan && sh {"cmd":"ls"} && sh {"cmd":"pwd"} && say both && wait 5`)
	if err != nil {
		t.Fatal(err)
	}
	if got.think != "a plan" || got.text != "both" || got.wait != 5 || len(got.calls) != 2 || string(got.calls[1].input) != `{"cmd":"pwd"}` {
		t.Errorf("%+v", got)
	}
	if got, err = parseStep(`sh {\"cmd\":\"ls\"}`); err != nil || string(got.calls[0].input) != `{"cmd":"ls"}` {
		t.Errorf("a quoted input: %+v, %v", got, err)
	}
	if got, err = parseStep(`big 3`); err != nil || got.text != "word0 word1 word2" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, wrong := range []string{"", "!", "wait long", `sh {"cmd":`} {
		if _, err := parseStep(wrong); err == nil {
			t.Errorf("%q is no step, and no error", wrong)
		}
	}
}

// Every API plays the script of a prompt, streamed and whole.
func TestEveryAPI(t *testing.T) {
	for _, path := range paths {
		for _, stream := range []bool{false, true} {
			s, _ := started(t)
			at := path
			if stream {
				at = strings.Replace(path, ":generateContent", ":streamGenerateContent", 1)
			}
			body := prompt(path, `do @@x think deep || sh {"cmd":"ls"} && sh {"cmd":"pwd"} || say the end@@`, stream)
			for i, want := range [][]string{{"deep"}, {"ls", "pwd"}, {"the end"}, {"done"}} {
				status, text := post(t, s, at, body)
				if status != 200 {
					t.Fatalf("%s: status %d: %s", at, status, text)
				}
				for _, word := range want {
					if !strings.Contains(text, word) {
						t.Errorf("%s, answer %d: no %q in %s", at, i, word, text)
					}
				}
				if stream != strings.HasPrefix(strings.TrimPrefix(text, "event: "), "message_start") && path == "/v1/messages" {
					t.Errorf("%s: stream %t: %s", at, stream, text)
				}
			}
			if !s.Played("x") {
				t.Errorf("%s: the script is not played", at)
			}
		}
	}
}

func TestRegisteredAndSubagents(t *testing.T) {
	s, log := started(t)
	s.Script("t1", "say registered")
	s.Script("sub2", "say from below || say again")
	ask := func(text string) string {
		_, answer := post(t, s, "/v1/messages", prompt("", text, false))
		return answer
	}
	for text, want := range map[string]string{
		"go @@t1@@": "registered", "do %%sub2%%": "from below", `%%sub3 sh {"a":1} ;; say x%%`: `"a":1`, "go @@nothing@@": "no such script",
		"write a detailed summary of it": "mock summary of request",
	} {
		if answer := ask(text); !strings.Contains(answer, want) {
			t.Errorf("%s: %s", text, answer)
		}
	}
	who := map[string]string{}
	for l := range lines(t, log) {
		who[string(l.Messages)] = l.Who
	}
	for text, want := range map[string]string{"@@t1": "main", "%%sub2": "subagent", "%%sub3": "subagent", "detailed": "summary"} {
		for messages, is := range who {
			if strings.Contains(messages, text) && is != want {
				t.Errorf("%s is of %s, not of %s", messages, is, want)
			}
		}
	}
	if _, answer := post(t, s, "/v1/messages", `{"messages":[{"role":"user","content":"a title"}]}`); !strings.Contains(answer, "Mock title") {
		t.Errorf("without tools: %s", answer)
	}
}

// A prompt that a summary takes the place of, as it was sent, is followed all the same.
func TestSummedUpPrompt(t *testing.T) {
	s, _ := started(t)
	s.Script("t1", "say one || say never")
	s.Script("t2", "say two || say three")
	for _, c := range []struct{ text, want string }{
		{"go @@t1@@", "one"}, {"go @@t2@@\nwrite a detailed summary of it", "mock summary"}, {"go on from the summary", "two"}, {"go on from the summary", "three"},
	} {
		var messages []string
		for text := range strings.SplitSeq(c.text, "\n") {
			messages = append(messages, fmt.Sprintf(`{"role":"user","content":%q}`, text))
		}
		if _, answer := post(t, s, "/v1/messages", `{"messages":[`+strings.Join(messages, ",")+`],"tools":[{"name":"sh"}]}`); !strings.Contains(answer, c.want) {
			t.Errorf("%q: no %q in %s", c.text, c.want, answer)
		}
	}
}

// lines reads a log.
func lines(t *testing.T, log io.Reader) func(func(LoggedRequest) bool) {
	return func(yield func(LoggedRequest) bool) {
		scanner := bufio.NewScanner(log)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			var l LoggedRequest
			if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
				t.Error(err)
			}
			if !yield(l) {
				return
			}
		}
	}
}

// What a request shares with the one before is read up to its last mark; marks that move change nothing.
func TestUsage(t *testing.T) {
	s, log := started(t)
	long := strings.Repeat("abcd", 100)
	body := func(texts ...string) string {
		var b strings.Builder
		for i, text := range texts {
			mark := ""
			if i == len(texts)-1 {
				mark = `,"cache_control":{"type":"ephemeral"}`
			}
			fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"text","text":%q%s}]}`, text, mark)
		}
		return `{"model":"m","tools":[{"name":"sh"}],"messages":[` + b.String()[1:] + `]}`
	}
	post(t, s, "/v1/messages", body(long))
	post(t, s, "/v1/messages", body(long, "more"))
	post(t, s, "/v1/messages", body("other"+long, "more"))
	var all []Usage
	for l := range lines(t, log) {
		all = append(all, l.Answer.Usage)
	}
	if len(all) != 3 {
		t.Fatalf("%d requests", len(all))
	}
	if all[0].Read != 0 || all[0].Total < 100 {
		t.Errorf("the first: %+v", all[0])
	}
	if all[1].Read < 100 || all[1].Read >= all[1].Total {
		t.Errorf("the second reads what it shares: %+v", all[1])
	}
	if all[2].Read > 25 {
		t.Errorf("the third shares only the tools: %+v", all[2])
	}
}

// Each kind of failure, in every API, and success after it.
func TestErrors(t *testing.T) {
	for _, path := range paths {
		s, log := started(t)
		body := prompt(path, "@@e error 529 || error prompt_too_long || error 429 || refuse not this || say after@@", false)
		for _, want := range []struct {
			status int
			word   string
		}{{529, "overloaded_error"}, {400, "prompt is too long"}, {429, "rate_limit_error"}, {200, "not this"}, {200, "after"}} {
			if status, text := post(t, s, path, body); status != want.status || !strings.Contains(text, want.word) {
				t.Errorf("%s: %d %s; not %v", path, status, text, want)
			}
		}
		n := 0
		for l := range lines(t, log) {
			if n++; n < 4 && (l.Answer.Error == "" || l.Answer.ID != "") {
				t.Errorf("%s: the log has %+v of an error", path, l.Answer)
			}
		}
	}
}

// A request over the limit is refused with its size, and the step that it would have taken is the next one's.
func TestLimit(t *testing.T) {
	s, _ := started(t)
	s.Limit = 1000
	steps := "@@l say first || say second@@"
	for _, c := range []struct {
		text   string
		status int
		word   string
	}{{steps, 200, "first"}, {steps + strings.Repeat("long ", 1000), 400, "prompt is too long: 1270 tokens"}, {steps, 200, "second"}} {
		if status, text := post(t, s, "/v1/messages", prompt("", c.text, false)); status != c.status || !strings.Contains(text, c.word) {
			t.Errorf("%d %s; not %v", status, text, c)
		}
	}
}

func TestCut(t *testing.T) {
	s, log := started(t)
	if status, text := post(t, s, "/v1/messages", prompt("", "@@c cut && say half of it || say whole@@", true)); status != 200 || !strings.HasSuffix(text, "CUT") || !strings.Contains(text, "message_start") || strings.Contains(text, "message_stop") {
		t.Errorf("%d %s", status, text)
	}
	for l := range lines(t, log) {
		if !l.Answer.Cut {
			t.Errorf("%+v", l.Answer)
		}
	}
}

func TestOtherPaths(t *testing.T) {
	s, _ := started(t)
	if _, text := post(t, s, "/v1/messages/count_tokens", strings.Repeat("x", 400)); !strings.Contains(text, "100") {
		t.Error(text)
	}
	if _, text := post(t, s, "/v1beta/models/gemini-x:countTokens", strings.Repeat("x", 400)); !strings.Contains(text, "100") {
		t.Error(text)
	}
	if status, _ := post(t, s, "/v1/embeddings", "{}"); status != 404 || len(s.Unknown()) != 1 || s.Unknown()[0] != "POST /v1/embeddings" {
		t.Errorf("%d, %v", status, s.Unknown())
	}
	if status, _ := post(t, s, "/v1/messages", "{"); status != 400 || len(s.Problems()) != 1 {
		t.Errorf("%d, %v", status, s.Problems())
	}
}
