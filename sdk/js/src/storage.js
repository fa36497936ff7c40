/**
 * Where a player keeps what leads back: its key, its guest secret and its resume token. Whoever reads
 * what is stored is the player: with the key for ever, with the token until the session ends.
 */

import { fromBase64, toBase64 } from './bytes.js';

/** What is kept. @typedef {'key' | 'secret' | 'session'} Slot */

/**
 * A storage of the game's own has the same three functions. Each may give a promise, and may fail: the
 * game goes on and is told. `store` has ended when the bytes survive the end of the program.
 * @typedef {object} Storage
 * @property {(slot: Slot) => Uint8Array | null | undefined | Promise<Uint8Array | null | undefined>} load
 * @property {(slot: Slot, bytes: Uint8Array) => void | Promise<void>} store
 * @property {(slot: Slot) => void | Promise<void>} forget
 */

/**
 * Keeps everything until the program ends.
 * @returns {Storage}
 */
export function memoryStorage() {
  /** @type {Map<Slot, Uint8Array>} */
  const held = new Map();
  return {
    load: (slot) => held.get(slot),
    store: (slot, bytes) => void held.set(slot, bytes),
    forget: (slot) => void held.delete(slot),
  };
}

/**
 * Keeps key and secret for the origin of the page and the token for its tab: a reload comes back to the
 * session, and a second tab is the same player with a connection of its own.
 * @param {{ name?: string }} [options] another name is another player
 * @returns {Storage}
 */
export function browserStorage({ name = 'rejoin' } = {}) {
  // Asked for at each call: a browser may forbid it at any time, by throwing.
  const place = (/** @type {Slot} */ slot) => (slot === 'session' ? globalThis.sessionStorage : globalThis.localStorage);
  const label = (/** @type {Slot} */ slot) => `${name}.${slot}`;
  return {
    load(slot) {
      const text = place(slot).getItem(label(slot));
      // What is no base64 was not written here: a value of no length is damaged for everybody.
      return text === null ? null : (fromBase64(text) ?? new Uint8Array(0));
    },
    store: (slot, bytes) => place(slot).setItem(label(slot), toBase64(bytes)),
    forget: (slot) => place(slot).removeItem(label(slot)),
  };
}

/** What is used when the game names none. */
export function defaultStorage() {
  return globalThis.document ? browserStorage() : memoryStorage();
}
