package payloads

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
)

// TestDamagedSessions compares the requests of damaged sessions: 100, with CTXKIT_LONG=1 2,000. Every line is accounted
// for, and each request is compared with the one on record or counted as one that none is known of.
func TestDamagedSessions(t *testing.T) {
	files := 100
	if os.Getenv("CTXKIT_LONG") == "1" {
		files = 2000
	}
	lines := func(name string) []string {
		f := must.Get(os.Open(filepath.Join("testdata", name)))(t)
		defer f.Close()
		text, _, free, err := jsonl.Unpack(f)
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		all := must.Get(io.ReadAll(text))(t)
		return slices.Collect(strings.Lines(string(all)))
	}
	intact, other := lines("recorded-1.jsonl.zst"), lines("recorded-2.jsonl.zst")
	compared, unmatched := 0, 0
	for seed := range files {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		list := slices.Clone(intact)
		for range 1 + r.IntN(4) {
			i, j := r.IntN(len(list)), r.IntN(len(list))
			switch from := r.IntN(len(list[i]) + 1); r.IntN(8) {
			case 0: // cut
				list[i] = list[i][:from] + "\n"
			case 1: // a part of it cut out
				list[i] = list[i][:from] + list[i][min(from+r.IntN(90), len(list[i])):]
			case 2: // repeated
				list = slices.Insert(list, j, list[i])
			case 3: // reordered
				list[i], list[j] = list[j], list[i]
			case 4: // gone
				list = slices.Delete(list, i, i+1)
			case 5: // two sessions in one file
				k := r.IntN(len(other))
				list = slices.Insert(list, i, other[k:min(k+1+r.IntN(40), len(other))]...)
			case 6: // a hash or a base that does not fit
				list[i] = strings.NewReplacer(`"hash":"`, `"hash":"0`, `"base":"`, `"base":"0`, `"tail":["`, `"tail":["0`, `"keep":`, `"keep":1`).Replace(list[i])
			case 7: // the end is gone
				list = list[:max(i, 1)]
			}
		}
		f, err := session.LoadReader("damaged", strings.NewReader(strings.Join(list, "")), session.LoadOptions{})
		if err != nil {
			continue // nothing of a conversation is left
		}
		if !f.Main.Lines.Balanced() {
			t.Errorf("seed %d: %+v", seed, f.Main.Lines)
		}
		log, err := requests.Read(f.Main.Source)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		rec, err := replay.NewRecord(f.Main)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		s, err := Score(rec, log, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if s.Unmatched+len(s.Results) != s.Requests || s.Record.Whole > s.Record.Requests || s.Record.Requests != len(log.Requests) {
			t.Errorf("seed %d: %d requests, %d compared, %d not; %+v", seed, s.Requests, len(s.Results), s.Unmatched, s.Record)
		}
		compared, unmatched = compared+len(s.Results), unmatched+s.Unmatched
		f.Close()
	}
	if t.Logf("%d files: %d requests compared, %d of which none is on record", files, compared, unmatched); compared < 5*files || unmatched == 0 {
		t.Error("too few requests of each kind")
	}
}
