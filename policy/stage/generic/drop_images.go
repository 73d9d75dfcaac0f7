package generic

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// DropImages are the parameters of drop_images.
type DropImages struct {
	Keep        int    `yaml:"keep" doc:"the newest images that stay, in the unit of by" unit:"images or turns" min:"1"`
	By          string `yaml:"by" doc:"what keep and step count: images, or turns of the user, the current one among them" enum:"images,turns"`
	Step        int    `yaml:"step" doc:"act only once this much is older than keep, so that the prefix changes rarely; in the unit of by" unit:"images or turns" min:"1"`
	Placeholder string `yaml:"placeholder" doc:"the text that replaces an image"`
}

func defineDropImages() policy.Definition {
	return policy.Definition{
		Name:    "drop_images",
		Summary: "Before a request, every image but the newest 3 becomes a line of text; the texts of its tool result stay.",
		Source:  "no product. Images of prompts and of tool results count alike. Images that no request has sent yet stay",
		Truth:   policy.TruthOwn,
		Moments: policy.Prepare,
		Params:  &DropImages{Keep: 3, By: byImages, Step: 1, Placeholder: "[image removed]"},
		Example: `before: five screenshots, the first in a prompt, the others in results of a browser with a line of text each
after:  the first is "[image removed]", the second's result is its text and "[image removed]"; the newest three stay`,
		New: policy.Maker(func(p DropImages) policy.Stage { return &dropImages{DropImages: p} }),
	}
}

// Limits are what decides when drop_images acts.
func (p *DropImages) Limits(l *policy.StageLimits) {
	l.Note("images: the newest %d %s keep theirs (%s), %d at once (%s)", p.Keep, p.By, l.Name("drop_images.keep"), p.Step, l.Name("drop_images.step"))
}

// dropImages lists the blocks in view with images that it has not dropped, in order.
type dropImages struct {
	DropImages
	seen   measure.Follower
	turns  turns
	images []pictured
}

// pictured is a block with images.
type pictured struct {
	policy.Target
	images int
}

func (s *dropImages) Run(c *policy.Context) ([]policy.Edit, error) {
	v := c.View
	items, anew := s.seen.Arrived(v, func(e policy.Edit) bool { return e.Moves() })
	if anew {
		s.images = nil
	}
	for _, id := range items {
		for t := range policy.Targets(v, id) {
			if id >= 0 {
				if n := imagesOf(v, t); n > 0 {
					s.images = append(s.images, pictured{t, n})
				}
			}
		}
	}
	old, step := s.old(c)
	if old == 0 || step < s.Step {
		return nil, nil
	}
	made := saving{c: c}
	for _, p := range s.images[:old] {
		if imagesOf(v, p.Target) == 0 {
			continue // another stage has replaced it
		}
		content := policy.Text(s.Placeholder)
		if v.Kind(p.Target) == jsonl.KindToolResult {
			text, err := c.Texts.Text(p.Target)
			if err != nil {
				return nil, fmt.Errorf("reading a tool result: %w", err)
			}
			content = policy.NewContent(jsonl.KindToolResult, measure.JoinParts(v, p.Target, text, s.Placeholder))
		}
		content.Partial = true
		made.clear(p.Target, &content)
	}
	s.images = append([]pictured(nil), s.images[old:]...)
	return made.because("older than the newest %d %s; %d at once, a step is %d", s.Keep, s.By, step, s.Step), nil
}

// imagesOf is how many images a block shows.
func imagesOf(v policy.View, t policy.Target) int {
	if v.Kind(t) == jsonl.KindImage && v.Replacement(t) == nil {
		return 1
	}
	return measure.Images(v, t)
}

// old is how many of the blocks are older than those that keep their images, and how much that is in the unit of step.
func (s *dropImages) old(c *policy.Context) (old, step int) {
	if s.By == byTurns {
		now := s.turns.now(c.View)
		last := -1
		for _, p := range s.images {
			turn := s.turns.of(c.Conv, p.Item)
			if now-turn < s.Keep {
				break
			}
			if old++; turn != last {
				step += 1
				last = turn
			}
		}
	} else {
		kept := 0
		for old = len(s.images); old > 0; old-- {
			if kept += s.images[old-1].images; kept > s.Keep {
				break
			}
		}
		for _, p := range s.images[:old] {
			step += p.images
		}
	}
	for sent := measure.LastResponse(c.View); old > 0 && s.images[old-1].Item > sent; {
		old--
	}
	return old, step
}
