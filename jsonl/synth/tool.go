package synth

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// newCall makes a call with its result: the model's text and the toolUseResult.
func newCall(name string, input func(*object), content string, client func(*object)) *toolCall {
	var in, out object
	input(in.put(`{`))
	client(out.put(`{`))
	return &toolCall{name: name, input: in.put(`}`).b, result: toolResult{content: content, client: out.put(`}`).b}}
}

// failedCall makes a call that failed.
func failedCall(name string, input func(*object), content, client string) *toolCall {
	return newCall(name, input, "", func(*object) {}).fail(content, client)
}

// fail replaces the result by an error.
func (c *toolCall) fail(content, client string) *toolCall {
	c.result = toolResult{content: content, failed: true, client: appendString(nil, "Error: "+client)}
	return c
}

// readCall shows lines [from, from+limit) of f, counted from 0.
func readCall(v release, f *sourceFile, from, limit int) *toolCall {
	to := min(from+limit, len(f.lines))
	file := fileView{path: f.abs(), content: joinLines(f.lines[from:to]), start: from + 1, lines: to - from, total: len(f.lines)}
	c := newCall("Read", func(o *object) {
		o.put(`"file_path":?`, file.path).when(file.lines < file.total).put(`"offset":?,"limit":?`, from+1, limit)
	}, numbered(file, v), func(o *object) { fileJSON(o, file) })
	c.result.file = &file
	return c
}

// editInput writes the input of an Edit.
func editInput(o *object, f *sourceFile, before, after string) {
	o.put(`"replace_all":false,"file_path":?,"old_string":?,"new_string":?`, f.abs(), before, after)
}

func editCall(v release, e edit) *toolCall {
	path := e.file.abs()
	before := joinLines(e.before)
	after := joinLines(e.after)
	content := "The file " + path + " has been updated successfully."
	if v.number < v21(10) {
		from := max(0, e.line-3)
		lines := slices.Concat(e.file.lines[from:e.line], e.after)
		content = "The file " + path + " has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n" +
			numbered(fileView{content: joinLines(lines), start: from + 1, lines: len(lines)}, v)
	}
	return newCall("Edit", func(o *object) { editInput(o, e.file, before, after) }, content, func(o *object) {
		o.put(`"filePath":?,"oldString":?,"newString":?,"originalFile":?`, path, before, after, e.file.text())
		o.put(`"structuredPatch":[{"oldStart":?,"oldLines":?,"newStart":?,"newLines":?,"lines":[`, e.line+1, len(e.before), e.line+1, len(e.after))
		for _, l := range e.before {
			o.elem("-" + l)
		}
		for _, l := range e.after {
			o.elem("+" + l)
		}
		o.put(`]}],"userModified":false,"replaceAll":false`)
	})
}

func writeCall(f *sourceFile) *toolCall {
	return newCall("Write", func(o *object) { o.put(`"file_path":?,"content":?`, f.abs(), f.text()) },
		"File created successfully at: "+f.abs(), func(o *object) {
			o.put(`"type":"create","filePath":?,"content":?,"structuredPatch":[],"originalFile":null`, f.abs(), f.text())
		})
}

func globCall(pattern string, paths []string) *toolCall {
	content := joinLines(paths)
	if len(paths) == 0 {
		content = "No files found"
	}
	return newCall("Glob", func(o *object) { o.put(`"pattern":?`, pattern) }, content, func(o *object) {
		o.put(`"filenames":?,"durationMs":?,"numFiles":?,"truncated":false`, paths, 7+len(paths), len(paths))
	})
}

// grepInput writes the input of a Grep.
func grepInput(o *object, pattern, mode string) *object {
	return o.put(`"pattern":?,"path":"internal","output_mode":?`, pattern, mode)
}

// grepFiles shows the files in which pattern was found.
func grepFiles(pattern string, found []match) *toolCall {
	var names []string
	for _, m := range found {
		names = append(names, m.file.path)
	}
	names = slices.Compact(names)
	const mode = "files_with_matches"
	return newCall("Grep", func(o *object) { grepInput(o, pattern, mode) }, fmt.Sprintf("Found %d files\n%s", len(names), joinLines(names)),
		func(o *object) { o.put(`"mode":?,"filenames":?,"numFiles":?`, mode, names, len(names)) })
}

