package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	unified "github.com/rogpeppe/go-internal/diff"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/report"
)

// requestScreen is what one request sends, block by block.
type requestScreen struct {
	work
	session *sessionScreen
	n       int
	want    *report.FoundRow // a block to show at once
	find    string           // in that block
	text    screen           // of the block that was shown last

	at     int // n of what is shown; 0: nothing yet
	left   *view.View
	right  *view.View
	fill   []string            // what fills the request, under each policy
	list   []report.ContentRow // in the order of the request
	shown  []report.ContentRow
	bySize bool
	rows
	width int
}

func newRequest(s *sessionScreen, n int) *requestScreen {
	return &requestScreen{work: work{m: s.m}, session: s, n: n, rows: newRows()}
}

func (r *requestScreen) title() string {
	if of := len(r.session.first.main); r.n > of {
		return "end of the file, after request " + policy.Thousands(of)
	}
	return "request " + policy.Thousands(r.n)
}

// start works out what the request sends, under both policies where there are two.
func (r *requestScreen) start() tea.Cmd {
	s := r.session
	n := r.n
	opened := s.opened
	replays := s.replays()
	if r.at == n {
		return nil
	}
	return r.run("replaying", opened, func(j *job) (then, error) {
		var views []*view.View
		var fill []string
		for i, of := range append(replays, &replayed{})[:2] { // the recorded session next to one policy
			v, err := opened.view(j, of.pol, n)
			if err != nil {
				return nil, err
			}
			if views = append(views, v); of.tl != nil {
				fill = append(fill, of.name+[]string{": ", ", second: "}[i]+filling(v, of.tl.OverheadAt(n)))
			}
		}
		right := views[0]
		left := views[1]
		list, err := content(left, right, n)
		if err != nil {
			return nil, err
		}
		return func() tea.Cmd {
			r.at = n
			r.left = left
			r.right = right
			r.fill = fill
			r.list = list
			r.show()
			return r.wanted()
		}, nil
	})
}

// content lists the blocks of a request with what two views make of each.
func content(left, right *view.View, n int) ([]report.ContentRow, error) {
	d, err := diff.Compare(left, right)
	if err != nil {
		return nil, err
	}
	conv := right.Conversation()
	hl := diff.NewHistory(left)
	hr := diff.NewHistory(right)
	sent := 0 // messages that the request before sent
	if n > 1 && n-2 < len(conv.Requests) {
		sent = conv.Requests[n-2].Message
	}
	var list []report.ContentRow
	for i := range d.Messages {
		m := &d.Messages[i]
		in := right
		if m.Right.Status == diff.Absent {
			in = left
		}
		blocks := in.Blocks(m.Item)
		for b := range blocks {
			t := policy.BlockOf(m.Item, b)
			row := report.ContentRow{Target: t, Line: m.Line, About: m.About, New: int(m.Item) >= sent && m.Item >= 0, Left: m.Left, Right: m.Right}
			row.Left.Tokens = 0
			row.Right.Tokens = 0
			row.Changed = slices.ContainsFunc(m.Blocks, func(d diff.BlockDiff) bool { return d.Index == b })
			if m.Item >= 0 {
				row.About, row.Raw = aboutBlock(conv, m.Item, b), right.RecordedTokens(t)
			}
			switch {
			case m.Left.Status == diff.Added:
				row.Left.Tokens = m.Left.Tokens / blocks
			case m.Item >= 0 && left.Has(m.Item): // the ids of made messages are those of one view
				row.Left = hl.Block(left, t)
			}
			if right.Has(m.Item) && in == right {
				row.Right.Tokens = right.PayloadBlockTokens(t)
				if m.Right.Status != diff.Added {
					row.Right = hr.Block(right, t)
				}
			}
			list = append(list, row)
		}
	}
	return list, nil
}

// aboutBlock describes a block of a recorded message.
func aboutBlock(conv *session.Conversation, id policy.ItemID, b int) string {
	one := conv.Messages[id]
	one.Blocks = one.Blocks[b : b+1]
	return diff.About(conv, &one)
}

// heaviest is the place of the largest of the new blocks, or of all where none is new.
func heaviest(list []report.ContentRow) int {
	best := 0
	for i := range list {
		if a, b := &list[i], &list[best]; a.New && !b.New || a.New == b.New && a.Right.Tokens > b.Right.Tokens {
			best = i
		}
	}
	return best
}

