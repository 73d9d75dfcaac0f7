package policy

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// Finding is something in a policy that is allowed but questionable, such as a stage that can never act, an order of
// stages that no product has, or two stages that both compact.
type Finding struct {
	Position        // of Key in the user's file, or of the key that causes the finding; zero: no file
	Key      string `json:"key"` // key of the stage or parameter: "snip", "window.buffer"
	Rule     string `json:"rule"`
	Msg      string `json:"message"`
	Hint     string `json:"hint,omitempty"` // what to do
}

// String returns "FILE:LINE:COL: MESSAGE: HINT (RULE)".
func (f Finding) String() string {
	e := Error{Position: f.Position, Msg: f.Key + ": " + f.Msg, Hint: f.Hint}
	return e.Error() + " (" + f.Rule + ")"
}

// Rule is a kind of finding of Lint. The function Rules returns descriptions of all rules.
type Rule string

const (
	RuleWindow     Rule = "window"     // limits leave no room in the context window
	RuleOrder      Rule = "order"      // the product does not run the stages in this order, or the API does not accept it
	RuleCompete    Rule = "compete"    // two stages compact the whole conversation
	RuleAlone      Rule = "alone"      // a stage needs another one that is missing
	RuleNever      Rule = "never"      // a stage can never act
	RuleAlways     Rule = "always"     // a stage acts at every request
	RuleContradict Rule = "contradict" // parameters contradict each other or the settings of the prompt cache
	RuleUnused     Rule = "unused"     // a parameter has no effect
	RuleSummary    Rule = "summary"    // a source of summaries is never used, or may have no summary
	RuleCondition  Rule = "condition"  // a condition is always true or false, or cannot work
)

// Rules returns the rules of Lint with their descriptions.
func Rules() []RuleDoc {
	return []RuleDoc{
		{RuleWindow, "the output reserve leaves nothing of the window, or requests are blocked before they are compacted"},
		{RuleOrder, "stages run in another order than in the product, or than the API accepts"},
		{RuleCompete, "two stages compact the whole conversation"},
		{RuleAlone, "a stage needs another one that the policy does not have"},
		{RuleNever, "a stage cannot act: it is switched off, or its limit is beyond the window or behind that of a compaction"},
		{RuleAlways, "a stage acts at every request, or leaves as much as its limit"},
		{RuleContradict, "two parameters contradict each other, or the cache"},
		{RuleUnused, "a parameter is set that another one leaves without effect"},
		{RuleCondition, "a condition is always true or always false, names something that does not exist when the stage runs, or belongs to a stage that the server carries out"},
		{RuleSummary, "a choice of summary is never reached, or may not exist"},
	}
}

// RuleDoc is a rule and a description of what it finds.
type RuleDoc struct {
	Name Rule
	Doc  string
}

// What Lint assumes where the policy leaves it to the session.
const (
	assumedContext  = 200000
	largestContext  = 1000000 // the largest window of any model
	assumedOverhead = 18800
)

// Lint returns what is allowed but questionable in a policy, in the order of its file or, for a policy without a file,
// of its stages. The position of a finding is where the user can mend it.
func Lint(p *Policy) []Finding {
	found := findings(p)
	for i := range found {
		found[i].Position = placeOf(p, found[i])
	}
	strict.SortByPlace(found, func(f Finding) Position { return f.Position })
	return found
}

// Idle returns the parameters and stages of p that have no effect, each with the text of the finding of Lint.
func Idle(p *Policy) (list []string) {
	for _, f := range findings(p) {
		if f.Rule == string(RuleNever) || f.Rule == string(RuleUnused) {
			list = append(list, f.Key+": "+f.Msg+": "+f.Hint)
		}
	}
	return list
}

