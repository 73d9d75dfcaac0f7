package requests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
)

// BodyPart is a part of a request.
type BodyPart string

// The parts of a request, in the order in which the API caches them; settings count for the messages.
const (
	PartModel   BodyPart = "model"
	PartTool    BodyPart = "tool"
	PartSystem  BodyPart = "system"
	PartSetting BodyPart = "setting"
	PartMessage BodyPart = "message"
)

// BodyChange is the first that differs of what two requests have in common.
type BodyChange struct {
	Part    BodyPart `json:"part"`
	Name    string   `json:"name,omitempty"`    // of a tool or a setting; of a block its kind
	Role    string   `json:"role,omitempty"`    // of a message
	Message int      `json:"message,omitempty"` // from 1 on
	Block   int      `json:"block,omitempty"`   // of a message or the system prompt, from 1 on
	Line    int      `json:"line,omitempty"`    // of the file that has it now; of what is gone that had it
	Was     string   `json:"was,omitempty"`     // its beginning; "": it was not there
	Is      string   `json:"is,omitempty"`      // "": it is not there any more
	Bytes   int      `json:"bytes"`             // of it, as it is or else was
	Text    string   `json:"-"`                 // of a text what differs, as it is or else was

	Tools   []ToolPlace    `json:"tools,omitempty"`   // all that are new, gone, or at another place: Bytes counts them
	Members []MemberChange `json:"members,omitempty"` // of a tool that is another: those that differ
}

// ToolPlace is where a tool was and is among the tools, from 1 on.
type ToolPlace struct {
	Name string `json:"name"`
	Was  int    `json:"was_place"` // 0: it is new
	Is   int    `json:"place"`     // 0: it is gone
}

// MemberChange is a member of a tool's definition that differs.
type MemberChange struct {
	Name string `json:"name"`
	Was  int    `json:"was_bytes"` // 0: it was not there
	Is   int    `json:"bytes"`     // 0: it is not there any more
}

// beginning is how many characters a change has of a text.
const beginning = 80

// afterMessages are the settings that what is cached does not depend on.
var afterMessages = jsonl.Set("max_tokens context_management model")

// Diff is the first that differs between a request and the one before it, nil where all of the one before was sent again,
// with the same settings.
func Diff(before, after *SentBody) *BodyChange {
	if c := setting(before, after, "model"); c != nil {
		c.Part = PartModel
		return c
	}
	if c := cmp.Or(diffTools(before, after), diffSystem(before, after)); c != nil {
		return c
	}
	if c := diffSettings(before, after, false); c != nil {
		return c
	}
	if c := diffMessages(before, after); c != nil {
		return c
	}
	return diffSettings(before, after, true)
}

// Diff is the first that differs between two requests, as the function of that name says, and how many blocks the later one
// has beyond the other.
func (l *Log) Diff(before, after *LogRequest) (change *BodyChange, added int, err error) {
	x, err := l.Body(before)
	if err != nil {
		return nil, 0, err
	}
	y, err := l.Body(after)
	if err != nil {
		return nil, 0, err
	}
	return Diff(x, y), y.blocks() - x.blocks(), nil
}

func (b *SentBody) blocks() (n int) {
	for i := range b.Messages {
		n += len(b.Messages[i].Blocks)
	}
	return n
}

// same reports whether two values are equal without their breakpoints.
func same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	x, okX := appendSorted(nil, a)
	y, okY := appendSorted(nil, b)
	return okX && okY && bytes.Equal(x, y)
}

func setting(before, after *SentBody, name string) *BodyChange {
	was := before.Param(name)
	is := after.Param(name)
	if same(was, is) {
		return nil
	}
	c := &BodyChange{Part: PartSetting, Name: name, Bytes: len(is)}
	c.Was = string(was)
	c.Is = string(is)
	if was != nil && is != nil {
		c.Was, c.Is = apart(c.Was, c.Is)
	}
	return c
}

func diffSettings(before, after *SentBody, last bool) *BodyChange {
	for _, b := range []*SentBody{before, after} {
		for _, p := range b.Params {
			if afterMessages[p.Name] != last {
				continue
			}
			if c := setting(before, after, p.Name); c != nil {
				return c
			}
		}
	}
	return nil
}

