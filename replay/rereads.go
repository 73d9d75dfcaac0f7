package replay

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/price"
)

// soonAfter is how many requests after a compaction a Read counts as its consequence.
const soonAfter = 30

// Rereads are the files that the agent read again soon after a recorded compaction. A policy that had not compacted
// there might have spared them: in its views the file stands twice.
type Rereads struct {
	Files   int `json:"files"`   // results of Read, within soonAfter requests after a compaction, of files read before it; each file once
	Tokens  int `json:"tokens"`  // of these results
	Carried int `json:"carried"` // tokens times the requests after: the most that they add to the input
}

// readFile is a file that was read.
type readFile struct{ first, again int } // boundaries before its first Read, and before the last one that counts

// Rereads looks for files that were read again because of the recorded compactions.
func (r *Record) Rereads() (list Rereads, err error) {
	conv := r.Conv
	if len(conv.Boundaries) == 0 {
		return list, nil
	}
	files := map[string]*readFile{}
	pending := map[string]bool{}
	boundary, since, request := 0, 0, 0 // the next boundary; requests since the last one, and all
	for m := range conv.Messages {
		for ; boundary < len(conv.Boundaries) && conv.Boundaries[boundary].Before <= m; boundary++ {
			since = request
		}
		msg := &conv.Messages[m]
		if request < len(conv.Requests) && conv.Requests[request].Message == m {
			request++
		}
		for i := range msg.Blocks {
			switch bl := &msg.Blocks[i]; {
			case msg.RecordOnly:
			case bl.Kind == jsonl.KindToolUse && conv.Alike(bl.Name) == "Read":
				input, err := conv.Raw(m, i)
				if err != nil {
					return list, err
				}
				in, err := session.DecodeFileInput(conv.AlikeInput(bl.Name, input))
				if err != nil || in.FilePath == "" {
					continue
				}
				f := files[in.FilePath]
				switch {
				case f == nil:
					files[in.FilePath] = &readFile{first: boundary}
				case f.first < boundary && f.again < boundary && request-since <= soonAfter:
					f.again = boundary
					pending[bl.ID] = true
				}
			case bl.Kind == jsonl.KindToolResult && pending[bl.ID]:
				delete(pending, bl.ID)
				n := r.Cal.Block(m, i)
				list.Files++
				list.Tokens += n
				list.Carried += n * (len(conv.Requests) - request)
			}
		}
	}
	return list, nil
}

// Add adds the files of another session.
func (r *Rereads) Add(o Rereads) { price.AddUp(r, &o) }
