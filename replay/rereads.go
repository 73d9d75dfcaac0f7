package replay

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/price"
)

// soonAfter is how many requests after a compaction a Read counts as its consequence.
const soonAfter = 30

// Rereads counts files that the agent had read before a recorded compaction and read again soon after it. Without the
// compaction the agent might not have read the file a second time. A replay cannot leave out the second read: under a
// policy that kept the first read, the view holds the file twice.
type Rereads struct {
	Files   int `json:"files"`   // files read again within 30 requests after a compaction; a file counts once for each compaction
	Tokens  int `json:"tokens"`  // tokens of the results of these second reads
	Carried int `json:"carried"` // upper bound of the input tokens that the second reads add: for each, its tokens times the number of later requests
}

// readFile is a file that was read.
type readFile struct{ first, again int } // boundaries before its first Read, and before the last one that counts

// Rereads finds the files that the agent read again within 30 requests after a recorded compaction. It returns an error if
// the session's file cannot be read.
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

// Add adds the figures of another session.
func (r *Rereads) Add(o Rereads) { price.AddUp(r, &o) }
