/**
 * What the game says. Everything but the unreliable is kept until the server has it: these work the
 * same with and without a connection, until the buffer is full.
 */

import { DecodeError, SendError } from '../error.js';
import { checkClient } from '../limits.js';

/** @typedef {import('../machine.js').Machine} Machine */

/**
 * @param {Machine} machine
 * @param {string} key
 * @param {Uint8Array} payload
 */
export function sendLatest(machine, key, payload) {
  if (key === '') throw new SendError('empty_key');
  return queue(machine, 'latest', { message: { payload, key, cleared: false, wantsReply: false } });
}

/**
 * @param {Machine} machine
 * @param {Uint8Array} payload
 */
export function request(machine, payload) {
  if (machine.openRequests >= machine.config.requestsMax) throw new SendError('too_many_requests');
  return queue(machine, 'request', { message: { payload, key: '', cleared: false, wantsReply: true } });
}

/**
 * @param {Machine} machine
 * @param {Uint8Array} payload
 */
export function sendUnreliable(machine, payload) {
  const leg = machine.downstream.openLeg();
  check(machine, { loose: { leg: 0n, payload } });
  if (machine.isLeaving) throw new SendError('leaving');
  if (machine.link.kind !== 'live' || leg === null) throw new SendError('not_connected');
  machine.put({ loose: { leg, payload } });
}

/**
 * Takes a send; gives its id.
 * @param {Machine} machine
 * @param {import('../buffer.js').Kind} kind
 * @param {Record<string, any>} body
 */
export function queue(machine, kind, body) {
  if (machine.isLeaving) throw new SendError('leaving');
  // Any number will do: the real one is not known yet.
  check(machine, { up: { seq: 1n, ...body } });
  const id = machine.nextId();
  if (!machine.buffer.push(id, kind, body)) throw new SendError('full');
  flush(machine);
  return id;
}

/**
 * Puts on the wire what the window allows.
 * @param {Machine} machine
 */
export function flush(machine) {
  for (let launch = machine.buffer.nextLaunch(); launch !== null; launch = machine.buffer.nextLaunch()) {
    const { sent, isNew } = launch;
    if (isNew) machine.ledger.note(sent.number, sent.id, sent.kind);
    machine.output({ type: 'send', data: sent.data });
  }
}

/**
 * @param {Machine} machine
 * @param {Record<string, any>} frame
 */
function check({ config, messageBytesMax }, frame) {
  try {
    checkClient(frame, { ...config.limits, messageBytesMax: Math.min(config.limits.messageBytesMax, messageBytesMax) });
  } catch (error) {
    if (error instanceof DecodeError && error.kind === 'too_large') throw new SendError('too_large', error.message);
    throw error;
  }
}
