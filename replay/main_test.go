package replay_test

import (
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // many replays, each soon forgotten: collecting is a quarter of their time
	m.Run()
}
