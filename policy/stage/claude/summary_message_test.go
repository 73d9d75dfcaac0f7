package claude

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

func TestSummaryMessage(t *testing.T) {
	const summary = "<summary>\n1. Primary Request and Intent:\n   Fix it.\n</summary>"
	const response = "<analysis>\nFirst this.\n\n\n\nThen that.\n</analysis>\n\n" + summary
	must.Rows(t, `
# name | text | want
2.1.19, automatic      | {"Auto":true,"Transcript":"/t.jsonl", "Version":"2.1.19"} | "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\nAnalysis:\nFirst this.\n\nThen that.\n\nSummary:\n1. Primary Request and Intent:\n   Fix it.\n\nIf you need specific details from before compaction (like exact code snippets, error messages, or content you generated), read the full transcript at: /t.jsonl\nPlease continue the conversation from where we left it off without asking the user any further questions. Continue with the last task that you were asked to work on."
by hand, nothing asked | {"Transcript":"/t.jsonl", "Version":"2.1.19"} | "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\nAnalysis:\nFirst this.\n\nThen that.\n\nSummary:\n1. Primary Request and Intent:\n   Fix it.\n\nIf you need specific details from before compaction (like exact code snippets, error messages, or content you generated), read the full transcript at: /t.jsonl"
messages kept          | {"Auto":true,"Kept":true,"Transcript":"/t.jsonl", "Version":"2.1.42"} | "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\nSummary:\n1. Primary Request and Intent:\n   Fix it.\n\nIf you need specific details from before compaction (like exact code snippets, error messages, or content you generated), read the full transcript at: /t.jsonl\n\nRecent messages are preserved verbatim.\nPlease continue the conversation from where we left off without asking the user any further questions. Continue with the last task that you were asked to work on."
before 2.1.7           | {"Auto":true,"Version":"2.1.5"}   | "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\nSummary:\n1. Primary Request and Intent:\n   Fix it..\nPlease continue the conversation from where we left it off without asking the user any further questions. Continue with the last task that you were asked to work on."
2.1.119                | {"Auto":true,"Version":"2.1.119"} | "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\nSummary:\n1. Primary Request and Intent:\n   Fix it.\nContinue the conversation from where it left off without asking the user any further questions. Resume directly — do not acknowledge the summary, do not recap what was happening, do not preface with \"I'll continue\" or similar. Pick up the last task as if the break never happened."
`, func(_ string, text SummaryText, want string) {
		of := summary
		if strings.Contains(want, "Analysis:") {
			of = response
		}
		must.Equal(t, text.Message(of), want, "message (")
	})
}

// printedTemplate is the summary message's frame as an analysis of 2.1.19 prints it. The page has lost the blanks
// where its source broke a line ("outof", "askingthe", "wereasked"); they are put back in the test. The comment
// before the last sentence, with the blank lines around it, says that only an automatic compaction has that sentence.
const printedTemplate = `This session is being continued from a previous conversation that ran outof context. The summary below covers the earlier portion of the conversation.

Analysis:
{{分析内容}}

Summary:
1. Primary Request and Intent:
// {{内容}} 没有相关的话,模型会写 N/A

2. Key Technical Concepts:
// {{内容}} 没有相关的话,模型会写 N/A

3. Files and Code Sections:
// {{内容}} 没有相关的话,模型会写 N/A

4. Errors and fixes:
// {{内容}} 没有相关的话,模型会写 N/A

6. All user messages:
// {{内容}} 没有相关的话,模型会写 N/A

7. Pending Tasks:
// {{内容}} 没有相关的话,模型会写 N/A

8. Current Work:
// {{内容}} 没有相关的话,模型会写 N/A

9. Optional Next Step:
// {{内容}} 没有相关的话,模型会写 N/A

If you need specific details from before compaction (like exact code snippets, error messages, or content you generated), read the full transcript at: /projects/test/69d56a2c.jsonl


// 自动触发的时候,才会有后面这段话
Please continue the conversation from where we left it off without askingthe user any further questions. Continue with the last task that you wereasked to work on.`

