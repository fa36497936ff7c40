/**
 * Bytes as text and back: UTF-8 for payloads that games write as strings, base64 for JSON frames and
 * for storage.
 */

const reader = new TextDecoder('utf-8', { ignoreBOM: true });
const writer = new TextEncoder();
/** Characters a call of `fromCharCode` may be given without running out of stack. */
const CHUNK = 8192;

/**
 * What a game may hand over as a payload.
 * @typedef {Uint8Array | ArrayBuffer | string} Payload
 */

/**
 * The bytes of a payload; a string is written as UTF-8.
 * @param {Payload | undefined} payload
 * @returns {Uint8Array}
 */
export function toBytes(payload) {
  if (payload === undefined) return new Uint8Array(0);
  if (typeof payload === 'string') return writer.encode(payload);
  if (payload instanceof ArrayBuffer) return new Uint8Array(payload.slice(0));
  // A copy: what is sent later must be what was handed over now.
  if (ArrayBuffer.isView(payload)) {
    return new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength).slice();
  }
  throw new TypeError('a payload is a string, a Uint8Array or an ArrayBuffer');
}

/**
 * A payload as text; bytes that are no UTF-8 become replacement characters.
 * @param {Uint8Array} bytes
 */
export function text(bytes) {
  return reader.decode(bytes);
}

/**
 * How many bytes a text has in UTF-8.
 * @param {string} value
 */
export function utf8Length(value) {
  return writer.encode(value).length;
}

/** @param {Uint8Array} bytes */
export function toBase64(bytes) {
  let binary = '';
  for (let at = 0; at < bytes.length; at += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(binary);
}

/**
 * The bytes of a padded base64 text in the standard alphabet; nothing when it is none.
 * @param {string} value
 * @returns {Uint8Array | null}
 */
export function fromBase64(value) {
  if (value.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value)) return null;
  const binary = atob(value);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/**
 * Parts behind each other.
 * @param {Uint8Array[]} parts
 */
export function join(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
