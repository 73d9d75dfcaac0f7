package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/report/golden"
)

func sweptSample(n, wanted int) *compare.Sweep {
	s := &compare.Sweep{Policy: "<b>\x1b[31mmine</b>.yaml", Sessions: 2, Inputs: compare.Inputs{Given: 3, Failed: 1}, Axes: []compare.Axis{{Key: "opencode_prune.protect"}, {Key: "window.buffer"}}}
	for i := range wanted {
		s.Points = append(s.Points, compare.Point{fmt.Sprint(1000 * i), "<script>"})
	}
	for i := range n {
		var p compare.Policy
		for f := range compare.Names() {
			p.Figures = append(p.Figures, compare.Spread{Total: float64((i*7919+f*104729)%100003) * 10})
		}
		s.Results = append(s.Results, p)
	}
	s.Mark()
	return s
}

func TestSweep(t *testing.T) {
	schema := compileSchemaAt(t, filepath.Join("..", "docs", "schemas", "sweep.v1.json"))
	for name, s := range map[string]*compare.Sweep{"none": sweptSample(0, 3), "one": sweptSample(1, 1), "few": sweptSample(6, 6), "many": sweptSample(80, 100)} {
		for _, f := range SweepFormats {
			var b bytes.Buffer
			if err := Sweep(&b, s, Options{Format: f}); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			if strings.Contains(text, "\x1b") || f == FormatSVG && strings.Contains(text, "<script") {
				t.Errorf("%s as %s is not inert", name, f)
			}
			switch f {
			case FormatJSON:
				if err := validate(schema, b.Bytes()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			case FormatSVG:
				if err := wellFormed(text); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
					t.Errorf("%s draws what is no number", name)
				}
			}
			if name == "few" {
				golden.Check(t, filepath.Join("testdata", "sweep."+string(f)), b.Bytes())
			}
		}
	}
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
