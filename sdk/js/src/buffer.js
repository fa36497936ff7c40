/**
 * What the game has sent and the server has not acknowledged.
 *
 * A send waits without a number; it gets the next one when it is first put on a wire, is encoded then
 * and never again, and is dropped only when it is acknowledged. So numbers have no gaps, however many
 * values of a key replaced each other while they waited. Bounded in frames and bytes.
 */

import { utf8Length } from './bytes.js';
import { encodeClient } from './codec.js';
import { Violation } from './error.js';

/**
 * What becomes of a send when its session is lost. `plain`: it is reported as lost. `latest`: the same,
 * and a newer value of its key takes its place while it waits. `request`: it ends as one does. `bye`:
 * it is said again to the next session.
 * @typedef {'plain' | 'latest' | 'request' | 'bye'} Kind
 * @typedef {{ id: number, kind: Kind, body: Record<string, any>, cost: number }} Waiting
 * @typedef {{ number: bigint, id: number, kind: Kind, data: Uint8Array | string, cost: number, weight: number }} Sent
 */

/** Numbers beyond this come from a server that makes them up: no client lives to send so many. */
export const NUMBER_MAX = 0x7fffffffffffffffn;

export class SendBuffer {
  #encoding;
  #framesMax;
  #bytesMax;
  /** @type {Sent[]} */
  #sent = [];
  /** @type {Waiting[]} */
  #waiting = [];
  /** The next number; nothing until a welcome tells it. @type {bigint | null} */
  #next = null;
  /** Nothing while there is no connection to send on. @type {{ frames: number, bytes: number } | null} */
  #window = null;
  /** How many of the sent have been put on this connection. */
  #launched = 0;
  #launchedBytes = 0;
  /** Of everything that is held. */
  bytes = 0;

  /**
   * @param {import('./codec.js').Encoding} encoding
   * @param {number} framesMax
   * @param {number} bytesMax
   */
  constructor(encoding, framesMax, bytesMax) {
    this.#encoding = encoding;
    this.#framesMax = framesMax;
    this.#bytesMax = bytesMax;
  }

