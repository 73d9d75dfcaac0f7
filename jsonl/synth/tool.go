package synth

import (
	"fmt"
	"strings"
)

// The tools, as functions from the simulated project to a call with its
// result.

func newCall(name string, input func(*object)) *Call {
	var o object
	o.open()
	input(&o)
	return &Call{Name: name, Input: o.close().b}
}

// fail makes the call one that failed.
func (c *Call) fail(content, client string) *Call {
	c.Result = Result{Content: content, Error: true, Client: appendString(nil, "Error: "+client)}
	return c
}

// readCall shows lines [from, from+limit) of f, counted from 0.
func readCall(v release, root string, f *sourceFile, from, limit int) *Call {
	path := root + "/" + f.path
	whole := from == 0 && limit >= len(f.lines)
	to := min(from+limit, len(f.lines))
	c := newCall("Read", func(o *object) {
		o.str("file_path", path)
		if !whole {
			o.num("offset", from+1).num("limit", limit)
		}
	})
	file := File{Path: path, Content: joinLines(f.lines[from:to]), Start: from + 1, Lines: to - from, Total: len(f.lines)}
	c.Result = Result{Content: numbered(file, v), Client: fileJSON(file), File: &file}
	return c
}

func editCall(v release, root string, e edit) *Call {
	path, old, new := root+"/"+e.file.path, joinLines(e.old), joinLines(e.new)
	c := newCall("Edit", func(o *object) {
		o.bool("replace_all", false).str("file_path", path).str("old_string", old).str("new_string", new)
	})
	var o object
	o.open().str("filePath", path).str("oldString", old).str("newString", new).str("originalFile", e.file.text())
	o.arr("structuredPatch").open().num("oldStart", e.line+1).num("oldLines", len(e.old)).num("newStart", e.line+1).num("newLines", len(e.new)).arr("lines")
	for _, l := range e.old {
		o.elem("-" + l)
	}
	for _, l := range e.new {
		o.elem("+" + l)
	}
	o.closeArr().close().closeArr().bool("userModified", false).bool("replaceAll", false).close()
	content := "The file " + path + " has been updated successfully."
	if v < v21(10) {
		from := max(0, e.line-3)
		lines := append(append([]string{}, e.file.lines[from:e.line]...), e.new...)
		content = "The file " + path + " has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n" +
			numbered(File{Content: joinLines(lines), Start: from + 1, Lines: len(lines)}, v)
	}
	c.Result = Result{Content: content, Client: o.b}
	return c
}

func writeCall(root string, f *sourceFile) *Call {
	path := root + "/" + f.path
	c := newCall("Write", func(o *object) { o.str("file_path", path).str("content", f.text()) })
	var o object
	o.open().str("type", "create").str("filePath", path).str("content", f.text()).arr("structuredPatch").closeArr().null("originalFile").close()
	c.Result = Result{Content: "File created successfully at: " + path, Client: o.b}
	return c
}

func globCall(root, pattern string, paths []string) *Call {
	c := newCall("Glob", func(o *object) { o.str("pattern", pattern) })
	full := make([]string, len(paths))
	for i, p := range paths {
		full[i] = root + "/" + p
	}
	content := joinLines(full)
	if len(full) == 0 {
		content = "No files found"
	}
	var o object
	o.open().strs("filenames", full).num("durationMs", 7+len(full)).num("numFiles", len(full)).bool("truncated", false).close()
	c.Result = Result{Content: content, Client: o.b}
	return c
}

// grepCall shows where pattern was found: lines with their context, or files.
func grepCall(pattern string, found []match, context int, filesOnly bool) *Call {
	c := newCall("Grep", func(o *object) {
		o.str("pattern", pattern).str("path", "internal")
		if filesOnly {
			o.str("output_mode", "files_with_matches")
		} else {
			o.str("output_mode", "content").num("-A", context)
		}
	})
	var o object
	if filesOnly {
		var names []string
		for _, m := range found {
			if len(names) == 0 || names[len(names)-1] != m.file.path {
				names = append(names, m.file.path)
			}
		}
		o.open().str("mode", "files_with_matches").strs("filenames", names).num("numFiles", len(names)).close()
		c.Result = Result{Content: fmt.Sprintf("Found %d files\n%s", len(names), joinLines(names)), Client: o.b}
		return c
	}
	var b strings.Builder
	lines := 0
	for i, m := range found {
		if i > 0 && context > 0 {
			b.WriteString("--\n")
		}
		for j := m.line; j <= min(m.line+context, len(m.file.lines)-1); j++ {
			mark := "-"
			if j == m.line {
				mark = ":"
			}
			fmt.Fprintf(&b, "%s%s%d%s%s\n", m.file.path, mark, j+1, mark, m.file.lines[j])
			lines++
		}
	}
	content := strings.TrimSuffix(b.String(), "\n")
	if lines == 0 {
		content = "No matches found"
	}
	o.open().str("mode", "content").num("numFiles", 0).arr("filenames").closeArr().str("content", content).num("numLines", lines).close()
	c.Result = Result{Content: content, Client: o.b}
	return c
}

