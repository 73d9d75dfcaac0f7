package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/sweep"
	"github.com/ctxkit/ctxkit/report/golden"
)

func sweptSample(n, wanted int) *sweep.Grid {
	s := &sweep.Grid{Policy: "<b>\x1b[31mmine</b>.yaml", Sessions: make([]compare.ComparedSession, 2), Inert: []bool{false, false}, Applied: []int{2, 1},
		Inputs: compare.Inputs{Given: 4, Failed: 1, Empty: []compare.Origin{{Session: "s", File: "a\x1b[31m.jsonl"}}},
		Axes:   []sweep.Axis{{Key: "opencode_prune.protect"}, {Key: "window.buffer"}}}
	for i := range wanted {
		s.Points = append(s.Points, sweep.Point{fmt.Sprint(1000 * i), "<script>"})
	}
	for i := range n + 1 {
		v := make(compare.Values, len(compare.Names()))
		for f, name := range compare.Names() {
			v[f] = exact.Whole((i*7919 + f*104729) % 100003 * 10)
			if (name == "refused" || name == "violations") && i%4 != 2 {
				v[f] = exact.Whole(0)
			}
		}
		for k := range s.Sessions {
			s.Sessions[k].Values = append(s.Sessions[k].Values, v)
		}
	}
	for k := range s.Sessions {
		s.Sessions[k].Origin, s.Sessions[k].Unpriced = compare.Origin{Session: "t", Agent: "a1", File: "b.jsonl"}, []string{"gpt-9"}
	}
	s.Mark(nil)
	return s
}

func TestSweep(t *testing.T) {
	if title := sweepTitle(&sweep.Grid{Interrupted: true, Apart: true}); !strings.HasSuffix(title, ", then interrupted, some subagents of the session left out") {
		t.Error(title)
	}
	for name, s := range map[string]*sweep.Grid{"none": sweptSample(0, 3), "one": sweptSample(1, 1), "sweep": sweptSample(6, 6), "many": sweptSample(80, 100)} {
		out := inFormats(t, "sweep", "", SweepFormats, func(w io.Writer, f Format) error { return Sweep(w, s, Layout{Format: f}) })
		picture, cut := out[FormatSVG], len(s.Results) < len(s.Points)
		must.Do(t, wellFormed(picture))
		must.Equal(t, strings.Contains(picture, "then interrupted"), cut, name)
		must.Say(t, "false false false", strings.Contains(picture, "<script"), strings.Contains(picture, "NaN"), strings.Contains(picture, "Inf"))
		for f, text := range out {
			if name == "sweep" && f != FormatHTML {
				golden.Check(t, filepath.Join("testdata", "sweep."+string(f)), []byte(text))
			}
		}
	}
}

func TestTicks(t *testing.T) {
	must.Rows(t, `
# lo | hi | want
18.3   | 37.9   | 20 25 30 35
0      | 1      | 0 0.2 0.4 0.6 0.8 1.0
19.845 | 20.265 | 19.9 20.0 20.1 20.2
4321   | 8765   | 5000 6000 7000 8000
98000  | 171000 | 100k 120k 140k 160k
1.2e6  | 1.31e6 | 1.20M 1.22M 1.24M 1.26M 1.28M 1.30M
26.9e6 | 28.2e6 | 27.0M 27.2M 27.4M 27.6M 27.8M 28.0M 28.2M
-0.5   | 0.5    | -0.4 -0.2 0 0.2 0.4
`, func(lo, hi float64, want string) {
		var got []string
		for _, tick := range (&scale{lo: lo, hi: hi}).Ticks() {
			got = append(got, tick.Text)
		}
		must.Equal(t, strings.Join(got, " "), want, lo, hi)
	})
}

func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
