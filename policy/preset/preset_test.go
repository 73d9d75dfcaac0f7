package preset_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

func registry(t *testing.T) policy.Registry {
	t.Helper()
	reg := must.Get(stage.Registry())(t)
	return reg
}

// A number below a parameter's least is refused by the schema as it is by the reader.
func TestSchemaBounds(t *testing.T) {
	reg := registry(t)
	schema := compiled(t, reg)
	tried := 0
	for _, d := range reg.Definitions() {
		for _, p := range d.Parameters() {
			least, err := strconv.Atoi(p.Min)
			if err != nil || p.Form != "" || p.Type == "a duration" {
				continue
			}
			tried++
			for _, value := range []string{strconv.Itoa(least - 1), p.Default} {
				text := fmt.Sprintf("stages: [%s: {%s: %s}]", d.Name, p.Name, value)
				var v any
				must.Do(t, yaml.Load([]byte(text), &v))
				_, err := policy.Decode("p.yaml", []byte(text), reg, nil)
				if valid := schema.Validate(v); valid == nil != (err == nil) || (err == nil) != (value == p.Default) {
					t.Errorf("%s: the reader says %v, the schema %v", text, err, valid)
				}
			}
		}
	}
	if tried == 0 {
		t.Error("no parameter has a least value")
	}
}

// compiled is the schema of policies.
func compiled(t *testing.T, reg policy.Registry) *jsonschema.Schema {
	t.Helper()
	doc := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(policy.Schema(reg))))(t)
	c := jsonschema.NewCompiler()
	must.Do(t, c.AddResource("policy.json", doc))
	schema := must.Get(c.Compile("policy.json"))(t)
	return schema
}

