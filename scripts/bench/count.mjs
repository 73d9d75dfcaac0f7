// Counts the tokens (o200k_base) of the texts in a session file: node count.mjs FILE, in the folder of gpt-tokenizer.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const { countTokens } = createRequire(process.cwd() + '/')('gpt-tokenizer/encoding/o200k_base')
let tokens = 0
const add = text => { if (typeof text === 'string') tokens += countTokens(text, { disallowedSpecial: new Set() }) }
for (const line of readFileSync(process.argv[2], 'utf8').split('\n')) {
  if (line === '') continue
  const content = JSON.parse(line).message?.content
  if (!Array.isArray(content)) { add(content); continue }
  for (const block of content) {
    add(block.text ?? block.thinking)
    if (block.type === 'tool_use') add(JSON.stringify(block.input))
    if (block.type === 'tool_result') Array.isArray(block.content) ? block.content.forEach(part => add(part.text)) : add(block.content)
  }
}
console.log(tokens)
