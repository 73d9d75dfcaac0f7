package replay_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// differs compares what two replays compute, without what they say of their policies; "" where it is the same.
func differs(t *testing.T, want, got *replay.Timeline) string {
	t.Helper()
	outcome := func(tl *replay.Timeline) []any { return []any{tl.Requests, tl.Events, tl.Totals, tl.Findings} }
	if reflect.DeepEqual(outcome(want), outcome(got)) {
		return ""
	}
	var texts [2]string
	for i, tl := range []*replay.Timeline{want, got} {
		data := must.Get(json.MarshalIndent(outcome(tl), "", " "))(t)
		texts[i] = string(data)
	}
	return cmp.Diff(texts[0], texts[1])
}

// sent is what the requests of a replay hold and cost. That a client does not send some of them is left out: a limit of
// the window block holds for a policy with a stage that reads it, whether the stage acts or not.
func sent(tl *replay.Timeline) (list []string) {
	for _, r := range tl.Requests {
		list = append(list, fmt.Sprintf("%d %s %d %d %d %s %+v", r.N, r.Kind, r.Tokens, r.Payload, r.Messages, r.CostUSD, r.Cache))
	}
	for _, ev := range tl.Events {
		if ev.Kind != policy.KindBlock && ev.Kind != policy.KindRefuse {
			list = append(list, fmt.Sprintf("%s %s %d %d %s", ev.Stage, ev.Kind, ev.Before, ev.After, ev.Reason))
		}
	}
	return list
}

// actsWith are policies under which a stage acts on the sample sessions where it does not by its defaults.
func actsWith() map[string]string {
	return map[string]string{
		"clear_thinking":    "stages: [clear_thinking: {keep: 1}]",
		"opencode_truncate": "stages: [opencode_truncate: {inline: true, max_bytes: 2000}]",
		"post_compact":      "window: {context: 60000}\nstages: [autocompact, post_compact]",
	}
}

