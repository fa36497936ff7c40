/**
 * How large frames, and the things in them, may be, and a decoded frame held against that. The numbers
 * are those of the protocol's document; a test compares them.
 */

import { utf8Length } from './bytes.js';
import { DecodeError } from './error.js';

/** All lengths are bytes; strings count in UTF-8. */
export const LIMITS = Object.freeze({
  messageBytesMax: 65536,
  frameBytesMax: 69632,
  helloBytesMax: 20480,
  serverFrameBytesMax: 2097152,
  snapshotBytesMax: 1048576,
  latestMax: 4096,
  admissionBytesMax: 10240,
  zoneKindBytesMax: 64,
  zoneNameBytesMax: 128,
  ticketBytesMax: 128,
  keyBytesMax: 64,
  serverNameBytesMax: 253,
  capabilitiesMax: 16,
  capabilityBytesMax: 64,
  textBytesMax: 512,
  addressesMax: 16,
  addressBytesMax: 512,
});

/** @typedef {{ -readonly [Name in keyof typeof LIMITS]: number }} Limits */

/** Lengths that the protocol fixes. */
const [NONCE_BYTES, TOKEN_BYTES, SECRET_BYTES, PUBLIC_KEY_BYTES] = [32, 32, 32, 32];
const [SIGNATURE_BYTES, PLAYER_BYTES] = [64, 16];

/**
 * The longest frame of an encoding: JSON carries bytes as base64, four characters for three bytes.
 * @param {number} bytes
 * @param {'protobuf' | 'json'} encoding
 */
export function frameLength(bytes, encoding) {
  return encoding === 'json' ? bytes + Math.floor(bytes / 3) + 4 : bytes;
}

/**
 * Fails when something of a client's frame is missing or over its limit.
 * @param {any} frame
 * @param {Limits} limits
 */
export function checkClient(frame, limits) {
  const { hello, up, loose } = frame;
  if (hello) checkHello(hello, limits);
  else if (up) checkUp(up, limits);
  else if (loose) checkPayload('loose.payload', loose.payload, limits);
  else if (frame.packed) throw DecodeError.notAgreed();
  else if (!(frame.ack || frame.ping || frame.pong)) throw notSet('frame');
}

/**
 * Fails when something of a server's frame is missing or over its limit.
 * @param {any} frame
 * @param {Limits} limits
 */
export function checkServer(frame, limits) {
  const { challenge, welcome, down, loose, resync, notice } = frame;
  const last = frame.refusal ?? frame.farewell;
  if (challenge) {
    exactly('challenge.nonce', challenge.nonce, NONCE_BYTES);
    textAtMost('challenge.server_name', challenge.serverName, limits.serverNameBytesMax);
  } else if (welcome) checkWelcome(welcome, limits);
  else if (down) checkDown(down, limits);
  else if (loose) checkPayload('loose.payload', loose.payload, limits);
  else if (resync) checkResync(resync, limits);
  else if (notice) textAtMost('notice.text', notice.text, limits.textBytesMax);
  else if (last) {
    textAtMost('farewell.text', last.text, limits.textBytesMax);
    checkList('farewell.addresses', last.addresses, limits.addressesMax, limits.addressBytesMax);
  } else if (frame.packed) throw DecodeError.notAgreed();
  else if (!(frame.applied || frame.ping || frame.pong)) throw notSet('frame');
}

/**
 * @param {string} field
 * @param {number} length
 * @param {number} max
 */
export function atMost(field, length, max) {
  if (length > max) throw DecodeError.tooLarge(field, length, max);
}

/**
 * @param {any} hello
 * @param {Limits} limits
 */
function checkHello(hello, limits) {
  textAtMost('hello.server_name', hello.serverName, limits.serverNameBytesMax);
  atMost('hello.admission', hello.admission.length, limits.admissionBytesMax);
  checkList('hello.capabilities', hello.capabilities, limits.capabilitiesMax, limits.capabilityBytesMax);
  const { login, resume } = hello;
  if (!login && !resume) throw notSet('hello.purpose');
  if (resume) exactly('resume.token', resume.token, TOKEN_BYTES);
  else if (login.secret) exactly('login.secret', login.secret, SECRET_BYTES);
  else if (!login.key && !login.mint && !login.anonymous) throw notSet('login.identity');
  const proof = (login ?? resume).key;
  if (proof) {
    exactly('key.public_key', proof.publicKey, PUBLIC_KEY_BYTES);
    exactly('key.signature', proof.signature, SIGNATURE_BYTES);
  }
}

/**
 * @param {any} up
 * @param {Limits} limits
 */
