package policy

import "go.yaml.in/yaml/v4"

// A Document is what a YAML file is called in messages.
type Document struct {
	Name  string // "policy"
	Start string // what to do where the file is empty
}

// ReadYAML reads a file as strictly as a policy: one document of plain values,
// without anchors, aliases, tags and keys that stand twice. The node is nil
// where nothing could be read.
func ReadYAML(file string, data []byte, doc Document) (*yaml.Node, Errors) {
	return parseDocument(file, data, doc)
}

// EachKey goes through a mapping in file order, the first of each key.
func EachKey(n *yaml.Node, each func(key string, at, value *yaml.Node)) {
	for _, kv := range pairs(n) {
		each(kv.key, kv.at, kv.value)
	}
}

// KindName says what a node is, for messages: "a map", "a list", "empty", or
// its value in quotes.
func KindName(n *yaml.Node) string { return kindName(n) }

// IsNull reports whether a node has no value.
func IsNull(n *yaml.Node) bool { return isNull(n) }

// Flow writes a node as YAML on one line, as Set takes it.
func Flow(n *yaml.Node) string {
	c := *n
	c.Style |= yaml.FlowStyle
	c.HeadComment, c.LineComment, c.FootComment = "", "", ""
	return flow(&c)
}

// At is where a node stands.
func At(file string, n *yaml.Node) Position { return position(file, n) }

// SortByPlace puts errors into the order of their places.
func (e Errors) SortByPlace() {
	sortByPlace(e, func(e *Error) Position { return e.Position })
}
