// Compressed frames: what is packed and what is not, where inflating ends, and players that speak them
// with the real server.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { deflateRawSync, inflateRawSync } from 'node:zlib';

import WebSocket from 'ws';

import { encodeClient, encodeServer } from '../src/codec.js';
import { Incoming, pack, unpack } from '../src/compression.js';
import { LIMITS } from '../src/limits.js';
import * as protobuf from '../src/protobuf.js';
import { enter, numbered, play, say, until } from './house/room.js';
import { noServer, serve } from './house/server.js';

const options = { skip: noServer, timeout: 60_000 };
const MAX = LIMITS.serverFrameBytesMax;
let server;

before(async () => {
  if (!noServer) server = await serve(['--compression']);
});
after(() => server?.stop());

const down = (seq, payload) => encodeServer('protobuf', { down: { seq: BigInt(seq), message: { payload } } });
const packed = (frame, level = 6) => encodeServer('protobuf', { packed: deflateRawSync(frame, { level }) });
const up = (body) => encodeClient('protobuf', { up: { seq: 1n, ...body } });
const long = new Uint8Array(20_000).fill(7);

test('a frame is inflated up to the limit and no byte beyond', async () => {
  const frame = down(1, long);
  assert.deepEqual(await unpack(packed(frame), MAX), frame);
  assert.deepEqual(await unpack(packed(frame), frame.length), frame);
  const tooLarge = { name: 'DecodeError', kind: 'too_large' };
  await assert.rejects(unpack(packed(frame), frame.length - 1), tooLarge);
  const bomb = packed(Buffer.alloc(256 << 20));
  const started = process.memoryUsage().arrayBuffers;
  await assert.rejects(unpack(bomb, MAX), tooLarge);
  const grown = process.memoryUsage().arrayBuffers - started;
  assert.ok(grown < 64 << 20, `${grown >> 20} MiB`);
});

test('what is cut, damaged, nested or never compressed is no frame', async () => {
  const malformed = { name: 'DecodeError', kind: 'malformed' };
  const good = packed(down(1, long));
  for (let length = 1; length < good.length; length += 1) {
    await assert.rejects(unpack(good.subarray(0, length), MAX), malformed, `${length}`);
  }
  const cut = encodeServer('protobuf', { packed: deflateRawSync(down(1, long)).subarray(0, 20) });
  const welcome = encodeServer('protobuf', { welcome: { session: 1n, token: new Uint8Array(32) } });
  const both = Buffer.concat([down(1, long), welcome]);
  for (const wrong of [cut, packed(Buffer.alloc(0)), packed(good), packed(welcome), packed(both)]) {
    await assert.rejects(unpack(wrong, MAX), malformed);
  }
});

test('only long messages and answers are compressed', async () => {
  const message = up({ message: { payload: long } });
  const sent = await pack(message);
  assert.ok(sent.length < 200);
  assert.deepEqual(new Uint8Array(inflateRawSync(protobuf.decode('ClientFrame', sent).packed)), message);
  const noise = crypto.getRandomValues(new Uint8Array(2_000));
  for (const frame of [
    up({ message: { payload: long.subarray(0, 900) } }),
    up({ message: { payload: noise } }),
    up({ join: { kind: 'relay', name: 'x', ticket: 'a'.repeat(2_000) } }),
    encodeClient('protobuf', { hello: { admission: long } }),
    encodeClient('protobuf', { loose: { leg: 1n, payload: long } }),
  ]) {
    assert.deepEqual(await pack(frame), frame);
  }
});

test('what comes behind a compressed frame waits for it', async () => {
  const incoming = new Incoming(MAX);
  incoming.isCompressed = true;
  const heard = [];
  const hear = (data) => heard.push(data);
  const [first, second, third] = [down(1, long), down(2, long.subarray(0, 10)), down(3, long)];
  const done = new Promise((resolve) => {
    for (const data of [second, packed(first), second, packed(third), second]) incoming.take(data, hear, assert.fail);
    incoming.afterwards(resolve);
  });
  assert.deepEqual(heard, [second], 'what has nothing before it is heard at once');
  await done;
  assert.deepEqual(heard, [second, first, second, third, second]);
});

/** A WebSocket that counts the bytes it carries. */
function counting(counts) {
  return class extends WebSocket {
    constructor(...given) {
      super(...given);
      this.addEventListener('message', ({ data }) => (counts.heard += data.byteLength ?? data.length));
    }

    send(data) {
      counts.said += data.length;
      super.send(data);
    }
  };
}

test('players who asked for it speak compressed, in order, with those who did not', options, async (t) => {
  const counts = { heard: 0, said: 0 };
  const near = { compression: true, WebSocket: counting(counts) };
  const { player: ann, heard: byAnn } = play(t, server.url, near);
  const { player: bob, heard: byBob } = play(t, server.url);
  const agreed = Promise.all([ann.once('connected'), bob.once('connected')]);
  await Promise.all([enter(ann, 'packed'), enter(bob, 'packed')]);
  assert.deepEqual((await agreed).map(({ capabilities }) => capabilities), [['deflate'], []]);
  // By turns long and short: the short ones must not overtake.
  const words = (name) => numbered(name, 30).map((word, index) => (index % 2 ? word : word.padEnd(20_000, '.')));
  words('ann').forEach((word) => say(ann, word));
  words('bob').forEach((word) => say(bob, word));
  await until(ann, () => byAnn.length >= 30);
  await until(bob, () => byBob.length >= 30);
  assert.deepEqual([byAnn, byBob], [words('bob'), words('ann')]);
  assert.ok(counts.said < 40_000 && counts.heard < 40_000, JSON.stringify(counts));
});

test('who speaks JSON, or asks a server that has it off, is not compressed', options, async (t) => {
  const plain = await serve();
  t.after(() => plain.stop());
  for (const [url, encoding] of [[server.url, 'json'], [plain.url, 'protobuf']]) {
    const { player, heard } = play(t, url, { compression: true, encoding });
    const connected = player.once('connected');
    const other = play(t, url).player;
    await Promise.all([enter(player, 'plain'), enter(other, 'plain')]);
    assert.deepEqual((await connected).capabilities, []);
    say(other, 'x'.repeat(5_000));
    await until(player, () => heard.length === 1);
    player.send('y'.repeat(5_000));
    await until(player, () => player.buffered.frames === 0);
  }
});
