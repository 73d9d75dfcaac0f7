package report

import (
	"io"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/report/golden"
)

func TestCalibration(t *testing.T) {
	c := sampled[*backtest.Calibrated]("calibration")
	out := inFormats(t, "calibrate", "calibrate", ListFormats, func(w io.Writer, f Format) error { return Calibration(w, c, Layout{Format: f}) })
	golden.Check(t, "testdata/calibrate.json", []byte(out[FormatJSON]))
	strict(t, compileSchema(t, "calibrate"), out[FormatJSON], `
"fit": "first-half" => "fit": "all"
"p50":  => "p51": 
"requests": 7 => "requests": -7
"clients":  => "extra": 1, "clients": 
`)
	must.Refuse(t, Calibration(io.Discard, c, Layout{Format: "xml"}), "xml")
}

func TestShortModel(t *testing.T) {
	must.Rows(t, `
claude-opus-4-5-20251101 | opus-4-5
claude-sonnet-4-6        | sonnet-4-6
all                      | all
""                       | ""
claude-3-opus-20240229   | 3-opus
claude-opus-4-5-2025110  | opus-4-5-2025110
-20251101                | -20251101
`, func(name, want string) {
		must.Equal(t, shortModel(name), want, name)
	})
}
