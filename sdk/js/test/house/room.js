// A room of the built-in relay zone as the tests use it, and a player that notes what it hears.

import WebSocket from 'ws';

import { connect, memoryStorage, text } from '../../src/index.js';

/** Starts a player that is closed when the test ends. */
export function play(t, url, options = {}) {
  const player = connect(url, { WebSocket, storage: memoryStorage(), ...options });
  const heard = [];
  player.on('message', ({ payload }) => heard.push(text(payload)));
  player.on('failed', ({ error }) => heard.push(error));
  t.after(() => player.close());
  return { player, heard };
}

/** Joins the room. */
export function enter(player, name) {
  return player.join('relay', name, { create: true });
}

/** Says something to all others in the room. */
export function say(player, words) {
  return player.send(words);
}

/** Waits until something holds: asked whenever the player tells something. */
export async function until(player, holds) {
  if (holds()) return;
  await new Promise((resolve) => {
    const stop = player.on('*', () => {
      if (!holds()) return;
      stop();
      resolve();
    });
  });
}

/** `prefix 1`, `prefix 2`, ... */
export function numbered(prefix, count) {
  return Array.from({ length: count }, (_, index) => `${prefix} ${index + 1}`);
}

/** Two tabs of one origin: the key is shared, the token is each tab's own. */
export function tabs(count) {
  const origin = memoryStorage();
  return Array.from({ length: count }, () => {
    const tab = memoryStorage();
    const place = (slot) => (slot === 'session' ? tab : origin);
    return {
      load: (slot) => place(slot).load(slot),
      store: (slot, bytes) => place(slot).store(slot, bytes),
      forget: (slot) => place(slot).forget(slot),
    };
  });
}
