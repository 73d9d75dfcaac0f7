package jsonl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestIterations is the documented example of a compaction within a request, and what the clients record of a request
// that compacts nothing.
func TestIterations(t *testing.T) {
	must.Rows(t, `
# name | usage | context | total | calls | billedInput | billedTotal
none                         | "\"input_tokens\":1,\"cache_creation_input_tokens\":466,\"cache_read_input_tokens\":37257,\"output_tokens\":31" | 37724  | 37755  | 1 | 37724  | 37755
one, which the client wrote down with less than it adds up | "\"input_tokens\":1,\"cache_creation_input_tokens\":2451,\"cache_read_input_tokens\":89130,\"output_tokens\":14863,\"iterations\":[{\"input_tokens\":1,\"output_tokens\":14863,\"cache_read_input_tokens\":89130,\"cache_creation_input_tokens\":0,\"type\":\"message\"}]" | 91582  | 106445 | 1 | 91582  | 106445
a compaction and the message | "\"input_tokens\":23000,\"output_tokens\":1000,\"iterations\":[{\"type\":\"compaction\",\"input_tokens\":180000,\"output_tokens\":3500},{\"type\":\"message\",\"input_tokens\":23000,\"output_tokens\":1000}]" | 23000  | 24000  | 2 | 203000 | 207500
a tool of the server's       | "\"input_tokens\":100,\"cache_read_input_tokens\":9000,\"output_tokens\":70,\"iterations\":[{\"type\":\"message\",\"input_tokens\":100,\"cache_read_input_tokens\":9000,\"output_tokens\":50},{\"type\":\"message\",\"input_tokens\":4000,\"cache_read_input_tokens\":9100,\"output_tokens\":20}]" | 13100  | 13120  | 2 | 22200  | 22270
nothing but a compaction     | "\"input_tokens\":0,\"output_tokens\":0,\"iterations\":[{\"type\":\"compaction\",\"input_tokens\":1000,\"cache_read_input_tokens\":150000,\"output_tokens\":3000}]" | 151000 | 154000 | 1 | 151000 | 154000
an advisor, which is another model | "\"input_tokens\":10,\"output_tokens\":5,\"iterations\":[{\"type\":\"message\",\"input_tokens\":10,\"output_tokens\":5},{\"type\":\"advisor_message\",\"input_tokens\":70000,\"output_tokens\":900}]" | 10     | 15     | 1 | 10     | 15
`, func(name, usage string, context, total, calls, billedInput, billedTotal int) {
		r := NewReader(strings.NewReader(`{"type":"assistant","message":{"usage":{`+usage+`}}}`), "f", ReadOptions{})
		if !r.Scan() || r.Item().Entry == nil {
			t.Fatalf("%s: %v", name, r.Err())
		}
		u := r.Item().Entry.Message.Usage
		billed := u.Billed()
		if u.Context() != context || u.Total() != total || billed.Calls != calls || billed.Context() != billedInput || billed.Context()+billed.Output != billedTotal || u.Iterated() != (calls > 1 || len(u.Others().Attempts) > 0) {
			t.Errorf("%s: context %d, total %d, billed %+v of %+v, want %d, %d, %d calls, %d and %d", name, u.Context(), u.Total(), billed, u, context, total, calls, billedInput, billedTotal)
		}
	})
}

