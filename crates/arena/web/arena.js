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
const NAMES = ['Otter', 'Falcon', 'Lynx', 'Heron', 'Badger', 'Marten', 'Kestrel', 'Beaver', 'Puffin', 'Hare'];

const at = (id) => /** @type {any} */ (document.getElementById(id));
const json = (bytes) => JSON.parse(text(bytes));

const game = new Game();
const network = new Network();
const strip = new Strip();
const picture = new Picture(at('canvas'));
// Positions come often, so they go as protobuf; what is in them is JSON, to be read by people.
const player = connect('/play', { WebSocket: network.WebSocket });
const steer = new Steer({ stick: at('stick'), knob: at('knob'), zap: at('zap') }, { go, zap });
let isJoining = false;
/** Another tab speaks for the hero. */
let isElsewhere = false;

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
  strip.session(session);
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
player.on('returned', (returned) => strip.returned(returned));
player.on('latency', (latency) => strip.latency(latency));
player.on('status', ({ status }) => {
  strip.state(status === 'stopped' && isElsewhere ? 'elsewhere' : status);
  if (status !== 'connected') return;
  isElsewhere = false;
  strip.veil(null);
});
player.on('disconnected', () => strip.veil({ title: 'Connection lost', text: 'Your hero waits as a ghost. Coming back by itself…' }));
player.on('reconnecting', ({ inMs }) => {
  if (!game.me) strip.veil({ title: 'No server in reach', text: `Trying again in ${Math.ceil(inMs / 1000)} s.` });
});
player.on('takenOver', () => {
  isElsewhere = true;
  strip.veil({
    title: 'Playing elsewhere',
    text: 'Another tab or device has taken over this hero.',
    button: 'Take it back',
    act: () => player.retry(),
  });
});
player.on('stopped', ({ code, text: words }) => {
  strip.veil({ title: 'Stopped', text: words || code || 'as asked', button: 'Try again', act: () => player.retry() });
});
player.on('storageFailed', ({ text: words }) => strip.say(`This browser keeps nothing: ${words}`));
player.on('failed', ({ error }) => strip.veil({ title: 'This cannot start', text: error.message }));

wireControls(network, {
  // As a browser's own `online` would have it: not at the end of a long wait, but now.
  online: () => {
    if (player.status === 'waiting') player.retry();
  },
});

at('name').value = recall() ?? `${NAMES[Math.floor(Math.random() * NAMES.length)]} ${Math.floor(Math.random() * 90 + 10)}`;
at('name').addEventListener('change', () => {
  remember(at('name').value);
  say(() => player.send(JSON.stringify({ name: at('name').value })));
});
at('name-form').addEventListener('submit', (event) => {
  event.preventDefault();
  at('name').blur();
  at('canvas').focus({ preventScroll: true });
});

/** A browser may keep nothing at all. */
function recall() {
  try {
    return localStorage.getItem('arena.name');
  } catch {
    return null;
  }
}

function remember(name) {
  try {
    localStorage.setItem('arena.name', name);
  } catch {
    // It is asked for again, then.
  }
}

remember(at('name').value);
strip.veil({ title: 'Connecting', text: 'One moment.' });
setInterval(() => {
  strip.board(game);
  strip.me(game.me, game.nearestCoin());
}, 100);
requestAnimationFrame(function frame(now) {
  requestAnimationFrame(frame);
  picture.draw(game, now);
});
