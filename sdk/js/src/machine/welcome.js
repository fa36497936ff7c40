/**
 * The server lets the client in. All decisions about what survives are on this page: the token is
 * stored before a frame confirms it, the game learns its rung before anything that follows from it, and
 * every send is re-sent, ended or reported.
 */

import { NUMBER_MAX } from '../buffer.js';
import { Downstream } from '../downstream.js';
import { Violation } from '../error.js';
import { Pulse } from '../pulse.js';
import { short } from '../schema.js';
import { loseSent, loseWaiting } from './ending.js';
import { flush } from './send.js';

/** @typedef {import('../machine.js').Machine} Machine */

/**
 * @param {Machine} machine
 * @param {number} now
 * @param {any} welcome
 */
export function welcomed(machine, now, welcome) {
  const { link } = machine;
  if (link.kind !== 'answering') throw Violation.outOfState();
  const { resumed } = link;
  const rung = rungOf(machine, welcome, resumed);
  // On another session nothing that was sent to the last one means anything.
  const isOther = rung === 'new' || machine.session !== welcome.session;
  const downstream = resumed !== null && !isOther ? machine.downstream.copy() : new Downstream();
  downstream.welcome(rung, short('RungReason', welcome.reason), welcome.leg);
  if (!isOther) machine.buffer.check(welcome.applied);

  machine.downstream = downstream;
  const pulse = new Pulse(now, welcome.heartbeatMs, machine.config);
  machine.link = { kind: 'live', since: now, pulse };
  store(machine, welcome);
  machine.acknowledge();
  const hadSession = machine.session !== null;
  machine.session = welcome.session;
  tellConnected(machine, rung, welcome);
  if (isOther) {
    loseSent(machine);
    if (hadSession) loseWaiting(machine);
  }
  if (rung === 'resynced') endRequests(machine, welcome.applied);
  settle(machine, welcome);
  machine.buffer.attach(welcome.applied, { frames: welcome.windowFrames, bytes: welcome.windowBytes });
  flush(machine);
}

/**
 * Ends the requests whose answers a lost stream may have carried.
 * @param {Machine} machine
 * @param {bigint} applied
 */
export function endRequests(machine, applied) {
  for (const request of machine.ledger.endUpTo(applied)) {
    machine.tell({ type: 'request_ended', request, how: 'outcome_unknown', code: null });
  }
}

/**
 * The rung, if the welcome answers the hello.
 * @param {Machine} machine
 * @param {any} welcome
 * @param {bigint | null} resumed
 * @returns {'replayed' | 'resynced' | 'new'}
 */
function rungOf({ ticket }, welcome, resumed) {
  const rung = short('Rung', welcome.rung);
  const isResumed = resumed === welcome.session;
  const answers =
    rung === 'replayed' ? isResumed
    : rung === 'resynced' ? isResumed || resumed === null
    // Ids are never reused, and numbers of a new session start at 1.
    : rung === 'new' && !isResumed && welcome.applied === 0n;
  const isStale = ticket !== null && ticket.session === welcome.session && welcome.epoch <= ticket.epoch;
  if (!answers || isStale || welcome.session === 0n || welcome.applied > NUMBER_MAX) {
    throw Violation.badWelcome();
  }
  return /** @type {'replayed' | 'resynced' | 'new'} */ (rung);
}

/**
 * Hands over what must be stored, ahead of the frame that confirms it.
 * @param {Machine} machine
 * @param {any} welcome
 */
function store(machine, { session, epoch, token, secret }) {
  if (secret.length > 0 && machine.identity.kind === 'secret') {
    machine.identity = { kind: 'secret', secret };
    machine.output({ type: 'store_secret', secret });
  }
  const state = { session, token, epoch };
  machine.ticket = state;
  machine.output({ type: 'store_token', state });
}

/**
 * @param {Machine} machine
 * @param {string} rung
 * @param {any} welcome
 */
function tellConnected(machine, rung, welcome) {
  const { after } = machine;
  machine.after = null;
  machine.tell({
    type: 'connected',
    rung,
    reason: short('RungReason', welcome.reason),
    session: welcome.session,
    player: welcome.player,
    zone: welcome.zone ?? null,
    found: welcome.found,
    lostUpstream: welcome.lostUpstream,
    after,
    capabilities: welcome.capabilities,
  });
}

/**
 * Takes over what the server decided about this connection and the next.
 * @param {Machine} machine
 * @param {any} welcome
 */
function settle(machine, welcome) {
  const { messageBytesMax } = machine.config.limits;
  machine.isFresh = false;
  machine.held = null;
  machine.holdUs = welcome.holdMs * 1000;
  machine.messageBytesMax = Math.min(welcome.messageBytesMax || messageBytesMax, messageBytesMax);
  if (welcome.resumeAt.length > 0) machine.addresses = welcome.resumeAt;
}
