package summarize

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// task is an entry of one of the two lists of tasks: that of TodoWrite, which
// is replaced as a whole, or that of TaskCreate and TaskUpdate.
type task struct {
	ID, Text, Status string
	where            string // what the text is quoted from
	changed          string // what the status is quoted from, where that is another message
}

// taskList follows both lists.
type TaskList struct {
	Todos []task
	Tasks []*task
	byID  map[string]*task // the first of each id
}

func (l *TaskList) add(k *task) {
	l.Tasks = append(l.Tasks, k)
	if l.byID == nil {
		l.byID = map[string]*task{}
	}
	if l.byID[k.ID] == nil {
		l.byID[k.ID] = k
	}
}

// taskNumber is how a TaskCreate's result names the task.
var taskNumber = regexp.MustCompile(`Task #(\d+)`)

// taskNumberOf is the number that the result of a TaskCreate gives the task, ""
// where it names none.
func TaskNumberOf(d *policy.Digests, result policy.Target, text func(policy.Target) (string, error)) (string, error) {
	return policy.Digest(d, "task number", result, func() (string, int, error) {
		shown, err := text(result)
		if m := taskNumber.FindStringSubmatch(shown); m != nil {
			return strings.Clone(m[1]), len(m[1]), err
		}
		return "", 0, err
	})
}

// isTaskTool reports whether calls of a tool change a list of tasks.
func IsTaskTool(name string) bool {
	return name == "TodoWrite" || name == "TaskCreate" || name == "TaskUpdate"
}

// taskInput is the input of a call of a task tool.
type taskInput struct {
	Todos []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"todos"`
	Subject string          `json:"subject"`
	TaskID  json.RawMessage `json:"taskId"` // a string, seldom a number
	Status  string          `json:"status"`
}

// taskInputOf reads the input of a call; nil of one that does not read.
func TaskInputOf(d *policy.Digests, use policy.Target, text func(policy.Target) (string, error)) (*taskInput, error) {
	return policy.Digest(d, "task", use, func() (*taskInput, int, error) {
		input, err := text(use)
		in := &taskInput{}
		if err != nil || json.Unmarshal([]byte(input), in) != nil {
			return nil, 0, err
		}
		return in, 2 * len(input), nil
	})
}

// call follows one call of a task tool that did not fail: its input, the
// number its result gives a new task ("" where it names none), and where it
// stands.
func (l *TaskList) Call(tool string, in *taskInput, number, where string) {
	if in == nil {
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
		l.add(&task{ID: number, Text: in.Subject, Status: "pending", where: where})
	case "TaskUpdate":
		id := strings.Trim(string(in.TaskID), `"`)
		if id == "" || id == "null" || in.Subject == "" && in.Status == "" {
			return
		}
		if l.byID[id] == nil { // created before the view begins
			l.add(&task{ID: id})
		}
		k := l.byID[id]
		if in.Subject != "" {
			k.Text, k.where = in.Subject, where
		}
		if in.Status != "" {
			k.Status, k.changed = in.Status, where
		}
	}
}
