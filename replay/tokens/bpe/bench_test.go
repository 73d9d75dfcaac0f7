//go:build ci

package bpe

import (
	"encoding/base64"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// samples are texts of some kinds, about size bytes each.
func samples(t testing.TB, size int) map[string]string {
	g := rand.New(rand.NewPCG(5, 8))
	raw := make([]byte, size*3/4)
	for i := range raw {
		raw[i] = byte(g.Uint32())
	}
	return map[string]string{
		"code":   files(t, size, "../../../policy/*.go", "../../../jsonl/*.go", "../../../replay/*.go", "../../../cmd/*.go"),
		"prose":  files(t, size, "../../../docs/*.md", "../../../*.md"),
		"cjk":    cjk(g, size),
		"base64": base64.StdEncoding.EncodeToString(raw),
	}
}

func files(t testing.TB, size int, globs ...string) string {
	t.Helper()
	var b strings.Builder
	for _, glob := range globs {
		paths := must.Glob(t, 1, glob)
		for _, path := range paths {
			data := must.Get(os.ReadFile(path))(t)
			b.Write(data)
		}
	}
	text := b.String()
	return text[:min(size, len(text))]
}

// cjk is text of Chinese, Japanese and Korean words in random order, so that hardly a phrase comes twice.
func cjk(g *rand.Rand, size int) string {
	words := strings.Fields("我们 可以 在 这个 文件 里 看到 一个 函数 它 返回 结果 如果 没有 上下文 就 会 压缩 消息 模型 工具 调用 需要 更多 时间 因为 窗口 很 小 所以 必须 删除 旧 的 内容 并且 保留 最近 对话 摘要 测试 通过 了 但是 还有 问题 存在 " +
		"この ファイル では 関数 が 結果 を 返します しかし 文脈 の 長さ は 制限 されて います 要約 すると 古い メッセージ 消えます ツール 呼び出し 確認 してください ありがとう ございます 設定 変更 " +
		"이 함수는 결과를 반환합니다 그러나 문맥의 길이가 제한되어 있으므로 오래된 메시지를 요약해야 합니다 도구 호출을 확인하세요 파일을 읽고 수정했습니다")
	marks := []string{"。", "，", "、", "！", "\n", " ", "「", "」"}
	var b strings.Builder
	for b.Len() < size {
		for range 2 + g.IntN(6) {
			b.WriteString(words[g.IntN(len(words))])
		}
		b.WriteString(marks[g.IntN(len(marks))])
	}
	return b.String()[:size]
}

// BenchmarkCount counts and lets the stock encoder encode the same text in turns: x-stock is the ratio of the
// medians.
func BenchmarkCount(b *testing.B) {
	for _, name := range Names() {
		counter, enc := encoding(b, name).NewCounter(), stock(b, name)
		texts := samples(b, 200_000)
		for _, kind := range []string{"code", "prose", "cjk", "base64"} {
			text := texts[kind]
			b.Run(name+"/"+kind, func(b *testing.B) {
				var own, other []float64
				for b.Loop() {
					begin := time.Now()
					for range 8 {
						counter.Count(text)
					}
					own = append(own, time.Since(begin).Seconds()/8)
					begin = time.Now()
					enc.EncodeOrdinary(text)
					other = append(other, time.Since(begin).Seconds())
				}
				b.ReportMetric(float64(len(text))/median(own)/1e6, "MB/s")
				b.ReportMetric(median(other)/median(own), "x-stock")
			})
		}
	}
}

// BenchmarkHostile counts what makes other encoders quadratic, 1 MB and 2 MB of it in turns: x-double is the ratio of
// the medians.
func BenchmarkHostile(b *testing.B) {
	g := rand.New(rand.NewPCG(5, 8))
	for _, name := range Names() {
		counter := encoding(b, name).NewCounter()
		for _, kind := range hostile(g) {
			b.Run(name+"/"+kind.name, func(b *testing.B) {
				one, two := kind.text(1<<20), kind.text(2<<20)
				var first, second []float64
				for b.Loop() {
					begin := time.Now()
					counter.Count(one)
					first = append(first, time.Since(begin).Seconds())
					begin = time.Now()
					counter.Count(two)
					second = append(second, time.Since(begin).Seconds())
				}
				b.ReportMetric(1/median(first), "MiB/s")
				b.ReportMetric(median(second)/median(first), "x-double")
			})
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				encoding(b, name)
			}
		})
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
