package stage

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

func TestSummaryMessage(t *testing.T) {
	const response = "<analysis>\nFirst this.\n\n\n\nThen that.\n</analysis>\n\n<summary>\n1. Primary Request and Intent:\n   Fix it.\n</summary>"
	const first = "This session is being continued from a previous conversation that ran out of context. "
	const path = "\n\nIf you need specific details from before compaction (like exact code snippets, error messages, or content you generated), read the full transcript at: /t.jsonl"
	const last = " without asking the user any further questions. Continue with the last task that you were asked to work on."
	for name, c := range map[string]struct {
		text SummaryText
		want string
	}{
		"2.1.19, automatic": {
			SummaryText{Version: "2.1.19", Transcript: "/t.jsonl", Auto: true, Analysis: true},
			first + "The summary below covers the earlier portion of the conversation.\n\nAnalysis:\nFirst this.\n\nThen that.\n\nSummary:\n1. Primary Request and Intent:\n   Fix it." +
				path + "\nPlease continue the conversation from where we left it off" + last,
		},
		"by hand, nothing asked": {
			SummaryText{Version: "2.1.19", Transcript: "/t.jsonl", Analysis: true},
			first + "The summary below covers the earlier portion of the conversation.\n\nAnalysis:\nFirst this.\n\nThen that.\n\nSummary:\n1. Primary Request and Intent:\n   Fix it." + path,
		},
		"analysis dropped, messages kept": {
			SummaryText{Version: "2.1.42", Transcript: "/t.jsonl", Auto: true, Kept: true},
			first + "The summary below covers the earlier portion of the conversation.\n\nSummary:\n1. Primary Request and Intent:\n   Fix it." +
				path + "\n\nRecent messages are preserved verbatim.\nPlease continue the conversation from where we left off" + last,
		},
		"before 2.1.7": {
			SummaryText{Version: "2.1.5", Auto: true},
			first + "The conversation is summarized below:\nSummary:\n1. Primary Request and Intent:\n   Fix it..\nPlease continue the conversation from where we left it off" + last,
		},
		"2.1.119": {
			SummaryText{Version: "2.1.119", Auto: true},
			first + "The summary below covers the earlier portion of the conversation.\n\nSummary:\n1. Primary Request and Intent:\n   Fix it.\nContinue the conversation from where it left off without asking the user any further questions. Resume directly — do not acknowledge the summary, do not recap what was happening, do not preface with \"I'll continue\" or similar. Pick up the last task as if the break never happened.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.text.Message(response)); diff != "" {
				t.Errorf("message (-want +got)\n%s", diff)
			}
		})
	}
}

// TestCorpusSummaryMessages takes each recorded summary out of its message and
// puts it back: the bytes are the client's.
func TestCorpusSummaryMessages(t *testing.T) {
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real sessions")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no session files in %s: %v", dir, err)
	}
	named := regexp.MustCompile(`(?s)\n\n` + regexp.QuoteMeta(details) + `([^\n]*)`)
	same, of := 0, 0
	for _, path := range files {
		f, err := session.Load(path, session.LoadOptions{Jobs: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range f.Main.Boundaries {
			if b.Summary < 0 {
				continue
			}
			text, err := f.Main.Text(b.Summary, 0)
			if err != nil {
				t.Fatal(err)
			}
			of++
			st := SummaryText{Version: b.Version, Auto: b.Trigger == "auto", Analysis: true}
			body := strings.TrimPrefix(text, opening)
			for _, head := range []string{"The summary below covers the earlier portion of the conversation.\n\n", "The conversation is summarized below:\n"} {
				body = strings.TrimPrefix(body, head)
			}
			if st.Auto {
				body = strings.TrimSuffix(body, "\n"+st.invitation())
			}
			if m := named.FindAllStringSubmatchIndex(body, -1); m != nil {
				last := m[len(m)-1]
				if last[1] == len(body) {
					st.Transcript, body = body[last[2]:last[3]], body[:last[0]]
				}
			}
			if session.CompareVersions(b.Version, "2.1.7") < 0 {
				body = strings.TrimSuffix(body, ".")
			}
			if got := st.Message(body); got == text {
				same++
			} else {
				t.Errorf("%s line %d (client %s): the message comes out otherwise\n%s", filepath.Base(path), b.Line, b.Version, cmp.Diff(text[max(0, len(text)-400):], got[max(0, len(got)-400):]))
			}
		}
		f.Close()
	}
	t.Logf("%d of %d recorded summary messages come out byte for byte", same, of)
}