// filling says what fills a request, with shares, the most first.
func filling(v *view.View, overhead int) string {
	sums := map[category.Name]int{category.System: overhead}
	kinds := category.NewClasses(v.Conversation())
	for id := range v.Items {
		rest := v.PayloadWeight(id)
		for b := range v.Blocks(id) {
			t := policy.BlockOf(id, b)
			c, _ := kinds.Of(v, t)
			sums[c] += v.PayloadBlockTokens(t)
			rest -= v.PayloadBlockTokens(t)
		}
		sums[category.Inserted] += rest // tags
	}
	list := category.All()
	all := 0
	for _, n := range sums {
		all += n
	}
	slices.SortStableFunc(list, func(a, b category.Name) int { return sums[b] - sums[a] })
	parts := []string{policy.Thousands(all) + " tokens"}
	for _, c := range list {
		if n := sums[c]; n != 0 {
			parts = append(parts, fmt.Sprintf("%s %s %d%%", strings.ReplaceAll(string(c), "_", " "), policy.Thousands(n), (n*100+all/2)/max(all, 1)))
		}
	}
	return strings.Join(parts, " · ")
}

// show lists the blocks in their order, and goes to the one that says most.
func (r *requestScreen) show() {
	r.shown = slices.Clone(r.list)
	name := ""
	if r.session.second != nil {
		name = r.session.second.name
	}
	if r.bySize {
		slices.SortStableFunc(r.shown, func(a, b report.ContentRow) int {
			if name != "" && a.Differs() != b.Differs() { // those that differ come first
				if a.Differs() {
					return -1
				}
				return 1
			}
			return cmp.Or(cmp.Compare(b.Right.Tokens, a.Right.Tokens), cmp.Compare(b.Raw, a.Raw))
		})
	}
	r.set(report.ContentRows(r.shown, name))
	r.m.resize()
	if r.rows.to(0); !r.bySize {
		r.rows.to(heaviest(r.shown))
	}
}

// headLines are the lines above the blocks.
const headLines = 4

func (r *requestScreen) resize(w, h int) {
	r.width = w
	r.rows.resize(w, max(h-headLines, 3))
}

func (r *requestScreen) view() string {
	if r.fill == nil || r.at != r.n && r.job == nil { // the request could not be replayed
		return ""
	}
	var head []string
	for _, text := range r.fill {
		lines := strings.Split(wrapped(text, r.width), "\n")
		head = append(head, lines[:min(len(lines), headLines/len(r.fill))]...)
	}
	head = append(head, make([]string, headLines)...)[:headLines]
	return strings.Join(append(head, r.View()), "\n")
}

// to goes to another request.
func (r *requestScreen) to(n int) tea.Cmd {
	if n < 1 || n > len(r.session.first.main)+1 {
		r.m.note = "no request there"
		return nil
	}
	r.n = n
	r.session.to(n - 1)
	return r.start()
}

func (r *requestScreen) actions() []action {
	return slices.Concat([]action{on("enter", "block", func() tea.Cmd { return r.open("") })}, r.session.policyKeys(), []action{
		on("left h", "request before", func() tea.Cmd { return r.to(r.n - 1) }).as("left right", "request"),
		on("right l", "next request", func() tea.Cmd { return r.to(r.n + 1) }).as("", ""),
		on("[", "event before", func() tea.Cmd { return r.to(r.session.event(r.n, -1)) }).as("[ ]", "event"),
		on("]", "next event", func() tea.Cmd { return r.to(r.session.event(r.n, 1)) }).as("", ""),
		on("s", "sort by size", func() tea.Cmd { r.bySize = !r.bySize; r.show(); return nil }).as("s", "sort"),
		on("c", "compactions", func() tea.Cmd { return r.session.compactions(r.n) }),
		on("/", "search", r.session.search).as("/", "find"),
	})
}

func (r *requestScreen) words() []string {
	s := r.session
	words := s.command("diff", "--at", strconv.Itoa(r.n))
	if s.second != nil {
		words = append(words, "--against", s.second.name)
	}
	return words
}

// wanted shows the block that was searched for, or shown under another policy.
func (r *requestScreen) wanted() tea.Cmd {
	want := r.want
	if r.want = nil; want == nil {
		return nil
	}
	at := slices.IndexFunc(r.shown, func(row report.ContentRow) bool { // the ids of made messages are those of one view
		return row.Target == want.Target && (want.Target.Item >= 0 || want.Second == (row.Right.Status == diff.Absent))
	})
	if at < 0 {
		r.m.note = "this request does not have the block"
		return nil
	}
	r.rows.to(at)
	return r.open(r.find)
}

