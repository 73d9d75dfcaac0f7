package session

// The reasons for which lines are set aside.
const (
	AsideMalformed Reason = "malformed"
	AsideComment   Reason = "comment"
	AsideBlank     Reason = "blank"
	AsideBranch    Reason = "abandoned branch"
	AsideAPIError  Reason = "API error written by the client"
	AsideDuplicate Reason = "duplicate uuid"
	AsideNoMessage Reason = "message line without a message"
	AsideNoType    Reason = "no type"
	AsideRecord    Reason = "record of an edit that fits nothing"
)

// account counts each chained line as used or set aside.
func (ld *loader) account() {
	for i := range ld.nodes {
		n := &ld.nodes[i]
		switch {
		case n.used:
			ld.lines.Used++
		case n.apiError:
			ld.aside(int(n.line), AsideAPIError)
		case n.kind == nodeProgress:
			ld.aside(int(n.line), "progress")
		case n.kind == nodeSystem:
			ld.aside(int(n.line), Reason("system: "+n.head))
		case n.kind == nodeOther:
			ld.aside(int(n.line), Reason("unknown type: "+n.head))
		default:
			ld.aside(int(n.line), AsideBranch)
		}
	}
	for i := range ld.marks {
		if ld.marks[i].used {
			ld.lines.Used++
		} else {
			ld.aside(ld.marks[i].line, AsideRecord)
		}
	}
}

// Balanced reports whether Read = Used + sum(SetAside).
func (a Accounting) Balanced() bool {
	n := a.Used
	for _, c := range a.SetAside {
		n += c
	}
	return n == a.Read
}
