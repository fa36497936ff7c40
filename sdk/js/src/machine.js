/**
 * The client, sans-IO: one input, then drain.
 *
 * A machine takes an input at an instant that its driver names and is then drained of its outputs:
 * frames to send, connections to open, tokens to store, texts to sign, events for the game. It reads no
 * clock, no socket, no storage and no chance but what it is given, so the same inputs give the same
 * outputs; `conformance/` holds it and the Rust client to one script. Whatever a server sends, it does
 * not throw: an illegal frame costs the connection, and the client comes back by itself.
 *
 * Instants are whole microseconds since an origin that the driver chose.
 */

import { Backoff } from './backoff.js';
import { SendBuffer } from './buffer.js';
import { encodeClient } from './codec.js';
import { Downstream } from './downstream.js';
import { Ledger } from './ledger.js';
import { giveUp, ended, forgetSession, hangUp, left } from './machine/ending.js';
import { garbled, received } from './machine/frame.js';
import { signed } from './machine/hello.js';
import { flush, queue, request, sendLatest, sendUnreliable } from './machine/send.js';

/** @typedef {import('./pulse.js').Pulse} Pulse */
/** @typedef {import('./config.js').Config} Config */

/**
 * How a player is known: by a key whose secret half the driver signs with; by a secret that the server
 * minted, or is asked to mint; or not at all, when only the resume token leads back.
 * @typedef {{ kind: 'key', publicKey: Uint8Array }
 *   | { kind: 'secret', secret: Uint8Array | null }
 *   | { kind: 'anonymous' }} Identity
 */

/**
 * What leads back to a session after the page or the process has ended.
 * @typedef {{ session: bigint, token: Uint8Array, epoch: bigint }} ResumeState
 */

/**
 * Work for the driver, to be done in this order.
 *
 * `connect`: open a connection and report `opened` or `closed`; what still comes from earlier ones is
 * to be dropped. No addresses: where the game was told to. `send`: send this frame. `close`: close the
 * connection, or give up opening it. `sign`: sign this text and report `signed` with the same attempt.
 * `store_token`, `store_secret`: store it, and only then go on with later outputs: the next frame tells
 * the server that older tokens are not needed any more. `forget_token`: the stored one is worthless.
 * @typedef {{ type: 'connect', addresses: string[] }
 *   | { type: 'send', data: Uint8Array | string }
 *   | { type: 'close', code: string | null }
 *   | { type: 'sign', text: Uint8Array, attempt: number }
 *   | { type: 'store_token', state: ResumeState }
 *   | { type: 'store_secret', secret: Uint8Array }
 *   | { type: 'forget_token' }
 *   | { type: 'event', event: { type: string, [field: string]: any } }} Output
 */

/**
 * The one connection, or why there is none.
 * @typedef {{ kind: 'idle' }
 *   | { kind: 'stopped' }
 *   | { kind: 'waiting', until: number, asked: number }
 *   | { kind: 'opening', deadline: number }
 *   | { kind: 'greeting', deadline: number }
 *   | { kind: 'signing', deadline: number, hello: any, resumed: bigint | null }
 *   | { kind: 'answering', deadline: number, resumed: bigint | null }
 *   | { kind: 'live', since: number, pulse: Pulse }} Link
 */

/**
 * What a client is doing: nothing; nothing until the player asks; waiting for the next attempt; dialling
 * or shaking hands; let in.
 * @typedef {'idle' | 'stopped' | 'waiting' | 'connecting' | 'connected'} Status
 */

/** What the machine's own rooms share; nobody else touches it. */
export class Machine {
  /** @type {Link} */
  link = { kind: 'idle' };
  /** The session that the game believes in; its token may be worthless already. @type {bigint | null} */
  session = null;
  /** What a resume shows; nothing: the next hello is a login. @type {ResumeState | null} */
  ticket = null;
  ledger = new Ledger();
  downstream = new Downstream();
  /** How long a drop is held where the session is. */
  holdUs = 0;
  /** @type {import('./backoff.js').Held | null} */
  held = null;
  /** Where to connect; empty: where the driver was told to. @type {string[]} */
  addresses = [];
  /** Why the last session could not be resumed. @type {string | null} */
  after = null;
  /** The next login asks for a fresh session. */
  isFresh = false;
  /** The player wants to go; the Bye is in the buffer. */
  isLeaving = false;
  /** Counts connections, so that a signature for an earlier one is recognised. */
  attempts = 0;
  /** The last round trip and a smoothed one, in microseconds. @type {{ lastUs: number, smoothedUs: number } | null} */
  latency = null;
  #lastId = 0;
  /** @type {Output[]} */
  #outputs = [];