function checkUp(up, limits) {
  numbered(up.seq);
  const { message, answer, join } = up;
  if (message) checkMessage(message, limits);
  else if (answer) checkPayload('answer.payload', answer.payload, limits);
  else if (join) {
    checkZone('join', join, limits);
    textAtMost('join.ticket', join.ticket, limits.ticketBytesMax);
    checkPayload('join.payload', join.payload, limits);
  } else if (!up.part && !up.bye) throw notSet('up.body');
}

/**
 * @param {any} message
 * @param {Limits} limits
 */
function checkMessage(message, limits) {
  textAtMost('message.key', message.key, limits.keyBytesMax);
  checkPayload('message.payload', message.payload, limits);
}

/**
 * @param {any} welcome
 * @param {Limits} limits
 */
function checkWelcome(welcome, limits) {
  exactly('welcome.player', welcome.player, PLAYER_BYTES);
  exactly('welcome.token', welcome.token, TOKEN_BYTES);
  if (welcome.secret.length > 0) exactly('welcome.secret', welcome.secret, SECRET_BYTES);
  if (welcome.zone) checkZone('zone', welcome.zone, limits);
  checkList('welcome.capabilities', welcome.capabilities, limits.capabilitiesMax, limits.capabilityBytesMax);
  checkList('welcome.resume_at', welcome.resumeAt, limits.addressesMax, limits.addressBytesMax);
}

/**
 * @param {any} down
 * @param {Limits} limits
 */
function checkDown(down, limits) {
  numbered(down.seq);
  const { message, reply, refused, call, joined, parted } = down;
  if (message) checkMessage(message, limits);
  else if (reply) checkPayload('reply.payload', reply.payload, limits);
  else if (refused) textAtMost('refused.text', refused.text, limits.textBytesMax);
  else if (call) checkPayload('call.payload', call.payload, limits);
  else if (parted) textAtMost('parted.text', parted.text, limits.textBytesMax);
  else if (joined) {
    if (!joined.zone) throw notSet('joined.zone');
    checkZone('zone', joined.zone, limits);
    checkPayload('joined.payload', joined.payload, limits);
    checkLatest('joined.latest', joined.latest, limits);
  } else throw notSet('down.body');
}

/**
 * @param {any} resync
 * @param {Limits} limits
 */
function checkResync(resync, limits) {
  atMost('resync.snapshot', resync.snapshot.length, limits.snapshotBytesMax);
  if (resync.zone) checkZone('zone', resync.zone, limits);
  checkLatest('resync.latest', resync.latest, limits);
}

/**
 * @param {string} field
 * @param {any[]} values
 * @param {Limits} limits
 */
function checkLatest(field, values, limits) {
  atMost(field, values.length, limits.latestMax);
  for (const value of values) {
    textAtMost('latest.key', value.key, limits.keyBytesMax);
    checkPayload('latest.payload', value.payload, limits);
  }
}

/**
 * @param {string} field
 * @param {{ kind: string, name: string }} zone
 * @param {Limits} limits
 */
function checkZone(field, zone, limits) {
  textAtMost(`${field}.kind`, zone.kind, limits.zoneKindBytesMax);
  textAtMost(`${field}.name`, zone.name, limits.zoneNameBytesMax);
}

/**
 * @param {string} field
 * @param {string[]} list
 * @param {number} max
 * @param {number} bytesMax
 */
function checkList(field, list, max, bytesMax) {
  atMost(field, list.length, max);
  for (const one of list) textAtMost(field, one, bytesMax);
}

/**
 * @param {string} field
 * @param {Uint8Array} payload
 * @param {Limits} limits
 */
function checkPayload(field, payload, limits) {
  atMost(field, payload.length, limits.messageBytesMax);
}

/**
 * @param {string} field
 * @param {string} text
 * @param {number} max
 */
function textAtMost(field, text, max) {
  // A character has at most three bytes a unit: short texts need not be counted.
  if (text.length * 3 > max) atMost(field, utf8Length(text), max);
}

/**
 * @param {string} field
 * @param {Uint8Array} bytes
 * @param {number} expected
 */
function exactly(field, bytes, expected) {
  if (bytes.length === expected) return;
  throw new DecodeError('wrong_length', `${field} is ${bytes.length} bytes long; it must be ${expected}`);
}

/** @param {bigint} seq */
function numbered(seq) {
  if (seq === 0n) throw new DecodeError('zero_seq', 'a numbered frame has the number 0');
}

/** @param {string} field */
function notSet(field) {
  return new DecodeError('empty', `${field} is not set`);
}
