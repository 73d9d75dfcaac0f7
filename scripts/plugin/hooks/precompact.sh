#!/bin/sh
# Claude Code runs this before a compaction, with a JSON object on standard input. It writes what the context holds, and
# the compaction will drop, to .claude/compactions/SESSION-TIME.md in the project. It never stops the compaction.
input=$(cat)
session=$(printf '%s' "$input" | tr -d '\n' | sed -n 's/.*"session_id"[[:space:]]*:[[:space:]]*"\([0-9A-Za-z-]*\)".*/\1/p')
if [ -z "$session" ]; then
  echo "ctxkit: the hook's input names no session" >&2
  exit 0
fi
if ! command -v ctxkit >/dev/null 2>&1; then
  echo "ctxkit is not installed, or not on the PATH: no note is written" >&2
  exit 0
fi
folder=${CLAUDE_PROJECT_DIR:-.}/.claude/compactions
mkdir -p "$folder" || exit 0
note=$folder/$session-$(date -u +%Y%m%dT%H%M%SZ).md
ctxkit stats "$session" --at last --all --quiet --format markdown --output "$note" && echo "ctxkit: what the context held is in $note"
exit 0
