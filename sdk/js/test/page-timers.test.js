// A page in the background: its timers hardly run. What is due is done when something comes.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decodeClient, encodeServer } from '../src/codec.js';
import { connect, memoryStorage } from '../src/index.js';
import { LIMITS } from '../src/limits.js';

/** A socket whose other end is the test. */
class Socket extends EventTarget {
  static last = null;
  readyState = 0;
  sent = [];

  constructor(url, [subprotocol]) {
    super();
    this.protocol = subprotocol;
    Socket.last = this;
  }

  open() {
    this.readyState = 1;
    this.dispatchEvent(new Event('open'));
  }

  say(frame) {
    this.dispatchEvent(new MessageEvent('message', { data: encodeServer('json', frame) }));
  }

  send(data) {
    this.sent.push(Object.keys(decodeClient('json', data, LIMITS))[0]);
  }

  close() {
    this.readyState = 3;
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const challenge = { challenge: { nonce: new Uint8Array(32), versionMin: 1, versionMax: 1, serverName: '' } };
const welcome = {
  session: 7n, player: new Uint8Array(16), epoch: 1n, rung: 'RUNG_NEW', reason: 'RUNG_REASON_FIRST', leg: 1n,
  token: new Uint8Array(32), holdMs: 5000, heartbeatMs: 5000, windowFrames: 8, windowBytes: 65536,
};

test('an acknowledgement that no timer sends goes with the answer to the next ping', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const player = connect('ws://play.example/play', { WebSocket: Socket, encoding: 'json', login: 'anonymous', storage: memoryStorage() });
  t.after(() => player.close());
  while (!Socket.last) await turn();
  const socket = Socket.last;
  socket.open();
  socket.say(challenge);
  socket.say({ welcome });
  assert.deepEqual(socket.sent, ['hello', 'ack', 'ping']);
  socket.sent.length = 0;
  socket.say({ down: { seq: 1n, message: { payload: new Uint8Array(0) } } });
  assert.deepEqual(socket.sent, []);
  const heardAt = performance.now();
  while (performance.now() - heardAt < 210) await turn();
  socket.say({ ping: { nonce: 1n } });
  assert.deepEqual(socket.sent, ['pong', 'ack']);
});

test('a socket that gave its place to another is not heard any more', async (t) => {
  Socket.last = null;
  const player = connect('ws://play.example/play', { WebSocket: Socket, encoding: 'json', login: 'anonymous', storage: memoryStorage() });
  t.after(() => player.close());
  while (!Socket.last) await turn();
  const first = Socket.last;
  player.cancel();
  player.retry();
  assert.notEqual(Socket.last, first);
  first.open();
  first.say(challenge);
  assert.deepEqual([first.sent, player.status], [[], 'connecting']);
});
