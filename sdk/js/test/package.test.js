// What is packed, what its declarations promise, and that the README's example runs.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { DEFAULTS } from '../src/config.js';
import { noServer, serve } from './house/server.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../', import.meta.url));
const here = { cwd: root, encoding: 'utf8' };
const readme = readFileSync(`${root}README.md`, 'utf8');

test('the package holds its sources and their declarations, and a TypeScript game compiles against them', { timeout: 240_000 }, async () => {
  rmSync(`${root}types`, { recursive: true, force: true });
  const packed = await run('npm', ['pack', '--dry-run', '--json'], here);
  const [{ files }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('[\n')));
  const paths = files.map(({ path }) => path);
  for (const path of ['package.json', 'README.md', 'LICENSE-MIT', 'LICENSE-APACHE', 'src/index.js', 'src/machine/ending.js', 'types/index.d.ts']) {
    assert.ok(paths.includes(path), `${path} is not packed`);
  }
  assert.deepEqual(paths.filter((path) => !/^(src|types)\/.*\.(js|d\.ts)$|^(package\.json|README\.md|LICENSE-\w+)$/.test(path)), []);
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '--project', 'test/consumer'], here).catch(({ stdout }) => assert.fail(stdout));
});

test('a source opens with what it is for, and is short enough to read', () => {
  const sources = readdirSync(`${root}src`, { recursive: true }).filter((name) => name.endsWith('.js'));
  assert.ok(sources.length > 20);
  for (const name of sources) {
    const lines = readFileSync(`${root}src/${name}`, 'utf8').split('\n');
    assert.equal(lines[0], '/**', `${name} has no header`);
    assert.ok(lines.length <= 600, `${name} has ${lines.length} lines`);
  }
});

test('the example of the README runs as it is written', { skip: noServer, timeout: 60_000 }, async (t) => {
  const [, example] = /```js\n([\s\S]*?)```/.exec(readme);
  assert.ok(example.trim().split('\n').length <= 20, 'it has at most 20 lines');
  const server = await serve();
  t.after(() => server.stop());
  const code = example.replace('ws://localhost:7400/play', server.url);
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], here);
  assert.deepEqual(stdout.trim().split('\n'), ['answered: are you there?', 'the connection is gone']);
});

test('the options of the README are those of the code', () => {
  const rows = new Map([...readme.matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, name, value]) => [name, Number(value)]));
  for (const [name, value] of Object.entries(DEFAULTS)) assert.equal(rows.get(name), value, name);
});
