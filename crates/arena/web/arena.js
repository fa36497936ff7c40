/**
 * The arena in a page: a player of the SDK, the game it plays, and what is shown of both.
 *
 * The server simulates; the page sends what its player wants and draws what it is told. When the
 * connection is gone the SDK brings it back, and all that is left to do here is to say how that went.
 */

import { connect, text } from '/sdk/index.js';
import { wireControls } from './controls.js';
import { Picture } from './draw.js';
import { Game } from './game.js';
import { Network } from './network.js';
import { Steer } from './steer.js';
import { Strip } from './strip.js';

const KIND = 'arena';
const ROOM = 'main';
/** How long an arena that is just ending is given, and a full one. */
const AGAIN_MS = 700;
/** How long the server keeps a ghost, as `HOLD` of the arena says. */
const HOLD_MS = 15_000;
/** How often the latency is measured. */
const LATENCY_MS = 1000;
const NAMES = ['Otter', 'Falcon', 'Lynx', 'Heron', 'Badger', 'Marten', 'Kestrel', 'Beaver', 'Puffin', 'Hare'];

const at = (id) => /** @type {any} */ (document.getElementById(id));
const json = (bytes) => JSON.parse(text(bytes));

const game = new Game();
const network = new Network();
const strip = new Strip();
const picture = new Picture(at('canvas'));
// Positions come often, so they go as protobuf; what is in them is JSON, to be read by people.
const player = connect('/play', { WebSocket: network.WebSocket, latencyEveryMs: LATENCY_MS });
const steer = new Steer({ stick: at('stick'), knob: at('knob'), zap: at('zap') }, { go, zap });
let isJoining = false;
/** Another tab speaks for the hero. */
let isElsewhere = false;
/** What the player did that the next return comes of. @type {'reload' | 'takeBack' | null} */
let deed = 'reload';
/** What is known of a connection that is gone; nothing while there is one. */
let lost = null;

function go(way) {
  say(() => player.sendLatest('go', JSON.stringify({ go: way })));
}

function zap() {
  say(() => player.send('"zap"'));
}

/** Sends where it makes sense; a full buffer is told. */
function say(send) {
  if (!game.me || player.status === 'stopped') return;
  try {
    send();
  } catch (error) {
    strip.say(`Not sent: ${error.message}`);
  }
}

async function enter() {
  if (isJoining) return;
  isJoining = true;
  try {
    await player.join(KIND, ROOM, { create: true, payload: JSON.stringify({ name: at('name').value }) });
    isJoining = false;
  } catch (error) {
    isJoining = false;
    strip.say(`Not in the arena yet: ${error.message}`);
    setTimeout(() => {
      if (player.status === 'connected' && player.zone === null) enter();
    }, AGAIN_MS);
  }
}

function show(scene, latest) {
  const now = performance.now();
  game.show(scene, now);
  for (const { key, payload } of latest) if (key === 'where') game.hear(json(payload), now);
  strip.veil(null);
  // The server let the hero stand while nobody steered it.
  go(steer.way);
}

function hear(payload) {
  game.hear(json(payload), performance.now());
}

player.on('connected', ({ rung, session, zone }) => {
  strip.session(sessionCount(session));
  if (rung === 'replayed' && zone !== null) {
    strip.veil(null);
    go(steer.way);
  }
  if (zone === null) enter();
});
player.on('joined', ({ payload, latest }) => show(json(payload), latest));
player.on('resync', ({ snapshot, latest, zone }) => {
  if (zone !== null) show(json(snapshot), latest);
  else enter();
});
player.on('message', ({ payload }) => hear(payload));
player.on('latest', ({ payload }) => payload && hear(payload));
player.on('parted', () => setTimeout(enter, AGAIN_MS));
player.on('returned', (returned) => {
  strip.returned(returned, deed);
  deed = null;
});
player.on('latency', (latency) => strip.latency(latency));
player.on('status', ({ status }) => {
  strip.state(status === 'stopped' && isElsewhere ? 'elsewhere' : status);
  if (status !== 'connected') return;
  [isElsewhere, lost] = [false, null];
  strip.veil(null);
});
player.on('disconnected', () => {
  strip.away();
  [lost, deed] = [{ since: performance.now(), retryAt: null, isUnanswered: false }, null];
  showLost();
});
player.on('reconnecting', ({ inMs }) => {
  lost ??= { since: null, retryAt: null, isUnanswered: false };
  lost.retryAt = performance.now() + inMs;
  showLost();
});
player.on('dialFailed', () => {
  lost ??= { since: null, retryAt: null, isUnanswered: false };
  lost.isUnanswered = !isOffline();
});
player.on('takenOver', () => {
  [isElsewhere, lost] = [true, null];
  strip.veil({
    title: 'Playing elsewhere',
    text: 'Another tab or device has taken over this hero.',
    button: 'Take it back',
    act: takeBack,
  });
});
player.on('stopped', ({ code, text: words }) => {
  strip.veil({ title: 'Stopped', text: words || code || 'as asked', button: 'Try again', act: () => player.retry() });
});
player.on('storageFailed', ({ text: words }) => strip.say(`This browser keeps nothing: ${words}`));
player.on('failed', ({ error }) => strip.veil({ title: 'This cannot start', text: error.message }));

