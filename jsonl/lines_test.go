package jsonl

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// corpusFiles lists the session files under $CTXKIT_CORPUS.
func corpusFiles(t testing.TB) []string {
	t.Helper()
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real session files")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no session files in %s: %v", dir, err)
	}
	return files
}

// content is a file's text, decompressed by the standard library.
func content(t testing.TB, path string) []byte {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if b, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// code is program text of n lines, as tools return it.
func code(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%6d→\tif err := run(%d, \"step %d\"); err != nil { // näher\n", i+1, i, i)
	}
	return b.String()
}

// sessionLines are lines of the kinds that clients write.
func sessionLines() []string {
	envelope := func(n int) string {
		return fmt.Sprintf(`"parentUuid":"0000aaaa-0000-4000-8000-%012d","isSidechain":false,"userType":"external","cwd":"/home/user/project","sessionId":"5e551011-0000-4000-8000-000000000000","version":"2.1.17","gitBranch":"main","slug":"quiet-green-river","uuid":"0000aaaa-0000-4000-8000-%012d","timestamp":"2026-01-15T09:%02d:%02d.%03dZ"`, n-1, n, n/60%60, n%60, n%1000)
	}
	usage := `"usage":{"input_tokens":3,"cache_creation_input_tokens":466,"cache_read_input_tokens":37257,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":466},"output_tokens":31,"service_tier":"standard","inference_geo":"not_available"}`
	assistant := func(n int, block string) string {
		return fmt.Sprintf(`{%s,"message":{"model":"claude-opus-4-5-20251101","id":"msg_01%022d","type":"message","role":"assistant","content":[%s],"stop_reason":null,"stop_sequence":null,%s},"requestId":"req_011C%020d","type":"assistant"}`, envelope(n), n/3, block, usage, n/3)
	}
	user := func(n int, rest string) string {
		return fmt.Sprintf(`{%s,"type":"user",%s}`, envelope(n), rest)
	}
	text := code(40)
	return []string{
		`{"type":"summary","summary":"Mend the parser","leafUuid":"0000aaaa-0000-4000-8000-000000000009"}`,
		user(1, `"message":{"role":"user","content":"Please mend the parser.\nIt drops \"fused\" lines."}`),
		assistant(2, `{"type":"thinking","thinking":"Let me look at the reader first.","signature":"EvoBCkYICxgCKkB6Ngk3YrqoAiU5jgOVaIO8JvESNMy43b2c6Zd7HpTUQGjCFm1A"}`),
		assistant(3, `{"type":"text","text":"I shall read the file – then run the tests."}`),
		assistant(4, `{"type":"tool_use","id":"toolu_0152VwAMH26Nvcq2zEjPsR3h","name":"Read","input":{"file_path":"/home/user/project/reader.go", "limit": 40},"caller":{"type":"direct"}}`),
		user(5, `"message":{"role":"user","content":[{"tool_use_id":"toolu_0152VwAMH26Nvcq2zEjPsR3h","type":"tool_result","content":`+quote(text)+`}]},"toolUseResult":{"type":"text","file":{"filePath":"/home/user/project/reader.go","content":`+quote(text)+`,"numLines":40,"startLine":1,"totalLines":40}},"sourceToolAssistantUUID":"0000aaaa-0000-4000-8000-000000000004"`),
		`{` + envelope(6) + `,"type":"progress","data":{"type":"agent_progress","message":{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"inner"}],` + usage + `}}},"toolUseID":"toolu_02","parentToolUseID":"toolu_01"}`,
		user(7, `"message":{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"one\ntwo"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+strings.Repeat("iVBORw0KGgo", 200)+`"}}],"is_error":true,"tool_use_id":"toolu_02"}]},"toolUseResult":"Error: one\ntwo"`),
		user(8, `"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_03","content":`+quote("<persisted-output>\nOutput too large (43.9KB).\n"+text)+`}]},"toolUseResult":{"stdout":`+quote(text+text)+`,"stderr":"","interrupted":false,"isImage":false,"structuredPatch":[{"oldStart":1,"oldLines":3,"newStart":1,"newLines":4,"lines":[" a","+b"," c"]}]}`),
		`{` + envelope(9) + `,"type":"system","subtype":"compact_boundary","content":"Conversation compacted","level":"info","isMeta":false,"compactMetadata":{"trigger":"auto","preTokens":155782},"logicalParentUuid":"0000aaaa-0000-4000-8000-000000000008"}`,
		`{` + envelope(10) + `,"type":"attachment","attachment":{"type":"task_reminder","content":[],"itemCount":0}}`,
		`{"type":"file-history-snapshot","messageId":"0000aaaa-0000-4000-8000-000000000001","snapshot":{"messageId":"0000aaaa-0000-4000-8000-000000000001","trackedFileBackups":{},"timestamp":"2026-01-15T09:00:00.000Z"},"isSnapshotUpdate":false}`,
		`{"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-15T09:00:00.000Z","sessionId":"5e551011-0000-4000-8000-000000000000","content":"and the docs"}`,
	}
}
