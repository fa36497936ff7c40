// Rooms of the relay against the real server: every way of saying something, values, objects, the host.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { after, before, test } from 'node:test';

import { memoryStorage, text } from '../src/index.js';
import { Room } from '../src/relay.js';
import { cable } from './house/cable.js';
import { play, until } from './house/room.js';
import { noServer, serve } from './house/server.js';

const options = { skip: noServer, timeout: 60_000 };
let folder;
let server;

before(async () => {
  if (noServer) return;
  folder = mkdtempSync(`${tmpdir()}/rejoin-relay-`);
  writeFileSync(`${folder}/rejoin.toml`, '[zone.relay]\nhold_ms = 3000\nhost_grace_ms = 300\n');
  server = await serve(['--config', `${folder}/rejoin.toml`]);
});
after(async () => {
  await server?.stop();
  if (folder) rmSync(folder, { recursive: true });
});

/** A member of a room, who notes what happens in it. */
async function member(t, name, url = server.url) {
  const { player } = play(t, url, { backoffBaseMs: 20, backoffMaxMs: 100 });
  const room = new Room(player, name);
  const seen = [];
  for (const event of ['entered', 'said', 'value', 'joined', 'dropped', 'back', 'parted', 'host', 'owner', 'match', 'locked', 'refused', 'lost']) {
    room.on(event, (fields) => seen.push([event, fields]));
  }
  await room.enter();
  const said = () => seen.filter(([event]) => event === 'said').map(([, { from, body }]) => [from, text(body)]);
  return { player, room, seen, said, sees: (holds) => until(player, holds) };
}

async function wire(t) {
  const made = await cable(server.port);
  t.after(() => made.close());
  return made;
}

test('messages reach all, others, the host or one, and say who spoke', options, async (t) => {
  const [ann, bob, cora] = [await member(t, 'words'), await member(t, 'words'), await member(t, 'words')];
  assert.deepEqual([ann.room.isHost, bob.room.isHost, bob.room.host], [true, false, ann.room.you]);
  assert.deepEqual([...cora.room.members.keys()], [ann, bob, cora].map(({ room }) => room.you));
  bob.room.send('to all', { to: 'all' });
  bob.room.send('{"to": "others"}\nas it is');
  bob.room.send('to the host', { to: 'host' });
  bob.room.send('to one', { to: cora.room.you });
  bob.room.send(Uint8Array.of(0, 255), { to: 'host' });
  bob.room.sendLatest('where', 'here');
  const from = bob.room.you;
  await ann.sees(() => ann.said().length >= 5);
  await cora.sees(() => cora.said().length >= 4);
  const others = [from, '{"to": "others"}\nas it is'];
  assert.deepEqual(ann.said(), [[from, 'to all'], others, [from, 'to the host'], [from, '\0\ufffd'], [from, 'here']]);
  assert.deepEqual(cora.said(), [[from, 'to all'], others, [from, 'to one'], [from, 'here']]);
  await bob.sees(() => bob.said().length >= 2);
  assert.deepEqual(bob.said(), [[from, 'to all'], [from, 'here']]);
  bob.room.send('quick', { isUnreliable: true });
  await ann.sees(() => ann.said().length >= 6);

  const late = await member(t, 'words');
  const heard = late.player.once('latest');
  bob.room.sendLatest('where', 'there');
  assert.equal((await heard).key, `m/${from}/where`);
  bob.room.send('nobody', { to: '999' });
  await bob.sees(() => bob.seen.some(([event]) => event === 'refused'));
  assert.deepEqual(bob.seen.at(-1), ['refused', { reason: 'no_such_member', version: null }]);
});

test('values are shared, compared before they are set, and known to who comes later', options, async (t) => {
  const [ann, bob] = [await member(t, 'values'), await member(t, 'values')];
  const first = await ann.room.set('map', 'cave', { ifVersion: 0 });
  await assert.rejects(bob.room.set('map', 'wood', { ifVersion: 0 }), { name: 'RelayError', reason: 'version', version: first });
  const second = await bob.room.set('map', 'wood', { ifVersion: first });
  await ann.room.set('name/of', 'Ann', { isMine: true });
  await ann.sees(() => ann.room.get('map')?.version === second);
  assert.equal(text(ann.room.get('map').value), 'wood');
  const late = await member(t, 'values');
  const { value, ...rest } = late.room.get('name/of', ann.room.you);
  assert.equal(text(value), 'Ann');
  assert.deepEqual([rest.key, rest.of, rest.by], ['name/of', ann.room.you, ann.room.you]);
  assert.deepEqual(late.room.values.map(({ key }) => key).sort(), ['map', 'name/of']);
  await late.room.delete('map');
  await ann.sees(() => ann.room.get('map') === null);
  assert.deepEqual(ann.seen.at(-1), ['value', { key: 'map', of: null, value: null }]);
  await assert.rejects(ann.room.set('', 'x'), { reason: 'bad_key' });
});

