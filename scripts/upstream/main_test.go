package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// script is made-up code in the shapes that facts are found by: in one file, and in two of an executable whose names are
// those of other constants in a third.
const script = `var cap=2e4,buf=13000;function eff(A){let q=Math.min(most(A),cap);return win(A,on())-q}` +
	`function auto(A){let q=eff(A),K=q-buf,Y=process.env.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE;if(Y){let z=parseFloat(Y)}return K}` +
	`function all(A,q){let K=auto(q),Y=K,z=Math.max(0,Math.round((Y-A)/Y*100)),w=Y-warn,j=win(q,on())-stop,D=process.env.CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE}` +
	`var warn=20000,stop=3000;f={maxResultSizeChars:1e5,x};g={maxResultSizeChars:1e5,x};h={maxResultSizeChars:30000,x};`

const chunks = "\x00reserve_cap\x00" + `import{a}from"/$bunfs/root/chunk-1.js";var cap=7;` +
	`import{a}from"/$bunfs/root/chunk-2.js";function all(e,n,o,g=n){let k=e-buf,C=o.testBlockingOverride,z=C>0?C:g-stop,Y=Math.max(0,Math.round((k-e)/k*100))}` +
	`function eff(e){let o=Math.min(e.maxOutputTokens,cap);return o}var stop=3e3;` +
	`import{a}from"/$bunfs/root/chunk-3.js";var cap=20000;export{cap as $}`

func TestFacts(t *testing.T) {
	for _, c := range []struct{ code, fact, value, at string }{
		{script, "reserve_cap", "20000", "=Math.min(most"},
		{script, "buffer", "13000", "let q=eff"},
		{script, "warning_offset", "20000", "*100)),w"},
		{script, "blocking_offset", "3000", "-stop"},
		{script, "blocking_from", "window", "=win(q,on())-stop"},
		{script, "result_limit", "100000", "maxResultSizeChars:1e5"},
		{script, "result_limit_bash", "30000", "maxResultSizeChars:30000"},
		{script, "max_failures", "-", ""},
		{`x({forkLabel:"compact",maxTurns:1,fallbackModel:f(r.model,r.other),maxOutputTokens:Math.min(cap,most(r.model)),skip});cap=2e4;`, "summary_cap", "20000", "maxTurns"},
		{`x({forkLabel:"compact",maxTurns:1,skip})`, "summary_cap", "none", "forkLabel"},
		{`s=new Set(["claude-sonnet-4-6","claude-opus-4-6","claude-opus-4-8"]);`, "model_default", "claude-sonnet-4-6,claude-opus-4-6,claude-opus-4-8", "new Set"},
		{`if(d>=big&&!v.replacesDefault&&on())return`, "native_million", "proactive", ">=big"},
		{chunks, "reserve_cap", "20000", "=Math.min(e.max"},
		{chunks, "blocking_offset", "3000", ">0?C"},
		{chunks, "blocking_from", "model", "function all"},
	} {
		for _, f := range facts() {
			if f.name != c.fact {
				continue
			}
			at := -1
			if c.at != "" {
				at = strings.Index(c.code, c.at)
			}
			if got := f.read([]byte(c.code)); got.value != c.value || got.offset != at {
				t.Errorf("%s: %+v, want %s at %d", c.fact, got, c.value, at)
			}
		}
	}
}

// A fact that changed in the newest release is found and named; one that did not is no change.
func TestDrift(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	code := func(release string) (string, error) {
		if release == "2.1.11" {
			return "", errNoNpm
		}
		return filepath.Join(folder, release), nil
	}
	write("2.1.9", script)
	write("2.1.10", strings.ReplaceAll(script, "buf=13000", "buf=14000"))
	var table strings.Builder
	fmt.Fprintln(&table, "release\tfact\tvalue\tfile\toffset")
	must.Do(t, run(&table, false, "", []string{"2.1.9"}, nil, code))
	facts := write("facts.tsv", table.String())
	for _, c := range []struct {
		newest, want string
		err          error
	}{
		{"2.1.9", "newest release: 2.1.9, newest read: 2.1.9\nNN facts, 0 changed\n", nil},
		{"2.1.10", "newest release: 2.1.10, newest read: 2.1.9\nchanged: buffer: 14000, was 13000 (2.1.10 104)\nNN facts, 1 changed\n", errDrift},
		{"2.1.11", "newest release: 2.1.11, newest read: 2.1.9\n", errNoNpm},
		{"", "", errNoNpm},
	} {
		var b strings.Builder
		err := run(&b, true, facts, nil, func() (string, error) {
			if c.newest == "" {
				return "", errNoNpm
			}
			return c.newest, nil
		}, code)
		got := b.String()
		if got = dropCount(got); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v, want %q", c.newest, got, err, c.want)
		}
	}
}

// dropCount takes the number of facts out of the last line, which grows with the facts.
func dropCount(text string) string {
	i := strings.LastIndex(text, " facts, ")
	if i < 0 {
		return text
	}
	return text[:strings.LastIndexByte(text[:i], '\n')+1] + "NN" + text[i:]
}
