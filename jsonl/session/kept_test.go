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

// TestKeptMemory: what is kept of a line is small, while a file is read and afterwards. What few lines have takes memory
// for these few, and does not keep what was beside it.
func TestKeptMemory(t *testing.T) {
	const lines = 20_000
	line := func(i int, more string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"%08d-0000-4000-8000-000000000000","parentUuid":"%08d-0000-4000-8000-000000000000"%s,"message":{"role":"user","content":"hello"}}`+"\n", i, i-1, more)
	}
	for _, tt := range []struct {
		name    string
		more    func(i int) string
		reading int64 // bytes a line at the end of reading
		kept    int64 // and of the conversation
	}{
		{"plain lines", func(int) string { return "" }, 160, 180},
		{"every twentieth names another parent", func(i int) string {
			if i%20 > 0 {
				return ""
			}
			return fmt.Sprintf(`,"logicalParentUuid":"%08d-0000-4000-9000-000000000000"`, i)
		}, 170, 180},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var text strings.Builder
			for i := range lines {
				text.WriteString(line(i, tt.more(i)))
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
			read, before := 0, live()
			f, err := Load(path, LoadOptions{Item: func(*jsonl.Item) {
				if read++; read == lines {
					check("at the end of reading", live()-before, tt.reading)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			conv := f.Main
			f.Main = nil
			check("afterwards", live()-before, tt.kept)
			runtime.KeepAlive(conv)
		})
	}
}

// TestUnder: the lines under a line are those that name it, in file order, wherever in the file it is.
func TestUnder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		ld, parents := &loader{}, make([]int32, n)
		for i := range parents {
			if parents[i] = int32(i) - 1; r.IntN(3) == 0 {
				parents[i] = int32(r.IntN(n+1)) - 1
			}
			ld.nodes.add(node{parent: parents[i], kind: nodeProgress})
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
		}
	}
}