// TestConditionsOfStages: of every stage, a condition that always holds changes nothing, and one that never holds leaves
// the policy without the stage. One that holds from a request on lets nothing happen before, breaks no rule, and what a
// stage proposed and was refused leaves no trace: the replay is that of a stage of which everything was copied before.
// The long session is replayed where the short ones show too little, and under CTXKIT_LONG=1 everywhere.
func TestConditionsOfStages(t *testing.T) {
	if testing.Short() {
		t.Skip("many replays, on one goroutine")
	}
	reg := must.Get(registry())(t)
	all := presets(t)
	const long = "big-2.1.139"
	names := []string{"compaction", "microcompact", "replacement", "snip", "collapse", "thinking", long}
	records := map[string]*replay.Record{}
	for _, name := range names {
		records[name] = recordOf(t, load(t, "../testdata/sessions/"+name+".jsonl").Main)
	}
	for _, def := range reg.Definitions() {
		if def.Program != "" {
			continue
		}
		t.Run(def.Name, func(t *testing.T) {
			t.Parallel()
			bases := []*policy.Policy{}
			for i, text := range []string{"stages: [" + def.Name + "]", "window: {context: 60000}\nstages: [" + def.Name + "]"} {
				p := must.Get(policy.Decode(fmt.Sprintf("base%d.yaml", i), []byte(text), reg, nil))(t)
				bases = append(bases, p)
			}
			if text := actsWith()[def.Name]; text != "" {
				p := must.Get(policy.Decode("acting.yaml", []byte(text), reg, nil))(t)
				bases = append(bases, p)
			}
			for _, p := range all {
				if p.Has(def.Name) && len(bases) < 3 {
					bases = append(bases, p)
				}
			}
			acted, refused := 0, 0
			set := map[string]*policy.Policy{}
			under := func(base int, when string, copying bool) *policy.Policy {
				key := fmt.Sprint(base, when, copying)
				if set[key] != nil {
					return set[key]
				}
				p := bases[base].Clone()
				for i := range p.Stages {
					if d := &p.Stages[i].Definition; copying && d.Name == def.Name {
						made := d.New
						d.New = func(params any) (policy.Stage, error) {
							st, err := made(params)
							return copied{st}, err
						}
					}
				}
				must.Do(t, p.Set(def.Name+".when", when))
				set[key] = p
				return p
			}
			for _, name := range names {
				if name == long && os.Getenv("CTXKIT_LONG") != "1" && acted > 0 && refused > 0 {
					continue
				}
				rec := records[name]
				for b, base := range bases {
					if name == long && base.File == "" {
						continue
					}
					replayed := func(p *policy.Policy) *replay.Timeline {
						tl, err := rec.Replay(p, replay.Options{})
						if err != nil {
							t.Fatalf("%s, %s: %v", name, base.Name, err)
						}
						return tl
					}
					run := func(when string, copying bool) *replay.Timeline {
						tl := replayed(under(b, when, copying))
						for _, c := range tl.Conditions {
							if c.Stage == def.Name && when != "true" {
								refused += c.Failed
							}
						}
						return tl
					}
					plain := run("", false)
					for i := range plain.Events {
						if plain.Events[i].Stage == def.Name {
							acted++
						}
					}
					for _, when := range []string{"true", "tokens_freed == tokens_freed"} {
						if diff := differs(t, plain, run(when, false)); diff != "" {
							t.Fatalf("%s, %s, %q: %s", name, base.Name, when, diff)
						}
					}
					for _, from := range []int{5, 40} {
						if from > len(rec.Conv.Requests) || from == 5 && len(rec.Conv.Requests) > 100 {
							continue
						}
						before := fmt.Sprintf("request >= %d", from)
						after := before + " and tokens_freed == tokens_freed"
						got := run(after, false)
						for when, tl := range map[string]*replay.Timeline{before: run(before, false), after: got} {
							if tl.Totals.Violations > plain.Totals.Violations {
								t.Errorf("%s, %s, %q: %d violations, %d without the condition: %v", name, base.Name, when, tl.Totals.Violations, plain.Totals.Violations, tl.Findings)
							}
							for _, ev := range tl.Events {
								if ev.Stage == def.Name && ev.Request != nil && *ev.Request < from && ev.Trigger != "manual" {
									t.Errorf("%s, %s, %q: it acts at request %d: %s", name, base.Name, when, *ev.Request, ev.Reason)
								}
							}
						}
						must.Equal(t, differs(t, run(after, true), got), "", name, base.Name, from)
						if t.Failed() {
							return
						}
					}
					if slices.ContainsFunc(rec.Conv.Boundaries, func(b session.Boundary) bool { return b.Trigger == "manual" }) {
						continue // the user's own compactions need no condition
					}
					without := base.Clone()
					without.Stages = slices.DeleteFunc(slices.Clone(base.Stages), func(s policy.StageConfig) bool { return s.Definition.Name == def.Name })
					if diff := cmp.Diff(sent(replayed(without)), sent(run("false", false))); diff != "" {
						t.Fatalf("%s, %s, false: %s", name, base.Name, diff)
					}
				}
			}
			if def.Name != "drop_images" && (acted == 0 || refused == 0) { // no sample has an image
				t.Errorf("it acted %d times, and a condition refused it %d times: too few to mean anything", acted, refused)
			}
		})
	}
}

// copied is a stage of which everything it knows is copied before a run that may be refused.
type copied struct{ policy.Stage }

func (s copied) Start(conv *session.Conversation) error {
	if st, ok := s.Stage.(policy.Starter); ok {
		return st.Start(conv)
	}
	return nil
}

func (s copied) Fork() policy.Stage {
	v := reflect.New(reflect.TypeFor[policy.Stage]()).Elem()
	v.Set(reflect.ValueOf(s.Stage))
	own(v)
	return copied{v.Interface().(policy.Stage)}
}

// own makes everything that a stage refers to its own. What the packages of stages do not define is shared: it does not
// change.
func own(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() || v.Kind() == reflect.Interface && v.Elem().Kind() != reflect.Pointer {
			return
		}
		p := v
		if v.Kind() == reflect.Interface {
			p = v.Elem()
		}
		if path := p.Type().Elem().PkgPath(); path != "" && !strings.Contains(path, "/policy/stage/") {
			return
		}
		c := reflect.New(p.Type().Elem())
		c.Elem().Set(p.Elem())
		own(c.Elem())
		v.Set(c)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			own(reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem())
		}
	case reflect.Array:
		for i := range v.Len() {
			own(v.Index(i))
		}
	case reflect.Slice:
		if !v.IsNil() {
			v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
			for i := range v.Len() {
				own(v.Index(i))
			}
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			one := reflect.New(value.Type()).Elem()
			one.Set(value)
			own(one)
			c.SetMapIndex(key, one)
		}
		v.Set(c)
	}
}
