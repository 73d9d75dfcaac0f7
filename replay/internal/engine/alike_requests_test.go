package engine

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// TestRequestsAlike holds what is looked up once for requests of one key against what is looked up for each, in
// sessions whose model, client version and day change.
func TestRequestsAlike(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	windows := map[int]bool{}
	for seed := range uint64(20) {
		file := must.Get(session.LoadReader("changing", strings.NewReader(changing(seed)), session.LoadOptions{}))(t)
		rec := must.Get(record.New(file.Main, record.RecordOptions{}))(t)
		policies := []*policy.Policy{RecordedTrack()}
		for _, name := range []string{"none", "claude-code-2.1.19", "claude-code-2.1.139", "opencode-1.18"} {
			p := must.Get(preset.Load(name, reg))(t)
			policies = append(policies, p)
		}
		for _, pol := range policies {
			e := must.Get(New(rec, pol, Options{}))(t)
			limits := ceilings{policy: pol}
			for k := range file.Main.Requests {
				one := must.Get(New(rec, pol, Options{}))(t)
				window := one.windowUnder(pol.Window, k)
				want, got := one.circumstances(k, window), e.circumstances(k, e.window(k))
				must.Equal(t, got, want, seed, pol.Name)
				if got, want := *e.ceiling(&limits, k), *one.ceiling(&ceilings{policy: pol}, k); !reflect.DeepEqual(got, want) {
					t.Errorf("seed %d, %s, request %d: the ceiling is %+v, by itself %+v", seed, pol.Name, k+1, got, want)
				}
				windows[window] = true
			}
		}
	}
	if len(windows) < 2 {
		t.Errorf("%d windows: the sessions show too little", len(windows))
	}
}

// changing is a session whose model, client version and day change now and then.
func changing(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 7))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var b strings.Builder
	at := time.Date(2026, 3, 11, 22, 0, 0, 0, time.UTC)
	model, version, parent := "claude-opus-4-6", "2.1.19", "null"
	for i := range 30 {
		if r.IntN(4) == 0 {
			model = pick("claude-opus-4-6", "claude-sonnet-4-6", "claude-sonnet-4-5[1m]", "claude-haiku-4-5-20251001", "gpt-5.2")
		}
		if r.IntN(6) == 0 {
			version = pick("2.1.19", "2.1.77", "2.1.100", "2.1.139")
		}
		at = at.Add(time.Duration(r.IntN(5)*r.IntN(5)) * time.Hour)
		fmt.Fprintf(&b, `{"type":"user","uuid":"u%d","parentUuid":%s,"version":%q,"timestamp":%q,"message":{"role":"user","content":"go on"}}`+"\n", i, parent, version, at.Format(time.RFC3339))
		fmt.Fprintf(&b, `{"type":"assistant","uuid":"a%d","parentUuid":"u%d","version":%q,"timestamp":%q,"message":{"id":"m%d","model":%q,"role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":%d,"output_tokens":5}}}`+"\n",
			i, i, version, at.Add(time.Second).Format(time.RFC3339), i, model, 20_000+r.IntN(100_000))
		parent = fmt.Sprintf(`"a%d"`, i)
	}
	return b.String()
}