  /**
   * @param {Config} config
   * @param {Identity} identity
   * @param {import('./backoff.js').Chance} chance spreads reconnects and tells pings apart; needs no secrecy
   * @param {ResumeState | null} [state] what an earlier page or process stored: the first hello is a cold resume
   */
  constructor(config, identity, chance, state = null) {
    this.config = config;
    this.identity = identity;
    this.chance = chance;
    this.buffer = new SendBuffer(config.encoding, config.sendBufferFramesMax, config.sendBufferBytesMax);
    this.backoff = new Backoff(config.backoffBaseMs, config.backoffMaxMs);
    this.messageBytesMax = config.limits.messageBytesMax;
    this.session = state?.session ?? null;
    this.ticket = state;
  }

  /**
   * What was stored is known. For drivers that can read it only after the game has begun to send; not
   * after the first attempt.
   * @param {Identity} identity
   * @param {ResumeState | null} state
   */
  adopt(identity, state) {
    this.identity = identity;
    this.session = state?.session ?? null;
    this.ticket = state;
  }

  /**
   * The game wants to be connected. Does nothing when that is under way, or after a stop: that takes a
   * retry.
   * @param {number} now
   */
  connect(now) {
    if (this.link.kind === 'idle') this.#attempt(now);
  }

  /**
   * The same, with a session that starts anew: what the server holds for the player ends as superseded,
   * and what this client remembers is given up.
   * @param {number} now
   */
  connectFresh(now) {
    hangUp(this, now, null);
    this.isLeaving = false;
    forgetSession(this);
    this.isFresh = true;
    this.#attempt(now);
  }

  /**
   * The player asks to try again, now: after a takeover, after a fatal ending, or instead of waiting.
   * @param {number} now
   */
  retry(now) {
    if (['idle', 'stopped', 'waiting'].includes(this.link.kind)) this.#attempt(now);
  }

  /**
   * The platform says that the network may be there again, or that the program has been asleep. Whoever
   * waits tries now, unless it is the server that asked for the wait. A live connection is asked whether
   * it lives, and given up if it says nothing for half a heartbeat.
   * @param {number} now
   */
  hasten(now) {
    const { link } = this;
    if (link.kind === 'waiting' && now >= link.asked) this.#attempt(now);
    if (link.kind !== 'live') return;
    link.pulse.doubt(now);
    this.probe(now);
  }

  /**
   * The transport is up.
   * @param {number} now
   */
  opened(now) {
    if (this.link.kind !== 'opening') return;
    this.link = { kind: 'greeting', deadline: now + this.config.handshakeTimeoutMs * 1000 };
  }

  /**
   * The transport is gone, or could not be opened; with the code it was closed with, if any.
   * @param {number} now
   * @param {string | null} [code]
   */
  closed(now, code = null) {
    if (this.hasTransport()) ended(this, now, { code });
  }

  /**
   * What one message of the connection carried.
   * @param {number} now
   * @param {Uint8Array | string} data
   */
  received(now, data) {
    received(this, now, data);
  }

  /**
   * What came on the connection never became the bytes of a frame.
   * @param {number} now
   * @param {import('./error.js').DecodeError} error
   */
  garbled(now, error) {
    garbled(this, now, error);
  }

  /**
   * The text of this attempt was signed.
   * @param {number} attempt
   * @param {Uint8Array} signature
   */
  signed(attempt, signature) {
    signed(this, attempt, signature);
  }

  /**
   * The time has come that `deadline` named. Frames that have come by then are to be handed in first:
   * after a stall they show that the server is there.
   * @param {number} now
   */
  wake(now) {
    const { link } = this;
    if (link.kind === 'waiting') {
      if (now >= link.until) this.#attempt(now);
    } else if (link.kind === 'live') {
      const { pulse } = link;
      if (pulse.isSilent(now)) return giveUp(this, now, 'heartbeat_lost');
      const [isAckDue, isPingDue] = [pulse.isAckDue(now), pulse.takePing(now)];
      if (isAckDue) this.acknowledge();
      if (isPingDue) this.probe(now);
    } else if (link.kind !== 'idle' && link.kind !== 'stopped' && now >= link.deadline) {
      giveUp(this, now, 'handshake_timeout');
    }
  }

  /**
   * Asks the server for a sign of life, to measure how long it takes.
   * @param {number} now
   */
  probe(now) {
    if (this.link.kind !== 'live') return;
    const nonce = this.chance();
    this.link.pulse.asked(now, nonce);
    this.put({ ping: { nonce } });
  }

