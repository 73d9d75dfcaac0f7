package strict

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Only this file reads and writes YAML text, and puts the library's messages in this project's form.

const (
	maxBytes = 256 << 10 // a policy is a few KiB
	maxDepth = 24        // and six levels deep
)

type depthLimit struct{}

func (depthLimit) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > maxDepth {
		return errors.New("nested too deep")
	}
	return nil
}

func (depthLimit) CheckAlias(_, _ int) error { return nil } // aliases are refused, never followed

// Node is a piece of a document, with its position.
type Node = yaml.Node

// A Document says what a file is called in messages and how long it may be.
type Document struct {
	Name     string   // "policy"
	Start    string   // what to do where the file is empty
	Example  string   // a line of one
	MaxBytes int      // 0: 256 KiB
	Keys     []string // that one has; empty: any
}

// Empty is the message of a file that holds nothing.
const Empty = "the file is empty"

// Parse reads exactly one document, a map of plain values without anchors, aliases, tags and repeated keys. The node
// is nil where nothing could be read. Of a file of another kind no message repeats a word: it may hold a secret.
func Parse(file string, data []byte, doc Document) (*Node, Errors) {
	root, errs := parse(file, data, doc)
	what := ""
	switch {
	case root == nil:
	case root.Kind == yaml.ScalarNode && !IsNull(root):
		what = "a text"
	case root.Kind != yaml.MappingNode:
		what = KindName(root)
	case foreign(root, doc.Keys):
		what = "a map of other keys"
	}
	if what != "" {
		return nil, Errors{{At(file, root), what + " is not a " + doc.Name, "write keys and values, such as " + strconv.Quote(doc.Example)}}
	}
	return root, errs
}

// foreign reports whether a map has keys, and none that is one of a list or near one.
func foreign(root *Node, keys []string) bool {
	list := Pairs(root)
	return len(list) > 0 && len(keys) > 0 && !slices.ContainsFunc(list, func(kv Pair) bool {
		_, near := Nearest(kv.Key, keys)
		return near > 0 || slices.Contains(keys, kv.Key)
	})
}

// parse reads exactly one document of any kind.
func parse(file string, data []byte, doc Document) (*Node, Errors) {
	top := Position{file, 1, 1}
	if i := invalid(data); i >= 0 {
		at := place(file, data[:i])
		return nil, Errors{{at, fmt.Sprintf("not text: byte 0x%02x", data[i]), "save the file as UTF-8 without control characters"}}
	}
	if limit := cmp.Or(doc.MaxBytes, maxBytes); len(data) > limit {
		return nil, Errors{{top, fmt.Sprintf("%d bytes are too long for a %s", len(data), doc.Name), fmt.Sprintf("keep it under %d", limit)}}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(depthLimit{}))
	if err != nil {
		return nil, Errors{{top, err.Error(), "report this"}}
	}
	var first Node
	if err := loader.Load(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, Errors{{top, Empty, doc.Start}}
		}
		return nil, Errors{syntaxError(file, err)}
	}
	root := &first
	if first.Kind == yaml.DocumentNode && len(first.Content) == 1 {
		root = first.Content[0]
	}
	r := &Decoder{File: file}
	var next Node
	switch err := loader.Load(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		r.Errors = Errors{syntaxError(file, err)}
	default:
		r.Report(&next, "a second document begins here", "keep one "+doc.Name+" a file")
	}
	r.checkPlain(root)
	return root, r.Errors
}

// invalid is the offset of the first byte that is not part of a text, or -1.
func invalid(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f {
			return i
		}
		i += n
	}
	return -1
}

// place is the position after text.
func place(file string, text []byte) Position {
	line := text[bytes.LastIndexByte(text, '\n')+1:]
	return Position{file, bytes.Count(text, []byte{'\n'}) + 1, utf8.RuneCount(line) + 1}
}

