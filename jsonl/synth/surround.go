package synth

import "time"

const hookCommand = "./scripts/notify.sh"

// progress writes the progress lines of a running tool, a side branch under the call.
func (c *client) progress(call *toolCall, source string) {
	if !c.v.progress() || call.result.notes == 0 {
		return
	}
	parent := source
	write := func(data func(*object), id string) {
		c.pass(200, 1100)
		o := c.head("progress", parent).obj("data")
		data(o)
		o.close().str("toolUseID", id).str("parentToolUseID", call.id)
		c.mark()
		c.endAside()
		parent = c.own
	}
	if call.name == "Bash" {
		for i := range call.result.notes {
			write(func(o *object) {
				o.str("type", "bash_progress").str("output", "").str("fullOutput", "").num("elapsedTimeSeconds", i+2).num("totalLines", 0)
			}, "bash-progress-"+string(rune('0'+i%10)))
		}
		return
	}
	write(func(o *object) { hookJSON(o, "PostToolUse", "PostToolUse:"+call.name) }, call.id)
}

func hookJSON(o *object, event, name string) *object {
	return o.str("type", "hook_progress").str("hookEvent", event).str("hookName", name).str("command", hookCommand)
}

// hook writes a hook's progress line, in the chain.
func (c *client) hook(event, name string) {
	if !c.v.progress() {
		return
	}
	id := c.uuid()
	hookJSON(c.head("progress", c.leaf).obj("data"), event, name).close().str("parentToolUseID", id).str("toolUseID", id)
	c.mark()
	c.end()
	c.pass(5, 60)
}

// startHook writes the line of the SessionStart hook, in versions that have it.
func (c *client) startHook(how string) {
	c.hooked = true
	c.hook("SessionStart", "SessionStart:"+how)
}

// endTurn writes the lines that end a turn: the stop hook, where hooked, and the duration.
func (c *client) endTurn(hooked bool) {
	if hooked && c.v >= v2(0, 64) {
		c.pass(20, 120)
		c.hook("Stop", "Stop")
		o := c.head("system", c.leaf).str("subtype", "stop_hook_summary").num("hookCount", 1)
		o.arr("hookInfos").open().str("command", hookCommand).close().closeArr().arr("hookErrors").closeArr()
		o.bool("preventedContinuation", false).str("stopReason", "").bool("hasOutput", true).str("level", "suggestion")
		c.mark()
		o.str("toolUseID", c.uuid())
		c.end()
	}
	if c.v.turnDuration() {
		c.pass(3, 30)
		o := c.head("system", c.leaf).str("subtype", "turn_duration")
		o.num("durationMs", int(c.now.Sub(c.turnStart)/time.Millisecond)).when(c.v.messageCount()).num("messageCount", c.messages)
		c.mark()
		o.bool("isMeta", false)
		c.end()
	}
	if c.v.lastPrompt() {
		c.lastPromptLine()
	}
}

func (c *client) lastPromptLine() {
	o := c.unchained("last-prompt").str("lastPrompt", c.lastUser)
	o.when(c.v.leafUUID()).str("leafUuid", c.leaf)
	o.str("sessionId", c.session)
	c.endUnchained()
}

// listings writes the attachments that list tools and, the first time, skills.
func (c *client) listings(again bool) {
	if !c.v.attachments() {
		return
	}
	tools := []string{"CronCreate", "CronList", "EnterPlanMode", "NotebookEdit", "WebFetch"}
	o := c.attachment("deferred_tools_delta").strs("addedNames", tools).strs("addedLines", tools).arr("removedNames").closeArr()
	c.attach(o, "More tools, by name; a search gives a definition of every one:\n"+joinLines(tools))
	if again {
		return
	}
	o = c.attachment("skill_listing").str("content", texts()["skills"]).num("skillCount", 2).bool("isInitial", true)
	c.attach(o, "Skills of this project and of a user, each with what it is for:\n\n"+texts()["skills"])
}

