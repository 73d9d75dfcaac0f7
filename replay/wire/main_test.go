package wire_test

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // many replays, each soon forgotten: collecting is a quarter of their time
	}
	m.Run()
}
