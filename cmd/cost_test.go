package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// steadySession writes a session without usage of so many requests, each with a prompt of so many words.
func steadySession(t *testing.T, requests, words int) string {
	t.Helper()
	var b strings.Builder
	last := "null"
	line := func(n int, kind, message string) {
		uuid := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
		fmt.Fprintf(&b, `{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"steady","version":"2.1.50","isSidechain":false,"timestamp":"2026-02-01T%02d:%02d:%02d.000Z","message":%s}`+"\n",
			kind, uuid, last, 10+n/3600, n/60%60, n%60, message)
		last = `"` + uuid + `"`
	}
	text := strings.Repeat("word ", words)
	for n := 0; n < 2*requests; n += 2 {
		line(n, "user", fmt.Sprintf(`{"role":"user","content":"%d %s"}`, n, text))
		line(n+1, "assistant", fmt.Sprintf(`{"id":"m%d","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"ok"}]}`, n))
	}
	path := filepath.Join(t.TempDir(), "steady.jsonl")
	writeFile(t, path, b.String())
	return path
}

// ctxkitJSON runs a command and reads its JSON.
func ctxkitJSON(t *testing.T, to any, args ...string) {
	t.Helper()
	code, out, errs := ctxkit(append(args, "--format", "json", "--quiet")...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	must.Do(t, json.Unmarshal([]byte(out), to))
}

// costOf runs ctxkit cost and gives its only session.
func costOf(t *testing.T, args ...string) costSession {
	t.Helper()
	var got struct{ Sessions []costSession }
	if ctxkitJSON(t, &got, append([]string{"cost"}, args...)...); len(got.Sessions) != 1 {
		t.Fatalf("%d sessions", len(got.Sessions))
	}
	return got.Sessions[0]
}

type costSession struct {
	Main, Own    costBill
	Conversation int     `json:"conversation_tokens"`
	Share        float64 `json:"own_share"`
}

type costBill struct {
	Calls int
	Input struct {
		Read, Uncached int
		Written        int `json:"write_5m"`
		WrittenLong    int `json:"write_1h"`
	}
	Output int `json:"output_tokens"`
}

// Tokens is all of them.
func (b *costBill) Tokens() int {
	return b.Input.Read + b.Input.Uncached + b.Input.Written + b.Input.WrittenLong + b.Output
}

// TestCompactionOverhead is the worked arithmetic of the threshold analysis: with a summary view of 15,000, each
// 152,000 tokens of conversation in a window of 200,000 pay 170,000 for a compaction, 53 % of both; in one of
// 1,000,000 it is 970,000 for 952,000, 50.5 %.
func TestCompactionOverhead(t *testing.T) {
	for _, tt := range []struct {
		window, requests, words int
		want, off               float64 // percent
	}{
		{200000, 1300, 400, 53, 0.5},
		{1000000, 1100, 2000, 50.5, 0.1},
	} {
		const view, overhead, output = 15000, 5000, 3000
		asked := []string{
			"--policy", "claude-code-2.1", "--window", fmt.Sprint(tt.window), "--overhead", fmt.Sprint(overhead),
			"--set", fmt.Sprintf("autocompact.summary=[fixed: %d]", view-overhead), "--set", "autocompact.prefix=session", "--set", "autocompact.prompt_tokens=0",
		}
		// The session ends with the request that compacts last, so that no stretch of it is begun and not paid for.
		var timeline struct {
			Requests []struct {
				N    int
				Kind string
			}
		}
		ctxkitJSON(t, &timeline, append([]string{"replay", steadySession(t, tt.requests, tt.words)}, asked...)...)
		last := 0
		for _, r := range timeline.Requests {
			if r.Kind == "compaction" {
				last = r.N
			}
		}
		got := costOf(t, append([]string{steadySession(t, last, tt.words)}, asked...)...)
		if got.Own.Calls < 2 {
			t.Fatalf("window %d: %d compactions", tt.window, got.Own.Calls)
		}
		// The summary stands for 10,000 tokens of a view; its call is billed for more. The first stretch begins
		// without one.
		own := got.Own.Input.Read + got.Own.Input.Written + got.Own.Input.WrittenLong + got.Own.Input.Uncached + got.Own.Calls*output
		conversation := got.Conversation - (view - overhead)
		if share := 100 * float64(own) / float64(own+conversation); math.Abs(share-tt.want) > tt.off {
			t.Errorf("window %d: %d compactions take %d tokens for %d of conversation, %.2f %%, want %.1f", tt.window, got.Own.Calls, own, conversation, share, tt.want)
		}
		each := float64(own) / float64(got.Own.Calls)
		if want := float64(tt.window) - 33000 + output; math.Abs(each-want) > 0.01*want {
			t.Errorf("window %d: a compaction takes %.0f tokens, want %.0f", tt.window, each, want)
		}
		if own, all := got.Own.Tokens(), got.Own.Tokens()+got.Conversation; math.Abs(got.Share-float64(own)/float64(all)) > 1e-9 {
			t.Errorf("window %d: the share is said to be %v of %d and %d", tt.window, got.Share, own, all)
		}
	}
}

// ctxkit runs a command line that reads no input.
func ctxkit(args ...string) (code int, out, said string) {
	var printed, errs bytes.Buffer
	code = Main(args, strings.NewReader(""), &printed, &errs)
	return code, printed.String(), errs.String()
}
