//go:build !windows

package cmd

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// What a sweep of 100 points may cost: so many times one replay of the same sessions. On the corpus 9 to 13 were
// measured; 100 separate replays would be over 100, and machines differ. The shipped sessions are small: there is
// little to read and to count in them that points could share, and 17 to 31 were measured.
const (
	mostSweep        = 25
	mostSweepShipped = 60
)

// Sessions are read and counted once for all points, what is made of their texts is kept, and points that do the same
// are replayed once: a sweep of 100 points costs far less than 100 replays. The least of several runs, one after the
// other, is what counts; with CTXKIT_CORPUS they are real sessions.
func TestSweepCost(t *testing.T) {
	if testing.Short() || raced {
		t.Skip("it measures time")
	}
	files, most := sweptFiles(t), float64(mostSweepShipped)
	if os.Getenv("CTXKIT_CORPUS") != "" {
		most = mostSweep
	}
	one := time.Hour
	sweeps := []struct{ policy, vary string }{
		{"claude-code-pipeline", "microcompact_cached.keep=1..100:1"},
		{"claude-code-pipeline", "microcompact_cached.trigger=10..109:1"},
		{"claude-code-pipeline", "window.buffer=1000..100000:1000"},
		{"opencode", "opencode_prune.protect=1000..100000:1000"},
	}
	if !long() {
		sweeps = sweeps[2:]
	}
	least := make([]time.Duration, len(sweeps))
	ratio := func(i int) float64 { return float64(least[i]) / float64(one) }
	const rounds = 6 // where a run before was disturbed
	for round := range rounds {
		over := false
		for i, s := range sweeps {
			one = min(one, cpuOf(t, append([]string{"replay", "-q", "-f", "json", "--jobs", "1", "-p", s.policy}, files...)))
			if round > 0 && ratio(i) < most {
				continue
			}
			cost := cpuOf(t, append([]string{"sweep", "-q", "-f", "json", "--jobs", "1", "-p", s.policy, "--vary", s.vary}, files...))
			if least[i] == 0 || cost < least[i] {
				least[i] = cost
			}
			over = over || ratio(i) >= most
		}
		if !over && round > 0 {
			break
		}
	}
	for i, s := range sweeps {
		t.Logf("%s %s: %v, %.1f times one replay (%v)", s.policy, s.vary, least[i].Round(time.Millisecond), ratio(i), one.Round(time.Millisecond))
		if ratio(i) >= most {
			t.Errorf("%s --vary %s costs %.1f times one replay, want under %v", s.policy, s.vary, ratio(i), most)
		}
	}
}

// cpuOf is the CPU time that a command takes.
func cpuOf(t *testing.T, args []string) time.Duration {
	t.Helper()
	before := cpuTime(t)
	mustRun(t, args...)
	return cpuTime(t) - before
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must.Do(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
