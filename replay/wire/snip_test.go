package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// TestSnipExample is the worked example of the pipeline analysis, as the API is sent it: before, and after Turn 1 was
// snipped.
func TestSnipExample(t *testing.T) {
	turn1 := []string{
		`{"role":"user","content":"帮我找一下项目里所有的 TODO,我想集中处理一下"}`,
		`{"role":"assistant","content":[{"type":"text","text":"好的,我用 Grep 搜索一下。"},{"type":"tool_use","id":"toolu_01","name":"Grep","input":{"pattern":"TODO","path":"src/"}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01","content":"src/auth/login.ts:42: // TODO: handle refresh token\nsrc/api/user.ts:89: // TODO: validate input\n... 共 23 处 ..."}]}`,
		`{"role":"assistant","content":[{"type":"text","text":"我打开 login.ts 看一下那个 refresh token 的 TODO 具体场景。"},{"type":"tool_use","id":"toolu_02","name":"Read","input":{"file_path":"src/auth/login.ts"}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_02","content":"<login.ts 全文,约 4KB>"}]}`,
	}
	turn2 := []string{
		`{"role":"user","content":"算了先别搞 TODO 了,线上登录报 500 的 bug 更紧急,先修这个"}`,
		`{"role":"assistant","content":[{"type":"text","text":"理解,TODO 先放下。登录 500 我查一下最近的错误日志。"},{"type":"tool_use","id":"toolu_03","name":"Bash","input":{"command":"tail -200 /var/log/app/error.log"}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_03","content":"<日志 tail 输出>"}]}`,
	}
	snip := []string{
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_04","name":"Snip","input":{"ids":["abc123"],"reason":"用户已改方向放弃 TODO 调研"}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_04","content":"ok"}]}`,
		`{"role":"assistant","content":[{"type":"text","text":"done"}]}`,
	}
	uuids := map[int]string{0: "053a4ff8-d100-4000-8000-000000000000", 5: "06caac2a-2d00-4000-8000-000000000000"}
	all := append(append(append([]string{}, turn1...), turn2...), snip...)
	conv := chainNamed(t, func(i int) string {
		if u, ok := uuids[i]; ok {
			return u
		}
		return fmt.Sprintf("u%d", i)
	}, all...)

	reg := must.Get(stage.Registry())(t)
	pol := must.Get(policy.Decode("snip.yaml", []byte("name: tagging\nstages: [snip]\n"), reg, nil))(t)
	rec := must.Get(replay.NewRecord(conv))(t)
	sent := func(n int) string {
		v := must.Get(rec.ViewAt(pol, replay.Options{}, n))(t)
		body := must.Get(wire.Model(v))(t)
		var b []byte
		for i := range body.Messages {
			b = append(body.Messages[i].Append(b), '\n')
		}
		return string(b)
	}
	// A string is sent as one text.
	tagged := func(message, id string) string {
		text := strings.TrimSuffix(strings.TrimPrefix(message, `{"role":"user","content":"`), `"}`)
		return `{"role":"user","content":[{"type":"text","text":"` + text + `\n[id:` + id + `]"}]}`
	}
	turn1[0], turn2[0] = tagged(turn1[0], "abc123"), tagged(turn2[0], "def456")
	lines := func(list ...[]string) string {
		s := ""
		for _, l := range list {
			s += strings.Join(l, "\n") + "\n"
		}
		return s
	}
	// The API takes a result and the prompt after it as one message.
	joined := strings.TrimSuffix(turn1[4], "]}") + "," + strings.TrimPrefix(turn2[0], `{"role":"user","content":[`)
	must.Equal(t, sent(4), lines(turn1[:4], []string{joined}, turn2[1:]))
	must.Equal(t, sent(5), lines(turn2, snip[:2]))
	for i := range conv.Messages {
		for b := range conv.Messages[i].Blocks {
			if text, err := conv.Text(i, b); err != nil || strings.Contains(text, "[id:") {
				t.Errorf("raw holds a tag: %q, %v", text, err)
			}
		}
	}
}
