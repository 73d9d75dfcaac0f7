package requests

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// longSession is a session of n requests in the client's form: the first holds all its messages, and so does one after
// each compaction; the others keep those of the one before.
func longSession(name string, n int) (lines []object) {
	id := func(k int) string { return fmt.Sprintf("%s-r%d", name, k) }
	lines = append(lines, object{"type": TypeShape, "shapeHash": sum(shapeOf), "shape": shapeOf})
	var messages []object
	fresh := 0 // of messages: those that the request before had
	for k := range n {
		if k > 0 && k%7 == 0 { // a compaction
			messages, fresh = nil, 0
		}
		m := said("user", text(fmt.Sprintf("%s turn %d", name, k)))
		messages = append(messages, m)
		lines = append(lines, blob(m))
		var tail []string
		for _, m := range messages[fresh:] {
			tail = append(tail, sum(m))
		}
		base := ""
		if fresh > 0 {
			base = id(k - 1)
		}
		lines = append(lines, request(id(k), base, fresh, tail...))
		fresh = len(messages)
		reply := []any{think, text(fmt.Sprintf("%s answer %d", name, k))}
		for _, b := range reply {
			lines = append(lines, answer(name+fmt.Sprint("-m", k), id(k), b))
		}
		messages = append(messages, said("assistant", reply...))
	}
	for i := range lines {
		lines[i]["sessionId"] = name
	}
	return lines
}

// damage changes a file as files are damaged.
func damage(r *rand.Rand, lines, other []string) []string {
	at := func() int { return r.IntN(len(lines)) }
	edit := func(change func(o object)) {
		i := at()
		for range 40 { // of the lines that hold requests
			if strings.Contains(lines[i], `"api-request`) {
				break
			}
			i = at()
		}
		var o object
		if json.Unmarshal([]byte(lines[i]), &o) == nil {
			change(o)
			raw, _ := json.Marshal(o)
			lines[i] = string(raw)
		}
	}
	switch i := at(); r.IntN(11) {
	case 0: // cut
		lines[i] = lines[i][:r.IntN(len(lines[i])+1)]
	case 1: // a part of it cut out
		from := r.IntN(len(lines[i]) + 1)
		lines[i] = lines[i][:from] + lines[i][min(from+r.IntN(60), len(lines[i])):]
	case 2: // repeated
		lines = slices.Insert(lines, at(), lines[i])
	case 3: // reordered
		j := at()
		lines[i], lines[j] = lines[j], lines[i]
	case 4: // gone
		lines = slices.Delete(lines, i, i+1)
	case 5: // two sessions in one file
		k := r.IntN(len(other))
		lines = slices.Insert(lines, i, other[k:min(k+1+r.IntN(len(other)), len(other))]...)
	case 6: // a hash that does not fit
		edit(func(o object) {
			for _, name := range []string{"hash", "shapeHash"} {
				if h, ok := o[name].(string); ok && len(h) > 4 {
					o[name] = strings.Repeat("0", 4) + h[4:]
				}
			}
		})
	case 7: // a base that is missing, or a circle
		edit(func(o object) {
			if o["type"] == TypeRequest {
				o["base"] = []any{"none", o["id"], "a-r20", "a-r39"}[r.IntN(4)]
				o["keep"] = r.IntN(9)
			}
		})
	case 8: // messages that no request has
		lines = slices.Insert(lines, i, string(jsonOf(blob(said("user", text(fmt.Sprint("unused ", r.Uint32())))))))
	case 9: // values of other kinds
		edit(func(o object) {
			for _, name := range []string{"tail", "keep", "message", "shape", "id", "params", "cacheControl", "cut"} {
				if _, ok := o[name]; ok && r.IntN(2) == 0 {
					o[name] = []any{5, "x", nil, []any{1}, object{}, -1, 1e300}[r.IntN(7)]
				}
			}
		})
	case 10: // the end is gone
		lines = lines[:max(i, 1)]
	}
	return lines
}

