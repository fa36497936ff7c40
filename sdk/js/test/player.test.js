// Players against the real server, over real sockets that are cut.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { after, before, test } from 'node:test';

import { Key, connect, memoryStorage, text } from '../src/index.js';
import { cable } from './house/cable.js';
import { enter, numbered, play, say, tabs, until } from './house/room.js';
import { noServer, serve } from './house/server.js';

const options = { skip: noServer, timeout: 60_000 };
let server;

before(async () => {
  if (!noServer) server = await serve();
});
after(() => server?.stop());

/** A cable that is taken away when the test ends. */
async function wire(t) {
  const made = await cable(server.port);
  t.after(() => made.close());
  return made;
}

for (const encoding of ['protobuf', 'json']) {
  test(`two players hear each other once and in order over cut sockets, ${encoding}`, options, async (t) => {
    const near = await wire(t);
    const room = `cut ${encoding}`;
    const { player: ann, heard: byAnn } = play(t, near.url, { encoding });
    const { player: bob, heard: byBob } = play(t, server.url, { encoding });
    await Promise.all([enter(ann, room), enter(bob, room)]);
    const { session } = ann;
    const returned = ann.once('returned');

    numbered('bob', 30).forEach((words) => say(bob, words));
    numbered('ann', 20).forEach((words) => say(ann, words));
    await until(ann, () => byAnn.length >= 5);
    near.unplug();
    numbered('more bob', 30).forEach((words) => say(bob, words));
    numbered('more ann', 20).forEach((words) => say(ann, words));
    await until(ann, () => ann.status === 'waiting');
    await until(bob, () => bob.buffered.frames === 0);
    near.plug();

    const { rung, reason, replayed, lost } = await returned;
    assert.deepEqual({ rung, reason, lost }, { rung: 'replayed', reason: 'complete', lost: { upstream: 0, sends: [] } });
    await until(ann, () => byAnn.length >= 60);
    await until(bob, () => byBob.length >= 40);
    assert.deepEqual(byAnn, [...numbered('bob', 30), ...numbered('more bob', 30)]);
    assert.deepEqual(byBob, [...numbered('ann', 20), ...numbered('more ann', 20)]);
    assert.ok(replayed >= 30, `${replayed} were replayed`);
    assert.equal(ann.session, session);
  });
}

test('twenty cuts at any time lose nothing and double nothing', options, async (t) => {
  const near = await wire(t);
  const { player: ann, heard } = play(t, near.url, { backoffBaseMs: 20, backoffMaxMs: 50 });
  const { player: bob } = play(t, server.url);
  await Promise.all([enter(ann, 'twenty'), enter(bob, 'twenty')]);
  const rungs = [];
  ann.on('connected', ({ rung }) => rungs.push(rung));
  for (let round = 1; round <= 20; round += 1) {
    const back = ann.once('connected');
    say(bob, `${round} before`);
    near.cut();
    say(bob, `${round} after`);
    await back;
  }
  await until(ann, () => heard.length >= 40);
  assert.deepEqual(heard, Array.from({ length: 20 }, (_, at) => [`${at + 1} before`, `${at + 1} after`]).flat());
  assert.deepEqual(new Set(rungs), new Set(['replayed']));
});

test('what is stored leads back after the end of the program: cold, same session, same room', options, async (t) => {
  const storage = memoryStorage();
  const { player: first } = play(t, server.url, { storage });
  await enter(first, 'cold');
  const { id, session } = first;
  first.close();
  const { player: second } = play(t, server.url, { storage });
  const [connected, resync, returned] = await Promise.all(['connected', 'resync', 'returned'].map((name) => second.once(name)));
  assert.deepEqual([connected.rung, connected.reason, connected.player, connected.session], ['resynced', 'cold', id, session]);
  assert.deepEqual(resync.zone, { kind: 'relay', name: 'cold' });
  assert.deepEqual([returned.rung, returned.reason], ['resynced', 'cold']);
  assert.deepEqual(second.zone, { kind: 'relay', name: 'cold' });
});

test('a second tab takes over; the first is told, does not come back by itself, and can take it back', options, async (t) => {
  const [one, two] = tabs(2);
  const { player: first } = play(t, server.url, { storage: one });
  await enter(first, 'tabs');
  const isTaken = first.once('takenOver');
  const { player: second } = play(t, server.url, { storage: two });
  const connected = await second.once('connected');
  await isTaken;
  assert.deepEqual([connected.found, connected.session], [true, first.session]);
  assert.equal(first.status, 'stopped');
  const events = [];
  first.on('*', (name) => events.push(name));
  await second.call('still alone?');
  assert.deepEqual(events, []);

  const isTakenBack = second.once('takenOver');
  first.retry();
  await Promise.all([isTakenBack, first.once('resync')]);
  assert.equal(second.status, 'stopped');
  assert.deepEqual(first.zone, { kind: 'relay', name: 'tabs' });
});

