// The interface to Games, against the real server: what it does, what it undoes, and how it says no.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import WebSocket from 'ws';

import { memoryStorage } from '../src/index.js';
import { DirectorySessions, register, sessions } from '../src/sessions.js';
import { cable } from './house/cable.js';
import { play } from './house/room.js';
import { noServer, serve } from './house/server.js';

const options = { skip: noServer, timeout: 60_000 };
let server;

before(async () => {
  if (!noServer) server = await serve();
});
after(() => server?.stop());

/** A provider for this server. */
function provider(more = {}) {
  const made = new DirectorySessions();
  made.configure({ endpoint: `http://127.0.0.1:${server.port}`, player: { WebSocket, storage: memoryStorage() }, ...more });
  return made;
}

/** Makes a Game, once the server's own host is there. */
async function create(made, game) {
  for (;;) {
    try {
      return await made.create({ fleet: 'relay', capacity: 1, ...game });
    } catch (error) {
      assert.ok(['no_host', 'fleet_not_found'].includes(error.code), error);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Waits until a Game has so many free seats. */
async function free(made, game, count) {
  for (;;) {
    const { games } = await made.search({ fleet: 'relay', filter: `name = '${game.name}'` });
    if (games[0]?.free === count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('one provider at a time, and none before it is configured', async () => {
  assert.throws(sessions, { kind: 'not_registered' });
  const made = new DirectorySessions();
  const told = [];
  made.on('search', ({ error }) => told.push(error.kind));
  const remove = register(made);
  assert.equal(sessions(), made);
  assert.throws(() => register(new DirectorySessions()), { kind: 'already_registered' });
  await assert.rejects(made.search({ fleet: 'relay' }), { kind: 'not_configured' });
  assert.deepEqual(told, ['not_configured']);
  assert.throws(() => made.configure({ endpoint: 'http://localhost', region: 'a region' }), { kind: 'bad_region' });
  assert.throws(() => made.configure({ endpoint: 'nowhere' }), { kind: 'bad_endpoint' });
  remove();
  assert.throws(sessions, { kind: 'not_registered' });
});

test('create, search, join and leave', options, async () => {
  const made = provider({ region: 'local' });
  const completed = [];
  made.on('*', (name, { error }) => completed.push(error ? `${name}: ${error.code}` : name));
  const game = await create(made, { name: 'whole' });
  assert.equal(game.status, 'active');
  const { games } = await made.search({ fleet: 'relay', filter: "name = 'whole'" });
  assert.deepEqual(games.map(({ id }) => id), [game.id]);
  const stay = await made.join(game);
  assert.equal(stay.player.status, 'connected');
  await assert.rejects(provider().join(game), { kind: 'refused', code: 'game_full' });
  await made.leave(stay);
  await assert.rejects(made.search({ fleet: 'relay', filter: 'name =' }), { kind: 'refused', code: 'bad_filter' });
  assert.deepEqual(completed.filter((name) => !name.startsWith('create')), ['search', 'join', 'leave', 'search: bad_filter']);
});

test('a join that does not come about gives its seat back', options, async (t) => {
  const made = provider();
  const game = await create(made, { name: 'undone' });
  const wire = await cable(server.port);
  t.after(() => wire.close());
  const { player } = play(t, wire.url);
  await player.once('connected');
  // Its connection goes away between the reservation and the join.
  const { join } = player;
  player.join = (...given) => {
    wire.unplug();
    return join.apply(player, given);
  };
  await assert.rejects(made.join(game, player), { kind: 'unreachable' });
  await free(made, game, 1);
  const nobody = provider({ patienceMs: 2_000, player: { WebSocket, storage: memoryStorage(), serverName: 'another.example' } });
  await assert.rejects(nobody.join(game), { kind: 'unreachable' });
  await free(made, game, 1);
});

test('a queue gives a game with seats', options, async () => {
  const made = provider();
  await create(made, { name: 'before' });
  const put = await fetch(`http://127.0.0.1:${server.port}/v1/queues/ranked`, {
    method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ destinations: [{ fleet: 'relay' }] }),
  });
  assert.ok(put.ok, `${put.status}`);
  const placed = await made.createOnQueue('ranked', { id: 'm1', game: { capacity: 2 }, players: [{ player: 'ann' }] });
  assert.equal(placed.seats[0].player, 'ann');
  await assert.rejects(made.createOnQueue('no-such', { id: 'm1', game: { capacity: 2 } }), { kind: 'refused' });
});
