/**
 * From what a WebSocket carries to frames and back, in either encoding. A frame that was read has been
 * held against every limit, so those who use it need not ask again.
 */

import { utf8Length } from './bytes.js';
import { DecodeError } from './error.js';
import * as json from './json.js';
import { atMost, checkClient, checkServer, frameLength } from './limits.js';
import * as protobuf from './protobuf.js';

/** @typedef {'protobuf' | 'json'} Encoding */
/** @typedef {import('./limits.js').Limits} Limits */

/** The WebSocket subprotocol of each encoding. */
export const SUBPROTOCOLS = Object.freeze({ protobuf: 'rejoin.v1.proto', json: 'rejoin.v1.json' });

/**
 * Writes a frame of a client.
 * @param {Encoding} encoding
 * @param {Record<string, any>} frame
 */
export function encodeClient(encoding, frame) {
  return encodeFrame(encoding, 'ClientFrame', frame);
}

/**
 * Writes a frame of a server.
 * @param {Encoding} encoding
 * @param {Record<string, any>} frame
 */
export function encodeServer(encoding, frame) {
  return encodeFrame(encoding, 'ServerFrame', frame);
}

/**
 * Reads a frame of a client.
 * @param {Encoding} encoding
 * @param {Uint8Array | string} data
 * @param {Limits} limits
 * @returns {any}
 */
export function decodeClient(encoding, data, limits) {
  const length = lengthOf(data, frameLength(limits.frameBytesMax, encoding));
  const frame = decodeFrame(encoding, 'ClientFrame', data);
  if (frame.hello) atMost('hello', length, limits.helloBytesMax);
  checkClient(frame, limits);
  return frame;
}

/**
 * Reads a frame of a server.
 * @param {Encoding} encoding
 * @param {Uint8Array | string} data
 * @param {Limits} limits
 * @returns {any}
 */
export function decodeServer(encoding, data, limits) {
  lengthOf(data, frameLength(limits.serverFrameBytesMax, encoding));
  const frame = decodeFrame(encoding, 'ServerFrame', data);
  checkServer(frame, limits);
  return frame;
}

/**
 * @param {Encoding} encoding
 * @param {string} type
 * @param {Record<string, any>} frame
 */
function encodeFrame(encoding, type, frame) {
  return encoding === 'json' ? json.encode(type, frame) : protobuf.encode(type, frame);
}

/**
 * @param {Encoding} encoding
 * @param {string} type
 * @param {Uint8Array | string} data
 */
function decodeFrame(encoding, type, data) {
  if (encoding === 'json') return json.decode(type, typeof data === 'string' ? data : asText(data));
  return protobuf.decode(type, typeof data === 'string' ? new TextEncoder().encode(data) : data);
}

/**
 * The length in bytes, which is looked at before anything is read.
 * @param {Uint8Array | string} data
 * @param {number} max
 */
function lengthOf(data, max) {
  atMost('frame', data.length, max);
  const length = typeof data === 'string' ? utf8Length(data) : data.length;
  atMost('frame', length, max);
  return length;
}

/** @param {Uint8Array} bytes */
function asText(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw DecodeError.malformed();
  }
}
