/**
 * How a session and a guest secret are written down: the same bytes as the Rust client's. Each record
 * names its server: a token is worth something to one server only, and whoever shows it to another
 * gives it away.
 *
 * A record is a version (one byte, 1), the length of the server's name (one byte), the name, and the
 * rest: session and epoch (eight bytes each, highest first) and token, or the secret.
 */

import { join } from './bytes.js';

const VERSION = 1;
const SECRET_BYTES = 32;
const SESSION_BYTES = 48;

/** It is this, or it belongs to another server, or it is none. @typedef {'foreign' | 'damaged'} Unread */

/**
 * @param {string} server
 * @param {import('./machine.js').ResumeState} state
 */
export function writeSession(server, { session, epoch, token }) {
  const numbers = new DataView(new ArrayBuffer(16));
  numbers.setBigUint64(0, session);
  numbers.setBigUint64(8, epoch);
  return join([head(server), new Uint8Array(numbers.buffer), token]);
}

/**
 * @param {string} server
 * @param {Uint8Array} record
 * @returns {import('./machine.js').ResumeState | Unread}
 */
export function readSession(server, record) {
  const rest = read(server, record, SESSION_BYTES);
  if (typeof rest === 'string') return rest;
  const numbers = new DataView(rest.buffer, rest.byteOffset, rest.length);
  return { session: numbers.getBigUint64(0), epoch: numbers.getBigUint64(8), token: rest.slice(16) };
}

/**
 * @param {string} server
 * @param {Uint8Array} secret
 */
export function writeSecret(server, secret) {
  return join([head(server), secret]);
}

/**
 * @param {string} server
 * @param {Uint8Array} record
 * @returns {Uint8Array | Unread}
 */
export function readSecret(server, record) {
  return read(server, record, SECRET_BYTES);
}

/** @param {string} server */
function head(server) {
  const name = new TextEncoder().encode(server);
  return join([Uint8Array.of(VERSION, name.length), name]);
}

/**
 * @param {string} server
 * @param {Uint8Array} record
 * @param {number} length
 * @returns {Uint8Array | Unread}
 */
function read(server, record, length) {
  const start = 2 + (record[1] ?? 0);
  if (record[0] !== VERSION || record.length < start) return 'damaged';
  const own = head(server);
  if (start !== own.length || own.some((byte, at) => byte !== record[at])) return 'foreign';
  return record.length === start + length ? record.slice(start) : 'damaged';
}
