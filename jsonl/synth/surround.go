package synth

import "time"

const hookCommand = "./scripts/notify.sh"

// progress writes the progress lines of a running tool, a side branch under the call.
func (c *client) progress(call *toolCall, source string) {
	if !c.Progress || call.result.notes == 0 {
		return
	}
	parent := source
	write := func(data func(*object), id string) {
		c.pass(200, 1100)
		o := c.head("progress", parent).put(`"data":{`)
		data(o)
		o.put(`},"toolUseID":?,"parentToolUseID":?`, id, call.id)
		c.mark()
		c.endAside()
		parent = c.own
	}
	if call.name == "Bash" {
		for i := range call.result.notes {
			write(func(o *object) {
				o.put(`"type":"bash_progress","output":"","fullOutput":"","elapsedTimeSeconds":?,"totalLines":0`, i+2)
			}, "bash-progress-"+string(rune('0'+i%10)))
		}
		return
	}
	write(func(o *object) { hookJSON(o, "PostToolUse", "PostToolUse:"+call.name) }, call.id)
}

func hookJSON(o *object, event, name string) *object {
	return o.put(`"type":"hook_progress","hookEvent":?,"hookName":?,"command":?`, event, name, hookCommand)
}

// hook writes a hook's progress line, in the chain.
func (c *client) hook(event, name string) {
	if !c.Progress {
		return
	}
	id := c.uuid()
	hookJSON(c.head("progress", c.leaf).put(`"data":{`), event, name).put(`},"parentToolUseID":?,"toolUseID":?`, id, id)
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
	if hooked && c.number >= v2(0, 64) {
		c.pass(20, 120)
		c.hook("Stop", "Stop")
		o := c.head("system", c.leaf).put(`"subtype":"stop_hook_summary","hookCount":1,"hookInfos":[{"command":?}],"hookErrors":[]`, hookCommand)
		o.put(`"preventedContinuation":false,"stopReason":"","hasOutput":true,"level":"suggestion"`)
		c.mark()
		o.put(`"toolUseID":?`, c.uuid())
		c.end()
	}
	if c.TurnDuration {
		c.pass(3, 30)
		o := c.head("system", c.leaf).put(`"subtype":"turn_duration"`)
		o.put(`"durationMs":?`, int(c.now.Sub(c.turnStart)/time.Millisecond)).when(c.MessageCount).put(`"messageCount":?`, c.messages)
		c.mark()
		o.put(`"isMeta":false`)
		c.end()
	}
	if c.LastPrompt {
		c.lastPromptLine()
	}
}

func (c *client) lastPromptLine() {
	o := c.unchained("last-prompt").put(`"lastPrompt":?`, c.lastUser)
	o.when(c.LeafUUID).put(`"leafUuid":?`, c.leaf)
	o.put(`"sessionId":?`, c.session)
	c.endUnchained()
}

// listings writes the attachments that list tools and, the first time, skills.
func (c *client) listings(again bool) {
	if !c.Attachments {
		return
	}
	tools := []string{"CronCreate", "CronList", "EnterPlanMode", "NotebookEdit", "WebFetch"}
	o := c.attachment("deferred_tools_delta").put(`"addedNames":?,"addedLines":?,"removedNames":[]`, tools, tools)
	c.attach(o, "More tools, by name; a search gives a definition of every one:\n"+joinLines(tools))
	if again {
		return
	}
	o = c.attachment("skill_listing").put(`"content":?,"skillCount":2,"isInitial":true`, texts()["skills"])
	c.attach(o, "Skills of this project and of a user, each with what it is for:\n\n"+texts()["skills"])
}

const reminder = "No task of the list was begun or done for a while. A list of tasks helps where a job has many steps: TaskCreate adds one, and TaskUpdate says that it was begun, or that it is done. Where this job has no such steps, nothing has to be done about it, and the list may stay as it is; the user sees the list and need not be told of it."

// remind writes one of the attachments that appear between tool results.
func (c *client) remind() {
	if !c.Attachments {
		return
	}
	switch c.r.IntN(3) {
	case 0:
		c.attach(c.attachment("task_reminder").put(`"content":[],"itemCount":0`), reminder)
	case 1:
		if len(c.reads) == 0 {
			return
		}
		f := c.reads[len(c.reads)-1]
		snippet := numbered(fileView{content: joinLines(firstLines(f.content, 6)), start: f.start}, c.release)
		c.attach(c.attachment("edited_text_file").put(`"filename":?,"snippet":?`, f.path, snippet),
			"Note: "+f.path+" is not what it was when it was last read. These are the lines which now differ:\n"+snippet)
	default:
		o := c.attachment("hook_success").put(`"hookName":"UserPromptSubmit","toolUseID":?`, c.uuid())
		o.put(`"hookEvent":"UserPromptSubmit","content":"","stdout":"","stderr":"","exitCode":0`)
		c.attach(o.put(`"command":?,"durationMs":?`, hookCommand, 40+c.r.IntN(200)), "")
	}
}

// snapshot is the file-history line that goes with a prompt.
func (c *client) snapshot(message string) {
	c.unchained("file-history-snapshot").put(`"messageId":?,"snapshot":{"messageId":?,"trackedFileBackups":{},"timestamp":?},"isSnapshotUpdate":false`, message, message, stamp(c.now))
	c.endUnchained()
}

// title names the session, or, in older clients, another one.
func (c *client) title(title string) {
	switch {
	case c.Titles:
		c.unchained("ai-title").put(`"aiTitle":?,"sessionId":?`, title, c.session)
	case c.Summaries:
		c.unchained("summary").put(`"summary":?,"leafUuid":?`, title, c.uuid())
	default:
		return
	}
	c.endUnchained()
}

// mode repeats the permission mode.
func (c *client) mode(mode string) {
	if c.Modes {
		c.unchained("permission-mode").put(`"permissionMode":?,"sessionId":?`, mode, c.session)
		c.endUnchained()
	}
}

// apiError writes n failed attempts; gaveUp: the turn ends in a synthetic message.
func (c *client) apiError(n int, gaveUp bool) {
	if !c.APIErrors {
		return
	}
	for i := range n {
		wait := 500 << i
		c.head("system", c.leaf).put(`"subtype":"api_error","level":"error","error":{"status":529},"retryInMs":?,"retryAttempt":?,"maxRetries":10`, wait, i+1)
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
	o.put(`"message":{"id":?,"container":null,"model":"<synthetic>","role":"assistant"`, c.uuid())
	o.put(`"stop_reason":"stop_sequence","stop_sequence":"","type":"message"`)
	o.put(`"usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0`)
	o.put(`"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":null`)
	o.put(`"cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":0}},"content":[{"type":"text","text":?}]}`, text)
	o.put(`"isApiErrorMessage":true`)
	c.text(c.end(), text)
}
