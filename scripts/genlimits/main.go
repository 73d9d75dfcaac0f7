// Genlimits writes policy/stage/opencode/limits.json: what providers let models take and write, from the tables of
// models.dev that releases of OpenCode carry. The program in npm's opencode-linux-x64 holds its JavaScript as text, and
// in that the table as it was when the release was built. A release is given as VERSION=DAY=PACKAGE: the day is that of
// the table's newest change, of a mistyped one the day before.
//
//	npm pack opencode-linux-x64@1.3.2   # unpack each
//	go run ./scripts/genlimits policy/stage/opencode/limits.json 1.3.2=2026-03-23=1.3.2/package ...
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy/stage/opencode"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "genlimits: name the file to write and the releases, VERSION=DAY=PACKAGE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "genlimits:", err)
		os.Exit(1)
	}
}

// providers are those whose models are taken: makers, clouds, and sellers that recorded sessions name.
var providers = []string{
	"alibaba", "amazon-bedrock", "anthropic", "azure", "cerebras", "deepseek", "github-copilot", "google", "google-vertex", "google-vertex-anthropic",
	"groq", "kimi-for-coding", "minimax", "mistral", "moonshotai", "nvidia", "openai", "opencode", "opencode-go", "openrouter", "xai", "zai", "zai-coding-plan",
}

func write(path string, releases []string) error {
	table := opencode.LimitTable{
		Note: "written by scripts/genlimits; do not edit", Unit: "tokens: context, input (0: no limit of its own), output",
		Models: map[string]map[string][]opencode.LimitRow{},
	}
	for _, r := range releases {
		parts := strings.SplitN(r, "=", 3)
		if len(parts) != 3 {
			return fmt.Errorf("%q: write VERSION=DAY=PACKAGE", r)
		}
		table.Releases = append(table.Releases, opencode.LimitRelease{Version: parts[0], Day: parts[1], Source: "npm opencode-linux-x64 " + parts[0]})
	}
	slices.SortStableFunc(releases, func(a, b string) int { return cmp.Compare(day(a), day(b)) })
	slices.SortStableFunc(table.Releases, func(a, b opencode.LimitRelease) int { return cmp.Compare(a.Day, b.Day) })
	for i, r := range releases {
		program, err := os.ReadFile(filepath.Join(strings.SplitN(r, "=", 3)[2], "bin", "opencode"))
		if err != nil {
			return err
		}
		list, err := snapshot(program)
		if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		for _, provider := range slices.Sorted(maps.Keys(list)) {
			for model, m := range list[provider] {
				row := opencode.LimitRow{i, int(m.Limit.Context), int(m.Limit.Input), int(m.Limit.Output)}
				if !m.ToolCall || row[1] == 0 {
					continue
				}
				if table.Models[provider] == nil {
					table.Models[provider] = map[string][]opencode.LimitRow{}
				}
				rows := table.Models[provider][model]
				if n := len(rows); n > 0 && slices.Equal(rows[n-1][1:], row[1:]) {
					continue
				}
				table.Models[provider][model] = append(rows, row)
			}
		}
	}
	text, err := json.Marshal(table)
	if err != nil {
		return err
	}
	// A line for each model.
	text = regexp.MustCompile(`("[^"]*":(\[\[|\{"|"|\[\{)|\{"version")`).ReplaceAll(text, []byte("\n$1"))
	return os.WriteFile(path, append(bytes.TrimSpace(text), '\n'), 0o644)
}

func day(release string) string { return strings.SplitN(release, "=", 3)[1] }

// model is one of models.dev.
type model struct {
	ToolCall bool                                     `json:"tool_call"`
	Limit    struct{ Context, Input, Output float64 } // 1e6 is one, too
}

// entries are the forms in which an entry of the table begins, with its provider's name.
var entries = []string{`{id:"%s",env:[`, `{ id: "%s", env: [`, `{"id":"%s","env":[`}

// snapshot finds the table in a program: models by provider.
func snapshot(program []byte) (map[string]map[string]model, error) {
	list := map[string]map[string]model{}
	for _, name := range providers {
		for _, form := range entries {
			at := bytes.Index(program, fmt.Appendf(nil, form, name))
			if at < 0 {
				continue
			}
			text, err := object(program[at:])
			var p struct{ Models map[string]model }
			if err == nil {
				err = json.Unmarshal(text, &p)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			list[name] = p.Models
			break
		}
	}
	if len(list) < len(providers)/2 {
		return nil, fmt.Errorf("%d of %d providers: the program holds no table, or another form of it", len(list), len(providers))
	}
	return list, nil
}

// word is a token of JavaScript that JSON writes otherwise: a name, a constant, a number that begins with a point.
var word = regexp.MustCompile(`^(?:[A-Za-z_$][\w$]*|!0|!1|\.\d+)`)

// object is the JavaScript object that a text begins with, as JSON.
func object(js []byte) ([]byte, error) {
	var out bytes.Buffer
	depth := 0
	for i := 0; i < len(js); {
		c := js[i]
		switch c {
		case '"', '\'', '`':
			end := i + 1
			for end < len(js) && js[end] != c {
				if js[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(js) {
				return nil, fmt.Errorf("a string does not end")
			}
			out.Write(quoted(js[i+1 : end]))
			i = end + 1
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if w := word.Find(js[i:]); w != nil && (i == 0 || js[i-1] < '0' || js[i-1] > '9') { // not the e of 1e6
			switch s := string(w); {
			case s == "!0", s == "true":
				out.WriteString("true")
			case s == "!1", s == "false":
				out.WriteString("false")
			case s[0] == '.':
				out.WriteString("0" + s)
			default:
				out.Write(quoted(w))
			}
			i += len(w)
			continue
		}
		out.WriteByte(c)
		i++
		if depth == 0 {
			return out.Bytes(), nil
		}
	}
	return nil, fmt.Errorf("an object does not end")
}

// quoted is a JavaScript string as JSON. No name or number that counts has an escape.
func quoted(s []byte) []byte {
	text, err := json.Marshal(string(s))
	if err != nil { // unreachable: it is a string
		return []byte(`""`)
	}
	return text
}
