package cmd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/payloads"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// labPlaceholder is a placeholder for words that no line has.
var labPlaceholder = regexp.MustCompile(`\[placeholder for ([^:\]]+): (about |CLAUDE\.md and at least |)(\d+) characters of the client's own, on no line of the session\]`)

// labDate are the dates in words.
var labDate = regexp.MustCompile(`\d{4}-\d\d-\d\d`)

// TestLabWords holds what is known of the clients' own words (session.OwnWordsOf: lengths and digests) against what real
// clients sent in the places of the placeholders, in every request: all that the placeholders' block has else was sent as it
// is, and their words have the length and the digest that the table says; about so long where it has no digest. CTXKIT_LAB
// names the folder of sessions and requests.
func TestLabWords(t *testing.T) {
	dir := folderOf(t, "CTXKIT_LAB")
	files := must.Get(filepath.Glob(filepath.Join(dir, "claude-*", "*.jsonl.gz")))(t)
	held := map[string]int{} // by kind and digest
	for _, path := range files {
		f, rec := labLoad(t, path)
		sent, main := map[string]payloads.TrueRequest{}, []payloads.TrueRequest{}
		for _, r := range labSent(t, filepath.Dir(path)) {
			if sent[r.Answer] = r; r.Who == "main" && !r.Failed {
				main = append(main, r)
			}
		}
		err := rec.EachView(replay.RecordedTrack(), replay.Options{}, func(n int, v *view.View) bool {
			if n > len(f.Main.Requests) {
				return true
			}
			want, ok := sent[f.Main.Response(n-1).ID]
			if len(main) == len(f.Main.Requests) && main[n-1].Answer == "" && labGaps[filepath.Base(filepath.Dir(path))].Whole == 0 {
				want, ok = main[n-1], true // older logs name no answers, and are in order
			}
			if !ok {
				return true
			}
			body := must.Get(wire.RequestBody(v, replay.RecordedTrack()))(t)
			text := must.Get(body.Append(nil))(t)
			var ours struct{ Messages []payloads.Message }
			must.Do(t, json.Unmarshal(text, &ours))
			labWords(t, fmt.Sprintf("%s: request %d", path, n), f.Main.Version, payloads.Blocks(want.Messages), payloads.Blocks(ours.Messages), held)
			return !t.Failed()
		})
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	t.Logf("%v", held)
	for _, of := range []string{
		"agent_listing_delta", "compact_file_reference", "file", "mcp_instructions_delta", "mcp_instructions_delta withdrawn",
		"plan_mode_exit", "skill_listing", "task_notification", "task_reminder", "todo_reminder",
	} {
		if held[of] == 0 {
			t.Errorf("no request has words of %s", of)
		}
	}
}

// labWords holds the words in the places of the placeholders of one request, and counts those with a digest by kind.
func labWords(t *testing.T, name, version string, want, got []payloads.Block, held map[string]int) {
	type place struct{ message, at int }
	at := map[place]string{}
	for i := range want {
		at[place{want[i].Message, want[i].At}] = want[i].Text
	}
	for i := range got {
		text := got[i].Text
		places := labPlaceholder.FindAllStringSubmatchIndex(text, -1)
		if places == nil {
			continue
		}
		sent, ok := at[place{got[i].Message, got[i].At}]
		if !ok {
			t.Errorf("%s: nothing was sent in the place of %.200q", name, text)
			continue
		}
		if of := text[places[0][2]:places[0][3]]; of == session.WordsOfContext { // with CLAUDE.md, whose words are not known
			if length, _ := strconv.Atoi(text[places[0][6]:places[0][7]]); utf8.RuneCountInString(sent) < length {
				t.Errorf("%s: %q stands for %q", name, text, sent)
			}
			continue
		}
		pattern, from := "(?s)^", 0
		for _, m := range places {
			before := strings.TrimSuffix(text[from:m[0]], "\n") // line ends are of the words
			if strings.HasSuffix(before, "<system-reminder>") {
				before += "\n"
			}
			pattern += regexp.QuoteMeta(before) + "(.*?)"
			if from = m[1]; strings.HasPrefix(text[from:], "\n") && !strings.HasPrefix(text[from:], "\n</system-reminder>") {
				from++
			}
		}
		found := regexp.MustCompile(pattern + regexp.QuoteMeta(text[from:]) + "$").FindStringSubmatch(sent)
		if found == nil {
			t.Errorf("%s: %.200q was sent as %.400q", name, text, sent)
			continue
		}
		for k := 0; k < len(places); k++ {
			of, about := text[places[k][2]:places[k][3]], text[places[k][4]:places[k][5]]
			length, _ := strconv.Atoi(text[places[k][6]:places[k][7]])
			words := found[1+k]
			switch long := utf8.RuneCountInString(words); {
			case about == "about " && (long*10 < length*9 || long*9 > length*10), about == "" && long != length:
				t.Errorf("%s: %s: %d characters are %q", name, text[places[k][0]:places[k][1]], long, words)
			}
			if about != "" {
				continue
			}
			w := session.OwnWordsOf(of, version)
			sides := min(w.Before, 1) + min(w.Behind, 1)
			if k+sides > len(places) {
				t.Fatalf("%s: %d placeholders, want %+v in %q", name, len(places), w, text)
			}
			sum := sha256.Sum256([]byte(labDate.ReplaceAllString(strings.Join(found[1+k:1+k+sides], ""), "0000-00-00")))
			if digest := hex.EncodeToString(sum[:])[:16]; digest != w.Digest {
				t.Errorf("%s: digest %s, want %+v", name, digest, w)
			}
			k += sides - 1
			held[of]++
		}
	}
}
