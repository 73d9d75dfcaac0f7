package replay

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/internal/record"
	"github.com/ctxkit/ctxkit/replay/price"
)

// A policy has a version, a record has another: rewriting the versions of the clients that recorded a session changes
// nothing of a named policy but what is the record's: the weights and output that follow from recorded usage, which
// some versions recorded wrong; what the cache held when a client began, and when its settings broke it. A policy is
// compared under another version in each conversation, with CTXKIT_LONG=1 under all.
func TestRecordedVersionDecidesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("many replays")
	}
	reg := must.Get(stage.Registry())(t)
	var policies []*policy.Policy
	for _, name := range preset.Names(reg) {
		pol := must.Get(preset.Load(name, reg))(t)
		if !pol.Recorded {
			policies = append(policies, pol)
		}
	}
	paths := must.Glob(t, 1, "../testdata/sessions/*.jsonl")
	all := os.Getenv("CTXKIT_LONG") == "1"
	if dir := os.Getenv("CTXKIT_CORPUS"); dir != "" {
		more := must.Get(filepath.Glob(filepath.Join(dir, "*.jsonl*")))(t)
		for i, path := range more {
			if i%10 == 0 || all {
				paths = append(paths, path)
			}
		}
	}
	versions := []string{"", "1.0.53", "2.1.14", "2.1.22", "2.1.36", "2.1.43", "2.1.119", "2.1.300"}
	n := 0 // conversations before this one
	for _, path := range paths {
		f := must.Get(session.Load(path, session.LoadOptions{Jobs: 2}))(t)
		for _, conv := range f.Conversations() {
			recorded := must.Get(NewRecord(conv))(t)
			wants := map[string]*Timeline{}
			for v, version := range versions {
				rec := withVersion(recorded, version)
				for i, pol := range policies {
					if v > 0 && !all && (i+n)%(len(versions)-1) != v-1 {
						continue
					}
					got := must.Get(rec.Replay(pol, Options{}))(t)
					withoutRecord(got)
					got.Totals.Placeholders, got.Totals.PlaceholderTokens = 0, 0 // what the recording client sent: no decision
					if want := wants[pol.Name]; want == nil {
						wants[pol.Name] = got
					} else if !reflect.DeepEqual(want, got) {
						t.Fatalf("%s, %s: recorded by %q, not %q (-, +):\n%.3000s", path, pol.Name, version, "", cmp.Diff(want, got, cmp.AllowUnexported(Timeline{})))
					}
				}
			}
			n++
		}
		f.Close()
	}
}

// withVersion is a record as it would stand had clients of another version made it: its lines say that version, and
// what is worked out of the recorded usage is as it was.
func withVersion(rec *Record, version string) *Record {
	conv := *rec.Conv
	conv.Version, conv.Versions = version, []string{version}
	conv.Messages = slices.Clone(conv.Messages)
	for i := range conv.Messages {
		conv.Messages[i].Version = version
	}
	conv.Boundaries = slices.Clone(conv.Boundaries)
	for i := range conv.Boundaries {
		conv.Boundaries[i].Version = version
	}
	r := rec.record
	return &Record{Conv: &conv, Cal: rec.Cal, Counted: rec.Counted, record: &record.Record{
		Conv: &conv, Cal: r.Cal, Counted: r.Counted, Models: r.Models, Kinds: r.Kinds, Encoders: r.Encoders, Model: r.Model, Client: r.Client, AsksAgain: r.AsksAgain,
		Weight: r.Weight, Overhead: r.Overhead, Withheld: r.Withheld, Reinject: r.Reinject, Summary: r.Summary,
		MostEdits: r.MostEdits, Settings: r.Settings, Heads: r.Heads, Floors: r.Floors, Tails: r.Tails, TTLs: r.TTLs, Uses: r.Uses, Acts: r.Acts,
	}}
}

// withoutRecord leaves out what is the record's.
func withoutRecord(t *Timeline) {
	t.Version = ""
	t.Totals.Cache, t.Totals.CostUSD, t.Totals.CostParts = cache.Split{}, price.USD{}, nil
	t.Totals.Output, t.Totals.OwnOutput = 0, 0
	for i := range t.Requests {
		r := &t.Requests[i]
		r.Cache, r.CostUSD, r.CostParts = CacheUse{}, price.USD{}, nil
		r.Output, r.Estimated = 0, false
	}
}