// open shows the block under the cursor, with a text in it marked.
func (r *requestScreen) open(find string) tea.Cmd {
	if r.at != r.n || len(r.shown) == 0 {
		return nil
	}
	s := r.session
	t := newText(r.m, "block")
	t.find = find
	r.text = t
	t.keys = s.blockKeys(func(by int) tea.Cmd {
		at := r.Cursor() + by
		if at < 0 || at >= len(r.shown) {
			r.m.note = "no block there"
			return nil
		}
		r.rows.to(at)
		return r.block(t)
	})
	return tea.Batch(r.m.push(t), r.block(t))
}

func (s *sessionScreen) blockKeys(by func(int) tea.Cmd) []action {
	return append(s.policyKeys(),
		on("left h", "block before", func() tea.Cmd { return by(-1) }).as("left right", "block"),
		on("right l", "next block", func() tea.Cmd { return by(1) }).as("", ""),
		on("/", "search", s.search).as("/", "find"))
}

// block shows a block as recorded, and as each policy sends it.
func (r *requestScreen) block(t *textScreen) tea.Cmd {
	row := r.shown[r.Cursor()]
	t.name = row.About
	if row.Line > 0 {
		t.name += ", line " + strconv.Itoa(row.Line)
	}
	t.name = report.Clean(t.name)
	t.command = append(r.words(), "--full")
	if row.Line > 0 {
		t.command = append(t.command, "--line", strconv.Itoa(row.Line))
	}
	s := r.session
	sides := []blockSide{{name: s.first.name, view: r.right, side: row.Right}}
	if s.second != nil {
		sides = append(sides, blockSide{name: s.second.name, view: r.left, side: row.Left})
	}
	known := row.Target.Item >= 0
	recorded := r.right
	return t.run("reading", s.opened, func(j *job) (_ then, err error) {
		raw := ""
		if known {
			if raw, err = recorded.Recorded(row.Target); err != nil {
				return nil, err
			}
		}
		for i := range sides {
			if err := sides[i].read(row.Target); err != nil {
				return nil, err
			}
		}
		var parts []string
		for i := range sides {
			other := raw
			if len(sides) > 1 {
				other = sides[1-i].text
			}
			parts = append(parts, sides[i].describe(known && sides[i].text == raw, other))
		}
		if known {
			parts = append(parts, fmt.Sprintf("RECORDED: %s tokens\n%s", policy.Thousands(row.Raw), cleaned(raw)))
		}
		text := strings.Join(parts, "\n\n")
		return func() tea.Cmd { return t.show(func(w int) string { return wrapped(text, w) }) }, nil
	})
}

// blockSide is what a policy makes of a block.
type blockSide struct {
	name string
	view *view.View
	side diff.Side
	sent bool
	text string // that is sent
}

func (b *blockSide) read(t policy.Target) (err error) {
	if b.sent = b.side.Status != diff.Absent && b.view.Has(t.Item); b.sent {
		b.text, err = diff.Text(b.view, t)
	}
	return err
}

// describe says what the policy sends. Lines that other does not have in their place are marked.
func (b *blockSide) describe(raw bool, other string) string {
	head := fmt.Sprintf("UNDER %s: %s, %s tokens", report.Clean(b.name), report.Clean(report.SideText(&b.side)), policy.Thousands(b.side.Tokens))
	switch {
	case !b.sent:
		return head + "; not sent"
	case raw:
		return head + "; sent as recorded"
	case b.text == "":
		return head + "; no text is sent"
	}
	return head + "\n" + marked(cleaned(b.text), cleaned(other))
}

// marked is a text with a mark before each line that another one does not have there. Where there is no other there is no
// mark.
func marked(text, other string) string {
	if other == "" {
		return text
	}
	lines := strings.Split(text, "\n")
	at := 0
	_, hunks, _ := strings.Cut(string(unified.Diff("", []byte(other+"\n"), "", []byte(text+"\n"))), "+++ \n")
	for l := range strings.Lines(hunks) {
		switch l[0] {
		case '@':
			var from, n int
			_, _ = fmt.Sscanf(l, "@@ -%d,%d +%d", &from, &n, &at)
			at--
		case '+':
			lines[at] = "≠ " + lines[at]
			at++
		case ' ':
			at++
		}
	}
	return strings.Join(lines, "\n")
}
