package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Only this file reads and writes YAML text. A document comes out of it as
// nodes with positions, free of anchors, aliases and tags, or as errors; the
// library's own messages are put in this project's form here.

const (
	maxBytes = 256 << 10 // a policy is a few kilobytes
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

// policyDocument is the file this package is about.
func policyDocument() Document {
	return Document{Name: "policy", Start: "write a policy: a built-in one is a good start"}
}

// parse reads a policy's YAML.
func parse(file string, data []byte) (*yaml.Node, Errors) {
	return parseDocument(file, data, policyDocument())
}

// parseDocument reads exactly one document. The node is nil where nothing
// could be read.
func parseDocument(file string, data []byte, doc Document) (*yaml.Node, Errors) {
	top := Position{File: file, Line: 1, Column: 1}
	if i := invalid(data); i >= 0 {
		at := place(file, data[:i])
		return nil, Errors{{at, fmt.Sprintf("not text: byte 0x%02x", data[i]), "save the file as UTF-8 without control characters"}}
	}
	if len(data) > maxBytes {
		return nil, Errors{{top, fmt.Sprintf("%d bytes are too long for a %s", len(data), doc.Name), fmt.Sprintf("keep it under %d", maxBytes)}}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(depthLimit{}))
	if err != nil {
		return nil, Errors{{top, err.Error(), "report this"}}
	}
	var first yaml.Node
	if err := loader.Load(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, Errors{{top, "the file is empty", doc.Start}}
		}
		return nil, Errors{syntaxError(file, err)}
	}
	root := &first
	if first.Kind == yaml.DocumentNode && len(first.Content) == 1 {
		root = first.Content[0]
	}
	var errs Errors
	var next yaml.Node
	switch err := loader.Load(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		errs = append(errs, syntaxError(file, err))
	default:
		errs = append(errs, &Error{position(file, &next), "a second document begins here", "keep one " + doc.Name + " a file"})
	}
	check(file, root, &errs)
	return root, errs
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
	e := &Error{Position{File: file, Line: 1, Column: 1}, "not YAML: " + err.Error(), "fix the syntax"}
	var list *yaml.LoadErrors
	var one *yaml.LoadError
	if errors.As(err, &list) && len(list.Errors) > 0 {
		one = list.Errors[0]
	} else if !errors.As(err, &one) {
		return e
	}
	e.Msg = "not YAML: " + strings.TrimSpace(one.Message)
	if one.Mark.Line > 0 {
		e.Line, e.Column = one.Mark.Line, max(one.Mark.Column, 1)
	}
	if one.ContextMsg != "" {
		e.Msg += " " + one.ContextMsg
		if one.ContextMark.Line > 0 && one.ContextMark.Line != one.Mark.Line {
			e.Msg += fmt.Sprintf(" that began on line %d", one.ContextMark.Line)
		}
	}
	return e
}

func position(file string, n *yaml.Node) Position {
	return Position{File: file, Line: max(n.Line, 1), Column: max(n.Column, 1)}
}

// check refuses what a policy has no use for. Nothing is followed or
// expanded, so it costs what the document costs.
func check(file string, n *yaml.Node, errs *Errors) {
	add := func(at *yaml.Node, msg, hint string) {
		*errs = append(*errs, &Error{position(file, at), msg, hint})
	}
	switch {
	case n.Kind == yaml.AliasNode:
		add(n, "aliases are not allowed", "write the value out")
		return
	case n.Anchor != "":
		add(n, "anchors are not allowed", "write the value out where it is needed")
	}
	if n.Style&yaml.TaggedStyle != 0 {
		add(n, fmt.Sprintf("the type tag %s is not allowed", quote(n.Tag)), "leave it out")
	}
	if n.Kind == yaml.MappingNode {
		lines := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				if key.Kind != yaml.AliasNode {
					add(key, "a key must be a word", "write a name before the colon")
				}
				continue
			}
			if line, twice := lines[key.Value]; twice {
				add(key, fmt.Sprintf("key %s is here twice, first on line %d", quote(key.Value), line), "keep one of them")
				continue
			}
			lines[key.Value] = key.Line
		}
	}
	for _, c := range n.Content {
		check(file, c, errs)
	}
}

// pair is a key of a mapping with its value.
type pair struct {
	key   string
	at    *yaml.Node
	value *yaml.Node
}

// pairs lists a mapping in file order, the first of each key.
func pairs(n *yaml.Node) []pair {
	var list []pair
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || seen[k.Value] {
			continue
		}
		seen[k.Value] = true
		list = append(list, pair{k.Value, k, n.Content[i+1]})
	}
	return list
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// kindName says what a node is, for messages.
func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	if isNull(n) {
		return "empty"
	}
	return quote(n.Value)
}

// dump writes a tree as YAML text.
func dump(n *yaml.Node) []byte {
	data, err := yaml.Dump(n, yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
	if err != nil { // a tree of plain nodes can always be written
		return []byte("# " + err.Error() + "\n")
	}
	return data
}

// flow writes a value on one line.
func flow(n *yaml.Node) string {
	return strings.TrimSuffix(string(dump(n)), "\n")
}

func scalar(tag, value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
	if tag == "!!str" && strings.ContainsFunc(value, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff
	}) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func text(s string) *yaml.Node { return scalar("!!str", s) }

func mapping(style yaml.Style) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: style}
}

func sequence(style yaml.Style) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: style}
}

func put(m *yaml.Node, key string, value *yaml.Node) {
	m.Content = append(m.Content, text(key), value)
}
