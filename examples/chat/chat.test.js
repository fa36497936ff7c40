// The chat against the real server: two terminals, one of them cut, and a page.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Room } from '../../sdk/js/src/relay.js';
import { cable } from '../../sdk/js/test/house/cable.js';
import { numbered, play, until } from '../../sdk/js/test/house/room.js';
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
  bob.type('\x1b[31mred');
  await ann.until((lines) => lines.includes('Bob:  [31mred'));

  near.unplug();
  await ann.until((lines) => lines.some((line) => line.startsWith('* the connection is gone')));
  await bob.until((lines) => lines.includes('* Ann has lost the connection and is waited for'));
  numbered('meanwhile', 30).forEach(bob.type);
  numbered('unheard', 10).forEach(ann.type);
  await bob.until(() => bob.said('Bob').length === 32);
  near.plug();

  await ann.until((lines) => ann.said('Ann').length >= 10 && lines.some((line) => line.startsWith('* back')));
  await bob.until((lines) => bob.said('Ann').length >= 10 && lines.includes('* Ann is back'));
  assert.deepEqual(ann.said('Bob'), ['hello', ' [31mred', ...numbered('meanwhile', 30)]);
  assert.deepEqual(bob.said('Ann'), numbered('unheard', 10));
  assert.match(ann.lines.find((line) => line.startsWith('* back')), /^\* back, replayed: \d+ missed, nothing lost$/);

  assert.equal(await ann.end(), 0);
  await bob.until((lines) => lines.includes('* Ann has gone: left'));
  assert.equal(await bob.end(), 0);
});

/** The page in a browser of its own, as Bob, and somebody to talk to. */
async function visit(t, settings = '') {
  const pages = await site(new URL('../../', import.meta.url), (path) => path.slice(1));
  t.after(() => pages.close());
  const folder = mkdtempSync(`${tmpdir()}/rejoin-chat-`);
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(`${folder}/rejoin.toml`, `origins = ["http://127.0.0.1:${pages.port}"]\n${settings}`);
  const { server, near } = await house(t, ['--config', `${folder}/rejoin.toml`]);
  const browser = await launch();
  t.after(() => browser.close());
  const page = await browser.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(`http://127.0.0.1:${pages.port}/examples/chat/index.html?name=Bob&server=${encodeURIComponent(near.url)}`);
  await page.locator('#line:enabled').waitFor();
  const happened = (words) => page.locator('li.happened', { hasText: words }).last().waitFor({ timeout: 60_000 });
  return { server, near, page, errors, happened };
}

const inBrowser = { ...options, skip: noServer || noBrowser };

test('the page chats with a terminal, shows markup as text, and survives a cut and a reload', inBrowser, async (t) => {
  const { server, near, page, errors, happened } = await visit(t);
  const ann = terminal(t, 'Ann', server.url);
  await ann.until((lines) => lines.includes('* here are Bob'));

  near.unplug();
  await happened('the connection is gone');
  ann.type('<img src=x onerror=alert(1)>');
  await page.locator('#line').fill('are you there?');
  await page.locator('#line').press('Enter');
  near.plug();
  await page.locator('li.said', { hasText: 'Ann: <img src=x onerror=alert(1)>' }).waitFor();
  await happened(/^back, replayed: \d+ missed, nothing lost$/);
  await ann.until((lines) => lines.includes('Bob: are you there?'));
  assert.equal(await page.locator('img').count(), 0);

  await page.reload();
  await happened('here are Ann');
  await happened('back, resynced: what you had heard is not known here (cold)');
  assert.deepEqual(errors, []);
  assert.equal(ann.lines.some((line) => line.includes('has gone')), false);
});

test('more is said than the room keeps while the page is away: resynced, and the page says what is lost', inBrowser, async (t) => {
  const { server, near, page, errors, happened } = await visit(t);
  // A room keeps 4 MiB, and nobody may fill more than a quarter of it: it takes a crowd.
  const crowd = Array.from({ length: 20 }, () => play(t, server.url).player);
  const rooms = crowd.map((player) => new Room(player, 'lobby'));
  await Promise.all(rooms.map((room) => room.enter()));
  near.unplug();
  await happened('the connection is gone');
  const much = 'x'.repeat(62_000);
  for (const room of rooms) for (let line = 0; line < 4; line += 1) room.send(much);
  await Promise.all(crowd.map((player) => until(player, () => player.buffered.frames === 0)));
  near.plug();
  await happened('back, resynced: more was said than is kept, and what you missed is lost');
  rooms[0].send('heard again');
  await page.locator('li.said', { hasText: 'heard again' }).waitFor();
  assert.deepEqual(errors, []);
});

test('the page is away for longer than the hold: new, with its reason, and it chats on', inBrowser, async (t) => {
  const { near, page, errors, happened } = await visit(t, '[zone.relay]\nhold_ms = 500\n');
  near.mute();
  await happened('the connection is gone');
  await new Promise((resolve) => setTimeout(resolve, 1200));
  near.plug();
  await happened('the room is lost: session_unknown');
  await happened('back, new: your old session is gone (session_unknown), and what was said meanwhile is lost');
  await page.locator('#line').fill('here I am');
  await page.locator('#line').press('Enter');
  await page.locator('li.said', { hasText: 'Bob: here I am' }).waitFor();
  assert.deepEqual(errors, []);
});