test('of a hundred tabs one plays, and the others do not fight it', options, async (t) => {
  const players = tabs(100).map((storage) => play(t, server.url, { storage }).player);
  const count = (status) => players.filter((player) => player.status === status).length;
  await Promise.all(players.map((player) => until(player, () => player.status === 'stopped' || count('stopped') === 99)));
  const [last] = players.filter((player) => player.status !== 'stopped');
  await until(last, () => last.status === 'connected');
  assert.deepEqual([count('stopped'), count('connected')], [99, 1]);
  assert.equal(new Set(players.map(({ id }) => id).filter(Boolean)).size, 1);
});

test('a guest by secret is the same player after losing its token', options, async (t) => {
  const storage = memoryStorage();
  const { player: first } = play(t, server.url, { storage, login: 'secret' });
  const { player: id } = await first.once('connected');
  first.close();
  storage.forget('session');
  const { player: second } = play(t, server.url, { storage, login: 'auto' });
  const again = await second.once('connected');
  assert.deepEqual([again.player, again.found], [id, true]);
  assert.equal(storage.load('key'), undefined);
});

test('somebody without any identity can play, and comes back by token', options, async (t) => {
  const near = await wire(t);
  const { player } = play(t, near.url, { login: 'anonymous' });
  await player.once('connected');
  const again = player.once('connected');
  near.cut();
  assert.equal((await again).rung, 'replayed');
});

test('a call ends once: with its reply, refused, or at its deadline', options, async (t) => {
  const near = await wire(t);
  const { player } = play(t, near.url);
  await player.once('connected');
  await assert.rejects(player.call('outside'), { name: 'CallError', kind: 'refused', code: 'not_member' });
  await enter(player, 'calls');
  assert.equal(text(await player.call('ping')), 'ping');
  near.unplug();
  await assert.rejects(player.call('late', { deadlineMs: 50 }), { kind: 'outcome_unknown', isLate: true });
  const slow = player.call('over a cut');
  near.plug();
  assert.equal(text(await slow), 'over a cut');
});

test('a join that is refused says why', options, async (t) => {
  const { player } = play(t, server.url);
  await assert.rejects(player.join('nowhere', 'x'), { kind: 'refused', code: 'unknown_kind' });
  await assert.rejects(player.join('relay', 'nowhere'), { kind: 'refused', code: 'unknown_zone' });
  await enter(player, 'one');
  await assert.rejects(player.join('relay', 'two', { create: true }), { kind: 'refused', code: 'already_joined' });
  assert.equal((await player.part()).cause, 'asked');
  assert.equal(player.zone, null);
});

test('a call that never left says so, and why there was no connection', options, async (t) => {
  const { player: nameless } = play(t, server.url, { serverName: 'play.example' });
  const join = nameless.join('relay', 'x', { create: true });
  await assert.rejects(join, (error) => {
    assert.deepEqual([error.name, error.kind], ['CallError', 'not_sent']);
    assert.deepEqual([error.cause.name, error.cause.kind, error.cause.code], ['OpenError', 'refused', 'wrong_name']);
    assert.match(error.message, /not called "play.example"/);
    return true;
  });
  // What was taken back is not sent later.
  assert.equal(nameless.buffered.frames, 0);

  const token = JSON.stringify({ account: { name: 'nobody', password: 'wrong password' } });
  const { player: wrong } = play(t, server.url, { login: 'anonymous', admission: token });
  await assert.rejects(wrong.join('relay', 'x'), { kind: 'not_sent', message: /credential, unknown or wrong/ });

  const { player: alone } = play(t, 'ws://127.0.0.1:1/play');
  await assert.rejects(alone.join('relay', 'x', { deadlineMs: 300 }), (error) => {
    assert.deepEqual([error.kind, error.isLate, error.cause.kind], ['not_sent', true, 'unreachable']);
    return true;
  });
});

test('without a WebSocket the first call says what is missing', { timeout: 60_000 }, async (t) => {
  // A copy of the package in a folder where nobody has installed ws.
  const folder = mkdtempSync(`${tmpdir()}/rejoin-sdk-`);
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(new URL('../src/', import.meta.url).pathname, `${folder}/src`, { recursive: true });
  writeFileSync(`${folder}/package.json`, '{"type":"module"}');
  const script = `
    delete globalThis.WebSocket;
    const { connect } = await import('./src/index.js');
    const player = connect('ws://127.0.0.1:1/play', { login: 'anonymous' });
    for (const when of ['first', 'second']) {
      await player.join('relay', 'x').catch((error) => console.log(when, error.kind, error.cause.kind, error.message));
    }
    player.close();
  `;
  writeFileSync(`${folder}/index.js`, script);
  const { stdout } = await promisify(execFile)(process.execPath, ['index.js'], { cwd: folder });
  const [first, second] = stdout.split('\n');
  assert.match(first, /^first not_sent websocket it was never sent: .*install the package ws/);
  assert.match(second, /^second not_sent websocket/);
});