// findings are those of a policy, without a place.
func findings(p *Policy) []Finding {
	l := &linter{Policy: p}
	shared := map[string]bool{}
	for i := range p.Stages {
		d := &p.Stages[i].Definition
		c := &Check{linter: l, Stage: &p.Stages[i]}
		if d.Shared != nil && d.Shared.Lint != nil && !shared[d.Shared.Name] {
			shared[d.Shared.Name] = true
			d.Shared.Lint(c)
		}
		l.order(i)
		l.compete(c)
		l.alone(c)
		l.limits(c)
		l.summaries(c)
		l.condition(c.Stage)
		l.off(c)
		if p, ok := c.Stage.Params.(interface{ Check(c *Check) }); ok {
			p.Check(c)
		}
	}
	l.policy()
	return l.found
}

type linter struct {
	*Policy
	found []Finding
}

func (l *linter) add(rule Rule, key, hint, msg string, args ...any) {
	for i, a := range args {
		if v := reflect.ValueOf(a); v.CanInt() {
			args[i] = grouped(v.Int())
		}
	}
	l.found = append(l.found, Finding{Key: key, Rule: string(rule), Msg: fmt.Sprintf(msg, args...), Hint: hint})
}

// grouped is a whole number that is printed with commas.
type grouped int

// Format writes the number.
func (n grouped) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Thousands(int(n))) }

// off looks for parameters of a stage that is switched off, or that the client lacks, which change nothing. What is done
// when the user asks follows all of them but the limits. What a built-in policy says is left out.
func (l *linter) off(c *Check) {
	d := &c.Stage.Definition
	fields := c.fields()
	off := func(f strict.Field) bool {
		return (f.Name == "auto" || f.Name == "enabled") && f.Ref.Kind() == reflect.Bool && !f.Ref.Bool()
	}
	by := ""
	lacks := c.Stage.Lacks()
	if i := slices.IndexFunc(fields, off); i >= 0 {
		by = d.Name + "." + fields[i].Name
	}
	if lacks != "" {
		by = d.Name + ".setting"
	}
	if by == "" {
		return
	}
	limits := c.Limits(c.Window())
	switched := l.at[by].File
	why := by + " is false"
	hint := "set " + by + " to true, or leave it out"
	switch {
	case lacks != "":
		why = lacks
		hint = "leave it out"
	case switched != "" && switched != by:
		why += " in " + switched
	}
	for _, f := range fields {
		key := d.Name + "." + f.Name
		limit := slices.ContainsFunc(limits, func(l Limit) bool { return l.Key == key })
		file := l.at[key].File
		given := file == key || IsFile(file) && (file != switched || c.IsSet(key))
		if key != by && !off(f) && given && (limit || d.Moments&Manual == 0) {
			l.add(RuleUnused, key, hint, "it changes nothing: %s", why)
		}
	}
}

// Lacks returns a note if the product of the stage's family has nothing that acts as the stage does with these
// parameters, else "". An example of
// such a note is "OpenCode 2 has no pruning".
func (s *StageConfig) Lacks() string {
	if p, ok := s.Params.(interface{ Lacks() string }); ok {
		return p.Lacks()
	}
	return ""
}

// order compares the place of stage i with the orders of its family.
func (l *linter) order(i int) {
	late := &l.Stages[i].Definition
	for j := range l.Stages[:i] {
		early := &l.Stages[j].Definition
		wrong := early.AfterCompaction && late.Compaction != nil
		for _, o := range late.orders {
			a := slices.Index(o, late.Name)
			b := slices.Index(o, early.Name)
			wrong = wrong || a >= 0 && b >= 0 && a < b
		}
		if wrong {
			l.add(RuleOrder, late.Name, "list it before "+early.Name, "it runs after %s, and before it in the product", early.Name)
			return
		}
	}
}

