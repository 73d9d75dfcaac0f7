package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	unified "github.com/rogpeppe/go-internal/diff"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/diff"
)

// DiffSchema is the version of the JSON form of a diff.
const DiffSchema = "ctxkit.diff/v1"

// NamedDiff is how two views of a conversation differ at one request, or what a policy changed from one request to
// another.
type NamedDiff struct {
	Schema  string `json:"schema"`
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
	File    string `json:"file"`
	Policy  string `json:"policy"`
	Against string `json:"against"`                      // raw, another policy, or the same one if From is set
	From    int    `json:"from,omitempty"`               // number of the earlier request
	Request int    `json:"request"`                      // number of the main request; Of + 1 is the end of the file
	Of      int    `json:"requests"`                     // how many main requests there are
	Lines   int    `json:"requests_on_record,omitempty"` // that the client recorded
	held    session.RequestTally
	*diff.Diff
	title  string          // of the session
	Truths [2]policy.Truth `json:"-"` // of Policy and Against
	Chosen [2]string       `json:"-"` // why a product's bare name means them for the session

	Stat  []diff.Row        `json:"stat"`
	Edits []diff.EditOutput `json:"edits"` // all edits of the view, or those since From
}

// DiffLayout says how a diff is printed.
type DiffLayout struct {
	Layout
	Stat bool // sums alone
}

// NewNamedDiff returns a diff and its sums with the names of its conversation.
func NewNamedDiff(conv *session.Conversation, d *diff.Diff, stat []diff.Row) *NamedDiff {
	return &NamedDiff{
		Schema: DiffSchema, Session: conv.SessionID, Agent: conv.Agent, File: conv.Path, title: conv.Title, Of: len(conv.Requests), Lines: conv.Lines.Recorded.Of, held: conv.Lines.Recorded,
		Diff: d, Stat: stat, Edits: []diff.EditOutput{},
	}
}

// NewDiffs returns the printer of diffs.
func NewDiffs(w io.Writer, opt DiffLayout) Printer[*NamedDiff] {
	if opt.Format != FormatJSON {
		return pagePrinter(w, opt.Layout, func(p *page, d *NamedDiff) {
			page := &diffPage{page: p, d: d}
			if p.html == nil {
				page.head()
				if !opt.Stat {
					page.messages()
				}
				page.stat()
				page.sum()
				return
			}
			p.html.Kicker, p.html.Title = "Diff", cmp.Or(d.title, sessionTitle(d.Session, d.Agent))
			first := len(p.html.Sections) == 0
			if first { // what stands before the first section is the answer
				page.sum()
			}
			page.head()
			page.stat() // before the messages: the sums would be lost at the end of a page
			if !first {
				page.sum()
			}
			if !opt.Stat {
				p.heading("message by message")
				page.messages()
			}
		}, nil)
	}
	s := &jsonStream{w: w, head: object{{"schema", DiffSchema}}, list: "diffs"}
	return jsonPrinter(s, !opt.Several, func(d *NamedDiff) any {
		if !opt.Stat {
			return d
		}
		out := *d
		sums := *d.Diff
		sums.Messages = []diff.MessageDiff{}
		out.Diff = &sums
		out.Edits = []diff.EditOutput{}
		return &out
	})
}

// diffPage prints one diff.
type diffPage struct {
	*page
	d      *NamedDiff
	reason string // the last one printed
}

func (p *diffPage) left() string {
	return either(p.d.From > 0, "request "+thousands(p.d.From), markedName(p.d.Against, p.d.Truths[1]))
}

func (p *diffPage) right() string {
	return either(p.d.From > 0, requestName(p.d.Request, p.d.Of), markedName(p.d.Policy, p.d.Truths[0]))
}

func requestName(n, of int) string {
	return either(n > of, "the end of the file", "request "+thousands(n))
}

func (p *diffPage) head() {
	d := p.d
	what := phrase("%v%v to %v%v, at %v of %v", p.left(), phraseIf(d.Against == againstRaw, " (nothing compacted)"), p.right(), phraseIf(d.Policy == "recorded", " (as the client sent it)"), requestName(d.Request, d.Of), d.Of)
	if d.From > 0 {
		what = phrase("%v, %v to %v of %v", markedName(d.Policy, d.Truths[0]), p.left(), p.right(), d.Of)
	}
	p.heading(either(p.html != nil, what, sessionTitle(d.Session, d.Agent)))
	chosen := func(i int, name string) string { return phraseIf(d.Chosen[i] != "", "%v: %v", name, d.Chosen[i]) }
	p.fields(field{"file", d.File}, field{"requests", heldText(d.held, "")}, field{"diff", what}, field{"policy", chosen(0, d.Policy)},
		field{"against", either(d.From == 0, chosen(1, d.Against), "")})
	if d.From > 0 {
		p.note(bold, firstText(d.First))
	}
}

func firstText(f *diff.First) string {
	if f == nil {
		return "Nothing changed of what was sent: the cached prefix is reused."
	}
	return phrase("The first change is at %v%v%v: %v. %v of the %v tokens sent come before it and are unchanged.",
		either(f.Block >= 0, fmt.Sprintf("block %d of ", f.Block), ""), f.About, either(f.Line > 0, fmt.Sprintf(", line %d", f.Line), ""),
		sideText(&f.Side), f.Prefix, f.Sent)
}

