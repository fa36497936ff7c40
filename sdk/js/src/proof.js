/**
 * The text that a key signs to prove itself. Every field of it stands behind its length, so no two
 * different proofs give the same bytes: a signature that was given for one serves for no other.
 *
 * The server's name is the one that was dialled, never one that a challenge tells: whoever signs a name
 * that it was told signs for a relay in the middle.
 */

import { join } from './bytes.js';

/**
 * @typedef {object} Proof
 * @property {'login' | 'resume' | 'link'} purpose
 * @property {number} version
 * @property {string} serverName
 * @property {Uint8Array} nonce
 * @property {bigint} session
 * @property {bigint} epoch
 * @property {boolean} fresh
 * @property {boolean} cold
 * @property {string[]} capabilities
 * @property {Uint8Array} admission
 * @property {Uint8Array} channelBinding
 */

const writer = new TextEncoder();

/**
 * The bytes that the key signs.
 * @param {Proof} proof
 */
export function signedText(proof) {
  return join([
    writer.encode('rejoin.v1 proof'),
    field(writer.encode(proof.purpose)),
    field(number(BigInt(proof.version), 4)),
    field(writer.encode(proof.serverName)),
    field(proof.nonce),
    field(number(proof.session, 8)),
    field(number(proof.epoch, 8)),
    field(Uint8Array.of(Number(proof.fresh))),
    field(Uint8Array.of(Number(proof.cold))),
    field(join(proof.capabilities.map((each) => field(writer.encode(each))))),
    field(proof.admission),
    field(proof.channelBinding),
  ]);
}

/** @param {Uint8Array} bytes */
function field(bytes) {
  return join([number(BigInt(bytes.length), 4), bytes]);
}

/**
 * A number, highest byte first.
 * @param {bigint} value
 * @param {number} length
 */
function number(value, length) {
  const bytes = new Uint8Array(length);
  for (let at = length - 1; at >= 0; at -= 1) {
    bytes[at] = Number(value & 0xffn);
    value >>= 8n;
  }
  return bytes;
}
