// The module in a page, without a build step and under a strict content policy, in a real browser.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { after, before, test } from 'node:test';

import { cable } from './house/cable.js';
import { enter, numbered, play, say, until } from './house/room.js';
import { noServer, serve } from './house/server.js';
import { launch, noBrowser, site } from './house/site.js';

const options = { skip: noServer || noBrowser, timeout: 120_000 };
let folder;
let server;
let pages;
let browser;

before(async () => {
  if (options.skip) return;
  folder = mkdtempSync(`${tmpdir()}/rejoin-browser-`);
  writeFileSync(`${folder}/rejoin.toml`, 'origins = ["*"]\n');
  [server, pages, browser] = await Promise.all([serve(['--config', `${folder}/rejoin.toml`]), site(), launch()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  pages?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** A cable to the server, and a fresh profile that is closed when the test ends. */
async function profile(t) {
  const near = await cable(server.port);
  const context = await browser.newContext();
  t.after(async () => {
    await context.close();
    near.close();
  });
  return { near, context };
}

/** Opens the page and waits until its player is let in. */
async function open(context, near, { host = '127.0.0.1', more = '' } = {}) {
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto(`http://${host}:${pages.port}/page.html?server=${encodeURIComponent(near.url)}${more}`);
  await connected(page);
  return { page, errors };
}

/** Waits until the page's player is let in. */
async function connected(page) {
  await page.waitForFunction(() => globalThis.game?.player.status === 'connected' && globalThis.game.player.id !== '');
}

/** The events of this name that the page's player has told. */
function told(page, name) {
  return page.evaluate((wanted) => globalThis.game.told.filter(([each]) => each === wanted).map(([, event]) => event), name);
}

test('cut while 500 numbered messages arrive and 50 are sent: replayed, each once and in order', options, async (t) => {
  const { near, context } = await profile(t);
  const { page, errors } = await open(context, near);
  const friends = Array.from({ length: 5 }, () => play(t, server.url));
  await page.evaluate(() => globalThis.game.player.join('relay', 'five hundred', { create: true }).then(() => {}));
  await Promise.all(friends.map(({ player }) => enter(player, 'five hundred')));

  const speak = (from, to) => {
    friends.forEach(({ player }, at) => numbered(`friend ${at}`, 100).slice(from, to).forEach((words) => say(player, words)));
  };
  speak(0, 20);
  await page.waitForFunction(() => globalThis.game.heard.length > 0);
  near.unplug();
  speak(20, 100);
  await page.evaluate(() => {
    for (let number = 1; number <= 50; number += 1) globalThis.game.player.send(`page ${number}`);
  });
  await Promise.all(friends.map(({ player }) => until(player, () => player.buffered.frames === 0)));
  near.plug();

  await page.waitForFunction(() => globalThis.game.heard.length >= 500 && globalThis.game.told.some(([name]) => name === 'returned'));
  const heard = await page.evaluate(() => globalThis.game.heard);
  assert.equal(heard.length, 500);
  for (const at of friends.keys()) {
    assert.deepEqual(heard.filter((words) => words.startsWith(`friend ${at}`)), numbered(`friend ${at}`, 100));
  }
  for (const { player, heard: byFriend } of friends) {
    const fromPage = () => byFriend.filter((words) => words.startsWith('page'));
    await until(player, () => fromPage().length >= 50);
    assert.deepEqual(fromPage(), numbered('page', 50));
  }
  const [returned] = await told(page, 'returned');
  assert.deepEqual([returned.rung, returned.reason, returned.lost], ['replayed', 'complete', { upstream: 0, sends: [] }]);
  assert.ok(returned.replayed >= 400 && returned.replayed < 500, `${returned.replayed} were replayed`);
  // The page learns that it is back, and how, before anything that it had missed.
  const order = await page.evaluate(() => globalThis.game.told.filter(([name]) => name === 'connected').map(([, { rung }, count]) => [rung, count]));
  assert.deepEqual(order, [['new', 0], ['replayed', 500 - returned.replayed]]);
  // A dial that failed is the browser's own to complain about.
  assert.deepEqual(errors.filter((text) => !text.includes('WebSocket connection')), []);
});

test('a reload comes back to the session: resynced, cold, the same player in the same room', options, async (t) => {
  const { near, context } = await profile(t);
  const { page } = await open(context, near);
  const [{ player, session }] = await told(page, 'connected');
  await page.evaluate(() => globalThis.game.player.join('relay', 'reload', { create: true }).then(() => {}));
  await page.reload();
  await page.waitForFunction(() => globalThis.game?.told.some(([name]) => name === 'returned'));
  const [again] = await told(page, 'connected');
  assert.deepEqual([again.rung, again.reason, again.player, again.session], ['resynced', 'cold', player, session]);
  assert.deepEqual(again.zone, { kind: 'relay', name: 'reload' });
});

test('a reload in the middle of a return is a cold one', options, async (t) => {
  const { near, context } = await profile(t);
  const { page } = await open(context, near);
  const [{ player, session }] = await told(page, 'connected');
  near.unplug();
  await page.waitForFunction(() => globalThis.game.player.status !== 'connected');
  await page.reload();
  near.plug();
  await connected(page);
  const [again] = await told(page, 'connected');
  assert.deepEqual([again.rung, again.reason, again.player, again.session], ['resynced', 'cold', player, session]);
});

test('a second tab takes over and the first can take it back', options, async (t) => {
  const { near, context } = await profile(t);
  const { page: first } = await open(context, near);
  const { page: second } = await open(context, near);
  await first.waitForFunction(() => globalThis.game.told.some(([name]) => name === 'takenOver'));
  const ids = await Promise.all([first, second].map((page) => page.evaluate(() => globalThis.game.player.id)));
  assert.equal(ids[0], ids[1]);
  assert.equal(await first.evaluate(() => globalThis.game.player.status), 'stopped');
  await first.evaluate(() => globalThis.game.player.retry());
  await second.waitForFunction(() => globalThis.game.told.some(([name]) => name === 'takenOver'));
  await connected(first);
});

test('outside a secure context a guest plays by secret and stays the same player', options, async (t) => {
  const { near, context } = await profile(t);
  const { page } = await open(context, near, { host: 'phone.test' });
  assert.equal(await page.evaluate(() => globalThis.isSecureContext), false);
  const [{ player }] = await told(page, 'connected');
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), ['rejoin.secret']);
  const { page: other } = await open(context, near, { host: 'phone.test' });
  const [again] = await told(other, 'connected');
  assert.deepEqual([again.player, again.found], [player, true]);
});

test('a page whose storage is full plays on, and is told', options, async (t) => {
  const { near, context } = await profile(t);
  const { page } = await open(context, near, { more: '&full' });
  const failures = await told(page, 'storageFailed');
  assert.deepEqual(failures.map(({ slot }) => slot), ['key', 'session']);
  assert.match(failures[0].text, /no more room/);
});

test('storage that is cleared while somebody plays: they play on, and a reload is somebody new', options, async (t) => {
  const { near, context } = await profile(t);
  const { page } = await open(context, near);
  const [{ player }] = await told(page, 'connected');
  await page.evaluate(() => {
    localStorage.clear();
    sessionStorage.clear();
  });
  near.cut();
  await page.waitForFunction(() => globalThis.game.told.some(([name]) => name === 'returned'));
  const [, again] = await told(page, 'connected');
  assert.deepEqual([again.rung, again.player], ['replayed', player]);
  // The token of the last welcome is stored again, the key is not: it opens nothing, and locks nobody out.
  await page.reload();
  await connected(page);
  const [other] = await told(page, 'connected');
  assert.deepEqual([other.rung, other.after], ['new', null]);
  assert.notEqual(other.player, player);
});

test('the browser says that the network is back: who waits for long tries at once', options, async (t) => {
  const { near, context } = await profile(t);
  const { page } = await open(context, near, { more: '&patient' });
  await page.evaluate(() => globalThis.game.player.join('relay', 'online', { create: true }).then(() => {}));
  const hints = [];
  await page.exposeFunction('hinted', (name) => hints.push(name));
  await page.evaluate(() => {
    for (const name of ['offline', 'online']) addEventListener(name, () => globalThis.hinted(`${name} ${globalThis.game.player.status}`));
  });
  await context.setOffline(true);
  near.cut();
  await page.waitForFunction(() => globalThis.game.player.status === 'waiting');
  const [{ inMs }] = await told(page, 'reconnecting');
  await context.setOffline(false);
  await page.waitForFunction(() => globalThis.game.told.some(([name]) => name === 'returned'));
  const [{ rung }] = await told(page, 'returned');
  assert.equal(rung, 'replayed');
  // The player listens before this test does, so it is dialling already; unless its own wait was as short.
  assert.ok(hints.at(-1) === 'online connecting' || inMs < 1000, `${hints}, after a wait of ${inMs} ms`);
});

test('a page of an origin that is not let in hears so, with the setting to change', options, async (t) => {
  // Without --dev, pages of local web servers need their place on the list, too.
  const strict = await serve([], { isDev: false });
  const context = await browser.newContext();
  t.after(async () => {
    await context.close();
    await strict.stop();
  });
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${pages.port}/page.html?server=${encodeURIComponent(strict.url)}`);
  const refused = await page.evaluate(() =>
    globalThis.game.player.join('relay', 'x').then(
      () => null,
      ({ kind, cause }) => ({ kind, cause: cause.kind, message: cause.message }),
    ),
  );
  assert.deepEqual([refused.kind, refused.cause], ['not_sent', 'origin']);
  assert.equal(refused.message, `pages of http://127.0.0.1:${pages.port} may not connect here: list the origin in \`origins\` of rejoin.toml`);
});
