package backtest

import "testing"

func TestClientBand(t *testing.T) {
	for version, want := range map[string]string{
		"": "to 2.1.11", "1.0.53": "to 2.1.11", "2.1.12": "2.1.12-2.1.20", "2.1.20": "2.1.12-2.1.20", "2.1.21": "2.1.21-2.1.51", "2.1.52": "2.1.52-2.1.118", "2.1.119": "2.1.119+", "3.0.0": "2.1.119+",
	} {
		if got := compactionBands.of(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}
