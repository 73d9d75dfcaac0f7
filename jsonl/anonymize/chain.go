package anonymize

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/requests"
)

// follow makes the hashes of requests anew: those on a line are hashes of the lines just written, and those that name
// it further down get the same. A hash that stands above its line keeps a substitute, and names nothing.
func (a *Anonymizer) follow(raw []byte, e *jsonl.Entry) {
	switch e.Type {
	case "user", "assistant":
		add := func(runs *requests.Runs, line []byte) (requests.Digest, bool) {
			sum, _, ok := runs.Add(e.SessionID, e.Message.Role, e.Message.ID, requests.Member(requests.Member(line, "message"), "content"))
			return sum, ok
		}
		was, okWas := add(&a.was, raw)
		if is, ok := add(&a.is, a.dst); ok && okWas {
			a.names.ids[was.String()] = is.String()
		}
	case requests.TypeMessage:
		a.hashed(raw, "hash", func(line []byte) (requests.Digest, bool) {
			return requests.SumOfMessage(requests.Member(line, "message"))
		})
	case requests.TypeShape:
		a.hashed(raw, "shapeHash", func(line []byte) (requests.Digest, bool) { return requests.SumOf(requests.Member(line, "shape")) })
	case requests.TypeRequest:
		was := requests.Member(raw, "cacheControl")
		is := requests.Member(a.dst, "cacheControl")
		if len(was) == len(is) && placesOnly(was) {
			copy(is, was)
		}
		for _, name := range [...]string{"requestDigest", "cutRequestDigest"} { // of a body that is not written
			a.dst = without(a.dst, name)
		}
	}
}

// hashed gives a line the hash of what has been written, if it had the right one.
func (a *Anonymizer) hashed(raw []byte, name string, sum func(line []byte) (requests.Digest, bool)) {
	was, okWas := sum(raw)
	is, ok := sum(a.dst)
	old, _ := jsonl.Unquote(requests.Member(raw, name))
	value := requests.Member(a.dst, name)
	if okWas && ok && old == was.String() && len(value) == len(old)+2 {
		copy(value[1:], is.String())
		a.names.ids[old] = is.String()
	}
}

// without takes a member out of an object.
func without(object []byte, name string) []byte {
	const space = " \t\r\n"
	for value := requests.Member(object, name); value != nil; value = requests.Member(object, name) {
		from := cap(object) - cap(value) // both end where their memory does
		to := from + len(value)
		for range 2 { // the quotes of the key
			from = bytes.LastIndexByte(object[:from], '"')
		}
		if before := bytes.TrimRight(object[:from], space); before[len(before)-1] == ',' {
			from = len(before) - 1
		} else if rest := bytes.TrimLeft(object[to:], space); rest[0] == ',' {
			to = len(object) - len(rest) + 1
		}
		object = slices.Delete(object, from, to)
	}
	return object
}

// placesOnly reports whether breakpoints of the cache hold nothing but words of the API.
func placesOnly(raw []byte) bool {
	var marks []struct {
		Path  []any             `json:"path"`
		Value map[string]string `json:"value"`
	}
	if json.Unmarshal(raw, &marks) != nil {
		return false
	}
	words := jsonl.Set("system tools messages content type ttl scope ephemeral 5m 1h global")
	for _, m := range marks {
		for _, step := range m.Path {
			if name, ok := step.(string); ok && !words[name] {
				return false
			}
		}
		for k, v := range m.Value {
			if !words[k] || !words[v] {
				return false
			}
		}
	}
	return true
}