// compete looks for an earlier stage that compacts the whole conversation, too.
func (l *linter) compete(c *Check) {
	if !c.Stage.compacts() {
		return
	}
	for i := range l.Stages {
		s := &l.Stages[i]
		if s == c.Stage {
			return
		}
		if !s.compacts() || s.with(c.Stage) {
			continue
		}
		hint := "keep one of them"
		if off := c.Stage.Definition.Compaction.Off; off != "" {
			hint += ", or " + off
		}
		l.add(RuleCompete, c.Stage.Definition.Name, hint, "it competes with %s for the same tokens", s.Definition.Name)
		return
	}
}

// compacts reports whether a stage compacts the whole conversation by itself.
func (s *StageConfig) compacts() bool {
	k := s.Definition.Compaction
	return k != nil && (k.On == nil || k.On(s))
}

// with reports whether one of two stages is tried before the other.
func (s *StageConfig) with(o *StageConfig) bool {
	tries := func(a, b *StageConfig) bool {
		return a.Definition.Compaction != nil && a.Definition.Compaction.With == b.Definition.Name
	}
	return tries(s, o) || tries(o, s)
}

func (l *linter) alone(c *Check) {
	helped := slices.ContainsFunc(l.Stages, func(s StageConfig) bool { return s.Definition.Compaction != nil })
	if c.Stage.Definition.AfterCompaction && !helped {
		l.add(RuleAlone, c.Stage.Definition.Name, "add one, or leave this out", "it does nothing without a stage that compacts")
	}
}

// limits compares the limits at which a stage acts with the window, the overhead and the limits of compactions.
func (l *linter) limits(c *Check) {
	large := c.Limits(c.LargestWindow())
	for i, limit := range c.Limits(c.Window()) {
		if !limit.Acts || limit.Operator == "<" || limit.Of != OfContext && limit.Of != OfMessages {
			continue
		}
		f, err := l.field(limit.Key)
		if err == nil { // it is a parameter's
			limit.Lower = cmp.Or(limit.Lower, "make it smaller")
			limit.Raise = cmp.Or(limit.Raise, "make it larger")
		}
		what := Thousands(limit.Tokens)
		if err != nil || !strings.Contains(f.Text(), strconv.Itoa(limit.Tokens)) {
			what = limit.Name + " at " + what
		}
		switch at, below := l.ceiling(c, c.Window()); {
		case limit.Lower != "" && i < len(large) && limit.Tokens >= at && l.beyond(c, large[i]):
			if large[i].Tokens == limit.Tokens { // it does not grow with the window
				at, below = l.ceiling(c, c.LargestWindow())
			}
			l.add(RuleNever, limit.Key, limit.Lower, "%s is not below %d, %s", what, at, below)
		case limit.Raise != "" && limit.Of == OfContext && limit.Tokens <= c.Overhead():
			l.add(RuleAlways, limit.Key, limit.Raise, "%s is not above the %d tokens of system prompt and tools", what, c.Overhead())
		}
	}
	if at := c.Stage.compactsAt(Circumstances{Window: c.Window()}); at != nil {
		l.again(c, *at)
	}
}

// ceiling is the number of tokens that a stage's limit is to be below: [Check.Ceiling], and the window alone for a
// stage that compacts, which competes with the others.
func (l *linter) ceiling(c *Check, window int) (tokens int, what string) {
	if c.Stage.compacts() {
		return window, "the window"
	}
	return c.Ceiling(window)
}

// beyond reports whether a limit is never reached in the largest window.
func (l *linter) beyond(c *Check, limit Limit) bool {
	at, _ := l.ceiling(c, c.LargestWindow())
	return limit.Tokens >= at
}

// again looks for a summary that fills the context up to the limit at which it is made.
func (l *linter) again(c *Check, limit Limit) {
	for _, f := range c.fields() {
		choices, ok := f.Ref.Interface().(SummaryChoices)
		if !ok {
			continue
		}
		for _, s := range choices {
			if s.Kind == SummaryFixed && s.Tokens+c.Overhead() >= limit.Tokens && c.Overhead() < limit.Tokens {
				l.add(RuleAlways, c.Stage.Definition.Name+"."+f.Name, "make it smaller", "a summary of %d with %d of system prompt and tools reaches %d, where %s compacts again",
					s.Tokens, c.Overhead(), limit.Tokens, c.Stage.Definition.Name)
			}
		}
	}
}

