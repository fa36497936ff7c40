// The arena in a real browser, against the real server: play, break the connection in every way the
// page offers, and come back.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { after, before, test } from 'node:test';

import { noServer, serve } from '../../sdk/js/test/house/server.js';
import { launch, noBrowser } from '../../sdk/js/test/house/site.js';
import { earn, me, playing, returned, slide, until, visit } from './visitor.js';

const options = { skip: noServer || noBrowser, timeout: 240_000 };
let server;
let browser;

before(async () => {
  if (options.skip) return;
  [server, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** A visitor of the test, gone with it. */
async function visitor(t, settings) {
  const guest = await visit(browser, server, settings);
  t.after(() => guest.context.close());
  return guest;
}

/** What the strip says of the last return. */
function stripOf(page) {
  return page.evaluate(() => {
    const at = (id) => document.getElementById(id);
    return [at('rung').textContent, at('rung').dataset.rung, at('replayed').textContent, at('lost').textContent];
  });
}

/** The three bots on the leaderboard by name, once this holds for one of them. */
async function botsOf(page, holds) {
  for (let tries = 0; tries < 600; tries += 1) {
    const rows = await page.locator('#board li', { hasText: ' bot' }).evaluateAll((items) =>
      items.map((row) => ({
        name: row.querySelector('.who').firstChild.textContent,
        score: Number(row.querySelector('.score').textContent),
        color: row.querySelector('.dot').style.background,
      })),
    );
    if (rows.length === 3 && rows.some(holds)) return new Map(rows.map((row) => [row.name, row]));
    await page.waitForTimeout(100);
  }
  throw new Error('the bots never came to that');
}

test('the page loads from this server alone, and its hero runs by keyboard', options, async (t) => {
  const { page, errors, requests } = await visitor(t);
  const start = await playing(page);
  const [key, sign] = start.x < 800 ? ['ArrowRight', 1] : ['ArrowLeft', -1];
  await page.keyboard.down(key);
  await until(page, 'moved', ({ x }) => sign * (x - start.x) > 100);
  await page.keyboard.up(key);
  const origin = `http://127.0.0.1:${server.port}/`;
  assert.deepEqual(requests.filter((url) => !url.startsWith(origin)), []);
  assert.deepEqual(errors, []);

  const answer = await page.request.get(`${origin}arena`);
  const policy = answer.headers()['content-security-policy'];
  assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.match(await (await page.request.get(origin)).text(), /href="\/arena"/);
});

test('bots keep company, and what they take is on the leaderboard', options, async (t) => {
  const { page } = await visitor(t);
  await playing(page);
  await page.locator('#board li', { hasText: 'Pixel bot' }).waitFor();
  await page.waitForFunction(() =>
    [...document.querySelectorAll('#board li')].some((row) => row.innerText.includes('bot') && Number(row.querySelector('.score').textContent) > 0),
  );
});

test('cut: back by itself, replayed, with the same score; others see the ghost', options, async (t) => {
  const [ann, bob] = [await visitor(t), await visitor(t)];
  await playing(ann.page);
  await playing(bob.page);
  const before = await earn(ann.page, 2);
  const session = await ann.page.locator('#session').innerText();
  await slide(ann.page, '#offline-seconds', 3);
  await ann.page.locator('#offline').click();
  await bob.page.locator('#board li.away', { hasText: before.name }).waitFor();
  assert.equal(await ann.page.locator('#veil-title').innerText(), 'You are offline');
  assert.match(await ann.page.locator('#veil-text').innerText(), /^Your hero waits as a ghost, for 1[345] s more\.$/);
  assert.deepEqual(await stripOf(ann.page), ['not back yet', 'away', '–', '–']);

  const back = await returned(ann.page, 'replayed');
  assert.ok(back.replayed > 0, 'coins came and went meanwhile');
  assert.equal(back.lost, 0);
  const hero = await playing(ann.page);
  assert.deepEqual([hero.id, hero.score, hero.name], [before.id, before.score, before.name]);
  assert.equal(await ann.page.locator('#session').innerText(), session);
  await bob.page.locator('#board li.away', { hasText: before.name }).waitFor({ state: 'detached' });
  assert.equal(await ann.page.locator('#veil').isVisible(), false);

  // And once more by the other button: at once, and it runs on.
  await ann.page.locator('#cut').click();
  await returned(ann.page, 'replayed');
  // The space bar zaps, and does not press the button once more.
  await ann.page.evaluate(() => {
    globalThis.cuts = 0;
    document.getElementById('cut').addEventListener('click', () => (globalThis.cuts += 1));
  });
  await ann.page.keyboard.press('Space');
  await ann.page.keyboard.press('Space');
  assert.equal(await ann.page.evaluate(() => globalThis.cuts), 0);
  assert.equal(await ann.page.evaluate(() => document.activeElement?.id), 'canvas');
  const [key, sign] = hero.x < 800 ? ['d', 1] : ['a', -1];
  await ann.page.keyboard.down(key);
  await until(ann.page, 'running on', ({ x }) => sign * (x - hero.x) > 100);
  await ann.page.keyboard.up(key);
  assert.deepEqual([...ann.errors, ...bob.errors], []);
});

test('offline for longer than the hold: a new session, and the page says why', options, async (t) => {
  const { page, errors } = await visitor(t);
  const before = await playing(page);
  const session = await page.locator('#session').innerText();
  await slide(page, '#offline-seconds', 18);
  await page.locator('#offline').click();
  const back = await returned(page, 'new');
  assert.match(back.said, /^New: the old one .*has ended$/);
  const hero = await until(page, 'another hero', ({ id }) => id !== before.id);
  assert.equal(hero.score, 0);
  assert.notEqual(await page.locator('#session').innerText(), session);
  assert.equal(hero.name, before.name);
  assert.deepEqual(errors, []);
});

test('a second tab takes over; the first is told, and takes it back', options, async (t) => {
  const { page: first, open, errors } = await visitor(t);
  const hero = await playing(first);
  const second = await open();
  await first.locator('#state[data-state=elsewhere]').waitFor();
  assert.equal(await first.locator('#veil-title').innerText(), 'Playing elsewhere');
  assert.equal((await playing(second)).id, hero.id);

  // Every card that is shown from here on.
  await first.evaluate(() => {
    globalThis.cards = [];
    const title = document.getElementById('veil-title');
    new MutationObserver(() => globalThis.cards.push(title.textContent)).observe(title, { childList: true, characterData: true, subtree: true });
  });
  await first.getByRole('button', { name: 'Take it back' }).click();
  await second.locator('#state[data-state=elsewhere]').waitFor();
  assert.equal((await playing(first)).id, hero.id);
  const back = await returned(first, 'resynced');
  assert.equal(back.said, 'Resynced: taken back from the other tab');
  assert.match(await first.locator('#toast').innerText(), /taken back from the other tab/);
  assert.deepEqual([...new Set(await first.evaluate(() => globalThis.cards))], ['Taking it back']);
  assert.equal(await first.locator('#veil').isVisible(), false);
  // Nobody fights over it.
  await first.waitForTimeout(1500);
  assert.equal(await first.locator('#state').getAttribute('data-state'), 'connected');
  assert.equal(await second.locator('#state').getAttribute('data-state'), 'elsewhere');
  assert.deepEqual(errors, []);
});

test('reload: resynced, with the same hero and score', options, async (t) => {
  const { page, errors } = await visitor(t);
  await playing(page);
  const before = await earn(page, 2);
  await page.reload();
  const back = await returned(page, 'resynced');
  assert.equal(back.said, 'Resynced: the page was loaded anew');
  const hero = await playing(page);
  assert.deepEqual([hero.id, hero.score], [before.id, before.score]);
  assert.deepEqual(errors, []);
});

test('the server is killed and starts again: replayed, with the same hero and score', options, async (t) => {
  const data = mkdtempSync(`${tmpdir()}/rejoin-arena-`);
  let house = await serve([], { data });
  t.after(async () => {
    await house.stop();
    rmSync(data, { recursive: true });
  });
  const { context, page } = await visit(browser, house);
  t.after(() => context.close());
  await playing(page);
  const before = await earn(page, 3);
  const bots = await botsOf(page, ({ score }) => score > 0);
  await house.stop('SIGKILL');
  await page.locator('#veil-title', { hasText: 'The server does not answer' }).waitFor();
  assert.match(await page.locator('#veil-text').innerText(), /^Your hero waits until the server is back\. (Next try in \d+ s|Trying now)\.$/);

  house = await serve([], { data, port: house.port });
  const back = await returned(page, 'replayed');
  assert.equal(back.lost, 0);
  const hero = await playing(page);
  assert.deepEqual([hero.id, hero.score, hero.name], [before.id, before.score, before.name]);
  // The bots of before go on: the same ones, with at least the score they had, and they take more.
  const after = await botsOf(page, ({ name, score }) => score > bots.get(name).score);
  for (const [name, { score, color }] of bots) {
    assert.ok(after.get(name).score >= score, `${name} had ${score} and has ${after.get(name).score}`);
    assert.equal(after.get(name).color, color);
  }
  const [key, sign] = hero.x < 800 ? ['d', 1] : ['a', -1];
  await page.keyboard.down(key);
  await until(page, 'running on', ({ x }) => sign * (x - hero.x) > 100);
  await page.keyboard.up(key);
});

test('a hostile name is text, wherever it is shown', options, async (t) => {
  const [ann, bob] = [await visitor(t), await visitor(t)];
  await playing(ann.page);
  await playing(bob.page);
  const name = '<img src=x onerr';
  await ann.page.locator('#name').fill(name);
  await ann.page.locator('#name').press('Enter');
  await until(ann.page, 'called so', (hero) => hero.name === name);
  for (const { page } of [ann, bob]) {
    await page.locator('#board .who', { hasText: name }).waitFor();
    assert.equal(await page.locator('#board img').count(), 0);
  }
  await ann.page.reload();
  assert.equal((await playing(ann.page)).name, name);
  assert.deepEqual([...ann.errors, ...bob.errors], []);
});

test('a slow network is felt, and everything still works', options, async (t) => {
  const { page, errors } = await visitor(t);
  const start = await playing(page);
  await slide(page, '#slow', 200);
  await page.waitForFunction(() => Number.parseInt(document.getElementById('latency').innerText, 10) >= 400, null, { timeout: 60_000 });
  await slide(page, '#slow', 800);
  const [label, value] = await Promise.all(['label[for=slow]', '#slow-for'].map((id) => page.locator(id).boundingBox()));
  assert.ok(label.height < 1.7 * value.height && value.height < 30, 'it stands on one line');
  await slide(page, '#slow', 200);
  const [key, sign] = start.x < 800 ? ['d', 1] : ['a', -1];
  await page.keyboard.down(key);
  await until(page, 'moved', ({ x }) => sign * (x - start.x) > 60);
  await page.keyboard.up(key);
  assert.deepEqual(errors, []);
});

test('on a phone there is a stick, and nothing is wider than the screen', options, async (t) => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };
  const { page, errors } = await visitor(t, phone);
  const start = await playing(page);
  const stick = await page.locator('#stick').boundingBox();
  const [x, y] = [stick.x + stick.width / 2, stick.y + stick.height / 2];
  const sign = start.x < 800 ? 1 : -1;
  await page.locator('#stick').dispatchEvent('pointerdown', { pointerId: 1, clientX: x + sign * 50, clientY: y, isPrimary: true });
  await until(page, 'moved', (hero) => sign * (hero.x - start.x) > 60);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  assert.deepEqual(errors, []);
});

test('a page that is not secure, as on a phone in the local network, plays by secret and comes back', options, async (t) => {
  const folder = mkdtempSync(`${tmpdir()}/rejoin-arena-`);
  writeFileSync(`${folder}/rejoin.toml`, 'server_names = ["phone.test"]\n');
  const house = await serve(['--config', `${folder}/rejoin.toml`]);
  t.after(async () => {
    await house.stop();
    rmSync(folder, { recursive: true });
  });
  const { context, page, errors } = await visit(browser, house, { host: 'phone.test' });
  t.after(() => context.close());
  const before = await playing(page);
  assert.equal(await page.evaluate(() => isSecureContext), false);
  await page.reload();
  await returned(page, 'resynced');
  assert.equal((await playing(page)).id, before.id);
  assert.deepEqual(errors, []);
});
