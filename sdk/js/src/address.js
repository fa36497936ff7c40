/**
 * Where a server is: what the game was given, and what a server later names. A page that came over TLS
 * is never led away from it.
 */

import { OpenError } from './error.js';

/**
 * The address that the game was given: `ws://`, `wss://`, the same with `http`, or, in a page, a path.
 * @param {string | URL | undefined} given nothing: `/play` where the page comes from
 * @returns {URL}
 */
export function parseAddress(given) {
  const page = globalThis.location?.href;
  const text = String(given ?? '/play');
  /** @type {URL} */
  let url;
  try {
    url = new URL(text, page);
  } catch {
    throw new OpenError('address', `not an address to connect to: ${text}; it looks like wss://host:port/play`);
  }
  url.protocol = url.protocol.replace(/^http/, 'ws');
  url.hash = '';
  if (url.protocol !== 'ws:' && url.protocol !== 'wss:') {
    throw new OpenError('address', `not an address to connect to: it starts with ${url.protocol} and not with wss: or ws:`);
  }
  return url;
}

/**
 * An address that the server named, with or without scheme; without it, everything but the host and
 * its port is as at home. Nothing when it cannot be dialled from here.
 * @param {URL} home
 * @param {string} text
 * @returns {URL | null}
 */
export function follow(home, text) {
  const path = text.includes('/') ? '' : home.pathname;
  const full = text.includes('://') ? text : `${home.protocol}//${text}${path}`;
  try {
    const url = new URL(full);
    const isSafe = url.protocol === 'wss:' || (url.protocol === 'ws:' && home.protocol === 'ws:');
    return isSafe ? url : null;
  } catch {
    return null;
  }
}
