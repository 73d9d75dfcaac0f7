package generic

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// ends says how much of a text stays at both ends.
type ends struct {
	head, tail           int // UTF-16 units
	headLines, tailLines int // lines; both 0: they are not counted
}

// split divides an amount between the head, which has a share of it, and the tail.
func split(amount int, share float64) (head, tail int) {
	head = int(share * float64(amount))
	return head, amount - head
}

// cut leaves out the middle of a text, and says how much that is; ok is false where nothing is left out.
func (e *ends) cut(text string) (short string, ok bool) {
	head := len(measure.FirstUnits(text, e.head))
	tail := len(measure.LastUnits(text, e.tail))
	if e.headLines+e.tailLines > 0 {
		head = min(head, firstLines(text, e.headLines))
		tail = min(tail, lastLines(text, e.tailLines))
	}
	if head+tail >= len(text) {
		return text, false
	}
	middle := text[head : len(text)-tail]
	what := fmt.Sprintf("%s characters", policy.Thousands(len([]rune(middle))))
	if n := strings.Count(middle, "\n"); n > 1 {
		what = fmt.Sprintf("%s lines, %s", policy.Thousands(n), what)
	}
	return text[:head] + "\n[… " + what + " left out …]\n" + text[len(text)-tail:], true
}

// firstLines is the length of the first n lines of a text, in bytes.
func firstLines(text string, n int) int {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// lastLines is the length of the last n lines of a text, in bytes.
func lastLines(text string, n int) int {
	end := len(text)
	for ; n > 0 && end > 0; n-- {
		i := strings.LastIndexByte(strings.TrimSuffix(text[:end], "\n"), '\n')
		if i < 0 {
			return len(text)
		}
		end = i + 1
	}
	return len(text) - end
}
