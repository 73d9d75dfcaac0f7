package account

import (
	"github.com/ctxkit/ctxkit/replay/cache"
)

// SentHead describes the system prompt and the tools of a request.
type SentHead struct {
	Shared        int // tokens at their start that the client sends in all its sessions
	SharedChanges int // how often that start has changed in the conversation
	Changes       int // how often the rest has, without the changes of that start
}

// Head is the head of the last request.
func (a *Account) Head() SentHead {
	return SentHead{Shared: a.head.Shared, SharedChanges: a.changes[sharedPlace], Changes: a.changes[systemPlace]}
}

// Restart notes that the client was started again: the next request comes from a new process.
func (a *Account) Restart() { a.restart = true }

// headOf is the head of a request: the policy's, or what the recorded session shows.
func (a *Account) headOf(f *RequestFacts) cache.Head {
	h := f.Head
	if n := a.settings.Caching.System; n > 0 {
		h.Own = n
		h.Shared = n
	}
	if n := a.settings.MostHead; n >= 0 {
		h.Own = min(h.Own, n)
		h.Shared = min(h.Shared, n)
	}
	return h
}

// floorOf is the floor of a request whose head is given. Of a record whose provider caches what is marked, the part of the
// head that other sessions keep cached stands for it.
func (a *Account) floorOf(f *RequestFacts, head cache.Head) int {
	n := a.settings.MostHead
	switch automatic := a.settings.Kind(f.Response.Model).Mode == cache.Auto; {
	case automatic && n >= 0 && f.N > 1:
		return min(f.Floor, n)
	case automatic:
		return f.Floor
	case head.Kept:
		return head.Shared
	}
	return 0
}

// begin changes the simulation at a new client version or model before a request: another version is another process, with
// its own tools and system prompt.
func (a *Account) begin(f *RequestFacts) {
	head := a.headOf(f)
	model := a.answers(f.Response.Model)
	version := f.Response.Version
	first := a.model == ""
	if a.settings.Caching.TTL == "auto" {
		a.ttl = f.TTL
	}
	a.kind = a.kindFor(model)
	restarted := a.restart && !first
	if restarted && (!head.Same || version != a.version) {
		a.startAgain(version, head.Shared)
	}
	a.restart = a.restart && first
	if !first && version != a.version {
		a.newHead(sharedPlace, cache.ToolsChanged)
		a.auto.Limit(0, cache.Cause{Kind: cache.ToolsChanged})
		if !restarted { // else the restart has lost it
			a.ladder.limit(losesChanges, 0, "")
		}
	}
	warm := a.settings.Caching.Warm
	shares := head.Shared > 0 && (warm == "always" || warm == "auto" && head.Kept)
	if first || head != a.head || model != a.model || version != a.version {
		a.sim.Cool()
		a.sim.Resize(sharedPlace, head.Shared)
		a.sim.Resize(systemPlace, head.Own)
	}
	a.warm = 0
	switch {
	case a.automatic() && warm != "never":
		a.warm = a.floorOf(f, head)
	case shares && !a.automatic():
		a.warm = head.Shared
	}
	a.model = model
	a.version = version
	a.head = head
	a.warmUp()
}

// warmUp puts into the cache what other sessions keep there.
func (a *Account) warmUp() {
	if a.warm > 0 && !a.automatic() {
		a.sim.Warm(cache.Breakpoint{Position: sharedPlace, Tokens: a.warm, TTL: a.ttl}, a.model)
	}
}

// setting changes the simulations for what the client did otherwise. A provider that caches by itself compares what is
// sent, and an image at the end, a skill or an effort changes nothing before it.
func (a *Account) setting(kind cache.BreakCause) {
	switch {
	case kind == cache.ToolsChanged:
		a.newTools()
		return
	case a.automatic():
		return
	}
	a.sim.Change(firstPlace, cache.Cause{Kind: kind})
	a.ladder.limit(losesChanges, a.head.Own, "")
}

// newTools changes the simulation where the client sends other tools: of the head only what other sessions keep is in
// the cache.
func (a *Account) newTools() {
	a.newHead(sharedPlace, cache.ToolsChanged)
	a.auto.Limit(0, cache.Cause{Kind: cache.ToolsChanged})
	a.warmUp()
	a.ladder.limit(losesChanges, a.warm, "")
}

// startAgain changes the simulation where a new process of the client goes on: it has its own system prompt behind the
// part, in tokens, that all processes share. Another version has other tools, too.
func (a *Account) startAgain(version string, shared int) {
	place := systemPlace
	left := shared
	if version != a.version {
		place = sharedPlace
		left = 0
	}
	a.newHead(place, cache.Restart)
	if !a.automatic() { // whose client keeps its system prompt
		a.ladder.limit(losesRestarts, left, "")
	}
}

// newHead notes that what stands at a place before the messages, and all behind it, is not what was sent before.
func (a *Account) newHead(place int, kind cache.BreakCause) {
	a.sim.Change(place, cache.Cause{Kind: kind})
	if place == sharedPlace || !a.automatic() { // see startAgain
		a.changes[place]++
	}
}
