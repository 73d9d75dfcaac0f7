package compare_test

import (
	"fmt"
	"log"
	"path/filepath"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// Compare two policies over the sessions of a folder.
func ExampleCompare() {
	registry, err := stage.Registry()
	if err != nil {
		log.Fatal(err)
	}
	names := []string{"claude-code-2.1.19", "opencode-1.1.36"}
	presets := preset.New(registry)
	files, err := filepath.Glob("../../testdata/sessions/compaction*.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	var sessions []compare.ComparedSession
	for _, path := range append(files, "../../testdata/sessions/big.jsonl") {
		one, err := compareFile(presets, names, path)
		if err != nil {
			log.Fatal(err)
		}
		sessions = append(sessions, one)
	}
	for _, c := range compare.Compare(names, sessions, compare.ByNothing) {
		for f, figure := range compare.Figures() {
			if figure.Name == "payload_input" {
				v := c.Pairs[1].Figures[f]
				fmt.Printf("in %d sessions %s sends %s tokens more: %d lower, %d even, %d higher\n",
					v.Sessions, names[1], v.Difference.Text(0), v.Lower, v.Even, v.Higher)
				fmt.Println("conclusion:", v.Conclusion())
			}
		}
	}
	// Output:
	// in 3 sessions opencode-1.1.36 sends -509783 tokens more: 3 lower, 0 even, 0 higher
	// conclusion: too_few
}

// compareFile replays the main conversation of a file under each policy.
func compareFile(presets *preset.Library, names []string, path string) (compare.ComparedSession, error) {
	file, err := session.Load(path, session.LoadOptions{})
	if err != nil {
		return compare.ComparedSession{}, err
	}
	defer file.Close()
	record, err := replay.NewRecord(file.Main)
	if err != nil {
		return compare.ComparedSession{}, err
	}
	var one compare.ComparedSession
	var first *replay.Timeline
	for _, name := range names {
		pol, err := presets.Load(name)
		if err != nil {
			return one, err
		}
		timeline, err := record.Replay(pol, replay.Options{})
		if err != nil {
			return one, err
		}
		if first == nil {
			first = timeline
			one = compare.NewSession(timeline, file.Main.CWD)
		}
		one.Add(first, timeline)
		one.Policies = append(one.Policies, pol)
	}
	return one, one.Mark(record, first, 0)
}