// definition is a tool as it is sent.
type definition struct {
	name string
	json []byte
}

func definitions(tools []byte) (list []definition) {
	eachElement(tools, func(v []byte) {
		var name struct{ Name, Type string }
		_ = json.Unmarshal(v, &name)
		if name.Name == "" {
			name.Name = name.Type
		}
		list = append(list, definition{name.Name, v})
	})
	return list
}

// diffTools finds the first tool that is another, or else the tools that are new, gone, or at another place.
func diffTools(before, after *SentBody) *BodyChange {
	if bytes.Equal(before.Tools, after.Tools) {
		return nil
	}
	was := definitions(before.Tools)
	is := definitions(after.Tools)
	for i := range max(len(was), len(is)) {
		switch {
		case i >= len(was) || i >= len(is) || was[i].name != is[i].name:
			return diffOrder(before, after, was, is)
		case !same(was[i].json, is[i].json):
			return &BodyChange{
				Part: PartTool, Name: is[i].name, Line: after.Line, Was: start(string(was[i].json)), Is: start(string(is[i].json)),
				Bytes: len(is[i].json), Members: members(was[i].json, is[i].json),
			}
		}
	}
	return nil
}

// diffOrder is which tools are new, gone, or at another place.
func diffOrder(before, after *SentBody, was, is []definition) *BodyChange {
	type key struct { // the second tool of a name is another one
		name string
		nth  int
	}
	places := map[key]int{} // of was, from 1 on
	count := map[string]int{}
	for i, d := range was {
		count[d.name]++
		places[key{d.name, count[d.name]}] = i + 1
	}
	c := &BodyChange{Part: PartTool, Line: after.Line}
	now := make([]int, len(was)) // place in is, by place in was; 0: it is gone
	clear(count)
	for i, d := range is {
		count[d.name]++
		if at := places[key{d.name, count[d.name]}]; at > 0 {
			now[at-1] = i + 1
		} else {
			c.addTool(d, 0, i+1)
		}
	}
	for i, d := range was {
		if now[i] == 0 {
			c.addTool(d, i+1, 0)
		}
	}
	stay := longestRise(now)
	for i, place := range now {
		if place > 0 && !stay[i] {
			c.addTool(is[place-1], i+1, place)
		}
	}
	if first := c.Tools[0]; first.Is == 0 {
		c.Line = before.Line
	}
	return c
}

func (c *BodyChange) addTool(d definition, was, is int) {
	c.Tools = append(c.Tools, ToolPlace{d.name, was, is})
	c.Bytes += len(d.json)
	if len(c.Tools) > 1 {
		return
	}
	c.Name = d.name
	if was > 0 {
		c.Was = start(string(d.json))
	}
	if is > 0 {
		c.Is = start(string(d.json))
	}
}

// longestRise marks the longest series of numbers that rise, without zeros: the fewest others moved.
func longestRise(list []int) []bool {
	var ends []int // index of the last number of the best series, by its length - 1
	before := make([]int, len(list))
	for i, n := range list {
		if n == 0 {
			continue
		}
		k, _ := slices.BinarySearchFunc(ends, n, func(at, n int) int { return list[at] - n })
		if before[i] = -1; k > 0 {
			before[i] = ends[k-1]
		}
		if k == len(ends) {
			ends = append(ends, 0)
		}
		ends[k] = i
	}
	in := make([]bool, len(list))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			in[i] = true
		}
	}
	return in
}

// members are the members of a tool that differ.
func members(was, is []byte) (list []MemberChange) {
	both := func(key string, _ []byte) {
		a := Member(was, key)
		b := Member(is, key)
		if !same(a, b) && !slices.ContainsFunc(list, func(m MemberChange) bool { return m.Name == key }) {
			list = append(list, MemberChange{key, len(a), len(b)})
		}
	}
	eachMember(was, both)
	eachMember(is, both)
	return list
}

