/**
 * Protobuf, as far as the frames need it: varints, lengths, lists of strings and messages. Reading is
 * total: any bytes give a message or a DecodeError, and no length that a peer wrote sizes anything.
 */

import { DecodeError } from './error.js';
import { empty, enumOf, messageOf } from './schema.js';

/** @typedef {import('./schema.js').Field} Field */

/** How deep messages and skipped groups may nest. */
const DEPTH_MAX = 100;
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const GROUP = 3;
const GROUP_END = 4;
const FIXED32 = 5;

const reader = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const writer = new TextEncoder();

/**
 * Writes a message.
 * @param {string} type
 * @param {Record<string, any>} value
 * @returns {Uint8Array}
 */
export function encode(type, value) {
  const sink = new Sink();
  write(sink, type, value);
  return sink.bytes();
}

/**
 * Reads a message.
 * @param {string} type
 * @param {Uint8Array} bytes
 * @returns {Record<string, any>}
 */
export function decode(type, bytes) {
  const value = empty(messageOf(type));
  read(new Cursor(bytes, 0, bytes.length), type, value, 0);
  return value;
}

/**
 * @param {Sink} sink
 * @param {string} type
 * @param {Record<string, any>} value
 */
function write(sink, type, value) {
  for (const field of messageOf(type).fields) {
    const held = value[field.name];
    if (held === undefined || held === null) continue;
    if (field.repeated) {
      for (const one of held) writeField(sink, field, one);
    } else if (field.oneof !== null || !isDefault(field, held)) {
      writeField(sink, field, held);
    }
  }
}

/**
 * @param {Field} field
 * @param {any} held
 */
function isDefault(field, held) {
  switch (field.type) {
    case 'uint32': return held === 0;
    case 'uint64': return held === 0n;
    case 'bool': return held === false;
    case 'string':
    case 'bytes': return held.length === 0;
    default: return enumOf(field.type)?.byName.get(held) === 0;
  }
}

/**
 * @param {Sink} sink
 * @param {Field} field
 * @param {any} held
 */
function writeField(sink, { number, type }, held) {
  const numbers = enumOf(type);
  if (type === 'uint32' || type === 'uint64' || type === 'bool' || numbers) {
    sink.small((number << 3) | VARINT);
    if (type === 'uint64') sink.varint(held);
    else sink.small(numbers ? (numbers.byName.get(held) ?? 0) : Number(held));
    return;
  }
  sink.small((number << 3) | LENGTH);
  const bytes = type === 'bytes' ? held : type === 'string' ? writer.encode(held) : encode(type, held);
  sink.small(bytes.length);
  sink.append(bytes);
}

/**
 * @param {Cursor} cursor
 * @param {string} type
 * @param {Record<string, any>} value
 * @param {number} depth
 */
function read(cursor, type, value, depth) {
  const message = messageOf(type);
  while (!cursor.isAtEnd()) {
    const [number, wire] = cursor.tag();
    const field = message.byNumber.get(number);
    if (!field) {
      cursor.skip(number, wire, depth);
      continue;
    }
    const held = readField(cursor, field, wire, value, depth);
    if (field.repeated) {
      value[field.name].push(held);
      continue;
    }
    if (field.oneof !== null) {
      // The last part of a oneof that comes is the one that counts.
      for (const other of message.fields) {
        if (other.oneof === field.oneof && other !== field) delete value[other.name];
      }
    }
    value[field.name] = held;
  }
}

/**
 * @param {Cursor} cursor
 * @param {Field} field
 * @param {number} wire
 * @param {Record<string, any>} value
 * @param {number} depth
 */
function readField(cursor, field, wire, value, depth) {
  const { type, name, repeated } = field;
  const numbers = enumOf(type);
  const isVarint = numbers !== undefined || type === 'uint32' || type === 'uint64' || type === 'bool';
  if (wire !== (isVarint ? VARINT : LENGTH)) throw DecodeError.malformed();
  if (isVarint) {
    const number = cursor.varint();
    if (type === 'uint64') return number;
    if (type === 'bool') return number !== 0n;
    if (type === 'uint32') return Number(BigInt.asUintN(32, number));
    return numbers?.byNumber.get(Number(BigInt.asIntN(32, number))) ?? numbers?.byNumber.get(0);
  }
  const part = cursor.part();
  if (type === 'bytes') return part.bytes();
  if (type === 'string') return part.text();
  if (depth >= DEPTH_MAX) throw DecodeError.malformed();
  // A message that comes in two parts is one message.
  const held = (!repeated && value[name]) || empty(messageOf(type));
  read(part, type, held, depth + 1);
  return held;
}

