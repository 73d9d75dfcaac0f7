package stage

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
)

// What Lint finds in the stages as they are, with their own types and defaults: one policy that is odd, and one
// beside it that is not.
func TestLint(t *testing.T) {
	// A case is "# " and its name, a policy, and "= " and each finding.
	tests := strings.Split(`
# sound
stages: [tool_result_budget, snip, microcompact_size, autocompact, post_compact]
# a condition of the server's
stages: [clear_thinking: {when: cold}]
= 1:33: clear_thinking.when: the server carries the stage out, at each request that asks for it: it knows no such condition: leave it out, or use a stage of the client (condition)
# a program in one text
stages: [program: {command: python3 mine.py}]
= 1:29: program.command: no shell divides it into words: the program is "python3 mine.py": write [python3, mine.py], unless the program's name has a space (never)
# a program whose name has a space, and arguments
stages: [program: {command: [./my program, x]}]
# reserve
window: {output_reserve: 200000}
stages: [microcompact_size: {manual: true}]
= 1:26: window.output_reserve: 200,000 of 200,000 tokens are reserved, nothing is left to use: reserve less (window)
# reserve cap
window: {context: 100000, reserve_cap: 200000}
stages: [microcompact_size: {manual: true}]
= 1:40: window.reserve_cap: 200,000 of 100,000 tokens are reserved, nothing is left to use: reserve less (window)
# blocked first
window: {blocking_offset: 50000}
stages: [autocompact]
= 1:27: window.blocking_offset: requests are blocked at 150,000, before they are compacted at 155,000: make it smaller, or the buffer larger (window)
# blocked by the override first
window: {blocking_limit: 100000}
stages: [autocompact]
= 1:26: window.blocking_limit: requests are blocked at 100,000, before they are compacted at 155,000: make it, or the buffer, larger (window)
# blocked never
window: {context: 200000, blocking_limit: 200001}
stages: [autocompact]
= 1:43: window.blocking_limit: 200,001 is more than the window of 200,000: make it smaller (window)
# an offset beside a limit
window: {blocking_limit: 190000, blocking_offset: 4000}
stages: [autocompact]
= 1:51: window.blocking_offset: it has no effect: window.blocking_limit gives the limit: leave it out (unused)
# a reserve beside a cap
window: {reserve_cap: 20000, output_reserve: 16000}
stages: [autocompact]
= 1:46: window.output_reserve: it has no effect: window.reserve_cap or window.max_output gives the reserve: leave it out (unused)
# a reserve beside the largest output
window: {max_output: 20000, output_reserve: 16000}
stages: [autocompact]
= 1:45: window.output_reserve: it has no effect: window.reserve_cap or window.max_output gives the reserve: leave it out (unused)
# a percentage over the buffer
window: {pct_override: 99}
stages: [autocompact]
= 1:24: window.pct_override: it has no effect: the buffer of 13,000 alone sets the threshold lower: leave it out (unused)
# a percentage that counts in a large window
window: {pct_override: 95}
stages: [autocompact]
# a key that no stage reads
window: {buffer: 1000, context: 100000}
stages: [snip]
= 1:18: window.buffer: it has no effect: no stage of the policy reads it: leave it out (unused)
# order
stages:
  - autocompact
  - microcompact_size
  - snip
= 3:5: microcompact_size: it runs after autocompact, and before it in the product: list it before autocompact (order)
= 4:5: snip: it runs after autocompact, and before it in the product: list it before autocompact (order)
# order of server-side edits
stages: [clear_tool_uses, clear_thinking]
= 1:27: clear_thinking: the API refuses a request whose edits do not begin with clear_thinking: list it before clear_tool_uses (order)
# server-side edits in order
stages: [clear_thinking, clear_tool_uses]
# time before cached
stages: [microcompact_cached, microcompact_time]
= 1:31: microcompact_time: it runs after microcompact_cached, and before it in the product: list it before microcompact_cached (order)
# two compactions
stages:
  - opencode_compaction
  - autocompact
  - three_layer_auto
= 3:5: autocompact: it competes with opencode_compaction for the same tokens: keep one of them, or set autocompact.enabled to false (compete)
= 4:5: three_layer_auto: it competes with opencode_compaction for the same tokens: keep one of them (compete)
# collapse and session memory
stages: [context_collapse, session_memory, autocompact: {enabled: false}]
= 1:28: session_memory: it competes with context_collapse for the same tokens: keep one of them (compete)
# collapse and autocompact
stages: [context_collapse, autocompact]
= 1:28: autocompact: it competes with context_collapse for the same tokens: keep one of them, or set autocompact.enabled to false (compete)
# one of them off
stages: [context_collapse, autocompact: {enabled: false}]
# alone
stages: [session_memory, post_compact]
window: {output_reserve: 1}
= 1:10: session_memory: it does nothing without autocompact: add one, or leave this out (alone)
# attachments alone
stages: [post_compact]
= 1:10: post_compact: it does nothing without a stage that compacts: add one, or leave this out (alone)
# switched off by the window
window: {auto_compact: false}
stages: [autocompact]
= 2:10: autocompact.enabled: window.auto_compact is off: set it to false, or window.auto_compact to true (never)
# warning behind the threshold
window: {warning_offset: 0}
stages: [microcompact_size, autocompact]
= 2:10: microcompact_size: microcompaction at 155,000 is not below 155,000, where autocompact compacts: make window.warning_offset larger (never)
# no gates by hand
window: {warning_offset: 0}
stages: [microcompact_size: {manual: true}, autocompact]
# too much to save
stages: [microcompact_size: {target: 150000}, autocompact]
= 1:38: microcompact_size.target: 150,000 tokens of results and 20,000 to save are more than 155,000, where autocompact compacts: make target or min_savings smaller (never)
# trigger behind autocompact
window: {context: 200000}
stages: [autocompact, clear_tool_uses: {trigger: {input_tokens: 180000}, clear_at_least: 140000}]
= 2:50: clear_tool_uses.trigger: 180,000 is not below 155,000, where autocompact compacts: make it smaller (never)
# trigger behind autocompact in a small window only
stages: [autocompact, clear_tool_uses: {trigger: {input_tokens: 180000}, clear_at_least: 140000}]
# trigger behind autocompact in any window
stages: [autocompact, clear_tool_uses: {trigger: {input_tokens: 955000}}]
= 1:50: clear_tool_uses.trigger: 955,000 is not below 955,000, where autocompact compacts: make it smaller (never)
# trigger beyond the window
window: {context: 200000}
stages: [clear_tool_uses: {trigger: {input_tokens: 200000}}]
= 2:37: clear_tool_uses.trigger: 200,000 is not below 200,000, the window: make it smaller (never)
# trigger in a larger window
window: {context: 1000000}
stages: [clear_tool_uses: {trigger: {input_tokens: 200000}}]
# trigger by tool uses
stages: [clear_tool_uses: {trigger: {tool_uses: 5}}]
# trigger at once
stages: [clear_tool_uses: {trigger: {input_tokens: 9000}}]
= 1:37: clear_tool_uses.trigger: 9,000 is not above the 18,800 tokens of system prompt and tools: make it larger (always)
# compacts at once
window: {context: 60000}
stages: [autocompact]
= 2:10: autocompact: auto-compact threshold at 15,000 is not above the 18,800 tokens of system prompt and tools: make window.buffer or the output reserve smaller (always)
# keep and trigger by default
stages: [microcompact_cached: {trigger: 5}]
= 1:10: microcompact_cached.keep: 5 leaves nothing to do at microcompact_cached.trigger 5: make it smaller than microcompact_cached.trigger (contradict)
# preview
stages: [tool_result_budget: {max_chars: 2000}]
= 1:10: tool_result_budget.preview_chars: 2,000 leaves nothing to do at tool_result_budget.max_chars 2,000: make it smaller than tool_result_budget.max_chars (contradict)
# memory
stages: [session_memory: {min_tokens: 50000}, autocompact]
= 1:39: session_memory.min_tokens: 50,000 is more than session_memory.max_tokens 40,000: make it session_memory.max_tokens or less (contradict)
# collapse
stages: [context_collapse: {commit_at: 100000, stage_at: 120000, target: 100000}]
= 1:58: context_collapse.stage_at: 120,000 is more than context_collapse.commit_at 100,000: make it context_collapse.commit_at or less (contradict)
= 1:74: context_collapse.target: 100,000 leaves nothing to do at context_collapse.commit_at 100,000: make it smaller than context_collapse.commit_at (contradict)
# collapse, left to the window
stages: [context_collapse: {stage_at: auto, commit_at: auto, target: auto}]
# collapse, in part left to the window
stages: [context_collapse: {stage_at: auto, commit_at: 90000, target: auto}]
# short pause
stages: [microcompact_time: {gap: 90s}]
= 1:35: microcompact_time.gap: after 1m30s the prompt cache is still warm, and clearing makes it cold: give 5m or more (contradict)
# summary never reached
stages: [autocompact: {summary: [fixed, outline]}]
= 1:33: autocompact.summary: fixed: 3200 is always there, what follows it is never reached: put fixed: 3200 last (summary)
# no summary
stages: [autocompact: {summary: recorded}]
= 1:33: autocompact.summary: there may be no summary: not every stretch has a recorded one: end the list with outline or typical (summary)
# no choice
stages: [autocompact: {summary: []}]
= 1:33: autocompact.summary: there may be no summary: not every stretch has a recorded one: end the list with outline or typical (summary)
# memory behind autocompact
stages: [autocompact, session_memory]
= 1:23: session_memory: it runs after autocompact, and before it in the product: list it before autocompact (order)
# memory before it
stages: [session_memory, autocompact]
# attachments before autocompact
stages: [post_compact, autocompact]
= 1:24: autocompact: it runs after post_compact, and before it in the product: list it before post_compact (order)
# attachments before a product's other compaction
stages: [post_compact, opencode_compaction]
= 1:24: opencode_compaction: it runs after post_compact, and before it in the product: list it before post_compact (order)
# budget behind the cached path
stages: [microcompact_cached, tool_result_budget]
= 1:31: tool_result_budget: it runs after microcompact_cached, and before it in the product: list it before microcompact_cached (order)
# prune before truncate
stages: [opencode_prune, opencode_truncate]
= 1:26: opencode_truncate: it runs after opencode_prune, and before it in the product: list it before opencode_prune (order)
# layers
stages: [three_layer_auto, three_layer_micro]
= 1:28: three_layer_micro: it runs after three_layer_auto, and before it in the product: list it before three_layer_auto (order)
# attachments alone beside memory
stages: [session_memory, codex_compaction, post_compact]
= 1:10: session_memory: it does nothing without autocompact: add one, or leave this out (alone)
= 1:26: codex_compaction: it competes with session_memory for the same tokens: keep one of them (compete)
# a compaction behind another
stages: [compact_api: {trigger: 960000}, autocompact]
= 1:42: autocompact: it competes with compact_api for the same tokens: keep one of them, or set autocompact.enabled to false (compete)
# memory, collapse and autocompact
stages: [context_collapse, session_memory, autocompact]
= 1:28: session_memory: it competes with context_collapse for the same tokens: keep one of them (compete)
= 1:44: autocompact: it competes with context_collapse for the same tokens: keep one of them, or set autocompact.enabled to false (compete)
# microcompaction behind collapse
stages: [microcompact_size, context_collapse: {commit_at: 100000, protect: 10000}]
= 1:10: microcompact_size: microcompaction at 135,000 is not below 100,000, where context_collapse compacts: make window.warning_offset larger (never)
# microcompaction behind a fixed compaction, in a large window only
stages: [microcompact_size, compact_api]
# trimming behind codex
stages: [cache_ttl_prune: {soft_trim_ratio: 0.95, hard_clear: false}, codex_compaction]
= 1:45: cache_ttl_prune.soft_trim_ratio: trimming at 190,000 is not below 180,000, where codex_compaction compacts: make it smaller (never)
# layers behind the window
window: {context: 40000}
stages: [three_layer_auto]
= 2:10: three_layer_auto.threshold: 50,000 is not below 40,000, the window: make it smaller (never)
# memory without automatic compaction
window: {auto_compact: false}
stages: [session_memory, autocompact: {enabled: false}]
= 2:10: session_memory: window.auto_compact is off: leave it out, or set window.auto_compact to true (never)
# snip without ids
stages: [snip: {tag: false}]
= 1:22: snip.tag: no prompt carries an id and no snip is tried: only calls on record are carried out: set it to true, or give snip.ids (never)
# snip that is tried
stages: [snip: {tag: false, ids: [abc123@7]}]
# pruning at no pause
stages: [cache_ttl_prune: {ttl: 0s}]
= 1:33: cache_ttl_prune.ttl: 0s means that nothing is ever pruned: give a pause such as 5m (never)
# clearing behind the API's compaction
stages: [compact_api, clear_tool_uses: {trigger: {input_tokens: 150001}}]
= 1:50: clear_tool_uses.trigger: 150,001 is not below 150,001, where compact_api compacts: make it smaller (never)
# clearing before it
stages: [compact_api, clear_tool_uses: {trigger: {input_tokens: 150000}}]
# the API's compaction behind autocompact
window: {context: 200000}
stages: [autocompact: {enabled: false}, compact_api: {trigger: 200000}]
= 2:64: compact_api.trigger: 200,000 is not below 200,000, the window: make it smaller (never)
# clearing behind codex
stages: [codex_compaction: {token_limit: 90000}, clear_tool_results]
= 1:50: clear_tool_results.trigger: 100,000 is not below 90,000, where codex_compaction compacts: make it smaller (never)
# clearing behind gemini
window: {context: 200000}
stages: [clear_tool_results, gemini_compression]
= 2:10: clear_tool_results.trigger: 100,000 is not below 100,000, where gemini_compression compacts: make it smaller (never)
# clearing behind opencode
window: {context: 100000}
stages: [clear_tool_results: {trigger: 70000}, opencode_compaction]
= 2:40: clear_tool_results.trigger: 70,000 is not below 68,001, where opencode_compaction compacts: make it smaller (never)
# more to clear than there is
window: {context: 200000}
stages: [clear_tool_uses: {trigger: {tool_uses: 50}, clear_at_least: 200000}]
= 2:70: clear_tool_uses.clear_at_least: 200,000 is not below 200,000, the window: make it smaller (never)
# memory first written beyond the window
window: {context: 200000}
stages: [session_memory: {init_tokens: 200000}, autocompact]
= 2:40: session_memory.init_tokens: 200,000 is not below 200,000, the window: make it smaller (never)
# memory that keeps too much
stages: [session_memory: {min_tokens: 136200, max_tokens: 150000}, autocompact]
= 1:39: session_memory.min_tokens: 136,200 tokens kept with 18,800 of system prompt and tools reach 155,000, where it compacts again: make it smaller (always)
# all of it protected
window: {context: 200000}
stages: [context_collapse: {protect: 200000}]
= 2:38: context_collapse.protect: 200,000 is not below 200,000, the window: make it smaller (never)
# a warning from the first request on
window: {warning_offset: 140000}
stages: [microcompact_size, autocompact]
= 2:10: microcompact_size: microcompaction at 15,000 is not above the 18,800 tokens of system prompt and tools: make window.warning_offset smaller (always)
# opencode at once
window: {context: 50000}
stages: [opencode_compaction]
= 2:10: opencode_compaction: usable window at 18,000 is not above the 18,800 tokens of system prompt and tools: reserve less, or take a larger window (always)
# a percentage at once
stages: [codex_compaction: {percent: 9, user_tokens: 1}]
= 1:38: codex_compaction.percent: compaction at 18,000 is not above the 18,800 tokens of system prompt and tools: make it larger (always)
# codex at once
stages: [codex_compaction: {token_limit: 18800, user_tokens: 1}]
= 1:42: codex_compaction.token_limit: 18,800 is not above the 18,800 tokens of system prompt and tools: make it larger (always)
# gemini at once
stages: [gemini_compression: {threshold: 0.09}]
= 1:42: gemini_compression.threshold: compression at 18,000 is not above the 18,800 tokens of system prompt and tools: make it larger (always)
# the API's compaction with a large overhead
window: {overhead: 60000}
stages: [compact_api: {trigger: 50000}]
= 2:33: compact_api.trigger: 50,000 is not above the 60,000 tokens of system prompt and tools: make it larger (always)
# condenser at once
stages: [condenser_events: {max_tokens: 9000}]
= 1:41: condenser_events.max_tokens: 9,000 is not above the 18,800 tokens of system prompt and tools: make it larger (always)
# a summary as large as what it sums up
stages: [autocompact: {summary: {fixed: 140000}}]
= 1:33: autocompact.summary: a summary of 140,000 with 18,800 of system prompt and tools reaches 155,000, where autocompact compacts again: make it smaller (always)
# attachments as large
stages: [autocompact, post_compact: {max_files: 30, files_tokens: 140000}]
= 1:67: post_compact.files_tokens: files of 140,000 with 18,800 of system prompt and tools reach 155,000, where autocompact compacts again: attach less (always)
# a limit that few files never reach
stages: [autocompact, post_compact: {files_tokens: 140000}]
# messages as large
stages: [codex_compaction: {token_limit: 30000}]
= 1:10: codex_compaction.user_tokens: 20,000 of user messages with 18,800 of system prompt and tools reach 30,000, where codex_compaction compacts again: make it smaller (always)
# keep and trigger
stages: [microcompact_cached: {trigger: 5, keep: 5}]
= 1:50: microcompact_cached.keep: 5 leaves nothing to do at microcompact_cached.trigger 5: make it smaller than microcompact_cached.trigger (contradict)
# keep and trigger by tool uses
stages: [clear_tool_uses: {trigger: {tool_uses: 10}, keep: 10}]
= 1:60: clear_tool_uses.keep: 10 tool uses keep their results, nothing is left to clear at 10: make it smaller than the trigger (contradict)
# keep below a trigger by tool uses
stages: [clear_tool_uses: {trigger: {tool_uses: 10}, keep: 9}]
# more to clear than triggers
stages: [clear_tool_uses: {clear_at_least: 100000}]
= 1:44: clear_tool_uses.clear_at_least: 100,000 leaves nothing to do at clear_tool_uses.trigger 100,000: make it smaller than clear_tool_uses.trigger (contradict)
# a round's limit below a result's
stages: [tool_result_budget: {max_chars: 50000, max_message_chars: 40000}]
= 1:42: tool_result_budget.max_chars: 50,000 is more than tool_result_budget.max_message_chars 40,000: make it tool_result_budget.max_message_chars or less (contradict)
# a summary that fires again
stages: [three_layer_auto: {threshold: 2000}]
= 1:10: three_layer_auto.max_output: 2,000 leaves nothing to do at three_layer_auto.threshold 2,000: make it smaller than three_layer_auto.threshold (contradict)
# protected up to the commit
stages: [context_collapse: {commit_at: 40000}]
= 1:10: context_collapse.protect: 40,000 leaves nothing to do at context_collapse.commit_at 40,000: make it smaller than context_collapse.commit_at (contradict)
# a trim that trims nothing
stages: [cache_ttl_prune: {soft_max_chars: 3000}]
= 1:10: cache_ttl_prune.soft_head_chars: 1,500 and 1,500 characters are left of a result of more than 3,000: it is not shorter: make head or tail smaller (contradict)
# shares the wrong way round
stages: [cache_ttl_prune: {hard_clear_ratio: 0.2}]
= 1:46: cache_ttl_prune.hard_clear_ratio: 0.2 is less than cache_ttl_prune.soft_trim_ratio 0.3, where pruning begins: make it cache_ttl_prune.soft_trim_ratio or more (contradict)
# a pause that an hour's cache outlives
cache: {ttl: 1h}
stages: [microcompact_time: {gap: 30m}]
= 2:35: microcompact_time.gap: after 30m the prompt cache is still warm, and clearing makes it cold: give 1h or more (contradict)
# pruning while the cache is warm
stages: [cache_ttl_prune: {ttl: 1m}]
= 1:33: cache_ttl_prune.ttl: after 1m the prompt cache is still warm, and clearing makes it cold: give 5m or more (contradict)
# cache edits without a cache
cache: {breakpoints: none}
stages: [microcompact_cached]
= 2:10: microcompact_cached: it deletes from what the server has cached, and cache.breakpoints: none caches nothing: give cache.breakpoints, or leave the stage out (contradict)
# a warm prefix without a cache
cache: {breakpoints: none}
stages: [autocompact: {prefix: session}]
= 2:32: autocompact.prefix: with cache.breakpoints: none no prefix is warm: give cache.breakpoints, or the prefix own (contradict)
# a system prompt over the overhead
window: {overhead: 10000}
cache: {system: 12000}
stages: []
= 2:17: cache.system: 12,000 is more than window.overhead 10,000: make it window.overhead or less (contradict)
# a lifetime without a cache
cache: {breakpoints: none, ttl: 1h, warm: always}
stages: []
= 1:33: cache.ttl: it has no effect: cache.breakpoints: none caches nothing: leave it out (unused)
= 1:43: cache.warm: it has no effect: cache.breakpoints: none caches nothing: leave it out (unused)
# a tail where none is kept
stages: [opencode_compaction: {tail_turns: 3}]
= 1:44: opencode_compaction.tail_turns: it has no effect: opencode_compaction.count: 1.1.36 keeps no tail: leave it out (unused)
# a tail where one is kept
stages: [opencode_compaction: {count: "1.18", tail_turns: 3}]
# a rule that the record stands for
stages: [context_collapse: {source: recorded, span: 5, protect: 1}]
= 1:65: context_collapse.protect: it has no effect: context_collapse.source: recorded follows the recorded session alone: leave it out (unused)
# gates by hand
stages: [microcompact_size: {manual: true, min_savings: 5}]
= 1:57: microcompact_size.min_savings: it has no effect: microcompact_size.manual: true skips the gates: leave it out (unused)
# files that are not attached
stages: [autocompact, post_compact: {attachments: [plan], max_files: 2, skill_tokens: 1}]
= 1:70: post_compact.max_files: it has no effect: post_compact.attachments has no files: leave it out (unused)
= 1:87: post_compact.skill_tokens: it has no effect: post_compact.attachments has no skills: leave it out (unused)
# the other cut
stages: [gemini_compression: {cut_lines: 5}]
= 1:42: gemini_compression.cut_lines: it has no effect: gemini_compression.cut is chars: leave it out (unused)
# a check that is not made
stages: [gemini_compression: {verify: false, verify_prompt_tokens: 5}]
= 1:68: gemini_compression.verify_prompt_tokens: it has no effect: gemini_compression.verify is off: leave it out (unused)
# a share without clearing
stages: [cache_ttl_prune: {hard_clear: false, hard_clear_ratio: 0.2}]
= 1:65: cache_ttl_prune.hard_clear_ratio: it has no effect: cache_ttl_prune.hard_clear is off: leave it out (unused)
# more tokens than the window has
stages: [mask: {by: tokens, keep: 1000000}]
= 1:35: mask.keep: 1,000,000 tokens kept and a step of 1, with 18,800 of system prompt and tools, are not below 1,000,000, the window: make keep or step smaller (never)
# nothing to supersede
stages: [supersede: {reads: false, changes: false, searches: false, commands: false}]
= 1:10: supersede: it replaces no kind of result: set reads, changes, searches or commands to true (never)
# a cut without a limit
stages: [truncate_results: {max_tokens: 0}]
= 1:41: truncate_results.max_tokens: without a limit nothing is cut: give max_tokens, max_bytes or max_lines (never)
# decay to more than it begins with
stages: [decay: {min_tokens: 5000}]
= 1:30: decay.min_tokens: 5,000 is more than decay.max_tokens 4,000: make it decay.max_tokens or less (contradict)
# a summary without a trigger
stages: [summarize: {trigger_share: 0}]
= 1:37: summarize.trigger_share: no trigger is given: nothing is ever summarized: give trigger_share or trigger_tokens (never)
# as much kept as the trigger
stages: [summarize: {trigger_tokens: 50000, keep: 40000}]
= 1:51: summarize.keep: 40,000 of messages with 18,800 of system prompt and tools reach 50,000, where summarize acts again: make it smaller (always)
# two triggers
stages: [summarize: {trigger_tokens: 150000, trigger_share: 0.5}]
= 1:61: summarize.trigger_share: it has no effect: summarize.trigger_tokens holds: leave it out (unused)
# two summaries
stages: [autocompact, summarize]
= 1:23: summarize: it competes with autocompact for the same tokens: keep one of them (compete)
# two prompts
stages: [compact_api: {instructions: Be brief, prompt_tokens: 7}]
= 1:63: compact_api.prompt_tokens: it has no effect: compact_api.instructions replace the prompt: leave it out (unused)
`, "\n# ")[1:]
	rules := map[policy.Rule]bool{}
	for _, tt := range tests {
		name, text, _ := strings.Cut(tt, "\n")
		text, want, _ := strings.Cut(text, "\n=")
		t.Run(name, func(t *testing.T) {
			p := must.Get(policy.Decode("p.yaml", []byte(text+"\n"), allStages(t), nil))(t)
			got := ""
			for _, f := range policy.Lint(p) {
				got += "\n= " + strings.TrimPrefix(f.String(), "p.yaml:")
				rules[policy.Rule(f.Rule)] = true
			}
			if want != "" {
				want = "\n=" + want
			}
			must.Equal(t, strings.TrimSpace(got), strings.TrimSpace(want))
		})
	}
	for _, r := range policy.Rules() {
		if !rules[r.Name] {
			t.Errorf("no case for rule %s", r.Name)
		}
	}
}
