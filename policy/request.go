package policy

import "github.com/ctxkit/ctxkit/jsonl"

// Requester is implemented by stages that know what a call of their own is sent. Of the calls of others only the
// tokens are known.
type Requester interface {
	// Request is what the call of the edit that Run has just returned is sent, also one that is refused. The edit is not
	// applied yet.
	Request(c *Context, e *Edit) (CallRequest, error)
}

// CallRequest is the request of a model call that a policy makes itself, by what makes it of the view.
type CallRequest struct {
	System    string   // its own system prompt; empty: the session's, or not known
	Edits     []Edit   // applied to the view in order, they leave the messages that are sent; the last attaches the prompt
	Without   []Target // blocks that are not sent
	MaxOutput int      // the largest answer, tokens; 0: as the session's requests
	Unknown   string   // what is not known of it, a sentence without a stop; empty: nothing
}

// Asking is the edit that attaches the message that asks for a summary: the prompt's text, or where that is not known,
// "", a placeholder of a number of tokens.
func Asking(text string, tokens int) Edit {
	s := Synthetic{Role: "user", Label: "prompt", Contents: []Content{Text(text)}}
	if text == "" {
		s.Label = "prompt, whose text is not known"
		s.Contents[0] = Content{Kind: jsonl.KindText, Tokens: max(tokens, 1)}
	}
	return Edit{Kind: KindAttach, Reason: "it asks for the summary", Insert: []Synthetic{s}}
}
