// A page in the background: its timers hardly run. What is due is done when something comes, or when the
// browser says that it is worth while.

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

/** What a browser tells a page, told by the test. */
function browser(t) {
  const window = new EventTarget();
  const document = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  const place = {
    document,
    addEventListener: window.addEventListener.bind(window),
    removeEventListener: window.removeEventListener.bind(window),
  };
  Object.assign(globalThis, place);
  t.after(() => {
    for (const name of Object.keys(place)) delete globalThis[name];
  });
  return {
    tell: (name) => window.dispatchEvent(new Event(name)),
    show(visibilityState) {
      document.visibilityState = visibilityState;
      document.dispatchEvent(new Event('visibilitychange'));
    },
  };
}

/** A player in that browser, whose first dial is under way. No timer runs unless the test says so. */
async function visit(t) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  Socket.last = null;
  const told = [];
  const player = connect('ws://play.example/play', { WebSocket: Socket, encoding: 'json', login: 'anonymous', storage: memoryStorage(), latencyEveryMs: 0 });
  player.on('*', (name, { code }) => told.push(code ? `${name} ${code}` : name));
  t.after(() => player.close());
  while (!Socket.last) await turn();
  return { player, told };
}

function letIn(socket) {
  socket.open();
  socket.say(challenge);
  socket.say({ welcome });
  socket.sent.length = 0;
}

test('whoever waits tries when the network is back or the page is looked at, and no sooner', async (t) => {
  const page = browser(t);
  const { player } = await visit(t);
  for (const hint of [() => page.tell('online'), () => page.show('visible')]) {
    const before = Socket.last;
    before.dispatchEvent(new Event('close'));
    await turn();
    assert.deepEqual([player.status, Socket.last], ['waiting', before]);
    page.tell('offline');
    page.show('hidden');
    assert.deepEqual([player.status, Socket.last], ['waiting', before]);
    hint();
    assert.equal(player.status, 'connecting');
    assert.notEqual(Socket.last, before);
  }
});

test('a wait that the server asked for is waited out', async (t) => {
  const page = browser(t);
  const { player } = await visit(t);
  const [socket] = [Socket.last];
  socket.open();
  socket.say({ refusal: { code: 'CLOSE_CODE_NOT_READY', text: '', retryAfterMs: 60_000, addresses: [] } });
  page.tell('online');
  assert.deepEqual([player.status, Socket.last], ['waiting', socket]);
});

test('who was taken over, stopped or closed does not come back with the network', async (t) => {
  const page = browser(t);
  const { player } = await visit(t);
  const socket = Socket.last;
  letIn(socket);
  socket.say({ farewell: { code: 'CLOSE_CODE_TAKEN_OVER', text: '', retryAfterMs: 0, addresses: [] } });
  page.tell('online');
  page.show('visible');
  assert.deepEqual([player.status, Socket.last], ['stopped', socket]);
  player.close();
  page.tell('online');
  assert.equal(Socket.last, socket);
});

test('a live connection is asked when the network changes: it answers and stays, or is given up soon', async (t) => {
  const page = browser(t);
  const { player, told } = await visit(t);
  const socket = Socket.last;
  letIn(socket);
  told.length = 0;
  page.tell('offline');
  assert.deepEqual(socket.sent, ['ping']);
  socket.say({ ping: { nonce: 1n } });
  page.tell('online');
  assert.deepEqual(socket.sent, ['ping', 'pong', 'ping']);
  assert.equal(player.status, 'connected');

  // Half a heartbeat is up on the clock; then the timer rings.
  const { now } = performance;
  t.after(() => {
    performance.now = now;
  });
  const late = now.call(performance) + 2600;
  performance.now = () => late;
  t.mock.timers.tick(2600);
  t.mock.timers.tick(100);
  assert.deepEqual(told.filter((name) => name.startsWith('disconnected')), ['disconnected heartbeat_lost']);
});