test('drop: three objects are kept; returned: still three; at the end of the hold one is handed over', options, async (t) => {
  const near = await wire(t);
  const ann = await member(t, 'objects', near.url);
  const bob = await member(t, 'objects');
  await ann.room.own(1);
  await ann.room.own(2, 'destroy');
  await ann.room.own(3, 'hand_over');
  const { player: annIs } = bob.room.members.get(ann.room.you);
  const { player: bobIs } = bob.room.members.get(bob.room.you);
  const owners = () => Object.fromEntries(bob.room.owners);
  await bob.sees(() => bob.room.owners.size === 3);
  await assert.rejects(bob.room.release(1), { reason: 'not_owner' });

  near.unplug();
  await bob.sees(() => bob.seen.some(([event]) => event === 'dropped'));
  assert.deepEqual(owners(), { 1: annIs, 2: annIs, 3: annIs });
  assert.equal(bob.room.members.get(ann.room.you).connected, false);
  near.plug();
  await bob.sees(() => bob.seen.some(([event]) => event === 'back'));
  assert.deepEqual(owners(), { 1: annIs, 2: annIs, 3: annIs });

  near.unplug();
  await bob.sees(() => bob.seen.some(([event]) => event === 'parted'));
  await bob.sees(() => bob.room.owners.size === 2);
  assert.deepEqual(owners(), { 1: annIs, 3: bobIs });
  assert.deepEqual(bob.seen.find(([event]) => event === 'parted')[1], { member: ann.room.you, cause: 'hold_ended' });
  near.plug();
  await ann.sees(() => ann.seen.some(([event]) => event === 'lost'));
  assert.deepEqual([ann.room.isIn, ann.room.isHost], [false, false]);
  await ann.room.enter();
  assert.deepEqual(Object.fromEntries(ann.room.owners), { 1: annIs, 3: bobIs });
});

test('the host leads: a match, a lock, a kick; and hands its part over', options, async (t) => {
  const [ann, bob, cora] = [await member(t, 'lead'), await member(t, 'lead'), await member(t, 'lead')];
  await assert.rejects(bob.room.lead('start_match'), { reason: 'not_host' });
  await ann.room.lead('start_match');
  await ann.room.lead('lock');
  await bob.sees(() => bob.room.isLocked);
  assert.equal(bob.room.isMatchRunning, true);
  await assert.rejects(member(t, 'lead'), { kind: 'refused' });
  await ann.room.lead('kick', cora.room.you);
  await cora.sees(() => !cora.room.isIn);
  assert.deepEqual(cora.seen.at(-1)[0], 'lost');
  await ann.room.lead('hand_over', bob.room.you);
  await bob.sees(() => bob.room.isHost);
  await ann.sees(() => !ann.room.isHost);
  await bob.room.leave();
  await ann.sees(() => ann.room.isHost);
});

test('under twenty cuts of whoever leads there is one host at a time, and the state stays whole', options, async (t) => {
  const guests = [];
  for (let at = 0; at < 3; at += 1) {
    const near = await wire(t);
    guests.push({ near, ...(await member(t, 'migration', near.url)) });
  }
  const watcher = await member(t, 'migration');
  const terms = new Map();
  const note = ({ room }) => {
    const known = terms.get(room.term) ?? room.host;
    assert.equal(room.host, known, `two hosts in term ${room.term}`);
    terms.set(room.term, room.host);
  };
  for (const each of [...guests, watcher]) {
    note(each);
    each.room.on('host', () => note(each));
    each.room.on('entered', () => note(each));
  }
  const rungs = [];
  for (const { player } of guests) player.on('connected', ({ rung }) => rungs.push(rung));
  let version = await watcher.room.set('count', '0');
  let migrations = 0;
  for (let round = 1; round <= 20; round += 1) {
    const host = guests.find(({ room }) => room.you === watcher.room.host);
    const { term } = watcher.room;
    if (!host) {
      // The watcher leads for once: it hands its part on.
      await watcher.room.lead('hand_over', guests[round % 3].room.you);
      await watcher.sees(() => watcher.room.term !== term);
      round -= 1;
      continue;
    }
    if (round % 4 === 0) {
      // Away for longer than it is waited for: another one leads, and it returns as a member.
      host.near.unplug();
      await watcher.sees(() => watcher.room.term !== term);
      migrations += 1;
      host.near.plug();
    } else host.near.cut();
    await until(host.player, () => host.player.status === 'connected');
    version = await host.room.set('count', String(round), { ifVersion: version });
  }
  await Promise.all([...guests, watcher].map(({ room, sees }) => sees(() => text(room.get('count').value) === '20')));
  await Promise.all(guests.map(({ room, sees }) => sees(() => room.term === watcher.room.term)));
  const hosts = new Set([...guests, watcher].map(({ room }) => room.host));
  assert.deepEqual([...hosts], [watcher.room.host]);
  assert.equal([...guests, watcher].filter(({ room }) => room.isHost).length, 1);
  assert.deepEqual(rungs, Array(20).fill('replayed'));
  assert.equal(migrations, 5);
  assert.ok(terms.size >= 6, `${terms.size} terms`);
  assert.equal([...guests, watcher].some(({ seen }) => seen.some(([event]) => event === 'lost' || event === 'parted')), false);
});

test('a reload finds the room as it is; a new session says that the room is lost', options, async (t) => {
  const storage = memoryStorage();
  const { player: before } = play(t, server.url, { storage });
  const first = new Room(before, 'again');
  await first.enter();
  await first.set('map', 'cave');
  before.close();
  const { player } = play(t, server.url, { storage });
  const room = new Room(player, 'again');
  await room.enter();
  assert.deepEqual([room.you, text(room.get('map').value), room.isHost], [first.you, 'cave', true]);

  const lost = new Promise((resolve) => {
    room.on('lost', resolve);
  });
  player.startOver();
  assert.deepEqual(await lost, { cause: 'fresh' });
  await assert.rejects(room.set('map', 'wood'), { kind: 'refused', code: 'not_member' });
  await room.enter();
  assert.equal(room.isIn, true);
  await assert.rejects(new Room(player, 'another').enter(), { kind: 'refused', code: 'already_joined' });
});
