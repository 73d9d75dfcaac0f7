package policy

import "github.com/ctxkit/ctxkit/jsonl"

// Requester is implemented by stages that know the messages of their own model calls. Of the calls of other stages only
// the tokens are known.
type Requester interface {
	// Request returns the request of the call of e, an edit that Run has just returned, or of its refused call. e is
	// not applied yet.
	Request(c *Context, e *Edit) (CallRequest, error)
}

// CallRequest describes the request of a Call as changes of the view from which it is made.
type CallRequest struct {
	System    string   // its own system prompt; "": that of the session, or unknown
	Edits     []Edit   // edits that turn the view into the messages of the request, in order; the last one attaches the prompt
	Without   []Target // blocks that are not sent
	MaxOutput int      // largest output in tokens; 0: as in the session's requests
	Unknown   string   // what is not known of the request, as a sentence without its period; "": nothing
}

// Asking returns the edit that attaches the prompt for a summary. Where text is "", a placeholder of that many tokens
// stands for it.
func Asking(text string, tokens int) Edit {
	s := Synthetic{Role: "user", Label: "prompt", Contents: []Content{Text(text)}}
	if text == "" {
		s.Label = "prompt, whose text is not known"
		s.Contents[0] = Content{Kind: jsonl.KindText, Tokens: max(tokens, 1)}
	}
	return Edit{Kind: KindAttach, Reason: "it asks for the summary", Insert: []Synthetic{s}}
}