// bashCall runs a command; slow is its longest time in milliseconds.
func bashCall(v release, command, description, stdout string, slow int) *Call {
	c := newCall("Bash", func(o *object) { o.str("command", command).str("description", description) })
	c.Result = Result{Content: stdout, Client: bashJSON(v, stdout), Slow: slow}
	return c
}

func bashJSON(v release, stdout string) []byte {
	var o object
	o.open().str("stdout", stdout).str("stderr", "").bool("interrupted", false).bool("isImage", false)
	if v.noOutput() {
		o.bool("noOutputExpected", false)
	}
	return o.close().b
}

// todo is one entry of the agent's list.
type todo struct{ content, status string }

func todoCall(old, new []todo) *Call {
	list := func(o *object, key string, todos []todo) {
		o.arr(key)
		for _, t := range todos {
			o.open().str("content", t.content).str("status", t.status).str("activeForm", t.content+" (working)").close()
		}
		o.closeArr()
	}
	c := newCall("TodoWrite", func(o *object) { list(o, "todos", new) })
	var o object
	o.open()
	list(&o, "oldTodos", old)
	list(&o, "newTodos", new)
	c.Result = Result{Content: "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. Please proceed with the current tasks if applicable", Client: o.close().b}
	return c
}

// issueCall asks an MCP server; its result is an array of texts.
func issueCall(id, body string) *Call {
	c := newCall("mcp__tracker__get_issue", func(o *object) { o.str("id", id) })
	var o object
	o.openArr().open().str("type", "text").str("text", body).close().closeArr()
	c.Result = Result{Parts: []string{body}, Client: o.b, Slow: 1800}
	return c
}

func fetchCall(url, question, answer string) *Call {
	c := newCall("WebFetch", func(o *object) { o.str("url", url).str("prompt", question) })
	var o object
	o.open().num("bytes", len(answer)*7).num("code", 200).str("codeText", "OK").str("result", answer).num("durationMs", 900+len(answer)).str("url", url).close()
	c.Result = Result{Content: answer, Client: o.b, Slow: 6000}
	return c
}

// offload leaves a result's text in a file and a preview in its place.
func (c *Client) offload(call *Call) {
	if call.ID == "" {
		call.ID = c.toolID()
	}
	full := call.Result.Content
	path := c.resultPath(call.ID)
	stub, cut := persisted(path, full)
	call.Result.Content = stub
	if c.v.persistedPath() && call.Name == "Bash" {
		var o object
		o.open().str("stdout", cut).str("stderr", "").bool("interrupted", false).bool("isImage", false).bool("noOutputExpected", false)
		call.Result.Client = o.str("persistedOutputPath", path).num("persistedOutputSize", len(full)).close().b
	}
	c.stats.Offloads++
	c.beside(c.session+"/tool-results/"+call.ID+".txt", []byte(full))
}

// persisted is what stands in the place of a text that was left in a file, and
// the preview in it.
func persisted(path, full string) (stub, cut string) {
	cut = full[:min(2000, len(full))]
	for len(cut) > 0 && len(cut) < len(full) && full[len(cut)]&0xC0 == 0x80 { // not within a rune
		cut = cut[:len(cut)-1]
	}
	if i := strings.LastIndexByte(cut, '\n'); i > 1000 {
		cut = cut[:i]
	}
	return "<persisted-output>\nOutput too large (" + size(len(full)) + "). Full output saved to: " + path +
		"\n\nPreview (first 2KB):\n" + cut + "\n...\n</persisted-output>", cut
}

// size prints n bytes the way the client does: 2KB, 134.7KB.
func size(n int) string {
	unit, v := "B", n*10
	switch {
	case n >= 1<<20:
		unit, v = "MB", (n*10+1<<19)>>20
	case n >= 1<<10:
		unit, v = "KB", (n*10+1<<9)>>10
	}
	if v%10 == 0 {
		return fmt.Sprintf("%d%s", v/10, unit)
	}
	return fmt.Sprintf("%d.%d%s", v/10, v%10, unit)
}

// beside writes a file next to the session.
func (c *Client) beside(name string, content []byte) {
	if c.opt.Open == nil || c.err != nil {
		return
	}
	f, err := c.opt.Open(name)
	if err != nil {
		c.err = err
		return
	}
	if _, err = f.Write(content); err != nil {
		c.err = err
	}
	if err = f.Close(); err != nil && c.err == nil {
		c.err = err
	}
}