func diffSystem(before, after *SentBody) *BodyChange {
	was := texts(before.System)
	is := texts(after.System)
	for i := range max(len(was), len(is)) {
		var a, b []byte
		if i < len(was) {
			a = was[i]
		}
		if i < len(is) {
			b = is[i]
		}
		if !same(a, b) {
			wasText, isText := apart(textOf(a), textOf(b))
			size := len(b)
			if b == nil {
				size = len(a)
			}
			return &BodyChange{Part: PartSystem, Block: i + 1, Line: after.Line, Was: wasText, Is: isText, Bytes: size, Text: differing(textOf(a), textOf(b))}
		}
	}
	return nil
}

// diffMessages finds the first block of the request before that was not sent again at its place.
func diffMessages(before, after *SentBody) *BodyChange {
	for m, was := range before.Messages {
		for k := range was.Blocks {
			a := was.Blocks[k].JSON
			sent := m < len(after.Messages) && k < len(after.Messages[m].Blocks)
			if sent && was.Role == after.Messages[m].Role && same(a, after.Messages[m].Blocks[k].JSON) {
				continue
			}
			c := &BodyChange{Part: PartMessage, Role: was.Role, Message: m + 1, Block: k + 1, Line: was.Line, Name: kindOf(a), Was: start(textOf(a)), Bytes: len(a), Text: textOf(a)}
			if sent {
				is := &after.Messages[m]
				b := is.Blocks[k].JSON
				c.Role, c.Line, c.Name, c.Bytes = is.Role, is.Line, kindOf(b), len(b)
				c.Was, c.Is = apart(textOf(a), textOf(b))
				if c.Text = textOf(b); kindOf(a) == c.Name {
					c.Text = differing(textOf(a), c.Text)
				}
			}
			return c
		}
		if m < min(len(before.Messages)-1, len(after.Messages)) && len(after.Messages[m].Blocks) > len(was.Blocks) {
			is := &after.Messages[m]
			b := is.Blocks[len(was.Blocks)].JSON
			return &BodyChange{Part: PartMessage, Role: is.Role, Message: m + 1, Block: len(was.Blocks) + 1, Line: is.Line, Name: kindOf(b), Is: start(textOf(b)), Bytes: len(b), Text: textOf(b)}
		}
	}
	return nil
}

func kindOf(block []byte) string {
	var b struct{ Type string }
	_ = json.Unmarshal(block, &b)
	return b.Type
}

// textOf is the text of a block, or else its JSON.
func textOf(block []byte) string {
	var b struct{ Text, Thinking, Content any }
	if json.Unmarshal(block, &b) == nil {
		for _, v := range []any{b.Text, b.Thinking, b.Content} {
			if text, ok := v.(string); ok {
				return text
			}
		}
	}
	return string(block)
}

// start is the beginning of a text.
func start(text string) string {
	for i, n := 0, 0; i < len(text); n++ {
		if n == beginning {
			return text[:i] + "…"
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return text
}

// apart are the beginnings of two texts, from where they differ; of one that is the other with more, only what is more.
func apart(a, b string) (string, string) {
	from := alike(a, b)
	if from < beginning/2 {
		return start(a), start(b)
	}
	a = a[from:]
	b = b[from:]
	if len(a) < len(b) {
		b, a = more(b, a)
	} else {
		a, b = more(a, b)
	}
	return "…" + start(a), "…" + start(b)
}

// alike is how many bytes two texts begin with alike, in whole characters.
func alike(a, b string) (n int) {
	for n < len(a) && n < len(b) {
		r, size := utf8.DecodeRuneInString(a[n:])
		if s, _ := utf8.DecodeRuneInString(b[n:]); r != s {
			break
		}
		n += size
	}
	return n
}

// differing is what a text is between its beginning and its end that it was as well; where that is nothing what it was there.
func differing(was, is string) string {
	from := alike(was, is)
	was = was[from:]
	is = is[from:]
	for was != "" && is != "" {
		r, n := utf8.DecodeLastRuneInString(was)
		if s, _ := utf8.DecodeLastRuneInString(is); r != s {
			break
		}
		was = was[:len(was)-n]
		is = is[:len(is)-n]
	}
	return cmp.Or(is, was)
}

// more takes the shorter of two texts away from the end of the longer, if it is that.
func more(long, short string) (string, string) {
	if rest, ok := strings.CutSuffix(long, short); ok {
		return rest, ""
	}
	return long, short
}
