package cmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/report"
)

// clientStatus is what Claude Code writes to the standard input of a status line's command
// (code.claude.com/docs/en/statusline). Every field may be missing.
type clientStatus struct {
	Transcript string `json:"transcript_path"`
	Version    string `json:"version"`
	Model      struct {
		ID string `json:"id"`
	} `json:"model"`
	Cost struct {
		USD float64 `json:"total_cost_usd"`
	} `json:"cost"`
	Context struct {
		Size  int `json:"context_window_size"`
		Usage *struct {
			Input      int `json:"input_tokens"`
			CacheWrite int `json:"cache_creation_input_tokens"`
			CacheRead  int `json:"cache_read_input_tokens"`
			Output     int `json:"output_tokens"`
		} `json:"current_usage"`
	} `json:"context_window"`
	Cache *struct { // of the main conversation, from the first response on, in newer releases
		Expires int64 `json:"expires_at"` // seconds of the epoch; 0: the last response reported no cache tokens
		Misses  int   `json:"misses"`
	} `json:"prompt_cache"`
}

// statusline is the name of the command.
const statusline = "statusline"

// mostStatus is the most that is read of standard input, and of the end of a transcript, in bytes.
const mostStatus = 256 << 10

func newStatusline(sys *system) *cobra.Command {
	return command(&cobra.Command{
		Use: statusline, Short: "Print a status line for Claude Code: context, compaction, cache",
		Args: noArguments, // no flag: the line goes where the client reads it
		Long: `Print a line for the status line of Claude Code: how full the context is, how
many tokens are left before the client compacts, how much of the last prompt was
read from the prompt cache, until when it lives, how often it missed, and what
the session has cost by the client's own count.

It reads the JSON that the client writes to the command's standard input, and,
of a client that says nothing of its cache there, the end of the transcript. The
threshold is that of the client's version, with the environment variables that
change it. What is not known is left out. In ~/.claude/settings.json:

  "statusLine": {"type": "command", "command": "ctxkit statusline"}`,
		Example: `  echo '{"version": "2.1.139", "context_window": {"context_window_size": 200000,
    "current_usage": {"input_tokens": 142310}}}' | ctxkit statusline`,
	}, func() error { return runStatusline(sys) })
}

func runStatusline(sys *system) error {
	s, err := readStatus(sys)
	if err != nil {
		return err
	}
	return report.StatusLine(sys.out, s)
}

// readStatus reads what the client says, and what its transcript adds.
func readStatus(sys *system) (s report.ClientStatus, err error) {
	text, err := io.ReadAll(io.LimitReader(sys.in, mostStatus))
	if err != nil {
		return s, fmt.Errorf("standard input: %w", err)
	}
	var client clientStatus
	var other *json.UnmarshalTypeError // of a field: the others are read
	if err := json.Unmarshal(text, &client); err != nil && !(errors.As(err, &other) && other.Field != "") {
		return s, fmt.Errorf("standard input is not the JSON that Claude Code writes to a status line's command: %w", err)
	}
	s = report.ClientStatus{Window: client.Context.Size, USD: client.Cost.USD}
	if u := client.Context.Usage; u != nil {
		s.Usage = jsonl.Usage{Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output}
	}
	if s.Now, err = sys.date(); err != nil {
		return s, err
	}
	if c := client.Cache; c != nil {
		s.Misses = c.Misses
		if c.Expires > 0 {
			s.Expires = time.Unix(c.Expires, 0)
		}
	} else if last := lastResponse(client.Transcript); last != nil {
		client.Model.ID = cmp.Or(client.Model.ID, last.model)
		client.Version = cmp.Or(client.Version, last.version)
		if s.Usage == (jsonl.Usage{}) {
			s.Usage = last.usage
		}
		s.Expires = last.expires()
	}
	if s.Usage == (jsonl.Usage{}) {
		return s, nil
	}
	by := preset.Client{Product: session.Product, Version: client.Version}
	pol, err := readPolicyFor(sys, policyOptions{Policy: session.Product, Env: true}, by)
	if err != nil {
		return s, err
	}
	if sys.presets.Unread(by) != "" {
		s.Rules = pol.Name
	}
	if err := newPriceOptions(sys).check(); err != nil {
		return s, err
	}
	list := thresholds(pol, &thresholdsOptions{Model: client.Model.ID, Window: tokenCount(s.Window)}, sys.models())
	s.Window = list.Window
	s.Limits = list.Limits
	return s, nil
}

// response is what the transcript says of one.
type response struct {
	model, version string
	at             time.Time // zero: not known
	usage          jsonl.Usage
}

// expires is when the prompt cache ends that the response leaves; zero: not known.
func (r *response) expires() time.Time {
	switch {
	case r.at.IsZero():
		return time.Time{}
	case r.usage.Write1h > 0:
		return r.at.Add(time.Hour)
	}
	return r.at.Add(5 * time.Minute)
}

// lastResponse is the last response in the end of a transcript; nil: there is none since the last compaction, or no such
// file.
func lastResponse(path string) (last *response) {
	f, err := jsonl.OpenFile(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(st.Size()-mostStatus, 0)
	r := jsonl.NewReader(io.NewSectionReader(f, from, st.Size()-from), path, jsonl.ReadOptions{})
	for r.Scan() { // the first line is mostly a part of one, and no JSON
		rec := r.Item()
		if rec.Kind != jsonl.ItemEntry || rec.Entry.IsSidechain {
			continue
		}
		switch e := rec.Entry; {
		case e.CompactMetadata != nil:
			last = nil
		case e.HasMessage && e.Message.HasUsage && !e.IsAPIError:
			last = &response{e.Message.Model, e.Version, e.Time, e.Message.Usage}
		}
	}
	return last
}
