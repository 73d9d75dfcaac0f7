package cline

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// outdated is what Cline puts in the place of a read.
const outdated = "[outdated - see the latest file content]"

// ClineOutdatedReads are the parameters of cline_outdated_reads.
type ClineOutdatedReads struct {
	MinBytes int      `yaml:"min_bytes" doc:"older reads are replaced once they hold this together" unit:"bytes of UTF-8" min:"0"`
	Reads    []string `yaml:"read_tools" doc:"tools whose results are file reads; a trailing * matches any rest"`
}

func defineClineOutdatedReads() policy.Definition {
	return policy.Definition{
		Name:    "cline_outdated_reads",
		Summary: "Reads of a file that was read again are replaced once they hold 65,536 bytes together, so that the prompt cache is lost rarely.",
		Source:  "Cline 3.0.65, MessageBuilder of @cline/core 0.0.86 (sdk/packages/core/src/session/services/message-builder.ts); a read of some lines is outdated by one of the same lines or any read of the whole file, an earlier one too. What a compaction makes current again stays replaced here",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare,
		Params:  &ClineOutdatedReads{MinBytes: 65536, Reads: []string{"Read"}},
		Example: `before: a.go was read three times, 40,000 bytes each
after:  the first two are "[outdated - see the latest file content]"`,
		New: policy.Maker(func(p ClineOutdatedReads) policy.Stage { return &clineOutdatedReads{ClineOutdatedReads: p} }),
	}
}

// Limits are what decides when cline_outdated_reads acts.
func (p *ClineOutdatedReads) Limits(l *policy.StageLimits) {
	l.Note("outdated reads: >= %s bytes (%s)", policy.Thousands(p.MinBytes), l.Name("cline_outdated_reads.min_bytes"))
}

// clineOutdatedReads looks at each result once, as it joins, and keeps those that may still become outdated.
type clineOutdatedReads struct {
	ClineOutdatedReads
	epoch int
	seen  int
	reads []noted
	whole map[string]policy.Target // by path: the latest read of the whole file
	last  map[string]policy.Target // by key: the latest read
}

type noted struct {
	index int // into View.Results
	read  *measure.CallInput
}

func (s *clineOutdatedReads) Run(c *policy.Context) ([]policy.Edit, error) {
	v := c.View
	if s.whole == nil || v.Epoch() != s.epoch {
		*s = clineOutdatedReads{ClineOutdatedReads: s.ClineOutdatedReads, epoch: v.Epoch(), whole: map[string]policy.Target{}, last: map[string]policy.Target{}}
	}
	list := v.Results()
	for ; s.seen < len(list); s.seen++ {
		r := &list[s.seen]
		if raw := v.Raw(r.Target); raw == nil || raw.IsError || r.State == policy.ResultGone || !measure.Matches(s.Reads, r.Tool, r.Alike) {
			continue
		}
		read, err := measure.InputOf(c, r)
		if err != nil {
			return nil, err
		}
		if read.Path == "" {
			continue
		}
		if read.Whole() {
			s.whole[read.Path] = r.Target
		}
		s.last[key(read)] = r.Target
		s.reads = append(s.reads, noted{s.seen, read})
	}
	var old, current []noted
	bytes := 0
	for _, n := range s.reads {
		r := &list[n.index]
		if r.State != policy.ResultLive {
			continue
		}
		whole, ok := s.whole[n.read.Path]
		if (!ok || whole == r.Target) && s.last[key(n.read)] == r.Target {
			current = append(current, n)
			continue
		}
		old = append(old, n)
		bytes += v.Length(r.Target).Bytes
	}
	if len(old) == 0 || bytes < s.MinBytes {
		return nil, nil
	}
	s.reads = current
	content := policy.NewContent(jsonl.KindToolResult, outdated)
	reason := fmt.Sprintf("%d bytes of files that were read again, %d are enough", bytes, s.MinBytes)
	edits := make([]policy.Edit, len(old))
	for i, n := range old {
		edits[i] = policy.Edit{Kind: policy.KindClear, Trigger: "auto", Target: list[n.index].Target, New: &content, Reason: reason}
	}
	return edits, nil
}
