package report

// style is a look: a colour on terminals that want one, nothing elsewhere.
type style string

const (
	none    style = ""
	faint   style = "2"
	bold    style = "1"
	red     style = "31"
	green   style = "32"
	yellow  style = "33"
	cyan    style = "36"
	boldRed style = "1;31"
)

// paint puts the style around s.
func (st style) paint(s string) string {
	if st == none || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

func (st style) paintAll(cells []string) {
	for i := range cells {
		cells[i] = st.paint(cells[i])
	}
}
