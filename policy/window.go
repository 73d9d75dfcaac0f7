package policy

// Window is the block `window` of a policy: what the context window is, and what is counted in it. Stages add
// parameters of their own to the block, see [Shared]. Figures are tokens.
type Window struct {
	Context  int    `yaml:"context" doc:"context window; auto: 200,000 for clients before 2.1.78, else the model's" unit:"tokens" min:"0" zero:"auto"`
	Overhead int    `yaml:"overhead" doc:"system prompt and tools; auto: from the first request's usage, else 18,800" unit:"tokens" min:"0" zero:"auto"`
	Tail     string `yaml:"tail" doc:"from where the heuristic tail is counted: after the last line of the last response, or after its first" enum:"after_last,after_first"`
}

// DefaultWindow leaves the window and the overhead to the session.
func DefaultWindow() Window { return Window{Tail: "after_last"} }