  /**
   * The game does not want to be connected any more. The server holds the session for a while, and
   * `connect` resumes it.
   * @param {number} now
   */
  cancel(now) {
    if (this.link.kind === 'idle' || this.link.kind === 'stopped') return;
    hangUp(this, now, null);
    this.tell({ type: 'stopped', code: null, text: '' });
  }

  /**
   * The player leaves for good: what was sent before is delivered first, then the session ends. Where
   * there is no session, or a stop has cut this client off from it, that is told at once.
   * @param {number} now
   */
  leave(now) {
    const isUndecided = this.link.kind === 'answering' || this.link.kind === 'signing';
    const isCutOff = this.link.kind === 'stopped';
    if (this.isLeaving && !isCutOff) return;
    if (isCutOff || (this.session === null && !isUndecided)) {
      hangUp(this, now, null);
      left(this);
      return;
    }
    this.isLeaving = true;
    this.buffer.push(this.nextId(), 'bye', { bye: {} });
    flush(this);
    this.connect(now);
  }

  /**
   * Asks to join the zone of this kind and name; `create` opens it if there is none.
   * @param {{ kind: string, name: string, create: boolean, payload: Uint8Array, ticket?: string }} join
   *   `ticket`: the seat that lets into the zone of a Game
   * @returns {number} which send it was; ends in `joined` or `refused`
   */
  join({ kind, name, create, payload, ticket = '' }) {
    return queue(this, 'plain', { join: { kind, name, create, payload, ticket } });
  }

  /** Asks to leave the zone. The session stays. */
  part() {
    return queue(this, 'plain', { part: {} });
  }

  /**
   * Sends an ordered message: applied exactly once, or refused.
   * @param {Uint8Array} payload
   */
  send(payload) {
    return queue(this, 'plain', { message: { payload, key: '', cleared: false, wantsReply: false } });
  }

  /**
   * Sends a value of which only the newest matters.
   * @param {string} key
   * @param {Uint8Array} payload
   */
  sendLatest(key, payload) {
    return sendLatest(this, key, payload);
  }

  /**
   * Sends a message that is not kept: it may be lost, and is when the session changes its place.
   * @param {Uint8Array} payload
   */
  sendUnreliable(payload) {
    sendUnreliable(this, payload);
  }

  /**
   * Asks the server; ends exactly once, in `reply` or `request_ended`.
   * @param {Uint8Array} payload
   */
  request(payload) {
    return request(this, payload);
  }

  /**
   * Answers a call of the server.
   * @param {bigint} call
   * @param {Uint8Array} payload
   */
  answer(call, payload) {
    return queue(this, 'plain', { answer: { call, payload } });
  }

  /**
   * The next thing to do, in order; nothing when the machine waits for an input.
   * @returns {Output | undefined}
   */
  nextOutput() {
    return this.#outputs.shift();
  }

  /**
   * When `wake` is due.
   * @returns {number | null}
   */
  get deadline() {
    const { link } = this;
    switch (link.kind) {
      case 'idle':
      case 'stopped': return null;
      case 'waiting': return link.until;
      case 'live': return link.pulse.deadline();
      default: return link.deadline;
    }
  }

  /** @returns {Status} */
  get status() {
    const { kind } = this.link;
    if (kind === 'idle' || kind === 'stopped' || kind === 'waiting') return kind;
    return kind === 'live' ? 'connected' : 'connecting';
  }

  /** Requests that have not ended. */
  get openRequests() {
    return this.ledger.size + this.buffer.waitingRequests();
  }

  hasTransport() {
    return !['idle', 'stopped', 'waiting'].includes(this.link.kind);
  }

  /** Tells the server up to where everything was consumed. */
  acknowledge() {
    if (this.link.kind === 'live') this.link.pulse.acked();
    const ack = this.downstream.acked();
    if (ack !== null) this.put({ ack });
  }

  /** @param {Record<string, any>} frame */
  put(frame) {
    this.output({ type: 'send', data: encodeClient(this.config.encoding, frame) });
  }

  /** @param {{ type: string, [field: string]: any }} event */
  tell(event) {
    this.output({ type: 'event', event });
  }

  /** @param {Output} output */
  output(output) {
    this.#outputs.push(output);
  }

  nextId() {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** @param {number} now */
  #attempt(now) {
    this.attempts += 1;
    this.link = { kind: 'opening', deadline: now + this.config.handshakeTimeoutMs * 1000 };
    this.output({ type: 'connect', addresses: [...this.addresses] });
  }
}
