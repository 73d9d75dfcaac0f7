package cmd

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// codexUsage is the input of a rollout's own requests and what of it was read from the cache, added up from the file:
// token counts that change the total, without those of a copied parent.
func codexUsage(t *testing.T, path string) (input, cached int) {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	z := must.Get(gzip.NewReader(f))(t)
	own, copied, total := "", false, -1
	for dec := json.NewDecoder(z); ; {
		var r struct {
			Type    string
			Payload struct {
				Type, ID string
				Turn     string `json:"turn_id"`
				Forked   string `json:"forked_from_id"`
				Info     *struct {
					Total struct {
						Tokens int `json:"total_tokens"`
					} `json:"total_token_usage"`
					Last struct {
						Input  int `json:"input_tokens"`
						Cached int `json:"cached_input_tokens"`
					} `json:"last_token_usage"`
				}
			}
		}
		if err := dec.Decode(&r); err == io.EOF {
			return input, cached
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		p := &r.Payload
		switch {
		case r.Type == "session_meta" && own == "":
			own, copied = p.ID, p.Forked != ""
		case p.Type == "task_started" && p.Turn > own:
			copied = false
		case p.Type == "token_count" && p.Info != nil && p.Info.Total.Tokens != total:
			total = p.Info.Total.Tokens
			if !copied {
				input, cached = input+p.Info.Last.Input, cached+p.Info.Last.Cached
			}
		}
	}
}

// TestCorpusCodexCompare compares other products' policies over Codex sessions under the cache of the sessions' own
// provider. The recorded track sends and reads what the files say, its bill is near theirs, and the client's own policy
// costs what the record does.
func TestCorpusCodexCompare(t *testing.T) {
	root := folderOf(t, "CTXKIT_CODEX")
	files := must.Glob(t, 1, root, "*.jsonl.gz")
	input, read := 0, 0
	for _, path := range files {
		n, cached := codexUsage(t, path)
		input, read = input+n, read+cached
	}
	var bill struct {
		Bridge struct {
			Recorded struct {
				USD float64 `json:"cost_usd"`
			}
		}
	}
	ctxkitJSON(t, &bill, "cost", root, "-q", "-p", "recorded")
	var result struct {
		Groups []struct {
			Projects int
			Cache    string `json:"prompt_cache"`
			Policies []struct {
				Policy     string
				Infeasible int `json:"infeasible_sessions"`
				Totals     struct {
					Sent    int     `json:"payload_input"`
					Own     int     `json:"own_input"`
					Read    int     `json:"cache_read"`
					Written int     `json:"cache_write_5m"`
					USD     float64 `json:"cost_usd"`
					Calls   float64 `json:"cost_own_calls"`
					N       int     `json:"compactions"`
				}
			}
		}
	}
	ctxkitJSON(t, &result, "compare", root, "-q", "--no-regret", "-p", "recorded", "-p", "codex", "-p", "claude-code", "-p", "opencode")
	g := result.Groups[0]
	if len(result.Groups) != 1 || len(g.Policies) != 4 || g.Projects != 4 || g.Cache != "equal" {
		t.Fatalf("%+v", result)
	}
	near := func(what string, got, want, percent float64) {
		off := 100 * (got/want - 1)
		t.Logf("%s: %.2f simulated, %.2f by the files: %+.1f %%", what, got, want, off)
		if math.Abs(off) > percent {
			t.Errorf("%s is off by more than %v %%", what, percent)
		}
	}
	rec := &g.Policies[0].Totals
	if rec.Sent-rec.Own != input {
		t.Errorf("%d tokens are sent, %d by the files", rec.Sent-rec.Own, input)
	}
	// A compaction's call reads the session's prefix, as its requests do.
	near("cache read", float64(rec.Read-rec.Own*read/input), float64(read), 5)
	near("USD", rec.USD-rec.Calls, bill.Bridge.Recorded.USD, 6)
	if rec.N != 21 || rec.Written != 0 || 20*rec.Calls > rec.USD {
		t.Errorf("the record: %+v", *rec)
	}
	near("USD of codex", g.Policies[1].Totals.USD, rec.USD, 0.5)
	for _, p := range g.Policies {
		if p.Infeasible > 0 || p.Totals.Written != 0 || p.Totals.N < 10 {
			t.Errorf("%s: %+v", p.Policy, p)
		}
	}
}
