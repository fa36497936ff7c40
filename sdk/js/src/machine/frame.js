/**
 * Frames of the server: which may stand where, and what each means to the game.
 */

import { decodeServer } from '../codec.js';
import { DecodeError, Violation } from '../error.js';
import { short } from '../schema.js';
import { ended, endingOf, loseSent } from './ending.js';
import { challenged } from './hello.js';
import { flush } from './send.js';
import { endRequests, welcomed } from './welcome.js';

/** @typedef {import('../machine.js').Machine} Machine */

/**
 * @param {Machine} machine
 * @param {number} now
 * @param {Uint8Array | string} data
 */
export function received(machine, now, data) {
  if (!machine.hasTransport()) return;
  if (machine.link.kind === 'live') machine.link.pulse.heard(now);
  try {
    handle(machine, now, decodeServer(machine.config.encoding, data, machine.config.limits));
  } catch (error) {
    if (error instanceof Violation) violated(machine, now, error);
    else if (error instanceof DecodeError) violated(machine, now, Violation.undecodable(error));
    else throw error;
  }
}

/**
 * What came never became the bytes of a frame.
 * @param {Machine} machine
 * @param {number} now
 * @param {DecodeError} error
 */
export function garbled(machine, now, error) {
  if (machine.hasTransport()) violated(machine, now, Violation.undecodable(error));
}

/**
 * @param {Machine} machine
 * @param {number} now
 * @param {any} frame
 */
function handle(machine, now, frame) {
  const isLive = machine.link.kind === 'live';
  // These ask for their own state.
  if (frame.challenge) return challenged(machine, now, frame.challenge);
  if (frame.welcome) return welcomed(machine, now, frame.welcome);
  if (frame.farewell) return dismissed(machine, now, frame.farewell);
  if (frame.refusal && !isLive) return dismissed(machine, now, frame.refusal);
  if (frame.refusal || !isLive) throw Violation.outOfState();
  if (frame.down) heard(machine, now, frame.down);
  else if (frame.loose) heardLoose(machine, frame.loose);
  else if (frame.resync) resynced(machine, frame.resync);
  else if (frame.ping) machine.put({ pong: { nonce: frame.ping.nonce } });
  else if (frame.pong) measured(machine, now, frame.pong.nonce);
  else if (frame.applied) {
    machine.buffer.acknowledge(frame.applied.seq);
    flush(machine);
  } else {
    const { code, text, waitMs } = frame.notice;
    machine.tell({ type: 'notice', code: short('NoticeCode', code), text, waitMs });
  }
}

/**
 * The server's last word on this connection.
 * @param {Machine} machine
 * @param {number} now
 * @param {any} word
 */
function dismissed(machine, now, word) {
  machine.output({ type: 'close', code: null });
  ended(machine, now, endingOf(word));
}

/**
 * Comes back without its place in the stream: going on from there would meet the same again.
 * @param {Machine} machine
 * @param {number} now
 * @param {Violation} violation
 */
function violated(machine, now, violation) {
  machine.output({ type: 'close', code: violation.closeCode });
  machine.tell({ type: 'violation', kind: violation.kind, text: violation.message });
  machine.downstream.forget();
  if (violation.kind === 'applied_ahead' || violation.kind === 'applied_behind') loseSent(machine);
  ended(machine, now, { code: null });
}

/**
 * @param {Machine} machine
 * @param {number} now
 * @param {any} down
 */
function heard(machine, now, down) {
  const { link } = machine;
  if (link.kind !== 'live') throw Violation.outOfState();
  const isNew = machine.downstream.take(down);
  // What came twice is owed an acknowledgement, too: the server does not know that it did.
  const isDue = link.pulse.owe(now);
  const turns = isNew && Boolean(down.joined || down.parted || down.refused?.leg);
  if (isNew) tellBody(machine, down);
  if (isDue || turns) machine.acknowledge();
}

/**
 * @param {Machine} machine
 * @param {any} down
 */
function tellBody(machine, { message, reply, refused, call, joined, parted }) {
  const { ledger } = machine;
  if (message) tellMessage(machine, message);
  else if (refused) tellRefused(machine, refused);
  else if (reply) {
    // One that has ended before stays ended.
    const request = ledger.end(reply.to);
    if (request !== null) machine.tell({ type: 'reply', request, payload: reply.payload });
  } else if (call) {
    machine.tell({ type: 'call', call: call.call, payload: call.payload, deadlineMs: call.deadlineMs });
  } else if (joined) {
    machine.holdUs = joined.holdMs * 1000;
    const { zone, payload, latest } = joined;
    machine.tell({ type: 'joined', to: ledger.send(joined.to), zone, payload, latest });
  } else {
    const cause = short('PartCause', parted.cause);
    machine.tell({ type: 'parted', to: ledger.send(parted.to), cause, text: parted.text });
  }
}

/**
 * @param {Machine} machine
 * @param {any} message
 */
function tellMessage(machine, { payload, key, cleared }) {
  if (key === '') machine.tell({ type: 'message', payload });
  else machine.tell({ type: 'latest', key, payload: cleared ? null : payload });
}

/**
 * @param {Machine} machine
 * @param {any} refused
 */
function tellRefused(machine, refused) {
  const code = short('RefusalCode', refused.code);
  const request = machine.ledger.end(refused.to);
  if (request === null) {
    machine.tell({ type: 'refused', to: machine.ledger.send(refused.to), code, text: refused.text });
  } else {
    machine.tell({ type: 'request_ended', request, how: 'refused', code });
  }
}

/**
 * @param {Machine} machine
 * @param {any} loose
 */
function heardLoose(machine, { leg, payload }) {
  if (machine.downstream.openLeg() === leg) machine.tell({ type: 'unreliable', payload });
}

/**
 * @param {Machine} machine
 * @param {any} resync
 */
function resynced(machine, resync) {
  const isInPlace = machine.downstream.openLeg() !== null;
  machine.downstream.resync(resync.leg, resync.seq);
  machine.buffer.acknowledge(resync.applied);
  const reason = short('RungReason', resync.reason);
  const { snapshot, latest, zone, lostUpstream } = resync;
  machine.tell({ type: 'resync', snapshot, latest, zone: zone ?? null, reason, lostUpstream });
  // What was under way may have been applied to what is gone; what was not comes twice.
  if (isInPlace && reason === 'rolled_back') machine.buffer.relaunch();
  endRequests(machine, resync.applied);
  machine.acknowledge();
  flush(machine);
}

/**
 * @param {Machine} machine
 * @param {number} now
 * @param {bigint} nonce
 */
function measured(machine, now, nonce) {
  const lastUs = machine.link.kind === 'live' ? machine.link.pulse.answered(now, nonce) : null;
  if (lastUs === null) return;
  const before = machine.latency?.smoothedUs ?? lastUs;
  machine.latency = { lastUs, smoothedUs: before + Math.trunc((lastUs - before) / 8) };
}
