/**
 * The client end of Rejoin for browsers and Node.
 *
 * `connect` starts a player, which comes back by itself after every loss of its connection. The README
 * tells the rest.
 */

import { Player } from './player.js';

export { text } from './bytes.js';
export { CallError, DecodeError, OpenError, SendError } from './error.js';
export { Key } from './key.js';
export { Player } from './player.js';
export { browserStorage, memoryStorage } from './storage.js';

/** @typedef {import('./player.js').Options} Options */
/** @typedef {import('./events.js').PlayerEvents} PlayerEvents */
/** @typedef {import('./storage.js').Storage} Storage */
/** @typedef {import('./bytes.js').Payload} Payload */

/**
 * Starts a player and connects it to `wss://host:port/play`; without an address, to `/play` where the
 * page comes from. Does not wait for the connection: `connected` tells of it.
 * @param {string | URL} [url]
 * @param {Options} [options]
 */
export function connect(url, options) {
  return new Player(url, options);
}