// printedExample is the first compaction the same analysis shows, as sent.
const printedExample = `This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.

Analysis:
The user has asked a simple straightforward question: "一共多少个章节?" which translates to "How many chapters in total?"

Looking at the context:
1. The user previously provided a 40-chapter summary of a Chinese web novel called "元龙" (Yuan Long)
2. I provided a detailed summary of those 40 chapters
3. The user is now asking how many total chapters exist

The context window shows I'm at 86% capacity (172k/156.1k tokens used). The user's current request is just asking for a chapter count - this is a simple factual question about the material they provided.

From the text provided, the highest chapter number mentioned is Chapter 40 (第40章), which appears to be the final chapter in the excerpt they gave me. However, the user is asking how many chapters exist in total for the entire work, which I cannot determine from the material provided - I only know about chapters 1-40.

This is a straightforward informational question that doesn't require code analysis or technical summary.

Summary:
1. Primary Request and Intent:
   The user is asking how many total chapters exist in the "元龙" (Yuan Long) web novel.

2. Key Technical Concepts:
   - N/A (This is a straightforward informational question, not a technical request)

3. Files and Code Sections:
   - N/A

4. Errors and fixes:
   - N/A

5. Problem Solving:
   - N/A

6. All user messages:
   - "你好" (Hello)
   - "今天天气怎么样?" (What's the weather like today?)
   - [Extended excerpt from Chapters 1-40 of "元龙" with request to summarize]
   - "一共多少个章节?" (How many chapters in total?)

7. Pending Tasks:
   - Clarify the total chapter count for "元龙"

8. Current Work:
   User provided 40 chapters of "元龙" (Yuan Long) and I created a comprehensive summary. Now user is asking about the total chapter count.

9. Optional Next Step:
   Clarify that the material provided contains chapters 1-40, but I cannot determine the total number of chapters in the complete work without additional information. Ask the user if they have information about the complete work's chapter count, or if they only want to know about the 40 chapters they've shared.

---

## Answer to Your Question:

Based on the text you provided, I can confirm there are **至少40个章节** (at least 40 chapters), as the excerpt you shared goes from Chapter 1 through Chapter 40.

However, I cannot determine the **total number of chapters** for the complete work from this material alone. 

If you're asking about:
- **The chapters you provided**: 40 chapters total
- **The complete "元龙" novel**: I would need additional information to tell you the exact total

Could you clarify if you're asking about:
1. Just the 40 chapters in the text you shared?
2. The total chapter count of the entire published novel?

If you need specific details from before compaction (like exact code snippets, error messages, or content you generated), read the full transcript at: /projects/test/69d56a2c.jsonl
Please continue the conversation from where we left it off without asking the user any further questions. Continue with the last task that you were asked to work on.`

func TestPrintedSummaryMessages(t *testing.T) {
	mend := strings.NewReplacer(
		"outof", "out of", "askingthe", "asking the", "wereasked", "were asked",
		"\n\n\n// 自动触发的时候,才会有后面这段话", "",
	)
	for name, printed := range map[string]string{"template": mend.Replace(printedTemplate), "first compaction": printedExample} {
		t.Run(name, func(t *testing.T) {
			// The response, taken out of the print: its parts and nothing else.
			_, rest, _ := strings.Cut(printed, "\n\nAnalysis:\n")
			analysis, rest, _ := strings.Cut(rest, "\n\nSummary:\n")
			summary, _, found := strings.Cut(rest, "\n\n"+details)
			if !found || analysis == "" {
				t.Fatal("the print has lost a part")
			}
			st := SummaryText{Version: "2.1.19", Transcript: "/projects/test/69d56a2c.jsonl", Auto: true}
			response := "<analysis>\n" + analysis + "\n</analysis>\n\n<summary>\n" + summary + "\n</summary>"
			must.Equal(t, st.Message(response), printed, "message (")
			st.Auto = false
			if byHand, _, _ := strings.Cut(printed, "\nPlease continue"); st.Message(response) != byHand {
				t.Error("without being asked to go on, the message ends otherwise than at the path")
			}
		})
	}
}

// TestQuotedTags: an outline quotes prompts whole, and a prompt may speak of the tags a response is made of.
func TestQuotedTags(t *testing.T) {
	const inner = "1. Primary Request and Intent:\n   Say \"<summary>\", </summary>, <analysis>why</analysis>."
	got := SummaryText{Version: "2.1.19"}.Message("<summary>\n" + inner + "\n\n</summary>")
	if want := covers + "\n\nSummary:\n" + inner; got != want {
		t.Errorf("message (-want +got)\n%s", cmp.Diff(want, got))
	}
}

// TestCorpusSummaryMessages takes each recorded summary out of its message and puts it back: the bytes are the
// client's.
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
		f := must.Get(session.Load(path, session.LoadOptions{Jobs: 2}))(t)
		for _, b := range f.Main.Boundaries {
			if b.Summary < 0 {
				continue
			}
			text := must.Get(f.Main.Text(b.Summary, 0))(t)
			of++
			st := SummaryText{Version: b.Version, Auto: b.Trigger == "auto"}
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

func TestSummaryMessageVersions(t *testing.T) {
	texts := map[string]string{
		"old":    "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\nwhat was done.",
		"now":    "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\nwhat was done",
		"leftIt": "\nPlease continue the conversation from where we left it off without asking the user any further questions. Continue with the last task that you were asked to work on.",
		"left":   "\nPlease continue the conversation from where we left off without asking the user any further questions. Continue with the last task that you were asked to work on.",
		"resume": "\nContinue the conversation from where it left off without asking the user any further questions. Resume directly — do not acknowledge the summary, do not recap what was happening, do not preface with \"I'll continue\" or similar. Pick up the last task as if the break never happened.",
	}
	must.Rows(t, `
# version | body | last
1.0.128 | old | leftIt
2.0.76  | old | leftIt
2.1.0   | old | leftIt
2.1.6   | old | leftIt
2.1.7   | now | leftIt
2.1.8   | now | leftIt
2.1.10  | now | leftIt
2.1.37  | now | leftIt
2.1.38  | now | left
2.1.39  | now | left
2.1.50  | now | left
2.1.51  | now | left
2.1.63  | now | left
2.1.64  | now | resume
2.1.68  | now | left
2.1.69  | now | resume
2.1.100 | now | resume
2.2.0   | now | resume
""      | now | leftIt
`, func(version, body, asked string) {
		for auto, last := range map[bool]string{true: texts[asked], false: ""} {
			got := SummaryText{Version: version, Auto: auto}.Message("what was done")
			must.Equal(t, got, texts[body]+last, version, auto)
		}
	})
}
