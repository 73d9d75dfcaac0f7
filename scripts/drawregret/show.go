package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/replay/regret"
)

// mostShown is how many places of the view are printed for one part of the evidence.
const mostShown = 3

// print prints what a person has to read.
func (d *drawing) print(w io.Writer, rec *replay.Record, m drawn, miss *regret.Miss) error {
	conv := rec.Conv
	fmt.Fprintf(w, "%s %s under %s: %s\nremoved before request %d by %s (%s), used at request %d of %d\nevidence: %s\n",
		m.Session, m.Agent, m.Policy, m.Kind, m.Removed, miss.Stage, miss.Kind, m.Needed, len(conv.Requests), miss.Quote)
	for b := range lines(conv, m.Line, m.UsedBy) {
		bl := &conv.Messages[b.Item].Blocks[b.Block]
		text, err := conv.WholeText(int(b.Item), b.Block)
		if err != nil {
			return err
		}
		what := "the removed block"
		if bl.Line == m.UsedBy {
			what = "the use"
		}
		fmt.Fprintf(w, "\n=== %s, line %d, %s %s\n%s\n", what, bl.Line, bl.Type, cmp.Or(bl.Name, conv.ToolName(bl.ID)), excerpt(text, miss.Quote, d.around))
	}
	reg, err := stage.Registry()
	if err != nil {
		return err
	}
	pol, err := preset.New(reg).LoadFor(m.Policy, preset.ClientOf(conv))
	if err != nil {
		return err
	}
	v, err := rec.ViewAt(pol, replay.Options{}, m.Needed)
	if err != nil {
		return err
	}
	return d.inView(w, v, miss)
}

// lines yields the blocks of two lines, the first line's first.
func lines(conv *session.Conversation, first, second int) func(func(policy.Target) bool) {
	return func(yield func(policy.Target) bool) {
		for _, line := range []int{first, second} {
			for i := range conv.Messages {
				for b := range conv.Messages[i].Blocks {
					if conv.Messages[i].Blocks[b].Line == line && !yield(policy.Target{Item: policy.ItemID(i), Block: b}) {
						return
					}
				}
			}
		}
	}
}

// excerpt is the part of a text around another one, else its beginning.
func excerpt(text, part string, around int) string {
	at := max(strings.Index(text, part), 0)
	from, to := max(0, at-around), min(len(text), at+len(part)+around)
	return strings.ToValidUTF8(text[from:to], "")
}

// inView prints where parts of the evidence stand in the view, and the last messages of it.
func (d *drawing) inView(w io.Writer, v *view.View, miss *regret.Miss) error {
	var whole, last []string
	found := map[string][]string{}
	parts := partsOf(miss.Quote)
	for id := range v.Items {
		for b := range v.Blocks(id) {
			text, err := v.Text(policy.Target{Item: id, Block: b})
			if err != nil {
				return err
			}
			head := fmt.Sprintf("[%s %s, %s]", diff.ItemName(v.Conversation(), id), v.Role(id), where(v, id, b))
			whole = append(whole, head+"\n"+text+"\n")
			last = append(last, head+" "+excerpt(text, "", d.around/2))
			small := strings.ToLower(text)
			for _, p := range parts {
				if at := strings.Index(small, strings.ToLower(p)); at >= 0 && at+len(p) <= len(text) {
					found[p] = append(found[p], fmt.Sprintf("%s …%s…", head, strings.Join(strings.Fields(excerpt(text, text[at:at+len(p)], 80)), " ")))
				}
			}
		}
	}
	fmt.Fprintf(w, "\n=== in view: parts of the evidence\n")
	for _, p := range parts {
		fmt.Fprintf(w, "%q in %d blocks\n", p, len(found[p]))
		for _, f := range found[p][max(0, len(found[p])-mostShown):] {
			fmt.Fprintln(w, "   ", f)
		}
	}
	fmt.Fprintf(w, "\n=== in view: the first block, and the last ones before the use\n")
	for _, text := range slices.Concat(last[:min(1, len(last))], last[max(1, len(last)-8):]) {
		fmt.Fprintln(w, text)
	}
	if d.whole != "" {
		return os.WriteFile(d.whole, []byte(strings.Join(whole, "\n")), 0o644)
	}
	return nil
}

func where(v *view.View, id policy.ItemID, b int) string {
	if r := v.Raw(policy.Target{Item: id, Block: b}); r != nil {
		return fmt.Sprintf("line %d, %s %s", r.Line, r.Type, r.Name)
	}
	return "added by the policy"
}

// partsOf is the evidence and the words in it.
func partsOf(quote string) []string {
	parts := []string{quote}
	for _, p := range strings.FieldsFunc(quote, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') }) {
		if len(p) >= 5 && !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	return parts[:min(len(parts), 8)]
}
