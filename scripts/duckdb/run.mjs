// Runs the examples of a page: its `$ ctxkit export` lines, then each block of SQL, whose result follows it as a block
// of text. Usage: node run.mjs CTXKIT SESSIONS PAGE [--update]
// It fails where a result differs; with --update it writes the page instead.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'

const [ctxkit, sessions, page] = process.argv.slice(2, 5).map((path) => resolve(path))
const update = process.argv[5] === '--update'
const text = readFileSync(page, 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'ctxkit-duckdb-'))
process.on('exit', () => rmSync(folder, { recursive: true }))
process.chdir(folder)
mkdirSync('testdata')
symlinkSync(sessions, join('testdata', 'sessions'))
const exports = [...text.matchAll(/^\$ ctxkit (export .*)$/gm)]
for (const [, line] of exports) execFileSync(ctxkit, [...line.split(' '), '--quiet'], { stdio: 'inherit' })

const connection = await (await DuckDBInstance.create(':memory:')).connect()
await connection.run("SET TimeZone = 'UTC'")

/** A result as a table: numbers to the right, null as a dash. */
async function result(sql) {
  const reader = await connection.runAndReadAll(sql)
  const rows = reader.getRows().map((row) => row.map((value) => (value === null ? '-' : String(value))))
  const numbers = reader.getRows().map((row) => row.map((value) => /^(bigint|number)$/.test(typeof value) || value?.constructor?.name === 'DuckDBDecimalValue'))
  const lines = [reader.columnNames(), ...rows]
  const widths = lines[0].map((_, i) => Math.max(...lines.map((line) => line[i].length)))
  const right = lines[0].map((_, i) => numbers.some((row) => row[i]))
  return lines.map((line) => line.map((cell, i) => (right[i] ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join('  ').trimEnd()).join('\n')
}

let queries = 0
let wrong = 0
let updated = ''
let last = 0
for (const block of text.matchAll(/^```sql\n([\s\S]*?)^```\n(?:\n```text\n([\s\S]*?)```\n)?/gm)) {
  queries++
  const got = (await result(block[1])) + '\n'
  if (got !== block[2]) {
    wrong++
    if (!update) console.error(`query ${queries}:\n${block[1]}gives\n${got}the page has\n${block[2]}`)
  }
  updated += text.slice(last, block.index) + '```sql\n' + block[1] + '```\n\n```text\n' + got + '```\n'
  last = block.index + block[0].length
}
updated += text.slice(last)
if (exports.length === 0 || queries < 5) throw new Error(`${exports.length} exports and ${queries} queries in ${page}`)
if (update) writeFileSync(page, updated)
console.log(`${queries} queries, of which ${wrong} ${update ? 'are rewritten' : 'have another result'}`)
process.exitCode = wrong > 0 && !update ? 1 : 0
