/**
 * The end of a connection, and what comes after it: the table of close codes decides whether the client
 * resumes, logs in, waits, goes elsewhere or stops. Also what is given up with a session.
 */

import { nextAfter } from '../close.js';
import { short } from '../schema.js';

/** @typedef {import('../machine.js').Machine} Machine */
/** @typedef {import('../buffer.js').Kind} Kind */

/**
 * Why a connection ended, and what the server asks for.
 * @typedef {{ code: string | null, text?: string, retryAfterMs?: number, addresses?: string[] }} Ending
 */

/**
 * A refusal or a farewell as an ending.
 * @param {any} word
 * @returns {Ending}
 */
export function endingOf({ code, text, retryAfterMs, addresses }) {
  return { code: short('CloseCode', code), text, retryAfterMs, addresses };
}

/**
 * The connection is over; what next?
 * @param {Machine} machine
 * @param {number} now
 * @param {Ending} ending
 */
export function ended(machine, now, { code, text = '', retryAfterMs = 0, addresses = [] }) {
  detach(machine, now, code);
  const next = nextAfter(code);
  // The server has the Bye, or there is no session that it could end.
  const isOver = machine.isLeaving && (machine.session === null || machine.buffer.length === 0);
  if (next === 'stop') {
    if (code === 'left') return left(machine);
    if (code === 'taken_over') return takenOver(machine);
    forgetSession(machine);
    return stop(machine, code, text);
  }
  if (next === 'fatal') return stop(machine, code, text);
  if (next === 'log in again') {
    if (machine.isLeaving) return left(machine);
    machine.after = code;
    forgetToken(machine);
  } else {
    if (isOver) return left(machine);
    if (next === 'moved') machine.addresses = addresses;
  }
  schedule(machine, now, retryAfterMs);
}

/**
 * Gives the connection up for a reason of this side.
 * @param {Machine} machine
 * @param {number} now
 * @param {string} code
 */
export function giveUp(machine, now, code) {
  machine.output({ type: 'close', code });
  ended(machine, now, { code });
}

/**
 * Closes what is open, without going on.
 * @param {Machine} machine
 * @param {number} now
 * @param {string | null} code
 */
export function hangUp(machine, now, code) {
  if (machine.hasTransport()) machine.output({ type: 'close', code });
  detach(machine, now, code);
}

/**
 * The session is over, as the player wished.
 * @param {Machine} machine
 */
export function left(machine) {
  machine.link = { kind: 'idle' };
  machine.isLeaving = false;
  forgetSession(machine);
  machine.tell({ type: 'left' });
}

/**
 * Gives up the session and everything that was sent to it.
 * @param {Machine} machine
 */
export function forgetSession(machine) {
  loseWaiting(machine);
  forgetToken(machine);
  machine.session = null;
  machine.after = null;
}

/**
 * Gives up what was sent and not acknowledged: nobody can say what became of it.
 * @param {Machine} machine
 */
export function loseSent(machine) {
  const lost = machine.buffer.takeSent();
  for (const request of machine.ledger.endAll()) {
    machine.tell({ type: 'request_ended', request, how: 'outcome_unknown', code: null });
  }
  lose(machine, lost);
}

/**
 * Gives up what was never sent.
 * @param {Machine} machine
 */
export function loseWaiting(machine) {
  const lost = machine.buffer.takeWaiting();
  for (const { id, kind } of lost) {
    if (kind === 'request') machine.tell({ type: 'request_ended', request: id, how: 'not_sent', code: null });
  }
  lose(machine, lost);
}

/**
 * Reports what is lost; a Bye is said again, as long as the player wants to leave.
 * @param {Machine} machine
 * @param {{ id: number, kind: Kind }[]} lost
 */
function lose(machine, lost) {
  const bye = lost.find(({ kind }) => kind === 'bye');
  if (bye && machine.isLeaving) machine.buffer.push(bye.id, 'bye', { bye: {} });
  const sends = lost.filter(({ kind }) => kind === 'plain' || kind === 'latest').map(({ id }) => id);
  if (sends.length > 0) machine.tell({ type: 'sends_lost', sends });
}

/**
 * Does not try again until the player asks.
 * @param {Machine} machine
 * @param {string | null} code
 * @param {string} text
 */
function stop(machine, code, text) {
  machine.link = { kind: 'stopped' };
  machine.tell({ type: 'stopped', code, text });
}

/**
 * The next hello is a login: neither token nor numbers nor position are worth anything.
 * @param {Machine} machine
 */
function forgetToken(machine) {
  loseSent(machine);
  machine.downstream.forget();
  machine.addresses = [];
  machine.held = null;
  if (machine.ticket !== null) {
    machine.ticket = null;
    machine.output({ type: 'forget_token' });
  }
}

/**
 * Another device speaks for the session. If the player takes it back, that one's numbers and
 * acknowledgements count, not those of this client: it comes back cold.
 * @param {Machine} machine
 */
function takenOver(machine) {
  machine.link = { kind: 'stopped' };
  machine.downstream.forget();
  machine.tell({ type: 'taken_over' });
  loseSent(machine);
}

/**
 * @param {Machine} machine
 * @param {number} now
 * @param {string | null} code
 */
function detach(machine, now, code) {
  const { link } = machine;
  machine.buffer.detach();
  machine.downstream.detach();
  machine.link = { kind: 'idle' };
  if (link.kind === 'live') {
    machine.held = { sinceUs: now, holdUs: machine.holdUs };
    if (now - link.since >= machine.config.settledAfterMs * 1000) machine.backoff.reset();
    machine.tell({ type: 'disconnected', code });
  } else if (link.kind === 'opening' || link.kind === 'greeting') {
    // Nobody is there: where the game was told to connect, somebody will know where to go.
    machine.addresses = [];
  }
}

/**
 * @param {Machine} machine
 * @param {number} now
 * @param {number} retryAfterMs
 */
function schedule(machine, now, retryAfterMs) {
  const floorUs = retryAfterMs * 1000;
  // A hold stands still while the client was told to wait.
  if (floorUs > 0 && machine.held) machine.held = { ...machine.held, sinceUs: now + floorUs };
  const waitUs = machine.backoff.next(now, machine.held, floorUs, machine.chance);
  machine.link = { kind: 'waiting', until: now + waitUs, asked: now + floorUs };
  machine.tell({ type: 'reconnecting', attempt: machine.backoff.attempt, inMs: Math.floor(waitUs / 1000) });
}