func jsonOf(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// named is what a request's line says that it has, by the lines of a file: hashes; nil: it cannot be known.
func named(file map[string]object, id string, depth int) []string {
	o := file[id]
	if o == nil || depth > len(file) {
		return nil
	}
	keep, _ := o["keep"].(float64)
	var list []string
	if keep > 0 {
		base, _ := o["base"].(string)
		if list = named(file, base, depth+1); len(list) < int(keep) {
			return nil
		}
		list = slices.Clone(list[:int(keep)])
	}
	tail, _ := o["tail"].([]any)
	for _, h := range tail {
		text, ok := h.(string)
		if raw, err := hex.DecodeString(text); !ok || err != nil || len(raw) != sha256.Size {
			return nil
		}
		list = append(list, text)
	}
	return list
}

// TestDamagedFiles reads files with damages of all kinds: 200, with CTXKIT_LONG=1 2,000. Each request that is put together
// has the messages whose hashes its line names; each other one has a finding at its line or at that of
// the first request that needs the same, and no line that holds a request is lost, counted twice, or wrong without a finding.
func TestDamagedFiles(t *testing.T) {
	files := 200
	if os.Getenv("CTXKIT_LONG") == "1" {
		files = 2000
	}
	texts := func(list []object) (lines []string) {
		for _, o := range list {
			lines = append(lines, string(jsonOf(o)))
		}
		return lines
	}
	intact, other := texts(longSession("a", 40)), texts(longSession("b", 12))
	broken, whole := 0, 0
	for seed := range files {
		r := rand.New(rand.NewPCG(uint64(seed), 44))
		lines := slices.Clone(intact)
		for range 1 + r.IntN(4) {
			lines = damage(r, lines, other)
		}
		l := readText(t, strings.Join(lines, "\n")+"\n")
		found := map[int]bool{}
		for _, f := range l.Findings {
			if f.Line < 1 || f.Line > len(lines) || f.Message == "" {
				t.Fatalf("seed %d: finding %+v of %d lines", seed, f, len(lines))
			}
			found[f.Line] = true
		}
		file, ids := map[string]object{}, map[int]string{}
		for i, text := range lines {
			var o object
			if json.Unmarshal([]byte(text), &o) != nil {
				continue
			}
			id, _ := o["id"].(string)
			if o["type"] != TypeRequest {
				continue
			}
			if file[id] == nil && !found[i+1] || l.at(i+1) != nil {
				file[id], ids[i+1] = o, id
			}
			if l.at(i+1) == nil && !found[i+1] {
				t.Fatalf("seed %d: line %d is lost: %.200s", seed, i+1, text)
			}
		}
		if len(ids) != len(l.Requests) {
			t.Fatalf("seed %d: %d requests, want %d", seed, len(l.Requests), len(ids))
		}
		for i := range l.Requests {
			q := &l.Requests[i]
			if q.Fault != "" {
				if broken++; !found[q.Line] && (q.broken < 0 || !found[l.Requests[q.broken].Line]) {
					t.Fatalf("seed %d: line %d has no finding: %s", seed, q.Line, q.Fault)
				}
				continue
			}
			whole++
			want := named(file, q.ID, 0)
			got := asSent(t, l, q)
			if len(got) != len(want) {
				t.Fatalf("seed %d: line %d has %d messages, want %d", seed, q.Line, len(got), len(want))
			}
			for k, m := range got {
				if sum(m) != want[k] {
					t.Fatalf("seed %d: line %d: message %d is not the one with its hash", seed, q.Line, k+1)
				}
			}
		}
	}
	if t.Logf("%d files: %d requests whole, %d not", files, whole, broken); broken < files/4 || whole < 10*files {
		t.Error("too few requests of each kind")
	}
}

// at is the request of a line, or nil.
func (l *Log) at(line int) *LogRequest {
	i := slices.IndexFunc(l.Requests, func(q LogRequest) bool { return q.Line == line })
	if i < 0 {
		return nil
	}
	return &l.Requests[i]
}