func (l *linter) summaries(c *Check) {
	for _, f := range c.fields() {
		key := c.Stage.Definition.Name + "." + f.Name
		if f.Name == "prefix" && f.Ref.String() == "session" && l.Cache.Breakpoints == BreakpointsNone && c.IsSet(key) {
			l.add(RuleContradict, key, "give cache.breakpoints, or the prefix own", "with cache.breakpoints: none no prefix is warm")
		}
		choices, ok := f.Ref.Interface().(SummaryChoices)
		if !ok {
			continue
		}
		for i, s := range choices {
			if (s.Kind == SummaryFixed || s.Kind == SummaryTypical) && i+1 < len(choices) {
				l.add(RuleSummary, key, "put "+s.String()+" last", "%s is always there, what follows it is never reached", s)
				break
			}
		}
		if n := len(choices); n == 0 || choices[n-1].Kind == SummaryRecorded {
			l.add(RuleSummary, key, "end the list with outline or typical", "there may be no summary: not every stretch has a recorded one")
		}
	}
}

// policy looks at the blocks of the policy that belong to no stage.
func (l *linter) policy() {
	c := &Check{linter: l}
	if p := l.Policy; p.Window.Overhead.Given && p.Cache.System > p.Window.Overhead.Tokens {
		l.add(RuleContradict, "cache.system", "make it window.overhead or less", "%d is more than window.overhead %d", p.Cache.System, p.Window.Overhead.Tokens)
	}
	for _, name := range []string{"ttl", "system", "warm"} {
		c.Unused("cache."+name, l.Cache.Breakpoints == BreakpointsNone, "cache.breakpoints: none caches nothing")
	}
	for _, n := range l.Numbers {
		named := func(s StageConfig) bool { return s.When.Condition != nil && s.When.Condition.Uses(n.Name) }
		if !slices.ContainsFunc(l.Stages, named) {
			l.add(RuleUnused, numbersKey+"."+n.Name, "leave it out", "no condition uses it")
		}
	}
	used := map[string]bool{}
	for _, key := range l.Keys() {
		used[key] = true
	}
	for _, s := range l.shared {
		fields, _ := strict.Fields(s.Params)
		for _, f := range fields {
			key := windowKey + "." + f.Name
			at, written := l.at[key]
			inherited := l.base != nil && l.base.at[key] == at
			if written && !inherited && !used[key] {
				l.add(RuleUnused, key, "leave it out", "it has no effect: no stage of the policy reads it")
			}
		}
	}
}

// Check gives the check of one stage access to the whole policy, and collects the findings of that check.
type Check struct {
	*linter
	Stage *StageConfig
}

// Add adds a finding at key, which must be the key of a stage or of one of its parameters.
func (c *Check) Add(rule Rule, key, hint, msg string, args ...any) {
	c.add(rule, key, hint, msg, args...)
}

// Unused adds a finding that a parameter has no effect, for the given reason. It does so only if the argument when is
// true and the parameter differs from its default.
func (c *Check) Unused(key string, when bool, why string, args ...any) {
	if when && c.IsSet(key) {
		c.add(RuleUnused, key, "leave it out", "it has no effect: "+why, args...)
	}
}

// Less adds a finding unless a is less than b. These are the values of two parameters, whose keys are the arguments
// small and large.
func (c *Check) Less(small string, a int, large string, b int) {
	name := c.Stage.Definition.Name + "."
	if a >= b {
		c.add(RuleContradict, name+small, "make it smaller than "+name+large, "%d leaves nothing to do at %s%s %d", a, name, large, b)
	}
}

