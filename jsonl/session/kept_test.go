package session

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
)

// live is how much memory is in use, bytes.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// TestKeptMemory: what is kept of a line is small, while a file is read and afterwards. What few lines have takes memory
// for these few, and does not keep what was beside it.
func TestKeptMemory(t *testing.T) {
	const lines = 20_000
	const id = "%08d-0000-4000-8000-000000000000"
	line := func(i int, parent, content, more string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"`+id+`","parentUuid":"%s"%s,"message":{"role":"user","content":%s}}`+"\n", i, parent, more, content)
	}
	before := func(i int) string { return fmt.Sprintf(id, i-1) }
	plain := func(i int) string { return line(i, before(i), `"hello"`, "") }
	some := func(line func(i int) string) func(i int) string {
		return func(i int) string {
			if i%20 > 0 {
				return plain(i)
			}
			return line(i)
		}
	}
	for _, tt := range []struct {
		name    string
		line    func(i int) string
		reading int64 // bytes a line at the end of reading
		kept    int64 // and of the conversation
	}{
		{"plain lines", plain, 155, 150},
		{"responses", func(i int) string {
			return fmt.Sprintf(`{"type":"assistant","uuid":"`+id+`","parentUuid":"%s","timestamp":"2026-01-15T09:00:00Z","message":{"id":"msg_%06d","role":"assistant",`+
				`"model":"m","content":[{"type":"text","text":"hello"}],"usage":{"input_tokens":1,"output_tokens":2,`+
				`"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_5m_input_tokens":5}}}}`+"\n", i, before(i), i)
		}, 230, 245},
		{"some name another parent", some(func(i int) string {
			return line(i, before(i), `"hello"`, fmt.Sprintf(`,"logicalParentUuid":"%08d-0000-4000-9000-000000000000"`, i))
		}), 165, 150},
		{"of some the parent is not there", some(func(i int) string { return line(i, fmt.Sprintf("lost-%030d", i), `"hello"`, "") }), 165, 160},
		{"some have results whose call is not there", some(func(i int) string {
			return line(i, before(i), fmt.Sprintf(`[{"type":"tool_result","tool_use_id":"toolu_%024d","content":"x"}]`, i), "")
		}), 165, 160},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var text strings.Builder
			for i := range lines {
				text.WriteString(tt.line(i))
			}
			path := filepath.Join(t.TempDir(), "s.jsonl")
			if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			check := func(when string, bytes, most int64) {
				if a := bytes / lines; a > most {
					t.Errorf("%s %d bytes a line are in use, want %d at most", when, a, most)
				} else {
					t.Log(when, a, "bytes a line")
				}
			}
			read, before, made := 0, live(), uint64(0)
			f, err := Load(path, LoadOptions{Item: func(*jsonl.Item) {
				if read++; read == lines {
					check("at the end of reading", live()-before, tt.reading)
					made = mallocs()
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if made = mallocs() - made; made > lines/4 {
				t.Errorf("%d allocations make %d messages: two of each are in use at once", made, lines)
			}
			defer f.Close()
			if read != lines {
				t.Errorf("%d lines are read, want %d", read, lines)
			}
			conv := f.Main
			f.Main = nil
			check("afterwards", live()-before, tt.kept)
			runtime.KeepAlive(conv)
		})
	}
}

// TestLineBlocks: the blocks of a line are its own, however many it and the lines around it have.
func TestLineBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 20 {
		ld, counts := &loader{}, []int(nil)
		for i := range int32(300) {
			n := [...]int{0, 1, 2, chunkBlocks - 1, chunkBlocks, chunkBlocks + 1, 1 << chunkBits, 16_384}[r.IntN(8)]
			if r.IntN(4) > 0 {
				n = r.IntN(100)
			}
			counts = append(counts, n)
			blocks := ld.newBlocks(ld.node(ld.nodes.add(node{})), n)
			for b := range blocks {
				blocks[b].Line, blocks[b].use = i+1, int32(b)
			}
		}
		for i, n := range counts {
			blocks := ld.blocks(int32(i))
			if len(blocks) != n {
				t.Fatalf("line %d has %d blocks, want %d", i, len(blocks), n)
			}
			for b := range blocks {
				if blocks[b].Line != int32(i+1) || blocks[b].use != int32(b) {
					t.Fatalf("block %d of line %d is block %d of line %d", b, i, blocks[b].use, blocks[b].Line-1)
				}
			}
		}
	}
}

// TestUnder: the lines under a line are those that name it, in file order, wherever in the file it is. A line under itself
// is under none. The assistant line above is the nearest on the way up that no prompt is before.
func TestUnder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	name := func(i int32) string { return fmt.Sprint("line ", i) }
	for n := range 200 {
		ld, parents := &loader{uuids: &uuids{}, byUUID: newLineIndex(0)}, make([]int32, n)
		for i := range int32(n) {
			if parents[i] = i - 1; r.IntN(3) == 0 {
				parents[i] = int32(r.IntN(n+1)) - 1
			}
			ld.byUUID.add(ld.uuids, name(i))
			line := node{parent: -1, kind: [...]nodeKind{nodeProgress, nodeProgress, nodeAssistant, nodeUser}[r.IntN(4)], class: ClassPrompt}
			if line.kind == nodeAssistant {
				line.said = ld.replies.add(reply{id: fmt.Sprint(r.IntN(3))})
			}
			if known := parents[i] < i; known && r.IntN(2) == 0 {
				line.parent = parents[i]
			}
			at := ld.nodes.add(line)
			if line.parent != parents[i] {
				ld.own().parentID = name(parents[i])
			}
			if parents[i] == at {
				parents[i] = -1
			}
		}
		ld.link()
		for i := range int32(n) {
			var want []int32
			for k, p := range parents {
				if p == i {
					want = append(want, int32(k))
				}
			}
			if got := slices.Collect(ld.under(i)); !slices.Equal(got, want) {
				t.Fatalf("under line %d are %v, want %v", i, got, want)
			}
			for range ld.under(i) {
				break
			}
			above := i
			for steps := 0; above >= 0 && ld.node(above).kind != nodeAssistant; steps++ {
				if above = parents[above]; steps == n || above >= 0 && ld.node(above).kind == nodeUser {
					above = -1
				}
			}
			if ld.node(i).kind == nodeUser {
				above = -1
			}
			if got := ld.assistantAbove(i); got != above {
				t.Fatalf("the assistant line above line %d is %d, want %d", i, got, above)
			}
		}
	}
}
