package synth

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// writer draws the texts of the user and the agent.
type writer struct {
	r   *rand.Rand
	p   *project
	cjk float64
}

func (w *writer) prompt() string {
	f, name := w.p.named()
	if w.cjk > 0 && w.r.Float64() < w.cjk {
		return fmt.Sprintf(pick(w.r, []string{
			"请检查 %[1]s 里的 %[2]s，重试之后库存会被扣两次 😕，找到原因并补上测试。",
			"%[1]s の %[2]s がたまにタイムアウトします。原因を調べて直してください 🙏",
			"%[1]s 파일의 %[2]s 함수가 왜 음수를 돌려주는지 확인하고 고쳐 주세요.",
			"把 %[2]s 的错误信息改得更清楚一些，顺便更新 %[1]s 的注释 ✍️。",
		}), f.path, name)
	}
	noun, verb := strings.ToLower(pick(w.r, nouns)), strings.ToLower(pick(w.r, verbs))
	return fmt.Sprintf(pick(w.r, []string{
		"%[2]s in %[1]s returns one unit too few after a retry. find out why and fix it, with a test",
		"can you go through %[1]s and tell me whether %[2]s is safe to call while a %[3]s is being %[4]sd?",
		"I want every %[3]s to be %[4]sd in one transaction. Start with %[2]s, then look for other places that do it by hand.",
		"the nightly job still fails on %[2]s, see the log. Please look at %[1]s first, I suspect the deadline",
		"rename the metrics around %[2]s so that they follow docs, and update the dashboards' queries",
		"add a dry-run mode to %[2]s; nothing may be written, but the report should be the same",
		"why is %[1]s so long? split it where it makes sense, keep %[2]s where it is",
		"ok, now do the same for the %[3]s path",
		"please write down in docs how a %[3]s is %[4]sd, step by step, and link it from %[1]s",
		"review what we have so far: anything in %[1]s that would break when two workers %[4]s the same %[3]s?",
	}), f.path, name, noun, verb)
}

func (w *writer) sentence() string {
	f, name := w.p.named()
	if w.cjk > 0 && w.r.Float64() < w.cjk {
		return pick(w.r, cjkNotes)
	}
	_, other := w.p.named()
	return fmt.Sprintf(pick(w.r, []string{
		"`%[2]s` takes the lock twice when the first attempt times out.",
		"The value that `%[3]s` reports comes from %[1]s, not from the ledger.",
		"Nothing in %[1]s checks the limit before `%[2]s` is called.",
		"`%[2]s` and `%[3]s` disagree about what happens at midnight.",
		"The test covers the empty %[4]s but not the one that expires halfway.",
		"If the %[4]s is sealed, `%[2]s` has to return before it publishes anything.",
		"That explains the count: `%[3]s` runs once per retry.",
		"The comment in %[1]s is out of date; the deadline moved to the worker.",
	}), f.path, name, other, strings.ToLower(pick(w.r, nouns)))
}

func (w *writer) sentences(n int) string {
	s := make([]string, n)
	for i := range s {
		s[i] = w.sentence()
	}
	return strings.Join(s, " ")
}

// aside is a text before a tool call.
func (w *writer) aside() string {
	_, name := w.p.named()
	return fmt.Sprintf(pick(w.r, []string{
		"Let me look at how `%s` is used.",
		"I'll check `%s` and its callers first.",
		"Now the tests for `%s`.",
		"`%s` is where this goes wrong; I'll change it there.",
		"Let me make sure that `%s` still builds.",
	}), name)
}

func (w *writer) thinking() string { return w.sentences(2 + w.r.IntN(6)) }

// answer ends a turn.
func (w *writer) answer() string {
	var b strings.Builder
	b.WriteString(w.sentences(1 + w.r.IntN(2)))
	if w.r.IntN(3) > 0 {
		b.WriteString("\n\nWhat changed:\n")
		for range 2 + w.r.IntN(3) {
			f, _ := w.p.named()
			fmt.Fprintf(&b, "- `%s`: %s\n", f.path, w.sentence())
		}
	}
	if w.r.IntN(4) == 0 {
		b.WriteString("\nAll tests pass. Shall I go on with the remaining callers?")
	}
	return strings.TrimRight(b.String(), "\n")
}