// Every built-in policy reads, says where it comes from, has nothing odd in it, fits the schema and survives being
// written out.
func TestPresets(t *testing.T) {
	reg := registry(t)
	schema := compiled(t, reg)
	date := regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`) // a timestamp in YAML, which JSON has not
	for _, name := range preset.Names(reg) {
		t.Run(name, func(t *testing.T) {
			p, err := preset.Load(name, reg)
			if err != nil {
				t.Fatal(err)
			}
			if p.Name != name || p.File != "" || p.About == "" || p.Source == "" || p.Date == "" {
				t.Errorf("name %q, file %q, about %q, source %q, date %q", p.Name, p.File, p.About, p.Source, p.Date)
			}
			for _, f := range policy.Lint(p) {
				t.Error(f)
			}
			written := policy.Marshal(p)
			again, err := policy.Decode(name, written, reg, nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, written)
			}
			for _, f := range policy.Lint(again) { // every default spelled out is nothing odd
				t.Error(f)
			}
			if changes := policy.Diff(p, again); len(changes) > 0 {
				t.Errorf("reads back with changes %v", changes)
			}
			text, _, err := preset.New(reg).Read(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range [][]byte{text, written} {
				var v any
				must.Do(t, yaml.Load(date.ReplaceAll(text, []byte("on $0")), &v))
				if err := schema.Validate(v); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A product's bare name means the release that recorded the session, or that was current then.
func TestFor(t *testing.T) {
	// A row is a name, the client and its version, the models' provider, the day, whether it records what was cleared, and what is
	// chosen: policy, version, whether the session is older, and why, with what is said of newer ones in brackets.
	must.Rows(t, `
none | claude-code | 2.1.43 | "" | 2026-02-17 | false | none  false
claude-code-2.1.19 | claude-code | 2.1.43 | "" | 2026-02-17 | false | claude-code-2.1.19  false
claude-code | claude-code | 2.1.43 | "" | 2026-02-17 | false | claude-code-2.1.30 2.1.43 false claude-code 2.1.43 recorded the session; [claude-code-2.1.304 is newer: for it, write claude-code@latest]
claude-code@recorded-version | claude-code | 2.1.43 | "" | 2026-02-17 | false | claude-code-2.1.30 2.1.43 false claude-code 2.1.43 recorded the session; [claude-code-2.1.304 is newer: for it, write claude-code@latest]
claude-code-2.1.99 | claude-code | 2.1.43 | "" | 2026-02-17 | false | claude-code-2.1.97 2.1.99 false
claude-code-x | claude-code | 2.1.43 | "" | 2026-02-17 | false | claude-code-x  false
claude-code@2.1.14 | claude-code | 2.1.43 | "" | 2026-02-17 | false | claude-code-2.1.19 2.1.14 false
opencode@1.14.20 | claude-code | 2.1.43 | "" | 2026-02-17 | false | opencode-1.14.20 1.14.20 false
claude-code@99.1 | claude-code | 2.1.43 | "" | 2026-02-17 | false | claude-code-2.1.304 99.1 false [claude-code 99.1 is newer than any that was read (2.1.332): the rules of claude-code-2.1.304 are assumed]
codex | codex | 0.999.0 | "" | "" | false | codex-0.150 0.999.0 false codex 0.999.0 recorded the session; [codex 0.999.0 is newer than any that was read (0.171.0): the rules of codex-0.150 are assumed]
opencode@latest | claude-code | 2.1.43 | "" | 2026-02-17 | false | opencode-2.0.21  false [no opencode of after 2026-10-12 was read: the rules of opencode-2.0.21 are assumed]
opencode | "" | "" | "" | 2026-11-02 | false | opencode-2.0.21  false opencode as of 2026-11-02; [no opencode of after 2026-10-12 was read: the rules of opencode-2.0.21 are assumed]
opencode | "" | "" | "" | 2026-10-12 | false | opencode-2.0.21  false opencode as of 2026-10-12
codex@latest | claude-code | 2.1.43 | "" | 2026-02-17 | false | codex-0.150  false
letta@latest | claude-code | 2.1.43 | "" | 2026-02-17 | false | letta  false
copilot-cli@latest | claude-code | 2.1.43 | "" | 2026-02-17 | false | copilot-cli  false
copilot@latest | claude-code | 2.1.43 | "" | 2026-02-17 | false | copilot-cli  false
copilot | copilot | 1.0.102 | "" | "" | false | copilot-cli 1.0.102 false copilot 1.0.102 recorded the session; [copilot 1.0.102 is newer than any that was read (1.0.74): the rules of copilot-cli are assumed]
kimi-cli@latest | claude-code | 2.1.43 | "" | 2026-02-17 | false | kimi-cli-1.49  false
kimi-cli | claude-code | 2.1.43 | "" | 2026-02-17 | false | kimi-cli-1.49  true the oldest kimi-cli known; the session, of 2026-02-17, is older
opencode | claude-code | 2.1.43 | "" | 2026-02-17 | false | opencode-1.1.60  false opencode as of 2026-02-17; [opencode-2.0.21 is newer: for it, write opencode@latest]
copilot-cli@1.0.90 | "" | "" | "" | "" | false | copilot-cli 1.0.90 false [copilot 1.0.90 is newer than any that was read (1.0.74): the rules of copilot-cli are assumed]
copilot-cli | "" | "" | "" | "" | false | copilot-cli  false
opencode | "" | "" | "" | 2026-04-21 | false | opencode-1.14.20  false opencode as of 2026-04-21; [opencode-2.0.21 is newer: for it, write opencode@latest]
opencode | "" | "" | "" | 2025-06-01 | false | opencode-1.1.36  true the oldest opencode known; the session, of 2025-06-01, is older; [opencode-2.0.21 is newer: for it, write opencode@latest]
claude-code | claude-code | 2.1.5 | "" | "" | false | claude-code-2.1.12 2.1.5 true claude-code 2.1.5 recorded the session, older than any known; [claude-code-2.1.304 is newer: for it, write claude-code@latest]
codex | codex | 0.142.5 | openai | "" | false | codex-0.140 0.142.5 false codex 0.142.5 recorded the session; [codex-0.150 is newer: for it, write codex@latest]
codex | codex | 0.142.5 | "" | "" | false | codex-0.140 0.142.5 false codex 0.142.5 recorded the session; [codex-0.150 is newer: for it, write codex@latest]
codex@recorded-version | codex | 0.142.5 | my-azure | "" | false | codex-0.140 0.142.5 false codex 0.142.5 recorded the session; [codex-0.150 is newer: for it, write codex@latest]
codex@recorded-version | codex | 0.142.5 | ollama | "" | false | codex-local  false codex recorded the session with models of "ollama"
codex@0.142.5 | codex | 0.142.5 | ollama | "" | false | codex-0.140 0.142.5 false
codex | pi | "" | ollama | "" | false | codex-0.150  false the newest codex known
opencode | opencode | 1.18.33 | "" | "" | true | opencode-1.18 1.18.33 false opencode 1.18.33 recorded the session, and what it pruned; [opencode-2.0.21 is newer: for it, write opencode@latest]
codex | codex | 0.142.5 | "" | "" | true | codex-0.140 0.142.5 false codex 0.142.5 recorded the session; [codex-0.150 is newer: for it, write codex@latest]
opencode@2 | "" | "" | "" | "" | false | opencode-2.0.21 2.0.21 false
opencode@1.1 | "" | "" | "" | "" | false | opencode-1.1.60 1.1.60 false
claude-code@2.1.1 | "" | "" | "" | "" | false | claude-code-2.1.12 2.1.1 false
opencode@recorded-version | claude-code | 2.1.43 | "" | "" | false | opencode-2.0.21  false the newest opencode known; [no opencode of after 2026-10-12 was read: the rules of opencode-2.0.21 are assumed]
`, func(name, product, version, provider, day string, cleared bool, want string) {
		client := preset.Client{Product: product, Version: version, Provider: provider, Cleared: cleared}
		if day != "" {
			client.Time, _ = time.Parse(time.DateOnly, day)
		}
		got, err := preset.New(registry(t)).For(name, client)
		if err != nil {
			t.Error(err)
		}
		if got.Newer != "" {
			got.Why = strings.Replace(got.Why, got.Newer, "["+got.Newer+"]", 1)
		}
		must.Equal(t, strings.TrimSpace(fmt.Sprint(got.Policy, " ", got.Version, " ", got.Older, " ", got.Why)), want)
	})
	must.Rows(t, `
# name | want
lettta@latest | "no versions of \"lettta\" are known: "
opencod@1.2   | no versions of "opencod" are known: did you mean opencode?
opencode@next | "\"next\" is no version of opencode: write it as opencode@1.1.36, or opencode@latest"
`, func(name, want string) {
		if _, err := preset.New(registry(t)).For(name, preset.Client{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	})
}

// The releases of a product follow one another in version and time, each with the source of its dates.
func TestReleases(t *testing.T) {
	reg := registry(t)
	for _, product := range preset.New(reg).Products() {
		until := ""
		for i, r := range preset.New(reg).Releases(product) {
			p := must.Get(preset.Load(r.Policy, reg))(t)
			if a, ok := preset.New(reg).Aliases()[r.Policy]; ok {
				p.Name, p.Product, p.Version, p.Valid = a.Name, a.Product, a.Version, a.Valid
			}
			if p.Product != product || p.Version != r.Version || p.Valid.Source == "" || !strings.HasPrefix(p.Name, product+"-") {
				t.Errorf("%s: product %q, version %q, dates from %q", r.Policy, p.Product, p.Version, p.Valid.Source)
			}
			if i > 0 && nextDay(t, until) != r.Valid.From {
				t.Errorf("%s: current from %s on, the one before it until %q", r.Policy, r.Valid.From, until)
			}
			until = r.Valid.Until
		}
		if until != "" && product != "goose" && product != "opencode" { // what came after was not read
			t.Errorf("%s: no release is current today", product)
		}
	}
}

// TestHeads holds what is read of a policy's head against the whole file.
func TestHeads(t *testing.T) {
	reg := registry(t)
	list := map[string]preset.Release{}
	lib := preset.New(reg)
	for _, product := range lib.Products() {
		for _, r := range lib.Releases(product) {
			list[r.Policy] = r
		}
	}
	for _, name := range lib.Names() {
		p := must.Get(preset.Load(name, reg))(t)
		r, ok := list[name]
		if ok != (p.Product != "") || r.Version != p.Version && ok || r.Valid.From != p.Valid.From && ok || r.Valid.Until != p.Valid.Until && ok {
			t.Errorf("%s: read as %v, %v; it is of %q, %q, from %q until %q", name, r, ok, p.Product, p.Version, p.Valid.From, p.Valid.Until)
		}
	}
}

// TestHeadOtherwise: a head in another form than the quick reader reads is named as the fault, and is not another release.
func TestHeadOtherwise(t *testing.T) {
	const usual = "product: x\nversion: 1.2.3\nvalid: {from: 2026-01-25, until: 2026-04-25, source: tests}\nstages: []\n"
	for name, text := range map[string]string{
		"usual":               usual,
		"a comment":           strings.Replace(usual, "1.2.3", "1.2.3 # the first", 1),
		"no product":          "stages: []\n",
		"quoted version":      strings.Replace(usual, "1.2.3", `"1.2.3"`, 1),
		"quoted date":         strings.Replace(usual, "2026-01-25", `"2026-01-25"`, 1),
		"quoted product":      strings.Replace(usual, "x", "'x'", 1),
		"quoted key":          strings.Replace(usual, "product", `"product"`, 1),
		"value on next line":  strings.Replace(usual, "version: ", "version:\n  ", 1),
		"value of two lines":  strings.Replace(usual, "product: x", "product: x\n  y", 1),
		"validity as a block": strings.Replace(usual, "{from: 2026-01-25, until: 2026-04-25, source: tests}", "\n  from: 2026-01-25\n  until: 2026-04-25\n  source: tests", 1),
		"source first":        strings.Replace(usual, "{from: 2026-01-25, until: 2026-04-25, source: tests}", "{source: tests, from: 2026-01-25}", 1),
		"behind the stages":   "stages: []\n" + strings.Replace(usual, "stages: []\n", "", 1),
	} {
		reg, err := policy.NewRegistry(policy.Family{Name: "f", Presets: fstest.MapFS{"x-1.yaml": {Data: []byte(text)}}})
		if err != nil {
			t.Fatal(err)
		}
		lib := preset.New(reg)
		p, err := lib.Load("x-1")
		switch name {
		case "usual", "a comment", "no product":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		default:
			if err == nil || !strings.Contains(err.Error(), "built-in policy x-1: its product, version or time of validity is not found") {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
		}
	}
}

// An alias is a name of its own, means a built-in policy, and loads what that loads.
func TestAliases(t *testing.T) {
	reg := registry(t)
	lib := preset.New(reg)
	for name, a := range lib.Aliases() {
		must.Say(t, "false true true", slices.Contains(lib.Names(), name), slices.Contains(lib.Names(), a.Policy), slices.Contains(lib.Known(), name))
		p := must.Get(lib.Load(name))(t)
		same := must.Get(lib.Load(a.Policy))(t)
		if got, want := policy.Marshal(p), policy.Marshal(same); !bytes.Equal(got, want) {
			t.Errorf("%s is\n%s\n%s is\n%s", name, got, a.Policy, want)
		}
	}
	must.Rows(t, `
# name | want
claude-code-2.1.37  | {"Policy":"claude-code-2.1.30"}
claude-code-2.1.78  | {"Policy":"claude-code-2.1.76"}
claude-code-2.1.210 | {"Policy":"claude-code-2.1.193"}
kilo-code-5         | {"Policy":"roo-code-3.43"}
swe-agent-1.1       | {"Policy":"none"}
swe-agent-1.2       | {"Newer":"swe-agent 1.2 is newer than any that was read (1.1.0): the rules of swe-agent-1.1 are assumed", "Policy":"none", "Version":"1.2", "Why":"swe-agent 1.2 is newer than any that was read (1.1.0): the rules of swe-agent-1.1 are assumed"}
swe-agent@latest    | {"Policy":"none"}
swe-agent           | {"Policy":"none", "Why":"swe-agent as of 2026-02-17"}
`, func(name string, want preset.Chosen) {
		day := must.Get(time.Parse(time.DateOnly, "2026-02-17"))(t)
		must.Both(lib.For(name, preset.Client{Time: day}))(t, want, nil, name)
	})
}

func nextDay(t *testing.T, day string) string {
	d := must.Get(time.Parse(time.DateOnly, day))(t)
	return d.AddDate(0, 0, 1).Format(time.DateOnly)
}

// The figures of the analyses of Claude Code 2.1.19 and 2.1.x, for a window of 200,000.
func TestThresholds(t *testing.T) {
	first := map[string]int{"output reserve": 32000, "effective window": 168000, "warning threshold": 135000, "error threshold": 135000, "blocking limit": 197000, "microcompaction": 135000, "auto-compact threshold": 155000}
	later := map[string]int{"output reserve": 20000, "effective window": 180000, "warning threshold": 147000, "error threshold": 147000, "blocking limit": 177000, "auto-compact threshold": 167000}
	micro := maps.Clone(later)
	micro["microcompaction"], micro["blocking limit"] = 147000, 197000
	for name, want := range map[string]map[string]int{"claude-code-2.1.19": first, "claude-code-2.1": micro, "claude-code-2.1.119": later} {
		p := must.Get(preset.Load(name, registry(t)))(t)
		got := map[string]int{}
		for _, l := range p.Limits(policy.Circumstances{Window: 200000, MaxOutput: 64000}).List {
			got[l.Name] = l.Tokens
		}
		must.Equal(t, got, want, name)
	}
}

func TestUnknown(t *testing.T) {
	must.Rows(t, `
opencod   | unknown policy "opencod": did you mean opencode
claude    | "unknown policy \"claude\": did you mean "
recordet  | "unknown policy \"recordet\": did you mean recorded? "
""        | "unknown policy \"\": use one of "
index     | "unknown policy \"index\": "
../preset | "reading policy ../preset: "
./no.yaml | reading policy ./no.yaml: no such file or directory: check the path
no.yml    | reading policy no.yml: no such file or directory: check the path
`, func(name, want string) {
		if _, err := preset.Load(name, registry(t)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	})
	if _, err := preset.Load(t.TempDir()+"/", registry(t)); err == nil {
		t.Error("a folder was read as a policy")
	}
}

// A file extends a built-in policy, by alias, and other files by their place.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	write("base.yaml", "extends: opencode-1.1.36\nset: {opencode_prune.protect: 1}\n")
	path := write("sub/mine.yaml", "extends: ../base.yaml\nset: {opencode_prune.minimum: 2}\n")
	p := must.Get(preset.Load(path, registry(t)))(t)
	must.Rows(t, `
# key | want
opencode_prune.protect | 1
opencode_prune.minimum | 2
opencode_prune.turns   | 2
`, func(key, want string) {
		must.Both(p.Get(key))(t, want, nil, key)
	})
	if p.Name != "mine" || p.File != path {
		t.Errorf("name %q, file %q", p.Name, p.File)
	}
	must.Equal(t, p.Position("opencode_prune").File, "opencode-1.1.36")

	a, b := write("a.yaml", "extends: b.yaml\n"), write("b.yaml", "extends: a.yaml\n")
	want := b + ":1:10: extends: " + a + " extends itself (" + a + " -> " + b + " -> " + a + "): break the circle"
	if _, err := preset.Load(a, registry(t)); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	lost := write("lost.yaml", "extends: nowhere.yaml\n")
	want = lost + ":1:10: extends: reading policy " + filepath.Join(dir, "nowhere.yaml") + ": no such file"
	if _, err := preset.Load(lost, registry(t)); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
	large := write("large.yaml", strings.Repeat("# nothing here\n", 100000))
	must.Fail(preset.Load(large, registry(t)))(t, "too long for a policy")
}

func TestVersions(t *testing.T) {
	must.Rows(t, `
claude-code@2.1.19        | claude-code-2.1.19
claude-code@2.1.20        | claude-code-2.1.19
claude-code@2.1.21        | claude-code-2.1
claude-code@2.1.29        | claude-code-2.1.25
claude-code@2.1.30        | claude-code-2.1.30
claude-code@2.1.37        | claude-code-2.1.30
claude-code@2.1.13        | claude-code-2.1.12
claude-code@2.1.50        | claude-code-2.1.47
claude-code@2.1.62        | claude-code-2.1.51
claude-code@2.1.68        | claude-code-2.1.63
claude-code@2.1.303       | claude-code-2.1.284
claude-code@2.1.69        | claude-code-2.1.69
claude-code@2.1.77        | claude-code-2.1.76
claude-code@2.1.85        | claude-code-2.1.84
claude-code@2.1.118       | claude-code-2.1.97
claude-code@2.1.119       | claude-code-2.1.119
claude-code@2.1.152       | claude-code-2.1.128
claude-code@2.1.210       | claude-code-2.1.193
claude-code@2.1.332       | claude-code-2.1.304
claude-code@1.0.48-beta.1 | claude-code-2.1.12
opencode@1.1.56           | opencode-1.1.36
opencode@1.1.59           | opencode-1.1.57
opencode@1.2.5            | opencode-1.1.60
opencode@1.14.19          | opencode-1.1.60
opencode@1.17.8           | opencode-1.14.20
opencode@1.18.16          | opencode-1.17.9
opencode@1.18.34          | opencode-1.18
`, func(name, want string) {
		p, err := preset.Load(name, registry(t))
		if err != nil || p.Name != want || p.Version != name[strings.Index(name, "@")+1:] {
			t.Errorf("%s: got %v, %v, want %s", name, p, err, want)
		}
	})
	must.Rows(t, `
claude-code@     | "\"\" is no version of claude-code: write it as claude-code@2.1.12, or claude-code@latest"
claude-code@new  | "\"new\" is no version of claude-code"
claude-cod@2.1   | no versions of "claude-cod" are known: did you mean claude-code?
claude-cod@2.1.1 | no versions of "claude-cod" are known: did you mean claude-code?
`, func(name, want string) {
		if _, err := preset.Load(name, registry(t)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	})
}

// Where a session records that OpenCode pruned, its user had that on; OpenCode 2 does not prune, whatever an older release did.
func TestPruning(t *testing.T) {
	two, err := preset.New(registry(t)).LoadFor("opencode", preset.Client{Product: "opencode", Version: "2.0.21", Cleared: true})
	must.Say(t, "<nil> 0 false", err, len(policy.Idle(two)), strings.Contains(two.Chosen, "pruned"))
	must.Rows(t, `
# cleared | want
true  | true
false | false
`, func(cleared bool, want string) {
		p := must.Get(preset.New(registry(t)).LoadFor("opencode", preset.Client{Product: "opencode", Version: "1.18.33", Cleared: cleared}))(t)
		if got, err := p.Get("opencode_prune.auto"); err != nil || got != want || p.Truth != policy.TruthOracle {
			t.Errorf("cleared %t: %s, %v, %s", cleared, got, err, p.Truth)
		}
	})
}
