/**
 * The JSON that proto3 defines for the frames. Texts are read by `json/text.js`, which keeps numbers as
 * they were written: a 64-bit number is exact whether it stands in quotes or not.
 */

import { fromBase64, toBase64 } from './bytes.js';
import { DecodeError } from './error.js';
import { Digits, Members, parse } from './json/text.js';
import { empty, enumOf, messageOf } from './schema.js';

/** @typedef {import('./schema.js').Field} Field */

const UINT32_MAX = 0xffffffffn;
const UINT64_MAX = 0xffffffffffffffffn;

/**
 * Writes a message as text.
 * @param {string} type
 * @param {Record<string, any>} value
 */
export function encode(type, value) {
  return JSON.stringify(toJson(type, value));
}

/**
 * Reads a message from a text.
 * @param {string} type
 * @param {string} text
 * @returns {Record<string, any>}
 */
export function decode(type, text) {
  return fromJson(type, parse(text));
}

/**
 * A message as the plain values that JSON has. What is not set is left out.
 * @param {string} type
 * @param {Record<string, any>} value
 * @returns {Record<string, any>}
 */
export function toJson(type, value) {
  /** @type {Record<string, any>} */
  const plain = {};
  for (const field of messageOf(type).fields) {
    const held = value[field.name];
    if (held === undefined || held === null) continue;
    if (field.repeated) {
      if (held.length > 0) plain[field.name] = held.map((/** @type {any} */ one) => plainOf(field.type, one));
    } else if (field.oneof !== null || !isDefault(field.type, held)) {
      plain[field.name] = plainOf(field.type, held);
    }
  }
  return plain;
}

/**
 * @param {string} type
 * @param {any} held
 */
function isDefault(type, held) {
  if (type === 'string' || type === 'bytes') return held.length === 0;
  const numbers = enumOf(type);
  return numbers ? numbers.byName.get(held) === 0 : held === 0 || held === 0n || held === false;
}

/**
 * @param {string} type
 * @param {any} held
 */
function plainOf(type, held) {
  if (type === 'uint64') return held.toString();
  if (type === 'bytes') return toBase64(held);
  if (type === 'uint32' || type === 'bool' || type === 'string' || enumOf(type)) return held;
  return toJson(type, held);
}

/**
 * @param {string} type
 * @param {any} read
 */
function fromJson(type, read) {
  if (!(read instanceof Members)) throw DecodeError.malformed();
  const message = messageOf(type);
  const value = empty(message);
  const seen = new Set();
  for (const [name, held] of read.pairs) {
    const field = message.byName.get(name);
    if (!field) continue;
    // Null stands for what is not set.
    const slot = field.oneof !== null && held !== null ? field.oneof : field;
    if (seen.has(field) || seen.has(slot)) throw DecodeError.malformed();
    seen.add(field).add(slot);
    if (held === null) continue;
    if (!field.repeated) {
      value[field.name] = valueOf(field.type, held);
    } else {
      if (!Array.isArray(held)) throw DecodeError.malformed();
      value[field.name] = held.map((one) => valueOf(field.type, one));
    }
  }
  return value;
}

/**
 * @param {string} type
 * @param {any} held
 */
function valueOf(type, held) {
  switch (type) {
    case 'uint32': return Number(whole(held, UINT32_MAX));
    case 'uint64': return whole(held, UINT64_MAX);
    case 'bool': return expect(typeof held === 'boolean', held);
    case 'string': return expect(typeof held === 'string', held);
    case 'bytes': {
      const bytes = typeof held === 'string' ? fromBase64(held) : null;
      return expect(bytes !== null, bytes);
    }
    default: return enumOf(type) ? enumValue(type, held) : fromJson(type, held);
  }
}

/**
 * A whole number, in quotes or not.
 * @param {any} held
 * @param {bigint} max
 */
function whole(held, max) {
  const digits = held instanceof Digits ? held.text : held;
  // No number of ours has more than 20 digits: a longer one is not even converted.
  if (typeof digits !== 'string' || !/^[0-9]{1,20}$/.test(digits)) throw DecodeError.malformed();
  const number = BigInt(digits);
  return expect(number <= max, number);
}

/**
 * An enum value by name or number; one that is not known counts as the first.
 * @param {string} type
 * @param {any} held
 */
function enumValue(type, held) {
  const numbers = enumOf(type);
  if (typeof held === 'string') return numbers?.byName.has(held) ? held : numbers?.byNumber.get(0);
  if (!(held instanceof Digits) || !/^-?[0-9]{1,10}$/.test(held.text)) throw DecodeError.malformed();
  return numbers?.byNumber.get(Number(held.text)) ?? numbers?.byNumber.get(0);
}

/**
 * @template T
 * @param {boolean} holds
 * @param {T} value
 */
function expect(holds, value) {
  if (!holds) throw DecodeError.malformed();
  return value;
}