test('a full buffer is an error to the game, and what is in it arrives', options, async (t) => {
  const near = await wire(t);
  const { player } = play(t, near.url, { sendBufferFramesMax: 10 });
  const { player: other, heard } = play(t, server.url);
  await Promise.all([enter(player, 'full'), enter(other, 'full')]);
  near.unplug();
  await until(player, () => player.status === 'waiting');
  numbered('kept', 10).forEach((words) => say(player, words));
  assert.throws(() => say(player, 'too much'), { name: 'SendError', kind: 'full' });
  assert.throws(() => player.sendUnreliable('x'), { kind: 'not_connected' });
  await assert.rejects(player.call('too much'), { kind: 'full' });
  near.plug();
  await until(other, () => heard.length >= 10);
  assert.deepEqual(heard, numbered('kept', 10));
});

test('the server is told to stop and starts again: the player comes back by itself as the same player', options, async (t) => {
  const first = await serve();
  t.after(() => first.stop('SIGKILL'));
  const near = await cable(first.port);
  t.after(() => near.close());
  const { player } = play(t, near.url);
  await enter(player, 'restart');
  const { id } = player;
  const lost = player.once('disconnected');
  await first.stop();
  await lost;
  const second = await serve();
  t.after(() => second.stop());
  const returned = player.once('returned');
  near.plug(second.port);
  const { rung, after: why } = await returned;
  // It keeps everything in memory: nobody there knows the session.
  assert.deepEqual([rung, why, player.id], ['new', 'session_unknown', id]);
});

test('nobody is there yet: that is told, and tried again', options, async (t) => {
  const near = await wire(t);
  near.unplug();
  const { player } = play(t, near.url);
  const [{ text: why }, { attempt }] = await Promise.all([player.once('dialFailed'), player.once('reconnecting')]);
  assert.match(why, /127\.0\.0\.1/);
  assert.equal(attempt, 1);
  near.plug();
  assert.equal((await player.once('connected')).rung, 'new');
});

test('a cancel stops trying, and a retry resumes', options, async (t) => {
  const { player } = play(t, server.url);
  await enter(player, 'cancel');
  const stopped = player.once('stopped');
  player.cancel();
  assert.deepEqual(await stopped, { code: null, text: '' });
  assert.equal(player.status, 'idle');
  player.retry();
  assert.equal((await player.once('connected')).rung, 'replayed');
});

test('leaving delivers what was sent, and ends the session', options, async (t) => {
  const storage = memoryStorage();
  const { player } = play(t, server.url, { storage });
  const { player: other, heard } = play(t, server.url);
  await Promise.all([enter(player, 'leave'), enter(other, 'leave')]);
  say(player, 'goodbye');
  await player.leave();
  await until(other, () => heard.includes('goodbye'));
  assert.equal(storage.load('session'), undefined);
  assert.deepEqual([player.status, player.session], ['idle', null]);
});

test('starting over ends the old session', options, async (t) => {
  const { player } = play(t, server.url);
  const { session } = await player.once('connected');
  player.startOver();
  const fresh = await player.once('connected');
  assert.deepEqual([fresh.rung, fresh.reason], ['new', 'fresh']);
  assert.notEqual(fresh.session, session);
});

test('the latency is measured, and a wrong date does not matter', options, async (t) => {
  const { now } = Date;
  t.after(() => {
    Date.now = now;
  });
  Date.now = () => 0;
  const near = await wire(t);
  const { player } = play(t, near.url, { latencyEveryMs: 20 });
  await player.once('latency');
  Date.now = () => 4e15;
  const again = player.once('connected');
  near.cut();
  assert.equal((await again).rung, 'replayed');
  await player.once('latency');
  assert.ok(player.latency.smoothedMs > 0);
});

test('unreliable and latest messages are sent', options, async (t) => {
  const { player } = play(t, server.url);
  const { player: other, heard } = play(t, server.url);
  await Promise.all([enter(player, 'kinds'), enter(other, 'kinds')]);
  player.sendLatest('where', 'here');
  player.sendUnreliable('quick');
  await until(other, () => heard.length > 0);
  assert.equal(heard[0], 'here');
});

test('a server that is not ours is told as such', options, async (t) => {
  const player = connect(server.url.replace('/play', '/nowhere'), { WebSocket: (await import('ws')).default });
  t.after(() => player.close());
  assert.match((await player.once('dialFailed')).text, /404/);
});

test('a key of the game is used as it is', options, async (t) => {
  const { key } = await Key.generate();
  const ids = [];
  for (let visit = 0; visit < 2; visit += 1) {
    const { player } = play(t, server.url, { login: key });
    ids.push((await player.once('connected')).player);
  }
  assert.equal(ids[0], ids[1]);
});
