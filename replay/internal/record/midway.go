package record

// EarlierHistory is what a file that begins in the middle of a conversation shows of what came before. It is known by
// the usage of the first request.
type EarlierHistory struct {
	Tokens int  `json:"tokens,omitempty"` // the placeholder's; 0: no usage is recorded
	Cached *int `json:"cached_tokens"`    // what the first request read from the prompt cache, as recorded; nil: no usage is recorded
}

// Earlier is what the file shows of the history before it; nil where it begins with its conversation.
func (r *Record) Earlier() *EarlierHistory {
	if !r.Conv.BeginsMidway() || len(r.Conv.Requests) == 0 {
		return nil
	}
	h := &EarlierHistory{}
	if m := r.Conv.Response(0); m.HasUsage {
		read := r.Usage(m).CacheRead
		h.Tokens = r.Cal.Message(0)
		h.Cached = &read
	}
	return h
}