// AtMost adds a finding if a is more than b. These are the values of two parameters, whose keys are the arguments small
// and large.
func (c *Check) AtMost(small string, a int, large string, b int) {
	name := c.Stage.Definition.Name + "."
	if a > b {
		c.add(RuleContradict, name+small, "make it "+name+large+" or less", "%d is more than %s%s %d", a, name, large, b)
	}
}

// Has returns the policy's stage with the given name, or nil.
func (c *Check) Has(stage string) *StageConfig { return c.stage(stage) }

// Follows reports whether the checked stage comes at any place after the stage with the given name.
func (c *Check) Follows(stage string) bool {
	for i := range c.Stages {
		switch c.Stages[i].Definition.Name {
		case c.Stage.Definition.Name:
			return false
		case stage:
			return true
		}
	}
	return false
}

// Warm adds a finding at key if pause is shorter than the TTL of the prompt cache.
func (c *Check) Warm(key string, pause time.Duration) {
	life := 5 * time.Minute
	if c.Cache.TTL == "1h" {
		life = time.Hour
	}
	if pause < life {
		c.add(RuleContradict, key, "give "+strict.DurationText(life)+" or more", "after %s the prompt cache is still warm, and clearing makes it cold", strict.DurationText(pause))
	}
}

// Window returns the context window that the policy sets, in tokens, or 200,000 if it sets none.
func (c *Check) Window() int { return c.context(assumedContext) }

// FixedWindow reports whether the policy sets its context window.
func (c *Check) FixedWindow() bool { return c.Policy.Window.Context > 0 }

// LargestWindow returns the context window that the policy sets, in tokens. If the policy sets none, it returns the
// largest window of any model.
func (c *Check) LargestWindow() int { return c.context(largestContext) }

// Overhead returns the overhead that the policy sets, in tokens, or 18,800 if it sets none. The latter is what /context
// of Claude Code 2.1.19 reports.
func (c *Check) Overhead() int {
	if c.Policy.Window.Overhead.Given {
		return c.Policy.Window.Overhead.Tokens
	}
	return assumedOverhead
}

// Limits returns the limits that the checked stage has in a context window with the given number of tokens.
func (c *Check) Limits(window int) []Limit {
	return c.Stage.Limits(Circumstances{Window: window}).List
}

func (c *Check) context(window int) int { return cmp.Or(c.Policy.Window.Context, window) }

// Ceiling returns the number of tokens that prompts stay below even without the checked stage. This is the context
// window or, if it is lower, the lowest limit at which another stage compacts. The context window is the one that the
// policy sets, or the argument if the policy sets none. The second result says which of the two the number is, in words
// for use in a sentence.
func (c *Check) Ceiling(window int) (tokens int, what string) {
	window = c.context(window)
	tokens = window
	what = "the window"
	for i := range c.Stages {
		s := &c.Stages[i]
		if s == c.Stage || !s.compacts() || s.with(c.Stage) {
			continue
		}
		if l := s.compactsAt(Circumstances{Window: window}); l != nil {
			at := l.Tokens
			if l.Operator == ">" {
				at++
			}
			if at < tokens {
				tokens = at
				what = "where " + s.Definition.Name + " compacts"
			}
		}
	}
	return tokens, what
}

// IsSet reports whether a parameter differs from its default.
func (c *Check) IsSet(key string) bool {
	f, err := c.field(key)
	if err != nil {
		return false
	}
	owner, name, _ := strings.Cut(key, ".")
	params := append(WindowParameters(), CachingParameters()...)
	if s := c.stage(owner); s != nil {
		params = s.Definition.Parameters()
	}
	for _, s := range c.Stages {
		if d := s.Definition; owner == windowKey && d.Shared != nil {
			params = append(params, strict.Params(d.Shared.Params)...)
		}
	}
	i := slices.IndexFunc(params, func(p Param) bool { return p.Name == name })
	return i >= 0 && params[i].Default != f.Text()
}

func (c *Check) fields() []strict.Field {
	fields, _ := strict.Fields(c.Stage.Params)
	return fields
}
