package claude

import (
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// filesAsSeen attaches the files that are not in the kept part, each a block
// of one message.
func (r *reattach) filesAsSeen(out *policy.Edit) (int, error) {
	cleared, gone := r.lost()
	var blocks []string
	total := 0
	for _, path := range r.s.files.newestFirst() {
		if len(blocks) >= r.s.p.MaxFiles {
			break
		}
		f := r.s.files.files[path]
		if isPlan(path) || r.kept(f) || r.clearedNow(f, cleared, gone) {
			continue
		}
		text, err := f.content(r.Context)
		if err != nil {
			return 0, err
		}
		shown, size := cutTo(text, r.s.p.FileTokens)
		if len(shown) < len(text) && r.s.p.LongFiles == "name" {
			blocks = append(blocks, "<attachment: "+path+">")
			continue
		}
		if shown == "" || total+size > r.s.p.FilesTokens {
			continue
		}
		total += size
		blocks = append(blocks, "<attachment: "+path+">\n"+shown)
	}
	if len(blocks) > 0 {
		r.add(out, "files", blocks...)
	}
	return len(blocks), nil
}

// lost is which results this round's microcompaction cleared, and which items
// left the view since the last compaction.
func (r *reattach) lost() (cleared map[policy.Target]bool, gone map[policy.ItemID]bool) {
	cleared, gone = map[policy.Target]bool{}, map[policy.ItemID]bool{}
	for i := range r.round {
		switch e := &r.round[i]; e.Kind {
		case policy.KindRemove, policy.KindCollapse:
			for _, id := range e.Items {
				gone[id] = true
			}
		case policy.KindClear, policy.KindPersist:
			if e.Request == r.Request && strings.HasPrefix(e.Stage, "microcompact") {
				cleared[e.Target] = true
			}
		}
	}
	return cleared, gone
}

// kept reports whether a file is in the kept part as it was last seen: what
// last touched it is a Read or a Write that is still in view. After an edit
// what the view shows of it is not the file.
func (r *reattach) kept(f *readFile) bool {
	last := f.last()
	switch last.tool {
	case "Read":
		c := r.View.Replacement(last.result)
		return r.View.Has(last.result.Item) && (c == nil || c.Partial)
	case "Write":
		return r.View.Has(last.use.Item)
	}
	return false
}

// clearedNow reports whether every Read of a file that was in view was cleared
// by the microcompaction of this same round. One cleared earlier still counts
// as there.
func (r *reattach) clearedNow(f *readFile, cleared map[policy.Target]bool, gone map[policy.ItemID]bool) bool {
	some := false
	for i := len(f.calls) - 1; i >= 0; i-- {
		call := &f.calls[i]
		if call.result.Item < r.s.files.since && !r.s.carried[call.result.Item] {
			continue
		}
		if call.tool != "Read" || gone[call.result.Item] {
			continue
		}
		if !cleared[call.result] {
			return false
		}
		some = true
	}
	return some
}
