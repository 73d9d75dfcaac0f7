package compare

import "strings"

// Flags are the words of a command line that say which conversation of a
// session is taken and how it is counted, as the flags of those names take
// them; "" is a flag's default.
type Flags struct {
	Agent, Leaf                     string
	Tokens, Model, Window, Overhead string
	Snip                            []string
	Env                             bool
}

// Words are the flags that are not at their defaults.
func (f *Flags) Words() []string {
	var words []string
	for _, kv := range [][2]string{
		{"--agent", f.Agent}, {"--leaf", f.Leaf}, {"--tokens", f.Tokens}, {"--model", f.Model}, {"--window", f.Window}, {"--overhead", f.Overhead},
	} {
		if kv[1] != "" {
			words = append(words, kv[0], kv[1])
		}
	}
	for _, s := range f.Snip {
		words = append(words, "--snip", s)
	}
	if f.Env {
		words = append(words, "--env")
	}
	return words
}

// Command is a command over one session, under a policy.
type Command struct {
	Name    string // of the subcommand: diff, cost …
	File    string
	Policy  string // as --policy takes it
	Against string // diff: as --against takes it; "": raw
	At      string // diff: as --at takes it; "": the last request
	Flags   Flags
}

// Words is the command, a word each.
func (c *Command) Words() []string {
	file := c.File
	if strings.HasPrefix(file, "-") { // it would be a flag
		file = "./" + file
	}
	words := []string{"ctxkit", c.Name, file, "--policy", c.Policy}
	for _, kv := range [][2]string{{"--against", c.Against}, {"--at", c.At}} {
		if kv[1] != "" {
			words = append(words, kv[0], kv[1])
		}
	}
	return append(words, c.Flags.Words()...)
}
