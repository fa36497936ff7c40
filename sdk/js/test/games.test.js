// From a search to play: a Game is found, seats are reserved for a party, and whoever has one plays,
// over drops and over the death of the server.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';

import { cable } from './house/cable.js';
import { play, say, until } from './house/room.js';
import { noServer, serve } from './house/server.js';

const options = { skip: noServer, timeout: 120_000 };

/** Asks `/v1` until it answers as expected: a server that has just begun may not be there yet. */
async function ask(port, path, { method = 'GET', body, expects }) {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
      method,
      headers: body && { 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    }).catch(() => null);
    if (answer?.status === expects) return answer.json();
    assert.ok(answer === null || [404, 409, 503].includes(answer.status), `${path}: ${answer?.status} ${await answer?.text()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Waits until a Game is as it should be. */
async function game(port, id, holds) {
  const end = Date.now() + 40_000;
  for (;;) {
    const shown = await ask(port, `/games/${id}`, { expects: 200 });
    if (holds(shown)) return shown;
    assert.ok(Date.now() < end, `the game stays ${JSON.stringify(shown)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A subscription to the Games of the relay, as events with a name and data. */
async function* subscribe(t, port) {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const answer = await fetch(`http://127.0.0.1:${port}/v1/subscriptions?fleet=relay`, { signal: stop.signal });
  assert.equal(answer.status, 200);
  let text = '';
  for await (const bytes of answer.body) {
    text += Buffer.from(bytes).toString();
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const of = (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      if (of('event')) yield { event: of('event'), data: JSON.parse(of('data')) };
    }
  }
}

/** The next event of a subscription that is about this Game. */
async function next(events, wanted, id) {
  for (;;) {
    const { value, done } = await events.next();
    assert.ok(!done, 'the subscription goes on');
    if (value.event === wanted && value.data.id === id) return value.data;
  }
}

test('from a search to play, over a drop and the death of the server', options, async (t) => {
  const data = mkdtempSync(`${tmpdir()}/rejoin-games-`);
  t.after(() => rmSync(data, { recursive: true, force: true }));
  let server = await serve([], { data });
  const { port } = server;
  t.after(() => server.stop('SIGKILL'));
  await ask(port, '/search?fleet=relay', { expects: 200 });
  const news = subscribe(t, port);
  assert.equal((await news.next()).value.event, 'begin');

  const made = await ask(port, '/games', {
    method: 'POST', body: { fleet: 'relay', key: 'story', name: 'story', capacity: 2 }, expects: 201,
  });
  const found = await next(news, 'added', made.id);
  assert.deepEqual([found.status, found.free], ['active', 2]);

  const wire = await cable(port);
  t.after(() => wire.close());
  const { player: ann, heard: byAnn } = play(t, wire.url);
  const { player: bob, heard: byBob } = play(t, server.url);
  await Promise.all([ann.once('connected'), bob.once('connected')]);
  const players = [{ player: ann.id }, { player: bob.id }];
  const { seats } = await ask(port, `/games/${made.id}/seats`, { method: 'POST', body: { players, key: 'party' }, expects: 201 });
  const [hers, his] = seats.map((seat) => seat.id);

  // Nobody comes in without a seat, nor with another's; neither harms whose seat it is.
  await assert.rejects(bob.join('relay', made.id), { code: 'seat_required' });
  await assert.rejects(bob.join('relay', made.id, { ticket: hers }), { code: 'seat_not_yours' });
  await Promise.all([ann.join('relay', made.id, { ticket: hers }), bob.join('relay', made.id, { ticket: his })]);
  await game(port, made.id, ({ active }) => active === 2);

  // One drops and is back on the same seat.
  const back = ann.once('returned');
  wire.cut();
  say(bob, 'while ann was away');
  assert.equal((await back).rung, 'replayed');
  await until(ann, () => byAnn.includes('while ann was away'));
  const seat = await ask(port, `/games/${made.id}/seats/${hers}`, { expects: 200 });
  assert.equal(seat.status, 'active');

  // The server dies in the middle, and everybody plays on.
  await server.stop('SIGKILL');
  server = await serve([], { data, port });
  const again = subscribe(t, port);
  await game(port, made.id, ({ active, host_standing: host }) => active === 2 && host === 'present');
  say(ann, 'after the crash');
  await until(bob, () => byBob.includes('after the crash'));
  const returned = await next(again, 'added', made.id);
  assert.equal(returned.active, 2);

  // The last one leaves, the Game ends, and whoever looks on is told.
  ann.leave();
  await game(port, made.id, ({ active }) => active === 1);
  bob.leave();
  await next(again, 'removed', made.id);
  const over = await game(port, made.id, ({ status }) => status === 'terminated');
  assert.equal(over.cause, 'last_left');
});

test('killed at any time, seats and players agree', options, async (t) => {
  const data = mkdtempSync(`${tmpdir()}/rejoin-seats-`);
  t.after(() => rmSync(data, { recursive: true, force: true }));
  let server = await serve([], { data });
  const { port } = server;
  t.after(() => server.stop('SIGKILL'));
  await ask(port, '/search?fleet=relay', { expects: 200 });
  const body = { fleet: 'relay', key: 'killed', capacity: 3, ends_when_empty: false };
  const { id } = await ask(port, '/games', { method: 'POST', body, expects: 201 });
  await game(port, id, ({ status }) => status === 'active');
  const players = [1, 2, 3].map(() => play(t, server.url, { backoffBaseMs: 20, backoffMaxMs: 100 }).player);
  await Promise.all(players.map((player) => player.once('connected')));
  const isIn = (player) => player.zone?.name === id;

  for (let round = 0; round < 5; round += 1) {
    // Everybody comes or goes, and the server dies in the middle of it.
    const moves = players.map(async (player) => {
      if (isIn(player)) return player.part();
      const seats = await fetch(`http://127.0.0.1:${port}/v1/games/${id}/seats`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ players: [{ player: player.id }], hold_ms: 3_000 }),
      });
      if (!seats.ok) return null;
      const [seat] = (await seats.json()).seats;
      return player.join('relay', id, { ticket: seat.id });
    });
    // Whatever comes of the moves: a seat that is gone by then is as good an end as any.
    const ended = Promise.allSettled(moves);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
    await server.stop('SIGKILL');
    server = await serve([], { data, port });
    await ended;
    await Promise.all(players.map((player) => until(player, () => player.status === 'connected')));
    const { active } = await game(port, id, (shown) => shown.active === players.filter(isIn).length);
    t.diagnostic(`round ${round}: ${active} in`);
  }
});
