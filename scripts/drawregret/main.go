// Drawregret draws misses of several policies over a folder of sessions, as many of each policy, so that a person can
// read them in their transcripts and say whether they are true. It prints one JSON object a line, without any text of
// the sessions. With -in and -show it prints one of them for reading: the block that was removed, its use, and what of
// it is in view.
//
//	go run ./scripts/drawregret -policy NAME,NAME -seed 1 -count 150 FOLDER > drawn.jsonl
//	go run ./scripts/drawregret -in drawn.jsonl -show 7 FOLDER
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/regret"
)

func main() {
	var d drawing
	var names, in string
	var show int
	flag.StringVar(&names, "policy", "", "`NAMES` of policies whose misses are drawn, with commas between them")
	flag.Uint64Var(&d.seed, "seed", 1, "what is drawn depends on it")
	flag.IntVar(&d.count, "count", 150, "how many misses to draw")
	flag.StringVar(&in, "in", "", "a `FILE` of drawn misses, for -show")
	flag.IntVar(&show, "show", 0, "print miss `N` of the file, from 1 on, for reading")
	flag.IntVar(&d.around, "around", 700, "how many `BYTES` of text around the evidence to print")
	flag.StringVar(&d.whole, "view", "", "with -show: write all of the view to this `FILE`")
	flag.Parse()
	d.folder, d.policies = flag.Arg(0), strings.Split(names, ",")
	var err error
	if show > 0 {
		err = d.show(os.Stdout, in, show)
	} else {
		err = d.draw(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "drawregret:", err)
		os.Exit(1)
	}
}

type drawing struct {
	folder   string
	policies []string
	seed     uint64
	count    int
	around   int
	whole    string
}

// drawn is a miss that was drawn, without its text.
type drawn struct {
	Session string          `json:"session"` // its file, without ending
	Agent   string          `json:"agent,omitempty"`
	Policy  string          `json:"policy"`
	Kind    regret.Evidence `json:"kind"`
	Line    int             `json:"line"`      // of the removed block
	UsedBy  int             `json:"used_line"` // of the use
	Offset  int             `json:"offset"`    // of the evidence in the text of the use, bytes; of a call in its input as JSON
	Removed int             `json:"removed_request"`
	Needed  int             `json:"needed_request"`
	Verdict string          `json:"verdict"` // true, false or undecided; "" where it has not been judged
	Why     string          `json:"why"`     // in a few words, without any of the session's
}

// draw prints misses in random order, the same number of each policy where it has as many.
func (d *drawing) draw(w io.Writer) error {
	files, err := filepath.Glob(filepath.Join(d.folder, "*.jsonl*"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no sessions in %s: %w", d.folder, err)
	}
	all, failed := make([][]drawn, len(files)), make([]error, len(files))
	var group sync.WaitGroup
	free := make(chan bool, runtime.NumCPU())
	for i, path := range files {
		free <- true
		group.Go(func() {
			failed[i] = d.misses(path, func(_ *replay.Record, m drawn, _ *regret.Miss) bool {
				all[i] = append(all[i], m)
				return true
			})
			<-free
		})
	}
	group.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	of := map[string][]drawn{}
	for _, m := range slices.Concat(all...) {
		of[m.Policy] = append(of[m.Policy], m)
	}
	r := rand.New(rand.NewPCG(d.seed, 1))
	left := d.count
	order := slices.Clone(d.policies)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(len(of[a]), len(of[b])) })
	var list []drawn
	for i, p := range order {
		of := of[p]
		r.Shuffle(len(of), func(i, k int) { of[i], of[k] = of[k], of[i] })
		n := min(len(of), left/(len(order)-i))
		fmt.Fprintf(os.Stderr, "%s: %d misses, %d drawn\n", p, len(of), n)
		list = append(list, of[:n]...)
		left -= n
	}
	r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	out := json.NewEncoder(w)
	for _, m := range list {
		if err := out.Encode(m); err != nil {
			return err
		}
	}
	return nil
}

// misses yields the misses of each conversation of a file under each policy.
func (d *drawing) misses(path string, yield func(*replay.Record, drawn, *regret.Miss) bool) error {
	reg, err := stage.Registry()
	if err != nil {
		return err
	}
	presets := preset.New(reg)
	f, err := session.Load(path, session.LoadOptions{})
	if err != nil {
		return err
	}
	defer f.Close()
	for _, conv := range f.Conversations() {
		if len(conv.Requests) == 0 {
			continue
		}
		rec, err := record(conv, presets)
		if err != nil {
			return err
		}
		for _, name := range d.policies {
			pol, err := presets.LoadFor(name, preset.ClientOf(conv))
			if err != nil {
				return err
			}
			tl, err := rec.Replay(pol, replay.Options{Regret: true})
			if err != nil {
				return err
			}
			for i := range tl.Regret.Misses {
				m := &tl.Regret.Misses[i]
				one := drawn{
					Session: stem(path), Agent: conv.Agent, Policy: name, Kind: m.Evidence, Line: m.Line, UsedBy: m.UsedLine,
					Offset: m.Offset, Removed: m.Removed, Needed: m.Needed,
				}
				if !yield(rec, one, m) {
					return nil
				}
			}
		}
	}
	return nil
}

// record is the record of a conversation, in the window that its user had set.
func record(conv *session.Conversation, presets *preset.Library) (*replay.Record, error) {
	rec, err := replay.NewRecord(conv)
	if err != nil {
		return nil, err
	}
	return rec, rec.UseRelease(presets)
}

func stem(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".jsonl")
	return name
}

// show prints miss n of a file of drawn ones.
func (d *drawing) show(w io.Writer, in string, n int) error {
	f, err := os.Open(in)
	if err != nil {
		return err
	}
	defer f.Close()
	var want drawn
	s := bufio.NewScanner(f)
	for range n {
		if !s.Scan() {
			return fmt.Errorf("%s has no line %d", in, n)
		}
	}
	if err := json.Unmarshal(s.Bytes(), &want); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(d.folder, want.Session+".jsonl*"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("%d sessions %s in %s: %w", len(files), want.Session, d.folder, err)
	}
	d.policies = []string{want.Policy}
	found := false
	var failed error
	err = d.misses(files[0], func(rec *replay.Record, m drawn, miss *regret.Miss) bool {
		m.Verdict, m.Why = want.Verdict, want.Why
		if found = m == want; found {
			failed = d.print(w, rec, m, miss)
		}
		return !found
	})
	if err == nil && !found {
		err = errors.New("the miss is no longer found")
	}
	return errors.Join(err, failed)
}