// TestAttempts: the samplings of other models are beside those of the response, and one that wrote nothing is not billed.
func TestAttempts(t *testing.T) {
	const top = `"input_tokens":412,"output_tokens":264`
	one := func(kind, model string, output int) string {
		return fmt.Sprintf(`{"type":%q,"model":%q,"input_tokens":412,"output_tokens":%d,"cache_creation_input_tokens":9,"cache_creation":{"ephemeral_1h_input_tokens":7,"ephemeral_5m_input_tokens":2}}`, kind, model, output)
	}
	for _, c := range []struct {
		name       string
		iterations []string
		want       string
		output     int
	}{
		{"a declined midway", []string{one("message", "a", 180), one("fallback_message", "b", 264)}, "message a 1x 412 in, 180 out, 7 1h", 264},
		{"declined at once", []string{one("message", "a", 0), one("fallback_message", "b", 264)}, "", 264},
		{"two decline", []string{one("message", "a", 180), one("fallback_message", "b", 5), one("fallback_message", "c", 264)}, "message a 1x 412 in, 180 out, 7 1h; fallback_message b 1x 412 in, 5 out, 7 1h", 264},
		{"rounds of the one that declined", []string{one("message", "a", 100), one("message", "a", 80), one("fallback_message", "b", 264)}, "message a 1x 412 in, 100 out, 7 1h; message a 1x 412 in, 80 out, 7 1h", 264},
		{"rounds of the one that answers", []string{one("message", "a", 1), one("fallback_message", "b", 200), one("fallback_message", "b", 64)}, "message a 1x 412 in, 1 out, 7 1h", 264},
		{"without names", []string{one("message", "", 180), one("fallback_message", "", 264)}, "message  1x 412 in, 180 out, 7 1h", 264},
		{"an advisor, twice", []string{one("message", "a", 200), one("advisor_message", "b", 9), one("advisor_message", "b", 3), one("message", "a", 64)}, "advisor_message b 1x 412 in, 9 out, 7 1h; advisor_message b 1x 412 in, 3 out, 7 1h", 264},
		{"of a type nobody knows", []string{one("message", "a", 264), one("verifier_message", "b", 9)}, "verifier_message b 1x 412 in, 9 out, 7 1h", 264},
		{"no objects", []string{"7", "null", one("message", "a", 264)}, "", 264},
	} {
		r := NewReader(strings.NewReader(`{"type":"assistant","message":{"usage":{`+top+`,"iterations":[`+strings.Join(c.iterations, ",")+`]}}}`), "f", ReadOptions{})
		if !r.Scan() || r.Item().Entry == nil {
			t.Fatalf("%s: %v", c.name, r.Err())
		}
		u := r.Item().Entry.Message.Usage
		var got []string
		for _, a := range u.Others().Attempts {
			got = append(got, fmt.Sprintf("%s %s %dx %d in, %d out, %d 1h", a.Type, a.Model, a.Spent.Calls, a.Spent.Input, a.Spent.Output, a.Spent.Write1h))
		}
		if strings.Join(got, "; ") != c.want || u.Output != c.output || u.Input != 412 || !u.Final {
			t.Errorf("%s: %q, want %q; %+v", c.name, strings.Join(got, "; "), c.want, u)
		}
		checkEntry(t, r.Item().Entry, []byte(`{"type":"assistant","message":{"usage":{`+top+`,"iterations":[`+strings.Join(c.iterations, ",")+`]}}}`))
	}
}

// TestLifetimes: the lifetimes of samplings before the last are those that they say, else those that the usage says.
func TestLifetimes(t *testing.T) {
	one := func(write int, more string) string {
		return fmt.Sprintf(`{"type":"message","input_tokens":1,"output_tokens":1,"cache_creation_input_tokens":%d%s}`, write, more)
	}
	split := func(hour, minutes int) string {
		return fmt.Sprintf(`,"cache_creation":{"ephemeral_1h_input_tokens":%d,"ephemeral_5m_input_tokens":%d}`, hour, minutes)
	}
	for _, c := range []struct {
		name, top    string
		iterations   []string
		rounds, last int // written for an hour
	}{
		{"each says it", `30` + split(0, 30), []string{one(100, split(100, 0)), one(30, split(0, 30))}, 100, 0},
		{"the last says another one", `30` + split(30, 0), []string{one(100, split(0, 100)), one(30, split(30, 0))}, 0, 30},
		{"the usage says it of all", `130` + split(130, 0), []string{one(100, ""), one(30, "")}, 100, 30},
		{"of some", `130` + split(110, 20), []string{one(100, ""), one(30, "")}, 100, 10},
		{"of the last", `30` + split(30, 0), []string{one(100, ""), one(30, "")}, 100, 30},
		{"of the last, five minutes", `30` + split(0, 30), []string{one(100, ""), one(30, "")}, 0, 0},
		{"nothing says it", `30`, []string{one(100, ""), one(30, "")}, 0, 0},
	} {
		line := `{"type":"assistant","message":{"usage":{"iterations":[` + strings.Join(c.iterations, ",") + `],"input_tokens":1,"cache_creation_input_tokens":` + c.top + `}}}`
		r := NewReader(strings.NewReader(line), "f", ReadOptions{})
		if !r.Scan() || r.Item().Entry == nil {
			t.Fatalf("%s: %v", c.name, r.Err())
		}
		if u := r.Item().Entry.Message.Usage; u.Rounds().Write1h != c.rounds || u.Write1h != c.last {
			t.Errorf("%s: %d of the rounds and %d of the last for an hour, not %d and %d", c.name, u.Rounds().Write1h, u.Write1h, c.rounds, c.last)
		}
		checkEntry(t, r.Item().Entry, []byte(line))
	}
}

// TestUsageModes: what changes the price of a response.
func TestUsageModes(t *testing.T) {
	const line = `{"type":"assistant","message":{"usage":{"input_tokens":3,"speed":"fast","inference_geo":"us","service_tier":"priority","iterations":null,"server_tool_use":{"web_search_requests":7,"web_fetch_requests":2}}}}`
	r := NewReader(strings.NewReader(line), "f", ReadOptions{})
	if !r.Scan() || r.Item().Entry == nil {
		t.Fatal(r.Err())
	}
	if u, want := r.Item().Entry.Message.Usage, (Usage{Input: 3, Speed: "fast", Geo: "us", Tier: "priority", Searches: 7, Fetches: 2}); u != want {
		t.Errorf("%+v, want %+v", u, want)
	}
}
