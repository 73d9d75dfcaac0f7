package jsonl

// locate turns the spans of a decoded entry, indexes into its line, into file offsets.
func (e *entry) locate(line int64) {
	content := e.Message.Content
	for i := range content {
		bl := &content[i]
		bl.Span.Off += line
		if bl.Value.Len > 0 {
			bl.Value.Off += line
		}
		for k := range bl.Parts {
			bl.Parts[k].Span.Off += line
		}
	}
}

// index is the position of raw in e.Raw, or -1.
func (e *Entry) index(raw []byte) int {
	if len(raw) == 0 {
		return -1
	}
	// Both slices end at the end of the same memory.
	i := cap(e.Raw) - cap(raw)
	if i < 0 || i+len(raw) > len(e.Raw) || &e.Raw[i] != &raw[0] {
		return -1
	}
	return i
}

// SpanOf returns the position in the file of one of the entry's raw fields, or of a slice of one; false if raw is not
// a part of e.Raw.
func (e *Entry) SpanOf(raw []byte) (Span, bool) {
	i := e.index(raw)
	if i < 0 {
		return Span{}, false
	}
	return Span{e.Offset + int64(i), len(raw)}, true
}