// sideText describes how a view shows something, and the edit that made it so.
func sideText(s *diff.Side) string {
	if s.Stage == "" {
		return string(s.Status)
	}
	return phrase("%v%v by %v %v", s.Status, either(s.Server, " on the server", ""), actor(s.Stage), place("at", s.Request))
}

// messages prints the messages that differ and counts the others.
func (p *diffPage) messages() {
	for list := p.d.Messages; len(list) > 0; {
		m := &list[0]
		n := 1
		for n < len(list) && m.Text == "" && (m.Same && list[n].Same || !m.Same && m.Group > 0 && !list[n].Same &&
			list[n].Group == m.Group && list[n].Left.Status == m.Left.Status) {
			n++
		}
		switch {
		case m.Same && m.Text == "":
			p.unchanged(list[:n])
		case m.Group > 0 && m.Text == "":
			p.together(list[:n])
		default:
			p.changed(m)
		}
		list = list[n:]
	}
}

func (p *diffPage) unchanged(list []diff.MessageDiff) {
	shown := 0
	n := 0
	for _, m := range list {
		shown += either(m.Shown, 1, 0)
		n += m.Right.Tokens
	}
	gone := len(list) - shown
	p.line("")
	p.line(p.paint(faint, "  "+joined("; ", phraseIf(shown > 0, "%v unchanged, %v tokens", count(shown, "message"), n),
		phraseIf(gone > 0, "%v in no view", count(gone, "message")))))
}

// shownGone is how many of the messages that one edit removed are listed at each end.
const shownGone = 5

// together prints messages that one edit removed.
func (p *diffPage) together(list []diff.MessageDiff) {
	n := 0
	for _, m := range list {
		n += m.Left.Tokens
	}
	m := &list[0]
	p.line("")
	p.title(bold, "", phrase("- %v %v, %v tokens", count(len(list), "message"), p.sides(m), n))
	p.because(m.Right.Reason)
	for i, m := range list {
		if hidden := len(list) - 2*shownGone; !p.Full && i >= shownGone && i < len(list)-shownGone && hidden > 1 {
			if i == shownGone {
				p.folded("  ", hidden, "message", 0)
			}
			continue
		}
		p.title(red, "", phrase("- %v  %v tokens", title(&m), m.Left.Tokens))
	}
}

// sides describes a message in the right view, or in both if no view is raw.
func (p *diffPage) sides(m *diff.MessageDiff) string {
	if p.d.Against == againstRaw || p.d.From > 0 {
		return sideText(&m.Right)
	}
	return sideText(&m.Left) + " | " + sideText(&m.Right)
}

// againstRaw is the left side of a diff with no policy.
const againstRaw = "raw"

func (p *diffPage) because(reason string) {
	if reason != "" && reason != p.reason {
		p.reason = reason
		p.wrapped(faint, "  ", "  ", reason)
	}
}

func title(m *diff.MessageDiff) string {
	return Clean(m.Role + "  " + m.About + either(m.Line > 0, fmt.Sprintf("  line %d", m.Line), ""))
}

func (p *diffPage) changed(m *diff.MessageDiff) {
	mark := "~ "
	st := yellow
	switch {
	case m.Same:
		mark = "  "
		st = none
	case m.Left.Status == diff.Absent:
		mark = "+ "
		st = green
	case m.Right.Status == diff.Absent:
		mark = "- "
		st = red
	}
	p.line("")
	p.title(st, "", phrase("%v%v  %v  %v", mark, title(m), sizeText(m), p.sides(m)))
	p.because(m.Right.Reason)
	for i := range m.Blocks {
		p.block(&m.Blocks[i], len(m.Blocks) > 1)
	}
	if m.Text != "" {
		p.text(st, "", mark, m.Text, 1)
	}
}

// sizeText is a message's tokens on both sides, or on the one that has it.
func sizeText(m *diff.MessageDiff) string {
	if m.Left.Status == diff.Absent || m.Right.Status == diff.Absent || m.Left.Tokens == m.Right.Tokens {
		return phrase("%v tokens", max(m.Left.Tokens, m.Right.Tokens))
	}
	return phrase("%v tokens, then %v", m.Left.Tokens, m.Right.Tokens)
}

// diffLines is how many lines of one block's diff are shown.
const diffLines = 16

// block prints the line diff of a changed block.
func (p *diffPage) block(b *diff.BlockDiff, named bool) {
	if named {
		p.title(cyan, "  ", fmt.Sprintf("block %d, %s: %s", b.Index, b.Type, sideText(&b.Right)))
	}
	text := string(unified.Diff("left", lastLine(b.Before), "right", lastLine(b.Replacement)))
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 3 { // the same text
		return
	}
	lines = lines[3:]
	from, to := len(lines), len(lines) // hidden: the first and the last lines show the old text and the new one
	if !p.Full && len(lines) > diffLines {
		from = diffLines/2 - 1
		to = len(lines) - diffLines/2
	}
	for i, l := range lines {
		switch {
		case i == from:
			p.folded("  ", to-from, "line", 0)
		case i < from || i >= to:
			st := map[byte]style{'+': green, '-': red, '@': cyan}[l[0]]
			p.line("  " + p.paint(st, cut(l[:1]+cleanLine(l[1:]), p.lineWidth()-2)))
		}
	}
}

// lastLine ends a text with a newline, so that only its lines can differ.
func lastLine(s string) []byte {
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return []byte(s)
}
