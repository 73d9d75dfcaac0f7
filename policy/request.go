package policy

import "github.com/ctxkit/ctxkit/jsonl"

// Requester is implemented by stages that know the messages of their own model calls. For the model calls of other
// stages only the number of tokens is known.
type Requester interface {
	// Request returns the request that makes the call of e or, if e has a refused call, the refused request. Run has
	// just returned e, and e is not applied yet.
	Request(c *Context, e *Edit) (CallRequest, error)
}

// CallRequest describes the request of a Call as changes of the view from which the request is made.
type CallRequest struct {
	System    string   // the request's own system prompt; "": the session's system prompt, or unknown
	Edits     []Edit   // edits that turn the view into the messages of the request, in order; the last edit attaches the prompt
	Without   []Target // blocks of the view that are not sent
	MaxOutput int      // largest output in tokens; 0: as in the session's requests
	Unknown   string   // what is unknown about the request, as a sentence without its period; "": nothing
}

// Asking returns the edit that attaches the prompt for a summary. If text is "", a placeholder with the given number of
// tokens is attached instead.
func Asking(text string, tokens int) Edit {
	s := Synthetic{Role: "user", Label: "prompt", Contents: []Content{Text(text)}}
	if text == "" {
		s.Label = "prompt, whose text is not known"
		s.Contents[0] = Content{Kind: jsonl.KindText, Tokens: max(tokens, 1)}
	}
	return Edit{Kind: KindAttach, Reason: "it asks for the summary", Insert: []Synthetic{s}}
}
