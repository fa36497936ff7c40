/**
 * What a machine is told before it starts: every bound and every while of the client. The defaults are
 * those of the Rust client; a test compares them with its list.
 */

import { LIMITS } from './limits.js';

/** Whiles are milliseconds, bounds are counts or bytes. */
export const DEFAULTS = Object.freeze({
  backoffBaseMs: 250,
  backoffMaxMs: 10000,
  settledAfterMs: 5000,
  sendBufferFramesMax: 1024,
  sendBufferBytesMax: 1048576,
  requestsMax: 1024,
  ackEvery: 16,
  ackDelayMs: 200,
  handshakeTimeoutMs: 10000,
  silencePercent: 250,
});

/** @typedef {{ -readonly [Name in keyof typeof DEFAULTS]: number }} Bounds */

/**
 * `serverName` is the name that is dialled: the server checks it, and a key's signature covers it.
 * `admission` is for the game's admission rule.
 * @typedef {Bounds & {
 *   serverName: string,
 *   encoding: import('./codec.js').Encoding,
 *   capabilities: string[],
 *   admission: Uint8Array,
 *   limits: import('./limits.js').Limits,
 * }} Config
 */

/**
 * The defaults for the server of this name, with what the game says otherwise.
 * @param {string} serverName
 * @param {Partial<Config>} [more]
 * @returns {Config}
 */
export function configOf(serverName, more = {}) {
  const given = Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined));
  return {
    ...DEFAULTS,
    encoding: 'protobuf',
    capabilities: [],
    admission: new Uint8Array(0),
    ...given,
    serverName: more.serverName || serverName,
    limits: { ...LIMITS, ...more.limits },
  };
}