/** A growing buffer. */
class Sink {
  #bytes = new Uint8Array(128);
  #length = 0;

  bytes() {
    return this.#bytes.slice(0, this.#length);
  }

  /** @param {Uint8Array} bytes */
  append(bytes) {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /**
   * A number of at most 53 bits.
   * @param {number} number
   */
  small(number) {
    this.#reserve(8);
    while (number > 0x7f) {
      this.#bytes[this.#length++] = (number % 0x80) | 0x80;
      number = Math.floor(number / 0x80);
    }
    this.#bytes[this.#length++] = number;
  }

  /** @param {bigint} number */
  varint(number) {
    if (number <= BigInt(Number.MAX_SAFE_INTEGER)) return this.small(Number(number));
    this.#reserve(10);
    let rest = BigInt.asUintN(64, number);
    for (; rest > 0x7fn; rest >>= 7n) this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
    this.#bytes[this.#length++] = Number(rest);
  }

  /** @param {number} more */
  #reserve(more) {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + more));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

/** A place in bytes that were received. */
class Cursor {
  #bytes;
  #at;
  #end;

  /**
   * @param {Uint8Array} bytes
   * @param {number} start
   * @param {number} end
   */
  constructor(bytes, start, end) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  isAtEnd() {
    return this.#at >= this.#end;
  }

  /** @returns {bigint} */
  varint() {
    let small = 0;
    let scale = 1;
    // Seven bytes are 49 bits, which a number holds exactly; few numbers of ours need more.
    for (let index = 0; index < 7; index += 1) {
      const byte = this.#byte();
      small += (byte & 0x7f) * scale;
      if (byte < 0x80) return BigInt(small);
      scale *= 0x80;
    }
    let number = BigInt(small);
    for (let shift = 49n; shift <= 63n; shift += 7n) {
      const byte = this.#byte();
      if (shift === 63n && byte > 1) throw DecodeError.malformed();
      number |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return number;
    }
    throw DecodeError.malformed();
  }

  /** Number and wire type of the next field. */
  tag() {
    const tag = this.varint();
    const [number, wire] = [Number(tag >> 3n), Number(tag & 7n)];
    if (tag > 0xffffffffn || number === 0 || wire > FIXED32) throw DecodeError.malformed();
    return [number, wire];
  }

  /** The content of a field with a length. */
  part() {
    const length = this.varint();
    if (length > BigInt(this.#end - this.#at)) throw DecodeError.malformed();
    const start = this.#at;
    this.#at += Number(length);
    return new Cursor(this.#bytes, start, this.#at);
  }

  /** All that is left, as a copy: a payload must not keep its frame, nor change with it. */
  bytes() {
    return this.#bytes.slice(this.#at, this.#end);
  }

  text() {
    try {
      return reader.decode(this.#bytes.subarray(this.#at, this.#end));
    } catch {
      throw DecodeError.malformed();
    }
  }

  /**
   * Steps over a field that this version does not know.
   * @param {number} number
   * @param {number} wire
   * @param {number} depth
   */
  skip(number, wire, depth) {
    if (wire === VARINT) this.varint();
    else if (wire === LENGTH) this.part();
    else if (wire === FIXED64) this.#step(8);
    else if (wire === FIXED32) this.#step(4);
    else if (wire === GROUP && depth < DEPTH_MAX) this.#skipGroup(number, depth);
    else throw DecodeError.malformed();
  }

  /**
   * @param {number} group
   * @param {number} depth
   */
  #skipGroup(group, depth) {
    for (;;) {
      const [number, wire] = this.tag();
      if (wire === GROUP_END) {
        if (number !== group) throw DecodeError.malformed();
        return;
      }
      this.skip(number, wire, depth + 1);
    }
  }

  /** @param {number} length */
  #step(length) {
    if (length > this.#end - this.#at) throw DecodeError.malformed();
    this.#at += length;
  }

  #byte() {
    if (this.#at >= this.#end) throw DecodeError.malformed();
    return this.#bytes[this.#at++];
  }
}