// grepLines shows the lines in which pattern was found, each with context lines after it.
func grepLines(pattern string, found []match, context int) *toolCall {
	var out []string
	lines := 0
	for i, m := range found {
		if i > 0 && context > 0 {
			out = append(out, "--")
		}
		mark := ":"
		for j, line := range m.file.lines[m.line:min(m.line+context+1, len(m.file.lines))] {
			out = append(out, m.file.path+mark+fmt.Sprint(m.line+j+1)+mark+line)
			lines++
			mark = "-"
		}
	}
	content := joinLines(out)
	if lines == 0 {
		content = "No matches found"
	}
	return newCall("Grep", func(o *object) { grepInput(o, pattern, "content").put(`"-A":?`, context) }, content, func(o *object) {
		o.put(`"mode":"content","numFiles":0,"filenames":[],"content":?,"numLines":?`, content, lines)
	})
}

func bashInput(command, description string) func(*object) {
	return func(o *object) { o.put(`"command":?,"description":?`, command, description) }
}

// bashCall runs a command; slow is its longest time in milliseconds.
func bashCall(v release, command, description, stdout string, slow int) *toolCall {
	c := newCall("Bash", bashInput(command, description), stdout, func(o *object) { bashJSON(o, stdout, v.NoOutput) })
	c.result.slow = slow
	return c
}

// bashJSON writes the toolUseResult of a command.
func bashJSON(o *object, stdout string, noOutput bool) {
	o.put(`"stdout":?,"stderr":"","interrupted":false,"isImage":false`, stdout).when(noOutput).put(`"noOutputExpected":false`)
}

// todo is one entry of the agent's list.
type todo struct{ content, status string }

func todoCall(before, after []todo) *toolCall {
	list := func(o *object, key string, todos []todo) {
		o.put(`?:[`, key)
		for _, t := range todos {
			o.put(`{"content":?,"status":?,"activeForm":?}`, t.content, t.status, t.content+" (working)")
		}
		o.put(`]`)
	}
	return newCall("TodoWrite", func(o *object) { list(o, "todos", after) },
		"Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. Please proceed with the current tasks if applicable",
		func(o *object) { list(o, "oldTodos", before); list(o, "newTodos", after) })
}

// issueCall asks an MCP server; its result is an array of texts.
func issueCall(id, body string) *toolCall {
	c := newCall("mcp__tracker__get_issue", func(o *object) { o.put(`"id":?`, id) }, "", func(*object) {})
	c.result = toolResult{parts: []string{body}, client: new(object).put(`[{"type":"text","text":?}]`, body).b, slow: 1800}
	return c
}

func fetchCall(url, question, answer string) *toolCall {
	c := newCall("WebFetch", func(o *object) { o.put(`"url":?,"prompt":?`, url, question) }, answer, func(o *object) {
		o.put(`"bytes":?,"code":200,"codeText":"OK","result":?,"durationMs":?,"url":?`, len(answer)*7, answer, 900+len(answer), url)
	})
	c.result.slow = 6000
	return c
}

// offload writes a result's text to a file and replaces it by a preview.
func (c *client) offload(call *toolCall) {
	if call.id == "" {
		call.id = c.toolID()
	}
	full := call.result.content
	path := c.resultPath(call.id)
	stub, cut := persisted(path, full)
	call.result.content = stub
	if c.PersistedPath && call.name == "Bash" {
		o := new(object).put(`{`)
		bashJSON(o, cut, true)
		call.result.client = o.put(`"persistedOutputPath":?,"persistedOutputSize":?}`, path, len(full)).b
	}
	c.beside(c.session+"/tool-results/"+call.id+".txt", []byte(full))
}

// persisted is the text that replaces an offloaded one, and the preview in it.
func persisted(path, full string) (stub, cut string) {
	cut = full[:min(2000, len(full))]
	for len(cut) < len(full) && !utf8.RuneStart(full[len(cut)]) {
		cut = cut[:len(cut)-1]
	}
	if i := strings.LastIndexByte(cut, '\n'); i > 1000 {
		cut = cut[:i]
	}
	tenths := (len(full)*10 + 512) / 1024
	size := strings.TrimSuffix(fmt.Sprintf("%d.%d", tenths/10, tenths%10), ".0") + "KB"
	return "<persisted-output>\nOutput too large (" + size + "). Full output saved to: " + path +
		"\n\nPreview (first 2KB):\n" + cut + "\n...\n</persisted-output>", cut
}

// beside writes a file next to the session.
func (c *client) beside(name string, content []byte) {
	if c.opt.Open == nil || c.err != nil {
		return
	}
	f, err := c.opt.Open(name)
	if err != nil {
		c.err = err
		return
	}
	_, err = f.Write(content)
	c.fail(err)
	c.fail(f.Close())
}
