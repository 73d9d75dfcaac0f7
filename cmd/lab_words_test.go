package cmd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/payloads"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// labPlaceholder is a placeholder for words that no line has.
var labPlaceholder = regexp.MustCompile(`\[placeholder for ([^:\]]+): (\d+) characters of the client's own, on no line of the session\]`)

// TestLabWords holds what is known of the clients' own words (session.OwnWordsOf: lengths and digests) against what real
// clients sent in the places of the placeholders. CTXKIT_LAB names the folder of sessions and requests.
func TestLabWords(t *testing.T) {
	dir := os.Getenv("CTXKIT_LAB")
	if dir == "" {
		t.Skip("CTXKIT_LAB names no folder")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "claude-*", "*.jsonl.gz"))
	held := map[string]int{} // by digest
	for _, path := range files {
		f, rec := labLoad(t, path)
		if !session.FrameOf(f.Main.Version).HooksApart && session.CompareVersions(f.Main.Version, "2.1.268") >= 0 {
			f.Close()
			continue // lines have the words
		}
		sent := map[string]payloads.TrueRequest{}
		for _, r := range labSent(t, filepath.Dir(path)) {
			sent[r.Answer] = r
		}
		for k, q := range f.Main.Requests {
			want, ok := sent[f.Main.Messages[q.Message].ID]
			if !ok || k%3 != 0 && k+1 < len(f.Main.Requests) {
				continue
			}
			v, err := rec.ViewAt(replay.RecordedTrack(), replay.Options{}, k+1)
			if err != nil {
				t.Fatal(err)
			}
			body, err := wire.Payload(v, replay.RecordedTrack())
			if err != nil {
				t.Fatal(err)
			}
			text, err := body.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			var ours struct{ Messages []payloads.Message }
			if err := json.Unmarshal(text, &ours); err != nil {
				t.Fatal(err)
			}
			for digest := range labWords(t, path, f.Main.Version, payloads.Blocks(want.Messages), payloads.Blocks(ours.Messages)) {
				held[digest]++
			}
		}
		f.Close()
	}
	t.Logf("%v", held)
	if len(held) < 8 {
		t.Errorf("%d texts: %v", len(held), slices.Sorted(maps.Keys(held)))
	}
}

// labWords are the digests of the words in the places of the placeholders of one request.
func labWords(t *testing.T, path, version string, want, got []payloads.Block) map[string]bool {
	type place struct{ message, at int }
	at := map[place]string{}
	for i := range want {
		at[place{want[i].Message, want[i].At}] = want[i].Text
	}
	digests := map[string]bool{}
	for i := range got {
		text, sent := got[i].Text, at[place{got[i].Message, got[i].At}]
		of := labPlaceholder.FindStringSubmatch(text)
		if of == nil || sent == "" || of[1] == session.WordsOfContext { // which has CLAUDE.md and its path in it
			continue
		}
		w := session.OwnWordsOf(of[1], version)
		n, others := 0, false
		pattern, from := "(?s)^", 0
		for _, m := range labPlaceholder.FindAllStringSubmatchIndex(text, -1) {
			before := strings.TrimSuffix(text[from:m[0]], "\n") // line ends are of the words
			if strings.HasSuffix(before, "<system-reminder>") {
				before += "\n"
			}
			pattern += regexp.QuoteMeta(before) + "(.*?)"
			if from = m[1]; strings.HasPrefix(text[from:], "\n") && !strings.HasPrefix(text[from:], "\n</system-reminder>") {
				from++
			}
			n, others = n+1, others || text[m[2]:m[3]] != of[1]
		}
		found := regexp.MustCompile(pattern + regexp.QuoteMeta(text[from:]) + "$").FindStringSubmatch(sent)
		if found == nil {
			t.Errorf("%s: %.200q was sent as %.400q", path, text, sent)
			continue
		}
		sides := min(w.Before, 1) + min(w.Behind, 1)
		if others || n%sides != 0 {
			continue
		}
		words := strings.Join(found[1:1+sides], "") // of the first
		words = regexp.MustCompile(`\d{4}-\d\d-\d\d`).ReplaceAllString(words, "0000-00-00")
		sum := sha256.Sum256([]byte(words))
		digest := hex.EncodeToString(sum[:])[:16]
		if long := len([]rune(words)); w.Digest != "" && (digest != w.Digest || long != w.Before+w.Behind) {
			t.Errorf("%s: %s of %s: %d characters, digest %s; want %+v", path, of[1], version, long, digest, w)
		}
		if w.Digest != "" {
			digests[of[1]+" "+digest] = true
		}
	}
	return digests
}
