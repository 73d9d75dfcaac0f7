package bill_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestLabClientTotals: in sessions of the lab the client's own total is the bill to the last digit, but for calls that no line
// has: those of compactions, a title, and the rest of answers that were interrupted. Each lab answer has 3 uncached
// tokens, so that these say how many calls are missing. CTXKIT_LAB names the folder of the data.
func TestLabClientTotals(t *testing.T) {
	dir := os.Getenv("CTXKIT_LAB")
	if dir == "" {
		t.Skip("CTXKIT_LAB is not set")
	}
	files := must.Get(filepath.Glob(filepath.Join(dir, "claude-2.1.*", "*.jsonl.gz")))(t)
	titles := map[string]int{"claude-2.1.332-plan": 1, "claude-2.1.332-plan-opus": 1} // calls that name the plan
	table, equal, explained := price.Default(), 0, 0
	for _, path := range files {
		f, err := session.Load(path, session.LoadOptions{})
		if err != nil || f.Main.Client == nil || session.CompareVersions(f.Main.Version, "2.1.280") < 0 {
			continue // no session, or the client says nothing
		}
		subagents, _, err := session.Subagents(path)
		if err != nil {
			t.Fatal(err)
		}
		agents := f.Sidechains
		for _, a := range subagents {
			sub := must.Get(session.Load(a.Path, session.LoadOptions{}))(t)
			defer sub.Close()
			agents = append(agents, sub.Conversations()...)
		}
		b := bill.OfSession(f.Main, agents, table)
		c := b.Client
		f.Close()
		name := strings.TrimPrefix(path, dir+string(filepath.Separator))
		if len(c.Differences) == 0 {
			if equal++; c.CostUSD != c.Billed {
				t.Errorf("%s: the client says %v, the lines %v", name, c.CostUSD, c.Billed)
			}
			continue
		}
		explained++
		sum := c.Billed.Nano
		for _, d := range c.Differences {
			m, _ := table.Find(d.Model)
			calls := d.Input.Uncached / 3
			if want := b.Unbilled + titles[filepath.Base(filepath.Dir(path))]; calls != want || d.Input.Read < 0 || d.Input.Write5m < 0 || d.Output <= 0 {
				t.Errorf("%s: %d calls that no line has, not %d: %+v", name, calls, want, d)
			}
			if calls == 0 && b.Partial.Calls == 0 {
				t.Errorf("%s: %d tokens of output that nothing explains", name, d.Output)
			}
			must.Equal(t, m.Cost(d.Input, d.Output).Nano, d.CostUSD.Nano, name)
			sum += d.CostUSD.Nano
		}
		must.Equal(t, sum, c.CostUSD.Nano, name)
	}
	if t.Logf("%d sessions are equal, %d but for calls that no line has", equal, explained); equal < 10 || explained < 5 {
		t.Error("there are too few of them")
	}
}