  /**
   * Takes a send; false when there is no room. A latest value replaces the waiting one of its key and
   * goes to the end: it may come later than its place, never earlier.
   * @param {number} id
   * @param {Kind} kind
   * @param {Record<string, any>} body
   */
  push(id, kind, body) {
    const cost = costOf(this.#encoding, body);
    const replaced = kind === 'latest' ? this.#waitingOfKey(body.message.key) : -1;
    const frames = this.length - (replaced < 0 ? 0 : 1);
    const bytes = this.bytes - (replaced < 0 ? 0 : this.#waiting[replaced].cost);
    const hasRoom = frames < this.#framesMax && bytes + cost <= this.#bytesMax;
    // A full buffer must not keep a player from leaving.
    if (!hasRoom && kind !== 'bye') return false;
    if (replaced >= 0) this.#waiting.splice(replaced, 1);
    this.bytes = bytes + cost;
    this.#waiting.push({ id, kind, body, cost });
    return true;
  }

  /**
   * Fails when a welcome's number cannot be, given what is held here.
   * @param {bigint} applied
   */
  check(applied) {
    if (applied > NUMBER_MAX) throw Violation.appliedAhead(applied);
    if (this.#next === null) return;
    if (applied >= this.#next) throw Violation.appliedAhead(applied);
    if (applied + 1n < this.oldestUnacked()) throw Violation.appliedBehind(applied);
  }

  /**
   * A connection was welcomed: what is acknowledged goes, the rest will be sent on it.
   * @param {bigint} applied
   * @param {{ frames: number, bytes: number }} window
   */
  attach(applied, window) {
    this.check(applied);
    if (this.#next === null) this.#next = applied + 1n;
    else this.acknowledge(applied);
    this.detach();
    this.#window = window;
  }

  /** The connection is gone. */
  detach() {
    this.#window = null;
    this.relaunch();
  }

  /** Everything that is not acknowledged goes on this connection once more. */
  relaunch() {
    this.#launched = 0;
    this.#launchedBytes = 0;
  }

  /**
   * Everything up to here is consumed. An older number says nothing new.
   * @param {bigint} applied
   */
  acknowledge(applied) {
    if (this.#next === null || applied >= this.#next) throw Violation.appliedAhead(applied);
    let count = 0;
    while (count < this.#sent.length && this.#sent[count].number <= applied) count += 1;
    for (const sent of this.#sent.splice(0, count)) {
      this.bytes -= sent.cost;
      if (this.#launched > 0) {
        this.#launched -= 1;
        this.#launchedBytes -= sent.weight;
      }
    }
  }

  /** The next frame that may go on the wire, and whether it is there for the first time. */
  nextLaunch() {
    const window = this.#window;
    if (window === null || this.#launched >= Math.max(window.frames, 1)) return null;
    const isNew = this.#launched === this.#sent.length;
    const weight = isNew ? this.#waiting[0]?.cost : this.#sent[this.#launched].weight;
    if (weight === undefined) return null;
    // One frame may always be under way, else a large one would wait for ever.
    if (this.#launched > 0 && this.#launchedBytes + weight > window.bytes) return null;
    if (isNew && !this.#number()) return null;
    const sent = this.#sent[this.#launched];
    this.#launchedBytes += sent.weight;
    this.#launched += 1;
    return { sent, isNew };
  }

  /** Gives up what was sent and not acknowledged, and the numbers with it. */
  takeSent() {
    this.#next = null;
    this.detach();
    return this.#taken(this.#sent);
  }

  /** Gives up what was never sent. */
  takeWaiting() {
    return this.#taken(this.#waiting);
  }

  /**
   * Takes back a send that was never put on a wire; false when it was, or is not held.
   * @param {number} id
   */
  withdraw(id) {
    const at = this.#waiting.findIndex((waiting) => waiting.id === id);
    if (at < 0) return false;
    const [{ cost }] = this.#waiting.splice(at, 1);
    this.bytes -= cost;
    return true;
  }

  /** The lowest number that is held, or the next one; 0 when none is known. */
  oldestUnacked() {
    return this.#sent[0]?.number ?? this.#next ?? 0n;
  }

  waitingRequests() {
    return this.#waiting.filter(({ kind }) => kind === 'request').length;
  }

  /** Sends that wait or are not acknowledged. */
  get length() {
    return this.#sent.length + this.#waiting.length;
  }

  /**
   * Whether a send waits or is not acknowledged.
   * @param {number} id
   */
  holds(id) {
    return this.#sent.some((sent) => sent.id === id) || this.#waiting.some((waiting) => waiting.id === id);
  }

  /** Gives the first waiting send its number. */
  #number() {
    if (this.#next === null || this.#next > NUMBER_MAX) return false;
    const waiting = this.#waiting.shift();
    if (waiting === undefined) return false;
    const { id, kind, body, cost } = waiting;
    const number = this.#next;
    this.#next = number + 1n;
    const data = encodeClient(this.#encoding, { up: { seq: number, ...body } });
    const length = typeof data === 'string' ? utf8Length(data) : data.length;
    this.#sent.push({ number, id, kind, data, cost, weight: Math.max(cost, length) });
    return true;
  }

  /**
   * @template {{ cost: number }} T
   * @param {T[]} held
   */
  #taken(held) {
    const taken = held.splice(0);
    for (const { cost } of taken) this.bytes -= cost;
    return taken;
  }

  /** @param {string} key */
  #waitingOfKey(key) {
    return this.#waiting.findIndex(({ kind, body }) => kind === 'latest' && body.message.key === key);
  }
}

/**
 * At least the length of the encoded frame, but for names that JSON must escape.
 * @param {import('./codec.js').Encoding} encoding
 * @param {Record<string, any>} body
 */
function costOf(encoding, { message, answer, join }) {
  const content =
    message ? message.payload.length + utf8Length(message.key)
    : answer ? answer.payload.length
    : join ? join.payload.length + utf8Length(join.kind) + utf8Length(join.name) + utf8Length(join.ticket)
    : 0;
  return encoding === 'json' ? content + Math.floor(content / 3) + 128 : content + 32;
}
