package session

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// folder is a project folder made for one test.
type folder struct {
	t   *testing.T
	dir string
}

func newFolder(t *testing.T) *folder { return &folder{t, t.TempDir()} }

func (f *folder) write(name, text string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func (f *folder) link(to, name string) {
	f.t.Helper()
	if err := os.Symlink(to, filepath.Join(f.dir, filepath.FromSlash(name))); err != nil {
		f.t.Skip("no symbolic links here")
	}
}

func (f *folder) discover() ([]FileInfo, []Warning) {
	f.t.Helper()
	infos, warnings, err := Discover(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	return infos, warnings
}

func userLine(session, uuid, at, text string) string {
	return fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"cwd":"/home/dev/harbor","sessionId":%q,"version":"2.1.29","gitBranch":"main","type":"user","message":{"role":"user","content":%q},"uuid":%q,"timestamp":%q}`+"\n", session, text, uuid, at)
}

const (
	idA = "aaaaaaaa-0000-4000-8000-000000000001"
	idB = "bbbbbbbb-0000-4000-8000-000000000002"
	idC = "cccccccc-0000-4000-8000-000000000003"
)

func ids(infos []FileInfo) string {
	var s []string
	for _, i := range infos {
		s = append(s, i.ID[:min(8, len(i.ID))]+" "+string(i.Standing))
	}
	return strings.Join(s, ", ")
}

// TestDiscoverTitles holds that lists name a session as a replay does: by the last title, which may be at the end.
func TestDiscoverTitles(t *testing.T) {
	long := userLine(idA, "u2", "2026-01-01T10:00:00.000Z", strings.Repeat("a long prompt ", 20_000))
	ai := func(title string) string {
		return `{"type":"ai-title","aiTitle":"` + title + `","sessionId":"` + idA + `"}` + "\n"
	}
	custom := func(title string) string {
		return `{"type":"custom-title","customTitle":"` + title + `","sessionId":"` + idA + `"}` + "\n"
	}
	first := userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "hello")
	for _, c := range []struct{ text, want string }{
		{first + ai("First") + ai("Second"), "Second"},
		{first + ai("First") + long + ai("Last"), "Last"},
		{first + custom("Mine") + ai("Its"), "Mine"},
		{first + custom("Mine") + long + ai("Its"), "Mine"},
		{first + custom("Mine") + long + custom("Mine again"), "Mine again"},
		{`{"type":"summary","summary":"Old","leafUuid":"x"}` + "\n" + first + long + `{"type":"summary","summary":"New","leafUuid":"y"}` + "\n", "Old"},
	} {
		f := newFolder(t)
		f.write(idA+".jsonl", c.text)
		infos, _ := f.discover()
		conv, err := Load(filepath.Join(f.dir, idA+".jsonl"), LoadOptions{})
		if err != nil || infos[0].Title != c.want || conv.Main.Title != c.want {
			t.Errorf("%.200s: listed as %q, replayed as %q (%v), want %q", c.text, infos[0].Title, conv.Main.Title, err, c.want)
		}
	}
}

func TestDiscoverStandings(t *testing.T) {
	f := newFolder(t)
	f.write(idA+".jsonl", userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "make it so"))
	f.write(idB+".jsonl", userLine(idB, "u1", "2026-01-02T10:00:00.000Z", "and that")+userLine(idB, "u2", "2026-01-02T11:00:00.000Z", "more"))
	f.write(idC+".jsonl", userLine(idC, "u1", "2026-01-03T10:00:00.000Z", "unlisted one"))
	f.write("sessions-index.json", `{"version":1,"originalPath":"/home/dev/harbor","entries":[
		{"sessionId":"`+idA+`","fullPath":"/elsewhere/x.jsonl","fileMtime":1,"firstPrompt":"make it so","summary":"Engage","modified":"2026-01-01T10:00:00.100Z"},
		{"sessionId":"`+idB+`","modified":"2026-01-02T10:00:00.000Z"},
		{"sessionId":"dddddddd-0000-4000-8000-000000000004","summary":"Gone","created":"2026-01-04T00:00:00Z","firstPrompt":"No prompt"}]}`)
	infos, warnings := f.discover()
	if got, want := ids(infos), "aaaaaaaa listed, bbbbbbbb stale, cccccccc unlisted, dddddddd missing"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	must.Equal(t, len(warnings), 0, warnings)
	a := infos[0]
	must.Say(t, "Engage make it so /home/dev/harbor main 2.1.29", a.Title, a.Prompt, a.Project, a.Branch, a.Version)
	if want := "the index ends at 2026-01-02 10:00:00, the file at 2026-01-02 11:00:00"; infos[1].Why != want {
		t.Errorf("why %q, want %q", infos[1].Why, want)
	}
	if d := infos[3]; d.Path != "" || d.Title != "Gone" || d.Prompt != "" {
		t.Errorf("missing one: %+v", d)
	}
}

func TestDiscoverWithoutIndex(t *testing.T) {
	f := newFolder(t)
	f.write(idA+".jsonl", userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "hello"))
	infos, _ := f.discover()
	if len(infos) != 1 || infos[0].Standing != Unindexed {
		t.Errorf("got %+v", infos)
	}
}

func TestDiscoverStaleByFileTime(t *testing.T) {
	f := newFolder(t)
	path := f.write(idA+".jsonl", `{"type":"summary","summary":"no times in here","leafUuid":"x"}`+"\n")
	written := time.UnixMilli(1770088829588)
	f.write("sessions-index.json", fmt.Sprintf(`{"entries":[{"sessionId":"%s","fileMtime":1770088829588}]}`, idA))
	for later, want := range map[time.Duration]Standing{0: Listed, time.Hour: Stale} {
		must.Do(t, os.Chtimes(path, written.Add(later), written.Add(later)))
		if infos, _ := f.discover(); infos[0].Standing != want {
			t.Errorf("%v later: %s, want %s", later, infos[0].Standing, want)
		}
	}
}

func TestDiscoverTree(t *testing.T) {
	f := newFolder(t)
	f.write("-home-dev-a/"+idB+".jsonl", userLine(idB, "u1", "2026-01-02T10:00:00.000Z", "b"))
	f.write("-home-dev-a/"+idA+".jsonl", userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "a"))
	f.write("-home-dev-b/"+idC+".jsonl", userLine(idC, "u1", "2025-01-01T10:00:00.000Z", "c"))
	f.write("-home-dev-b/memory/notes.md", "no session")
	f.write("-home-dev-b/"+idC+"/subagents/agent-1234567.jsonl", "{}\n")
	f.write("notes.txt", "no session")
	infos, warnings := f.discover()
	if got, want := ids(infos), "aaaaaaaa , bbbbbbbb , cccccccc "; got != want || len(warnings) > 0 {
		t.Errorf("got %s, want %s; warnings %v", got, want, warnings)
	}
	must.Equal(t, len(infos[2].Subagents), 1, infos[2].Subagents)
}

func TestDiscoverSubagents(t *testing.T) {
	f := newFolder(t)
	f.write(idA+".jsonl", userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "a"))
	f.write(idA+"/subagents/agent-a1b2c3d.jsonl", userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "explore"))
	f.write(idA+"/subagents/agent-a1b2c3d.meta.json", `{"agentType":"Explore","description":"look around","toolUseId":"toolu_1"}`)
	f.write(idA+"/subagents/agent-acompact-99.jsonl", "\n")
	f.write(idA+"/subagents/other.jsonl", "\n")
	f.write(idA+"/tool-results/toolu_1.txt", "x")
	f.write(idA+"/tool-results/toolu_2.json", "x")
	f.write("agent-old.jsonl", userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "of an older client"))
	f.write("agent-lost.jsonl", userLine(idB, "u1", "2026-01-01T10:00:00.000Z", "of nobody"))
	infos, warnings := f.discover()
	if len(infos) != 2 || len(warnings) != 0 {
		t.Fatalf("got %s, warnings %v", ids(infos), warnings)
	}
	a := infos[0]
	var names []string
	for _, s := range a.Subagents {
		names = append(names, s.ID+":"+s.Type)
	}
	if got, want := strings.Join(names, " "), "a1b2c3d:Explore acompact-99: old:"; got != want {
		t.Errorf("subagents %s, want %s", got, want)
	}
	same(t, 2, a.ToolResults)
	must.Say(t, "true agent-lost", infos[1].Sidechain, infos[1].ID)
}

func TestDiscoverCompressed(t *testing.T) {
	f := newFolder(t)
	pack := func(id string, lines ...string) {
		var packed strings.Builder
		z := gzip.NewWriter(&packed)
		fmt.Fprint(z, strings.Join(lines, ""))
		z.Close()
		f.write(id+".jsonl.gz", packed.String())
	}
	const idD, idE = "dddddddd-0000-4000-8000-000000000004", "eeeeeeee-0000-4000-8000-000000000005"
	pack(idA, userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "packed"),
		userLine(idA, "u2", "2026-01-01T11:00:00.000Z", strings.Repeat("long ", 1<<20)),
		userLine(idA, "u3", "2026-01-02T10:00:00.000Z", "the end"))
	f.write(idB+".jsonl.zst", "\x28\xb5\x2f\xfd not really")
	f.write(idC+".jsonl.gz", "\x1f\x8b neither")
	pack(idD, userLine(idD, "u1", "2026-01-01T12:00:00.000Z", "brief"))
	pack(idE, userLine(idE, "u1", "2026-01-01T13:00:00.000Z", "first"), userLine(idE, "u2", "2026-01-03T10:00:00.000Z", "then"))
	infos, _ := f.discover()
	if len(infos) != 5 {
		t.Fatalf("got %s", ids(infos))
	}
	last := map[string]string{idA: "2026-01-02 10:00:00", idD: "2026-01-01 12:00:00", idE: "2026-01-03 10:00:00"}
	for _, i := range infos {
		if i.ID == idA && i.Prompt != "packed" {
			t.Errorf("prompt %q", i.Prompt)
		}
		if got := i.Last.Format(time.DateTime); last[i.ID] != "" && got != last[i.ID] {
			t.Errorf("%s: last used at %s, want %s, the time of its last line", i.ID, got, last[i.ID])
		}
	}
}

// TestDiscoverCompressedDocument holds that a session that is one document was last used at the same time compressed or not.
func TestDiscoverCompressedDocument(t *testing.T) {
	data := must.Get(os.ReadFile(filepath.Join("..", "internal", "opencode", "testdata", "export.json")))(t)
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(data); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	var last []time.Time
	for name, content := range map[string]string{"plain.json": string(data), "packed.json.gz": packed.String()} {
		f := newFolder(t)
		f.write(name, content)
		infos, _ := f.discover()
		if len(infos) != 1 || infos[0].Last.IsZero() {
			t.Fatalf("%s: %+v", name, infos)
		}
		last = append(last, infos[0].Last)
	}
	if !last[0].Equal(last[1]) {
		t.Errorf("last used: %v", last)
	}
}

// TestDiscoverStaysInside holds that nothing outside of the folder is read.
func TestDiscoverStaysInside(t *testing.T) {
	outside := newFolder(t)
	secret := outside.write("secret.jsonl", userLine(idB, "u1", "2026-01-01T10:00:00.000Z", "secret"))
	outside.write("project/"+idC+".jsonl", userLine(idC, "u1", "2026-01-01T10:00:00.000Z", "secret"))
	f := newFolder(t)
	f.write(idA+".jsonl", userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "mine"))
	f.link(secret, idB+".jsonl")
	f.link(filepath.Join(outside.dir, "project"), "project")
	f.link(filepath.Join(outside.dir, "project"), idA)
	f.write("stored", userLine(idC, "u1", "2026-01-01T10:00:00.000Z", "mine"))
	f.link("stored", idC+".jsonl") // stays inside: allowed
	f.write("sessions-index.json", `{"entries":[
		{"sessionId":"../../secret","fullPath":"`+filepath.ToSlash(secret)+`","firstPrompt":"x"},
		{"sessionId":"/etc/passwd"},{"sessionId":".."},{"sessionId":""},{"sessionId":"a\\b"},{"sessionId":"\u001b[31m"},
		{"sessionId":"eeeeeeee-0000-4000-8000-000000000005","fullPath":"`+filepath.ToSlash(secret)+`"}]}`)
	infos, warnings := f.discover()
	if got, want := ids(infos), "eeeeeeee missing, aaaaaaaa unlisted, cccccccc unlisted"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, i := range infos {
		if i.Prompt == "secret" || i.Path != "" && !strings.HasPrefix(i.Path, f.dir) {
			t.Errorf("read outside: %+v", i)
		}
	}
	out, bad := 0, 0
	for _, w := range warnings {
		if strings.Contains(w.Message, "a link to a place outside its folder") {
			out++
		}
		if strings.Contains(w.Message, "not a session id") {
			bad++
		}
	}
	if out != 3 || bad != 6 {
		t.Errorf("%d links and %d ids warned of, want 3 and 6: %v", out, bad, warnings)
	}
}

// TestDiscoverOnce holds that links in a folder do not make its sessions count twice, and that an entry of the index
// that is wrong costs itself alone.
func TestDiscoverOnce(t *testing.T) {
	f := newFolder(t)
	f.write(idA+".jsonl", userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "a"))
	f.write("q/"+idB+".jsonl", userLine(idB, "u1", "2026-01-01T11:00:00.000Z", "b"))
	f.write("q/sessions-index.json", `{"entries":[{"sessionId":7},"x",{"sessionId":"`+idB+`","summary":"titled"}]}`)
	f.link(".", "loop")
	f.link("q", "before-q")
	f.link("q", "qq")
	f.link(idA+".jsonl", "copy.jsonl")
	infos, warnings := f.discover()
	if len(infos) != 2 || infos[1].Title != "titled" {
		t.Errorf("got %s, %+v", ids(infos), infos)
	}
	if len(warnings) != 3 || !strings.Contains(warnings[0].Message, "the same file as "+idA+".jsonl: it counts once") ||
		!strings.Contains(warnings[1].Message, "entry 1: ") || !strings.Contains(warnings[2].Message, "entry 2: ") {
		t.Errorf("warnings %v", warnings)
	}
}

// TestDiscoverCopies holds that a session in two files is listed once, by the one with more of it, and that what differs
// is two sessions.
func TestDiscoverCopies(t *testing.T) {
	a := userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "a")
	longer := a + userLine(idA, "u2", "2026-01-01T11:00:00.000Z", "b")
	forked := a + userLine(idA, "u3", "2026-01-01T12:00:00.000Z", "c")
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	z.Write([]byte(longer))
	z.Close()
	for name, c := range map[string]struct {
		files  map[string]string
		listed string // file names
		said   string // of the warning; "": there is none
	}{
		"a copy in another project":        {map[string]string{"p/" + idA + ".jsonl": a, "q/" + idA + ".jsonl": longer}, "q/" + idA + ".jsonl", "p/" + idA + ".jsonl"},
		"a fork that goes on":              {map[string]string{"p/" + idA + ".jsonl": longer, "p/" + idB + ".jsonl": forked}, "p/" + idA + ".jsonl p/" + idB + ".jsonl", ""},
		"other messages under one id":      {map[string]string{"p/" + idA + ".jsonl": longer, "q/" + idA + ".jsonl": forked}, "p/" + idA + ".jsonl q/" + idA + ".jsonl", ""},
		"packed beside the plain file":     {map[string]string{"p/" + idA + ".jsonl": longer, "p/" + idA + ".jsonl.gz": packed.String()}, "p/" + idA + ".jsonl", "p/" + idA + ".jsonl.gz"},
		"packed, with more than the other": {map[string]string{"p/" + idA + ".jsonl": a, "p/" + idA + ".jsonl.gz": packed.String()}, "p/" + idA + ".jsonl.gz", "p/" + idA + ".jsonl"},
		"packed elsewhere":                 {map[string]string{"p/" + idA + ".jsonl": longer, "q/" + idA + ".jsonl.gz": packed.String()}, "p/" + idA + ".jsonl", "q/" + idA + ".jsonl.gz"},
		"a subagent that is in one alone":  {map[string]string{"p/" + idA + ".jsonl": a, "p/" + idA + "/subagents/agent-1.jsonl": a, "q/" + idA + ".jsonl": longer}, "p/" + idA + ".jsonl q/" + idA + ".jsonl", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			for file, text := range c.files {
				f.write(file, text)
			}
			infos, warnings := f.discover()
			var listed []string
			for i := range infos {
				file, _ := filepath.Rel(f.dir, infos[i].Path)
				listed = append(listed, filepath.ToSlash(file))
			}
			same(t, c.listed, strings.Join(listed, " "), "lists")
			if c.said == "" && len(warnings) > 0 || c.said != "" && (len(warnings) != 1 || warnings[0].File != filepath.Join(f.dir, c.said) || !strings.Contains(warnings[0].Message, "the session is also in ")) {
				t.Errorf("says %v", warnings)
			}
			if kept, _ := Once(append(infos, infos...)); len(kept) != len(infos) {
				t.Errorf("named twice, it is %d sessions", len(kept))
			}
		})
	}
}

func TestDiscoverOddFolders(t *testing.T) {
	f := newFolder(t)
	f.write("sessions-index.json", "{ not JSON")
	f.write(idA+".jsonl", userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "a"))
	f.write(idA+".jsonl.gz", "\x1f\x8b")
	f.write(idB+".jsonl", userLine(idB, "u1", "2026-01-01T11:00:00.000Z", "b"))
	f.write("-rf.jsonl", "")
	f.write("folder.jsonl/x", "")
	infos, warnings := f.discover()
	if len(infos) != 2 || len(warnings) != 4 {
		t.Errorf("got %s, warnings %v", ids(infos), warnings)
	}
	if _, _, err := Discover(filepath.Join(f.dir, "nowhere")); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

func TestLastTimeBeyondTheTail(t *testing.T) {
	f := newFolder(t)
	long := `{"type":"file-history-snapshot","snapshot":"` + strings.Repeat("x", 3*headBytes) + `"}` + "\n"
	f.write(idA+".jsonl", userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "a")+long)
	infos, _ := f.discover()
	if want := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC); !infos[0].Last.Equal(want) {
		t.Errorf("last %v, want %v", infos[0].Last, want)
	}
}

func TestIsID(t *testing.T) {
	for id, want := range map[string]bool{
		idA: true, "agent-1a2b": true, "big": true, "claude-2.1.19": true,
		"": false, ".": false, "..": false, "a/b": false, `a\b`: false, "-x": false, "a b": false, "a\x00": false, "é": false, strings.Repeat("a", 201): false,
	} {
		same(t, want, IsID(id), id)
	}
	if runtime.GOOS == "windows" && IsID("NUL") {
		t.Error("NUL is a device")
	}
}

// TestCorpusProject reads a real project folder with an index that is behind.
func TestCorpusProject(t *testing.T) {
	corpus := os.Getenv("CTXKIT_CORPUS")
	if corpus == "" {
		t.Skip("CTXKIT_CORPUS is not set")
	}
	infos, warnings, err := Discover(filepath.Join(corpus, "project"))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	count := map[Standing]int{}
	for _, i := range infos {
		count[i.Standing]++
		if i.Created.IsZero() || i.Last.Before(i.Created) || i.Version == "" || i.Project == "" {
			t.Errorf("%s: %+v", i.ID, i)
		}
	}
	must.Say(t, "8 3 5", len(infos), count[Listed], count[Unlisted])
}

func TestFind(t *testing.T) {
	f := newFolder(t)
	f.write("-home-dev-a/"+idA+".jsonl", "")
	f.write("-home-dev-b/"+idB+".jsonl.gz", "")
	f.write("-home-dev-b/"+idB+"-again.jsonl", "")
	f.write("-home-dev-b/agent-b1.jsonl", "")
	f.write("-home-dev-b/sub/deep/"+idC+".jsonl", "")
	outside := newFolder(t)
	f.link(outside.write("x.jsonl", ""), "-home-dev-a/"+idC+".jsonl")
	must.Rows(t, `
# id | want | exact
aaaaaaaa-0000-4000-8000-000000000001 | -home-dev-a/aaaaaaaa-0000-4000-8000-000000000001.jsonl | true
bbbbbbbb-0000-4000-8000-000000000002 | -home-dev-b/bbbbbbbb-0000-4000-8000-000000000002.jsonl.gz | true
bbbb   | -home-dev-b/bbbbbbbb-0000-4000-8000-000000000002-again.jsonl -home-dev-b/bbbbbbbb-0000-4000-8000-000000000002.jsonl.gz | false
cccccccc-0000-4000-8000-000000000003 | ""                         | false
../x   | ""                         | false
a      | -home-dev-a/aaaaaaaa-0000-4000-8000-000000000001.jsonl | false
agent- | -home-dev-b/agent-b1.jsonl | false
`, func(id, want string, theExact bool) {
		paths, exact, err := Find(f.dir, id)
		if err != nil {
			t.Fatal(err)
		}
		for i := range paths {
			rel, _ := filepath.Rel(f.dir, paths[i])
			paths[i] = filepath.ToSlash(rel)
		}
		if got := strings.Join(paths, " "); got != want || exact != theExact {
			t.Errorf("Find(%q) = %q, %v; want %q, %v", id, got, exact, want, theExact)
		}
	})
}

func TestSubagentsBeside(t *testing.T) {
	f := newFolder(t)
	path := f.write(idA+".jsonl", "")
	f.write(idA+"/subagents/agent-1.jsonl", "")
	f.write("agent-2.jsonl", userLine(idB, "u1", "2026-01-01T10:00:00.000Z", "another session's"))
	f.write("agent-3.jsonl", userLine(idA, "u1", "2026-01-01T10:00:00.000Z", "of an older client"))
	before, err := State(path)
	if err != nil {
		t.Fatal(err)
	}
	agents, warnings, err := Subagents(path)
	if err != nil || len(warnings) > 0 || len(agents) != 2 || agents[0].ID != "1" || agents[1].ID != "3" {
		t.Errorf("got %+v, %v, %v", agents, warnings, err)
	}
	if after, err := (&FileInfo{Path: path, Subagents: agents}).State(); err != nil || after == before {
		t.Errorf("the state leaves out what is next to the session: %v", err)
	}
	if agents, _, err := Subagents(filepath.Join(f.dir, "no-session.txt")); err != nil || agents != nil {
		t.Errorf("got %+v, %v", agents, err)
	}
}

// TestSubagentsNested: a workflow has a folder of transcripts, and so may a subagent; results that were offloaded are in the
// session's folder.
func TestSubagentsNested(t *testing.T) {
	f := newFolder(t)
	path := f.write(idA+".jsonl", "")
	f.write(idA+"/subagents/workflows/wf_2/agent-3.jsonl", "")
	f.write(idA+"/subagents/workflows/wf_1/agent-2.jsonl", "")
	f.write(idA+"/subagents/workflows/wf_1/agent-2.meta.json", `{"agentType":"Explore"}`)
	f.write(idA+"/subagents/workflows/wf_1/journal.jsonl", "")
	f.write(idA+"/subagents/agent-4/subagents/agent-5.jsonl", "")
	f.write(idA+"/subagents/zz/agent-1.jsonl/agent-9.jsonl", "")
	f.write(idA+"/subagents/agent-1.jsonl", "")
	deep := idA + "/subagents/" + strings.Repeat("d/", mostNested)
	f.write(deep+"agent-6.jsonl", "")
	agents, warnings, err := Subagents(path)
	var got []string
	for _, a := range agents {
		got = append(got, a.ID+":"+a.Type)
		if own, ok := ofSubagent(a.Path); !ok || own != filepath.Join(f.dir, idA) && a.ID != "5" {
			t.Errorf("%s: session's folder %q", a.Path, own)
		}
	}
	if want := "1: 5: 2:Explore 3: 9:"; strings.Join(got, " ") != want || err != nil {
		t.Errorf("got %q, %v; want %s", got, err, want)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Message, "16 folders deep") {
		t.Errorf("warnings %v", warnings)
	}
	if own, ok := ofSubagent("/home/subagents/p/" + idA + ".jsonl"); ok {
		t.Errorf("no subagent: %s", own)
	}
}

// TestDiscoverNoSessions: files that are no sessions are named in a warning, and not listed.
func TestDiscoverNoSessions(t *testing.T) {
	f := newFolder(t)
	f.write("p/"+idA+".jsonl", userLine(idA, "u1", "2026-01-15T10:00:00Z", "hello"))
	f.write("p/notes.jsonl", "Dear all,\n")
	f.write("p/empty.jsonl", "")
	f.write("p/agent-x.jsonl", "\x93\x01\xfe\x00")
	f.write("p/long.jsonl", strings.Repeat("x", headBytes+10)+"\n")
	f.write("p/late.jsonl", strings.Repeat("x", 2*headBytes)+"\n"+userLine(idB, "u1", "2026-01-15T11:00:00Z", "hello"))
	f.write("p/other.json", "{}")
	infos, warnings := f.discover()
	same(t, "late , aaaaaaaa ", ids(infos))
	var got []string
	for _, w := range warnings {
		got = append(got, filepath.Base(w.File)+": "+w.Message)
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{"agent-x.jsonl: not read: it looks like binary data", "empty.jsonl: not read: it looks like an empty file", "long.jsonl: not read: it looks like text", "notes.jsonl: not read: it looks like text"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	must.Equal(t, len(warnings), 4, text)
}

// TestDiscoverFile holds that a session file is listed without the others of its folder, with the subagents that are its own.
func TestDiscoverFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, line string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(line+"\n"), 0o600))
		return path
	}
	prompt := `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"a","cwd":"/app","timestamp":"2026-01-15T09:00:00Z","message":{"role":"user","content":"Go on"}}`
	a := write("a.jsonl", prompt)
	write("b.jsonl", prompt)
	write("agent-c.jsonl", strings.Replace(prompt, `"type"`, `"isSidechain":true,"agentId":"c","type"`, 1))
	read := 0
	list, warnings, err := DiscoverWith(a, DiscoverOptions{Read: func(*FileInfo) { read++ }})
	if err != nil || len(warnings) > 0 || len(list) != 1 || read != 2 {
		t.Fatalf("%d sessions, %d files read, %v, %v", len(list), read, warnings, err)
	}
	if i := list[0]; i.Path != a || i.Prompt != "Go on" || len(i.Subagents) != 1 {
		t.Errorf("%+v", i)
	}
}

// same fails a test whose result is not the one that is wanted; of says what it belongs to.
func same[T any](t testing.TB, want, got T, of ...any) {
	t.Helper()
	must.Equal(t, got, want, of)
}
