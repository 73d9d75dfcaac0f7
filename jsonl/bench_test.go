package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// benchContents are the texts that benchmarks read: made lines, lines that are toolUseResult for the most part, and
// real files where there are any.
func benchContents(b *testing.B) map[string][]byte {
	made := strings.Repeat(strings.Join(sessionLines(), "\n")+"\n", 400)
	text := quote(code(100))
	skipped := strings.Repeat(`{"type":"user","uuid":"0000aaaa-0000-4000-8000-000000000001","message":{"role":"user","content":"x"},"toolUseResult":{"originalFile":`+text+`,"stdout":`+text+`,"interrupted":false}}`+"\n", 400)
	all := map[string][]byte{"made": []byte(made), "skipped": []byte(skipped)}
	if os.Getenv("CTXKIT_CORPUS") != "" {
		var real []byte
		for _, path := range corpusFiles(b) {
			if strings.HasPrefix(filepath.Base(path), "claude-") && len(real) < 48<<20 {
				real = append(append(real, content(b, path)...), '\n')
			}
		}
		all["real"] = real
	}
	return all
}

func benchEach(b *testing.B, run func(b *testing.B, text []byte)) {
	all := benchContents(b)
	for _, name := range []string{"made", "skipped", "real"} {
		if text := all[name]; text != nil {
			b.Run(name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					run(b, text)
				}
			})
		}
	}
}

func BenchmarkReader(b *testing.B) {
	benchEach(b, func(b *testing.B, text []byte) {
		r := NewReader(bytes.NewReader(text), "bench", ReadOptions{})
		entries := 0
		for r.Scan() {
			if r.Item().Kind == ItemEntry {
				entries++
			}
		}
		if entries == 0 {
			b.Fatal("no entries")
		}
	})
}

func benchmarkJobs(b *testing.B, jobs int) {
	dir := b.TempDir()
	all := benchContents(b)
	for _, name := range []string{"made", "skipped", "real"} {
		if all[name] == nil {
			continue
		}
		path := filepath.Join(dir, name)
		must.Do(b, os.WriteFile(path, all[name], 0o600))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(all[name])))
			b.ReportAllocs()
			for b.Loop() {
				s := must.Get(Open(path))(b)
				must.Do(b, s.Each(jobs, ReadOptions{}, func(*Item) error { return nil }))
				s.Close()
			}
		})
	}
}

func BenchmarkEach1(b *testing.B) { benchmarkJobs(b, 1) }
func BenchmarkEach2(b *testing.B) { benchmarkJobs(b, 2) }

// plainLine is what encoding/json would be asked for: the same fields, the contents kept raw, toolUseResult left out.
type plainLine struct {
	Type, Subtype, UUID, SessionID, Version, CWD, RequestID, Timestamp string
	ParentUUID                                                         *string `json:"parentUuid"`
	IsSidechain, IsMeta, IsCompactSummary                              bool
	Message                                                            struct {
		ID, Role, Model string
		StopReason      string          `json:"stop_reason"`
		Content         json.RawMessage `json:"content"`
		Usage           struct {
			Input      int `json:"input_tokens"`
			CacheWrite int `json:"cache_creation_input_tokens"`
			CacheRead  int `json:"cache_read_input_tokens"`
			Output     int `json:"output_tokens"`
		} `json:"usage"`
	}
}

type plainBlock struct {
	Type, ID, Name, Text, Thinking string
	ToolUseID                      string          `json:"tool_use_id"`
	Content                        json.RawMessage `json:"content"`
	Input                          json.RawMessage `json:"input"`
}

func BenchmarkEncodingJSON(b *testing.B) {
	benchEach(b, func(b *testing.B, text []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(text), 4<<20)
		for {
			line, err := r.ReadSlice('\n')
			var e plainLine
			json.Unmarshal(line, &e)
			if len(e.Message.Content) > 0 {
				var blocks []plainBlock
				if json.Unmarshal(e.Message.Content, &blocks) == nil {
					for i := range blocks {
						var s string
						json.Unmarshal(blocks[i].Content, &s)
					}
				}
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
