package cmd

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestValidateFigures holds the rows of validate against the requests of the sessions' replays.
func TestValidateFigures(t *testing.T) {
	corpus := folderOf(t, "CTXKIT_MORE")
	all := must.Glob(t, 1, corpus, "*.jsonl.gz")
	files := every(4, all)
	const window, policy = 200_000, "claude-code@2.1.145"
	type timeline struct {
		rawTimeline
		Window int64
	}
	replay := func(args ...string) []timeline {
		var replays struct{ Sessions []timeline }
		ctxkitJSON(t, &replays, append(append([]string{"replay"}, args...), files...)...)
		return replays.Sessions
	}
	type ratio struct{ num, den float64 }
	type sums map[string]*ratio // by measure and depth
	depths := []int64{0, 50_000, 100_000, 150_000, 200_000, 250_000, 300_000, 400_000, 500_000}
	add := func(to, sessions sums, one *timeline) {
		own := sums{}
		at := func(list sums, key string) *ratio {
			if list[key] == nil {
				list[key] = &ratio{}
			}
			return list[key]
		}
		depth := int64(0)
		for _, q := range one.Requests {
			cost, err := strconv.ParseFloat(string(q.Cost), 64)
			if q.Kind == "main" {
				for _, d := range depths {
					if d <= q.Raw {
						depth = d
					}
				}
				r := at(own, fmt.Sprint("context ", depth))
				r.num, r.den = r.num+float64(q.Payload), r.den+1
				if err == nil {
					at(own, fmt.Sprint("usd ", depth)).den++
				}
			}
			at(own, fmt.Sprint("usd ", depth)).num += cost
		}
		for key, r := range own {
			if r.den > 0 {
				sum := at(to, key)
				sum.num, sum.den = sum.num+r.num, sum.den+r.den
				at(sessions, key).num++
			}
		}
	}
	recorded, replayed, predicted, counts, others := sums{}, sums{}, sums{}, sums{}, sums{}
	under := replay("-p", policy, "--window", strconv.Itoa(window))
	for i, was := range replay("-p", "recorded") {
		switch {
		case was.File != under[i].File:
			t.Fatalf("%s and %s", was.File, under[i].File)
		case was.Window == window:
			add(recorded, counts, &was)
			add(replayed, sums{}, &under[i])
		case len(was.events("summarize")) == 0:
			add(predicted, others, &under[i])
		}
	}
	var got struct {
		Rows []struct {
			Measure                            string
			From                               int
			Sessions                           [2]float64
			Recorded, Replayed, Predicted, Off float64
		}
	}
	ctxkitJSON(t, &got, append([]string{"validate", "-p", policy, "--window", strconv.Itoa(window)}, files...)...)
	held := 0
	for _, row := range got.Rows {
		key := fmt.Sprint(row.Measure, " ", row.From)
		if recorded[key] == nil {
			continue // of whole sessions
		}
		of := func(list sums) float64 { return list[key].num / list[key].den }
		for what, x := range map[string][2]float64{
			"sessions": {row.Sessions[0], counts[key].num}, "others": {row.Sessions[1], others[key].num}, "recorded": {row.Recorded, of(recorded)},
			"replayed": {row.Replayed, of(replayed)}, "predicted": {row.Predicted, of(predicted)}, "off": {row.Off, of(predicted)/of(recorded) - 1},
		} {
			if math.Abs(x[0]-x[1]) > 1e-4+1e-6*x[1] {
				t.Errorf("%s: %s is %v, and %v by the requests", key, what, x[0], x[1])
			}
		}
		held++
	}
	if held == 0 {
		t.Errorf("%d files give no row", len(files))
	}
	t.Logf("%d rows", held)
}