const reminder = "No task of the list was begun or done for a while. A list of tasks helps where a job has many steps: TaskCreate adds one, and TaskUpdate says that it was begun, or that it is done. Where this job has no such steps, nothing has to be done about it, and the list may stay as it is; the user sees the list and need not be told of it."

// remind writes one of the attachments that appear between tool results.
func (c *client) remind() {
	if !c.v.attachments() {
		return
	}
	switch c.r.IntN(3) {
	case 0:
		c.attach(c.attachment("task_reminder").arr("content").closeArr().num("itemCount", 0), reminder)
	case 1:
		if len(c.reads) == 0 {
			return
		}
		f := c.reads[len(c.reads)-1]
		snippet := numbered(fileView{content: joinLines(firstLines(f.content, 6)), start: f.start}, c.v)
		c.attach(c.attachment("edited_text_file").str("filename", f.path).str("snippet", snippet),
			"Note: "+f.path+" is not what it was when it was last read. These are the lines which now differ:\n"+snippet)
	default:
		o := c.attachment("hook_success").str("hookName", "UserPromptSubmit").str("toolUseID", c.uuid())
		o.str("hookEvent", "UserPromptSubmit").str("content", "").str("stdout", "").str("stderr", "").num("exitCode", 0)
		c.attach(o.str("command", hookCommand).num("durationMs", 40+c.r.IntN(200)), "")
	}
}

// snapshot is the file-history line that goes with a prompt.
func (c *client) snapshot(message string) {
	o := c.unchained("file-history-snapshot").str("messageId", message)
	o.obj("snapshot").str("messageId", message).obj("trackedFileBackups").close().str("timestamp", stamp(c.now)).close()
	o.bool("isSnapshotUpdate", false)
	c.endUnchained()
}

// title names the session, or, in older clients, another one.
func (c *client) title(title string) {
	switch {
	case c.v.titles():
		c.unchained("ai-title").str("aiTitle", title).str("sessionId", c.session)
	case c.v.summaries():
		c.unchained("summary").str("summary", title).str("leafUuid", c.uuid())
	default:
		return
	}
	c.endUnchained()
}

// mode repeats the permission mode.
func (c *client) mode(mode string) {
	if c.v.modes() {
		c.unchained("permission-mode").str("permissionMode", mode).str("sessionId", c.session)
		c.endUnchained()
	}
}

// apiError writes n failed attempts; gaveUp: the turn ends in a synthetic message.
func (c *client) apiError(n int, gaveUp bool) {
	if !c.v.apiErrors() {
		return
	}
	for i := range n {
		wait := 500 << i
		o := c.head("system", c.leaf).str("subtype", "api_error").str("level", "error").obj("error").num("status", 529).close()
		o.num("retryInMs", wait).num("retryAttempt", i+1).num("maxRetries", 10)
		c.mark()
		c.end()
		c.wait(time.Duration(wait) * time.Millisecond)
		c.pass(200, 2000)
	}
	if gaveUp {
		c.synthetic(`API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	}
}

// synthetic writes an assistant line without an API call: all usage is zero.
func (c *client) synthetic(text string) {
	o := c.head("assistant", c.leaf)
	c.mark()
	o.obj("message").str("id", c.uuid()).null("container").str("model", "<synthetic>").str("role", "assistant")
	o.str("stop_reason", "stop_sequence").str("stop_sequence", "").str("type", "message")
	o.obj("usage").num("input_tokens", 0).num("output_tokens", 0).num("cache_creation_input_tokens", 0).num("cache_read_input_tokens", 0)
	o.obj("server_tool_use").num("web_search_requests", 0).num("web_fetch_requests", 0).close().null("service_tier")
	o.obj("cache_creation").num("ephemeral_1h_input_tokens", 0).num("ephemeral_5m_input_tokens", 0).close().close()
	o.arr("content").textBlock(text).closeArr().close()
	o.bool("isApiErrorMessage", true)
	c.text(c.end(), text)
}
