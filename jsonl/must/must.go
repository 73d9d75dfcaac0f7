// Package must gives tests what they need, and ends them where it is missing.
package must

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Get is the value of a call that may not fail: must.Get(os.ReadFile(path))(t).
func Get[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Do ends a test at an error that it is not about.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal tells a value that is not the wanted one, and of what.
func Equal[T any](t testing.TB, got, want T, what ...any) {
	if !reflect.DeepEqual(got, want) {
		t.Helper()
		t.Errorf("%v: -want +got\n%s", what, cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })))
	}
}

// Both is Equal of the two results of a call: must.Both(strconv.Atoi("1"))(t, 1, nil).
func Both[A, B any](a A, b B) func(t testing.TB, a A, b B, what ...any) {
	return func(t testing.TB, c A, d B, what ...any) {
		t.Helper()
		Equal(t, a, c, what...)
		Equal(t, b, d, what...)
	}
}

// Say tells values that, with spaces between them, do not make the wanted text.
func Say(t testing.TB, want string, values ...any) {
	t.Helper()
	Equal(t, fmt.Sprintln(values...), want+"\n")
}

// Refuse tells that there is no error, or one without the wanted text.
func Refuse(t testing.TB, err error, want string, what ...any) {
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Helper()
		t.Errorf("%v: %v, want %s", what, err, want)
	}
}

// Fail is Refuse of a call: must.Fail(strconv.Atoi("a"))(t, "invalid syntax").
func Fail[T any](_ T, err error) func(t testing.TB, want string, what ...any) {
	return func(t testing.TB, want string, what ...any) {
		t.Helper()
		Refuse(t, err, want, what...)
	}
}

// JSON reads a value that has no other fields than what it is read into.
func JSON(t testing.TB, text string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if _, end := d.Token(); err != nil || end != io.EOF {
		t.Fatalf("%s: %v, then %v", text, err, end)
	}
}

// Rows calls a function with each row of a table: the lines of text, their cells parted by " | ", a comment behind "# ".
// A cell is JSON where its parameter is no string or it is quoted; {x*400} in it is x 400 times. The lines under a row that begin
// with a tab are its steps, which a function with one parameter more than a row has cells gets as a []string. A row whose call
// fails the test is named.
func Rows(t *testing.T, text string, call any) {
	t.Helper()
	f := reflect.ValueOf(call)
	repeated := regexp.MustCompile(`\{([^{}]*)\*(\d+)\}`)
	var rows []string
	steps := map[int][]string{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line, _, _ = strings.Cut(line, "# ")
		if row := strings.TrimSpace(line); row != "" && line[0] == '\t' {
			steps[len(rows)] = append(steps[len(rows)], row)
		} else if row != "" {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		t.Fatal("no rows")
	}
	for n, row := range rows {
		var in []reflect.Value
		for i, cell := range strings.Split(row, " | ") {
			v := reflect.New(f.Type().In(i))
			cell = repeated.ReplaceAllStringFunc(strings.TrimSpace(cell), func(s string) string {
				m := repeated.FindStringSubmatch(s)
				n, _ := strconv.Atoi(m[2])
				return strings.Repeat(m[1], n)
			})
			if v.Elem().Kind() == reflect.String && !strings.HasPrefix(cell, `"`) {
				v.Elem().SetString(cell)
			} else {
				JSON(t, cell, v.Interface())
			}
			in = append(in, v.Elem())
		}
		if list := steps[n+1]; list != nil || len(in) < f.Type().NumIn() {
			in = append(in, reflect.ValueOf(list))
		}
		before := t.Failed()
		if f.Call(in); t.Failed() && !before {
			t.Errorf("the row is %s", row)
		}
	}
}

// Glob is the files that match a path. A test ends where there are fewer than the least number.
func Glob(t testing.TB, least int, path ...string) []string {
	t.Helper()
	files := Get(filepath.Glob(filepath.Join(path...)))(t)
	if len(files) < least {
		t.Fatalf("%s: %d files", filepath.Join(path...), len(files))
	}
	return files
}

// CI reports whether tests that take long run, and samples are as large as in .ci/run, which sets CTXKIT_CI.
func CI() bool { return os.Getenv("CTXKIT_CI") != "" || os.Getenv("CTXKIT_LONG") != "" }

// BeCI skips a test that takes long unless CI holds.
func BeCI(t testing.TB) {
	t.Helper()
	if !CI() {
		t.Skip("it takes long, and CTXKIT_CI is not set")
	}
}
