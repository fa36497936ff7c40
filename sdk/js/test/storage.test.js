// Storage that is cleared, full, forbidden, damaged or slow: the player plays on and the game is told.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Key, browserStorage, memoryStorage } from '../src/index.js';
import { readSecret, readSession, writeSecret, writeSession } from '../src/record.js';
import { play } from './house/room.js';
import { noServer, serve } from './house/server.js';

const options = { skip: noServer, timeout: 60_000 };
let server;

before(async () => {
  if (!noServer) server = await serve();
});
after(() => server?.stop());

test('a storage that fails at everything is survived', options, async (t) => {
  const fail = () => {
    throw new Error('forbidden');
  };
  const { player } = play(t, server.url, { storage: { load: fail, store: fail, forget: fail } });
  const slots = [];
  player.on('storageFailed', ({ slot, text }) => slots.push(`${slot}: ${text}`));
  await player.once('connected');
  assert.deepEqual(slots, ['session', 'key', 'secret', 'key', 'session'].map((slot) => `${slot}: forbidden`));
});

test('a storage that is full fails at storing, and the session is resumed all the same', options, async (t) => {
  const storage = memoryStorage();
  storage.store = () => Promise.reject(new Error('full'));
  const { player } = play(t, server.url, { storage });
  const slots = [];
  player.on('storageFailed', ({ slot }) => slots.push(slot));
  await player.once('connected');
  player.cancel();
  player.retry();
  assert.equal((await player.once('connected')).rung, 'replayed');
  assert.deepEqual(slots, ['key', 'session', 'session']);
});

test('nothing is sent before the token is stored', options, async (t) => {
  const storage = memoryStorage();
  const { store } = storage;
  let release;
  const order = [];
  storage.store = async (slot, bytes) => {
    if (slot === 'session') {
      order.push('storing');
      await new Promise((resolve) => {
        release = resolve;
      });
      order.push('stored');
    }
    store(slot, bytes);
  };
  const { player } = play(t, server.url, { storage });
  player.on('connected', () => order.push('connected'));
  while (!release) await new Promise((resolve) => setImmediate(resolve));
  player.send('waits with the rest');
  assert.deepEqual(order, ['storing']);
  release();
  await player.once('refused');
  assert.deepEqual(order, ['storing', 'stored', 'connected']);
});

test('a key without a token finds the session; a token without its key opens nothing and locks nobody out', options, async (t) => {
  const storage = memoryStorage();
  const { player: first } = play(t, server.url, { storage });
  const { player: id, session } = await first.once('connected');
  first.close();
  storage.forget('session');
  const { player: second } = play(t, server.url, { storage });
  const found = await second.once('connected');
  assert.deepEqual([found.found, found.player, found.session], [true, id, session]);
  second.close();
  storage.forget('key');
  const { player: third } = play(t, server.url, { storage });
  const other = await third.once('connected');
  assert.equal(other.rung, 'new');
  assert.notEqual(other.player, id);
});

test('a key that cannot be used stops the player and is not replaced', options, async (t) => {
  const storage = memoryStorage();
  storage.store('key', new Uint8Array(31));
  const { player } = play(t, server.url, { storage });
  const { error } = await player.once('failed');
  assert.deepEqual([error.name, error.kind], ['OpenError', 'key']);
  assert.equal(storage.load('key').length, 31);
  await assert.rejects(player.join('relay', 'x'), { kind: 'not_sent', cause: error });
});

test('a damaged or foreign session is not shown to the server', options, async (t) => {
  for (const [record, told] of [
    [new Uint8Array(9), ['session']],
    [writeSession('elsewhere.example', { session: 1n, epoch: 1n, token: new Uint8Array(32) }), []],
  ]) {
    const storage = memoryStorage();
    storage.store('session', record);
    const { player } = play(t, server.url, { storage });
    const slots = [];
    player.on('storageFailed', ({ slot }) => slots.push(slot));
    const { rung, after: why } = await player.once('connected');
    assert.deepEqual([rung, why, slots], ['new', null, told]);
  }
});

test('records are the bytes of the Rust client, and no part of one is one', () => {
  const token = new Uint8Array(32).fill(3);
  const record = writeSession('play.example', { session: 7n, epoch: 9n, token });
  assert.equal(Buffer.from(record.slice(0, 14)).toString('latin1'), '\x01\x0cplay.example');
  assert.deepEqual([...record.slice(14, 30)], [0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9]);
  assert.deepEqual(readSession('play.example', record), { session: 7n, epoch: 9n, token });
  assert.equal(readSession('evil.example', record), 'foreign');
  assert.equal(readSecret('play.example', record), 'damaged');
  const secret = writeSecret('play.example', token);
  assert.deepEqual(readSecret('play.example', secret), token);
  for (let length = 0; length < secret.length; length += 1) {
    assert.equal(typeof readSecret('play.example', secret.slice(0, length)), 'string');
  }
});

test('a key made of a seed is that of RFC 8032', async () => {
  const unhex = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));
  const key = await Key.fromSeed(unhex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'));
  const hex = (bytes) => Buffer.from(bytes).toString('hex');
  assert.equal(hex(key.publicKey), 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a');
  assert.match(hex(await key.sign(new Uint8Array(0))), /^e5564300c360ac72/);
});

test('a page keeps its key for the origin and its token for the tab', () => {
  const area = () => {
    const held = new Map();
    return { held, getItem: (name) => held.get(name) ?? null, setItem: (name, value) => held.set(name, value), removeItem: (name) => held.delete(name) };
  };
  const [local, session] = [area(), area()];
  const before = [globalThis.localStorage, globalThis.sessionStorage];
  Object.assign(globalThis, { localStorage: local, sessionStorage: session });
  try {
    const storage = browserStorage();
    storage.store('key', Uint8Array.of(1, 2, 255));
    storage.store('session', Uint8Array.of(4));
    assert.deepEqual([[...local.held], [...session.held]], [[['rejoin.key', 'AQL/']], [['rejoin.session', 'BA==']]]);
    assert.deepEqual(storage.load('key'), Uint8Array.of(1, 2, 255));
    assert.equal(browserStorage({ name: 'other' }).load('key'), null);
    storage.forget('session');
    assert.equal(storage.load('session'), null);
    local.setItem('rejoin.key', 'no base64');
    assert.equal(storage.load('key').length, 0);
  } finally {
    Object.assign(globalThis, { localStorage: before[0], sessionStorage: before[1] });
  }
});