func syntaxError(file string, err error) *Error {
	e := &Error{Position{file, 1, 1}, "not YAML: " + err.Error(), "fix the syntax"}
	var list *yaml.LoadErrors
	var one *yaml.LoadError
	if errors.As(err, &list) && len(list.Errors) > 0 {
		one = list.Errors[0]
	} else if !errors.As(err, &one) {
		return e
	}
	e.Msg = "not YAML: " + strings.TrimSpace(one.Message)
	if strings.HasPrefix(strings.TrimSpace(one.Message), "mapping values are not allowed") {
		e.Hint = "indent keys alike, and quote a text that holds a colon and a space"
	}
	if one.Mark.Line > 0 {
		e.Line = one.Mark.Line
		e.Column = max(one.Mark.Column, 1)
	}
	if one.ContextMsg != "" {
		e.Msg += " " + one.ContextMsg
		if one.ContextMark.Line > 0 && one.ContextMark.Line != one.Mark.Line {
			e.Msg += fmt.Sprintf(" that began on line %d", one.ContextMark.Line)
		}
	}
	return e
}

// At is the position of a node.
func At(file string, n *Node) Position { return Position{file, max(n.Line, 1), max(n.Column, 1)} }

// checkPlain reports anchors, aliases, tags, and keys that are repeated or no words. It follows and expands nothing:
// it costs what the document costs.
func (r *Decoder) checkPlain(n *Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.Errors.Report(At(r.File, n), "aliases are not allowed", "write the value out")
		return
	case n.Anchor != "":
		r.Report(n, "anchors are not allowed", "write the value out where it is needed")
	}
	if n.Style&yaml.TaggedStyle != 0 {
		r.Report(n, "the type tag "+Quote(n.Tag)+" is not allowed", "leave it out")
	}
	if n.Kind == yaml.MappingNode {
		lines := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			line, twice := lines[key.Value]
			switch {
			case key.Kind != yaml.ScalarNode: // Report passes over aliases
				r.Report(key, "a key must be a word", "write a name before the colon")
			case twice:
				r.Report(key, fmt.Sprintf("key %s is here twice, first on line %d", Quote(key.Value), line), "keep one of them")
			default:
				lines[key.Value] = key.Line
			}
		}
	}
	for _, c := range n.Content {
		r.checkPlain(c)
	}
}

// Pair is a key of a map with its value.
type Pair struct {
	Key   string
	At    *Node // the key
	Value *Node
}

// Pairs lists a map in the order of the file, the first of each key.
func Pairs(n *Node) []Pair {
	var list []Pair
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || seen[k.Value] {
			continue
		}
		seen[k.Value] = true
		list = append(list, Pair{k.Value, k, n.Content[i+1]})
	}
	return list
}

// IsNull reports whether a node has no value.
func IsNull(n *Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// KindName says what a node is, for messages: "a map", "a list", "empty", or its value in quotes.
func KindName(n *Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case IsNull(n):
		return "empty"
	}
	return Quote(n.Value)
}

// Dump writes a tree of nodes as YAML text.
func Dump(n *Node) []byte {
	data, err := yaml.Dump(n, yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
	if err != nil { // a tree of plain nodes can always be written
		return []byte("# " + err.Error() + "\n")
	}
	return data
}

// Flow writes a node as YAML on one line, as [Field.SetText] takes it.
func Flow(n *Node) string {
	c := *n
	if c.Kind != yaml.ScalarNode {
		c.Style |= yaml.FlowStyle
	}
	c.HeadComment = ""
	c.LineComment = ""
	c.FootComment = ""
	return strings.TrimSuffix(string(Dump(&c)), "\n")
}

// Text is a node of text, quoted where it would be read as something else.
func Text(s string) *Node {
	n := &Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	special := func(r rune) bool { return r < ' ' || strings.ContainsRune("\x7f\u0085\u2028\u2029\ufeff", r) }
	if strings.ContainsFunc(s, special) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// Map is a map without keys.
func Map() *Node { return &Node{Kind: yaml.MappingNode, Tag: "!!map"} }

// List is a list of items; an empty one is written on the line of its key.
func List(items ...*Node) *Node {
	n := &Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
	if len(items) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

// Put adds a key to a map.
func Put(m *Node, key string, value *Node) { m.Content = append(m.Content, Text(key), value) }
