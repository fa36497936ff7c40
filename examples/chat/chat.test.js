// The chat against the real server: two terminals, one of them cut, and a page.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { cable } from '../../sdk/js/test/house/cable.js';
import { numbered } from '../../sdk/js/test/house/room.js';
import { noServer, serve } from '../../sdk/js/test/house/server.js';
import { launch, noBrowser, site } from '../../sdk/js/test/house/site.js';

const options = { skip: noServer, timeout: 120_000 };
const script = fileURLToPath(new URL('terminal.js', import.meta.url));

/** The script as somebody types into it. */
function terminal(t, name, url) {
  const child = spawn(process.execPath, [script, name, 'lobby', url], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  const lines = [];
  const changed = new Set();
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    for (const look of changed) look();
  });
  return {
    lines,
    said: (by) => lines.filter((line) => line.startsWith(`${by}: `)).map((line) => line.slice(by.length + 2)),
    type: (line) => child.stdin.write(`${line}\n`),
    /** Waits until its lines are as they should be. */
    until: (holds) =>
      new Promise((resolve) => {
        const look = () => {
          if (!holds(lines)) return;
          changed.delete(look);
          resolve();
        };
        changed.add(look);
        look();
      }),
    async end() {
      const exit = once(child, 'exit');
      child.stdin.end();
      return (await exit)[0];
    },
  };
}

/** The server, and a cable to it. */
async function house(t, more = []) {
  const server = await serve(more);
  t.after(() => server.stop());
  const near = await cable(server.port);
  t.after(() => near.close());
  return { server, near };
}

test('two terminals chat; one is cut, and nothing is lost on either side', options, async (t) => {
  const { server, near } = await house(t);
  const ann = terminal(t, 'Ann', near.url);
  await ann.until((lines) => lines.includes('* nobody else is here'));
  const bob = terminal(t, 'Bob', server.url);
  await bob.until((lines) => lines.includes('* here are Ann'));
  bob.type('hello');
  await ann.until((lines) => lines.includes('Bob: hello'));

  near.unplug();
  await ann.until((lines) => lines.some((line) => line.startsWith('* the connection is gone')));
  await bob.until((lines) => lines.includes('* Ann has lost the connection and is waited for'));
  numbered('meanwhile', 30).forEach(bob.type);
  numbered('unheard', 10).forEach(ann.type);
  await bob.until(() => bob.said('Bob').length === 31);
  near.plug();

  await ann.until((lines) => ann.said('Ann').length >= 10 && lines.some((line) => line.startsWith('* back')));
  await bob.until((lines) => bob.said('Ann').length >= 10 && lines.includes('* Ann is back'));
  assert.deepEqual(ann.said('Bob'), ['hello', ...numbered('meanwhile', 30)]);
  assert.deepEqual(bob.said('Ann'), numbered('unheard', 10));
  assert.match(ann.lines.find((line) => line.startsWith('* back')), /^\* back, replayed \(complete\): \d+ missed, nothing lost$/);

  assert.equal(await ann.end(), 0);
  await bob.until((lines) => lines.includes('* Ann has gone: left'));
  assert.equal(await bob.end(), 0);
});

test('the page chats with a terminal, shows markup as text, and survives a cut and a reload', { ...options, skip: noServer || noBrowser }, async (t) => {
  const root = new URL('../../', import.meta.url);
  const pages = await site(root, (path) => path.slice(1));
  t.after(() => pages.close());
  const { server, near } = await house(t, ['--config', allowing(t, `http://127.0.0.1:${pages.port}`)]);
  const browser = await launch();
  t.after(() => browser.close());
  const page = await browser.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(`http://127.0.0.1:${pages.port}/examples/chat/index.html?name=Bob&server=${encodeURIComponent(near.url)}`);
  await page.locator('#line:enabled').waitFor();
  const ann = terminal(t, 'Ann', server.url);
  await ann.until((lines) => lines.includes('* here are Bob'));

  near.unplug();
  await page.locator('li', { hasText: 'the connection is gone' }).waitFor();
  ann.type('<img src=x onerror=alert(1)>');
  await page.locator('#line').fill('are you there?');
  await page.locator('#line').press('Enter');
  near.plug();
  await page.locator('li.said', { hasText: 'Ann: <img src=x onerror=alert(1)>' }).waitFor();
  await page.locator('li.happened', { hasText: 'back, replayed (complete)' }).waitFor();
  await ann.until((lines) => lines.includes('Bob: are you there?'));
  assert.equal(await page.locator('img').count(), 0);

  await page.reload();
  await page.locator('li.happened', { hasText: 'here are Ann' }).waitFor();
  assert.deepEqual(errors, []);
  assert.equal(ann.lines.some((line) => line.includes('has gone')), false);
});

/** Settings under which this page may connect. */
function allowing(t, origin) {
  const folder = mkdtempSync(`${tmpdir()}/rejoin-chat-`);
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(`${folder}/rejoin.toml`, `origins = ["${origin}"]\n`);
  return `${folder}/rejoin.toml`;
}
