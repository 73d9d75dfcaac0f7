package jsonl

// internField names a string field, so that its last value is tried first.
type internField uint8

const (
	inType internField = iota
	inSubtype
	inSession
	inAgent
	inVersion
	inCWD
	inRole
	inModel
	inStop
	inTool
	inBlockType
	inMessage
	inFields
)

// Bounds on what an interner keeps, so that a hostile file cannot make it grow.
const (
	internEntries = 4096
	internBytes   = 512 // of one string
)

// interner gives equal strings the same memory.
type interner struct {
	last [inFields]string
	all  map[string]string
}

// intern returns b as a string of low cardinality.
func (in *interner) intern(f internField, b []byte) string {
	if string(b) == in.last[f] {
		return in.last[f]
	}
	if len(b) == 0 {
		return ""
	}
	s, ok := in.all[string(b)]
	if !ok {
		s = string(b)
		if len(b) <= internBytes && len(in.all) < internEntries {
			if in.all == nil {
				in.all = make(map[string]string)
			}
			in.all[s] = s
		}
	}
	in.last[f] = s
	return s
}

// repeated returns b as the last string of the field, if equal, or a new one.
func (in *interner) repeated(f internField, b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if string(b) != in.last[f] {
		in.last[f] = string(b)
	}
	return in.last[f]
}
