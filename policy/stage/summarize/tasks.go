package summarize

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
)

// task is an entry of one of the two lists of tasks: that of TodoWrite, which is replaced as a whole, or that of
// TaskCreate and TaskUpdate.
type task struct {
	ID, Text, Status string
	where            string // what the text is quoted from
	changed          string // what the status is quoted from, if that is another message
}

// TaskList follows both lists.
type TaskList struct {
	Todos []task
	Tasks []*task
}

// byID returns the first task of an id, nil if there is none.
func (l *TaskList) byID(id string) *task {
	if i := slices.IndexFunc(l.Tasks, func(k *task) bool { return k.ID == id }); i >= 0 {
		return l.Tasks[i]
	}
	return nil
}

// taskNumber matches the task in the result of a TaskCreate.
var taskNumber = pattern.New(`Task #(\d+)`)

// TaskNumber is the number that the result of a TaskCreate gives the task, "" if there is none.
func TaskNumber(result string) string {
	if m := taskNumber().FindStringSubmatch(result); m != nil {
		return m[1]
	}
	return ""
}

// IsTaskTool reports whether calls of a tool change a list of tasks.
func IsTaskTool(name string) bool {
	return name == "TodoWrite" || name == "TaskCreate" || name == "TaskUpdate"
}

// Call applies one call of a task tool that did not fail: its input, the number its result gives a new task ("" for
// none), and its place for quotations.
func (l *TaskList) Call(tool, input, number, where string) {
	var in struct {
		Todos   []struct{ Content, Status string }
		Subject string
		TaskID  json.RawMessage // a string, seldom a number
		Status  string
	}
	if json.Unmarshal([]byte(input), &in) != nil {
		return
	}
	switch tool {
	case "TodoWrite":
		l.Todos = nil
		for _, d := range in.Todos {
			l.Todos = append(l.Todos, task{Text: d.Content, Status: d.Status, where: where})
		}
	case "TaskCreate":
		if number == "" {
			number = strconv.Itoa(len(l.Tasks) + 1)
		}
		l.Tasks = append(l.Tasks, &task{ID: number, Text: in.Subject, Status: "pending", where: where})
	case "TaskUpdate":
		id := strings.Trim(string(in.TaskID), `"`)
		if id == "" || id == "null" || in.Subject == "" && in.Status == "" {
			return
		}
		k := l.byID(id)
		if k == nil { // created before the view begins
			k = &task{ID: id}
			l.Tasks = append(l.Tasks, k)
		}
		if in.Subject != "" {
			k.Text = in.Subject
			k.where = where
		}
		if in.Status != "" {
			k.Status = in.Status
			k.changed = where
		}
	}
}
