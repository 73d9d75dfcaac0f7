package report

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

func TestChangeText(t *testing.T) {
	text := requests.BodyChange{Part: requests.PartMessage, Name: "text", Role: "user", Message: 3, Block: 2, Line: 9}
	for want, tt := range map[string]struct {
		of      requests.BodyChange
		was, is string
	}{
		"message 3 (user), block 2 (text), line 9, has in addition: <system-reminder>": {text, "…", "…\n<system-reminder>"},
		"message 3 (user), block 2 (text), line 9, lacks: <system-reminder>":           {text, "…<system-reminder>", "…"},
		`message 3 (user), block 2 (text), line 9, has in addition: "\n"`:              {text, "…", "…\n"},
		"message 3 (user), block 2 (text), line 9, was a, is b":                        {text, "a", "b"},
		"tools Read, Write are gone":                                                   {requests.BodyChange{Part: requests.PartTool, Tools: []requests.ToolPlace{{Name: "Read", Was: 1, Is: 0}, {Name: "Write", Was: 2, Is: 0}}}, "{", ""},
		"tool A is new; tool B moved from place 1 to 2":                                {requests.BodyChange{Part: requests.PartTool, Tools: []requests.ToolPlace{{Name: "A", Was: 0, Is: 1}, {Name: "B", Was: 1, Is: 2}}}, "", "{"},
		"effort was high, is low":                                                      {requests.BodyChange{Part: requests.PartSetting, Name: "output_config"}, `{"effort":"high"}`, `{"effort":"low"}`},
		"thinking.budget_tokens was 1, is 2":                                           {requests.BodyChange{Part: requests.PartSetting, Name: "thinking"}, `{"type":"enabled","budget_tokens":1}`, `{"budget_tokens": 2, "type":"enabled"}`},
		"thinking.display omitted is new":                                              {requests.BodyChange{Part: requests.PartSetting, Name: "thinking"}, `{}`, `{"display":"omitted"}`},
		"thinking.display omitted is gone":                                             {requests.BodyChange{Part: requests.PartSetting, Name: "thinking"}, `{"display":"omitted"}`, `{}`},
		"setting max_tokens was 5, is 6":                                               {requests.BodyChange{Part: requests.PartSetting, Name: "max_tokens"}, `5`, `6`},
		"setting context_management was …1, is …2":                                     {requests.BodyChange{Part: requests.PartSetting, Name: "context_management"}, `…1`, `…2`},
	} {
		tt.of.Was, tt.of.Is = tt.was, tt.is
		must.Equal(t, changeText(&tt.of), want)
	}
}

func TestHeldText(t *testing.T) {
	for want, tt := range map[string]struct {
		of, whole int
		what      string
	}{
		"": {0, 0, "x"},
		"11 recorded by the client; " + heldFigures:                                                     {11, 11, ""},
		"1 of 11 recorded by the client can be put together, 10 rebuilt; " + heldFigures:                {11, 1, ""},
		"10 of 11 recorded by the client can be put together, 1 rebuilt, 10 used for x; " + heldFigures: {11, 10, "x"},
	} {
		must.Equal(t, heldText(session.RequestTally{Of: tt.of, Whole: tt.whole}, tt.what), want)
	}
}