function takeBack() {
  [isElsewhere, deed] = [false, 'takeBack'];
  strip.veil({ title: 'Taking it back', text: 'One moment.' });
  player.retry();
}

/** This end has no network: the browser says so, or the player has pulled the plug. */
function isOffline() {
  return network.isOffline || !navigator.onLine;
}

/** The card of a connection that is gone: on whose side, for how long, and when the next try is. */
function showLost() {
  if (!lost || player.status === 'stopped') return;
  // To take a hero back may need a second try, which is no loss.
  if (deed === 'takeBack' && !lost.isUnanswered && !isOffline()) return;
  const wait = Math.ceil(((lost.retryAt ?? 0) - performance.now()) / 1000);
  const next = wait > 0 ? ` Next try in ${wait} s.` : ' Trying now.';
  const title = isOffline() ? 'You are offline' : lost.isUnanswered ? 'The server does not answer' : 'Connection lost';
  strip.veil({ title, text: heroWaits() + (isOffline() ? '' : next) });
}

function heroWaits() {
  if (!game.me) return 'You are not in the arena yet.';
  if (lost.since === null) return 'Your hero waits for you.';
  // A server that is down does not count the time.
  if (lost.isUnanswered && !isOffline()) return 'Your hero waits until the server is back.';
  const left = Math.ceil((lost.since + HOLD_MS - performance.now()) / 1000);
  return left > 0 ? `Your hero waits as a ghost, for ${left} s more.` : 'Your hero has waited 15 s, and is gone.';
}

/** How many sessions this tab has had, this one included. */
function sessionCount(session) {
  const [last, count] = (recall('arena.session', 'sessionStorage') ?? ' 0').split(' ');
  const now = (Number(count) || 0) + (last === String(session) ? 0 : 1);
  remember('arena.session', `${session} ${now}`, 'sessionStorage');
  return now;
}

wireControls(network, {
  // As a browser's own `online` would have it: not at the end of a long wait, but now.
  online: () => {
    if (player.status === 'waiting') player.retry();
  },
});

at('name').value = recall('arena.name') ?? `${NAMES[Math.floor(Math.random() * NAMES.length)]} ${Math.floor(Math.random() * 90 + 10)}`;
at('name').addEventListener('change', () => {
  remember('arena.name', at('name').value);
  say(() => player.send(JSON.stringify({ name: at('name').value })));
});
at('name-form').addEventListener('submit', (event) => {
  event.preventDefault();
  at('name').blur();
  at('canvas').focus({ preventScroll: true });
});

/** A browser may keep nothing at all. */
function recall(key, storage = 'localStorage') {
  try {
    return globalThis[storage].getItem(key);
  } catch {
    return null;
  }
}

function remember(key, value, storage = 'localStorage') {
  try {
    globalThis[storage].setItem(key, value);
  } catch {
    // It is asked for again, then.
  }
}

remember('arena.name', at('name').value);
strip.veil({ title: 'Connecting', text: 'One moment.' });
setInterval(() => {
  showLost();
  strip.board(game);
  strip.me(game.me, game.nearestCoin());
}, 100);
requestAnimationFrame(function frame(now) {
  requestAnimationFrame(frame);
  picture.draw(game, now);
});
