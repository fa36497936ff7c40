/**
 * A player: sockets, timers, storage and keys around the machine. The rules are the machine's; nothing
 * is decided here. What the machine wants is carried out in its order, and where the storage takes a
 * while, everything behind it waits.
 */

import { follow, parseAddress } from './address.js';
import { toBytes, utf8Length } from './bytes.js';
import { SUBPROTOCOLS } from './codec.js';
import { DEFLATE, Incoming, canInflate, pack } from './compression.js';
import { configOf } from './config.js';
import { CallError, OpenError } from './error.js';
import { Events } from './events.js';
import { Link, refusedOrigin, webSocketOf } from './link.js';
import { Machine } from './machine.js';
import { Pending } from './pending.js';
import { Returns } from './returns.js';
import { defaultStorage } from './storage.js';
import { watchSurroundings } from './surroundings.js';
import { Vault } from './vault.js';

/** @typedef {import('./bytes.js').Payload} Payload */
/** @typedef {import('./events.js').PlayerEvents} PlayerEvents */
/** @typedef {import('./events.js').EventName} EventName */

/**
 * Besides these, every setting of `config.js` by its name. `latencyEveryMs`: how often the latency is
 * measured; 0: only after each connect. `fresh`: start a new session and end the one the server holds.
 * `compression`: ask for compressed frames; whoever can choose a part of a message, and sees how long it
 * is, learns what else is in it.
 * @typedef {Partial<Omit<import('./config.js').Config, 'admission'>> & {
 *   admission?: Payload,
 *   login?: import('./vault.js').Login,
 *   storage?: import('./storage.js').Storage,
 *   fresh?: boolean,
 *   compression?: boolean,
 *   latencyEveryMs?: number,
 *   WebSocket?: any,
 * }} Options
 */

const LATENCY_EVERY_MS = 2000;
/** The longest a timer can run. */
const TIMER_MS_MAX = 0x7fffffff;
/** An alarm that is later than this was held up: what has come meanwhile is heard first. */
const LATE_MS = 100;
const LATE_GRACE_MS = 20;

/**
 * The handle of a player. What is sent is kept until the server has it, with and without a connection.
 */
export class Player {
  #home;
  #options;
  #config;
  #machine;
  #vault;
  #events = new Events();
  #pending = new Pending({
    withdraw: (id) => this.#machine.buffer.withdraw(id),
    cause: () => this.#trouble,
  });
  #returns = new Returns();
  /** @type {any} */
  #WebSocket = null;
  /** @type {import('./key.js').Key | null} */
  #key = null;
  /** @type {Link | null} */
  #link = null;
  /** What comes on it. @type {Incoming | null} */
  #incoming = null;
  /** Why there is no connection, as far as that is known. @type {OpenError | null} */
  #trouble = null;
  /** Whether it is known what a page's failed connection means. */
  #isExplained = false;
  /** @type {any} */
  #alarm = null;
  /** @type {any} */
  #probe = null;
  #unwatch;
  #hasFailed = false;
  #isDraining = false;
  #isClosed = false;
  /** Work that came before the storage was read; nothing once it was. @type {(() => void)[] | null} */
  #early = [];
  /** @type {import('./machine.js').Status} */
  #told = 'idle';
  #id = '';
  /** @type {import('./events.js').Zone | null} */
  #zone = null;

  /**
   * Connects to `wss://host:port/play`; without an address, to `/play` where the page comes from.
   * Listeners that are added right after hear everything.
   * @param {string | URL} [url]
   * @param {Options} [options]
   */
  constructor(url, options = {}) {
    this.#home = parseAddress(url);
    this.#options = options;
    const { login, storage, fresh, latencyEveryMs, WebSocket, admission, compression, ...settings } = options;
    this.#config = configOf(this.#home.hostname, { ...settings, admission: toBytes(admission) });
    if (compression && this.#config.encoding === 'protobuf' && canInflate()) {
      this.#config.capabilities = [...this.#config.capabilities, DEFLATE];
    }
    if (utf8Length(this.#config.serverName) > this.#config.limits.serverNameBytesMax) {
      throw new OpenError('address', "the server's name is too long");
    }
    if (!(this.#config.encoding in SUBPROTOCOLS)) {
      throw new OpenError('option', `no such encoding: ${this.#config.encoding}; there are protobuf and json`);
    }
    this.#machine = new Machine(this.#config, { kind: 'anonymous' }, chance);
    const failed = (/** @type {any} */ slot, /** @type {string} */ text) => this.#tell('storageFailed', { slot, text });
    this.#vault = new Vault(storage ?? defaultStorage(), this.#config.serverName, failed);
    this.#unwatch = watchSurroundings({
      hasten: () => this.#steer((now) => this.#machine.hasten(now)),
      // What waits already would find nobody now.
      doubt: () => this.status === 'connected' && this.#steer((now) => this.#machine.hasten(now)),
    });
    this.#start().catch((error) => this.#fail(error));
  }

  /**
   * Calls the listener with every event of this name; `*` with every name and event.
   * @template {EventName | '*'} Name
   * @param {Name} name
   * @param {Name extends EventName ? (event: PlayerEvents[Name]) => void : (name: EventName, event: any) => void} listener
   * @returns {() => void} stops listening
   */
  on(name, listener) {
    return this.#events.on(name, listener);
  }

  /**
   * The next event of this name.
   * @template {EventName} Name
   * @param {Name} name
   * @returns {Promise<PlayerEvents[Name]>}
   */
  once(name) {
    return new Promise((resolve) => {
      const stop = this.#events.on(name, (/** @type {PlayerEvents[Name]} */ event) => {
        stop();
        resolve(event);
      });
    });
  }

  /**
   * Joins the zone of this kind and name; `create` opens it if there is none. Ends when the server says
   * so, over any number of connections. `ticket`: the id of the seat that lets into the zone of a Game,
   * whose fleet is the kind and whose id is the name.
   * @param {string} kind
   * @param {string} name
   * @param {{ create?: boolean, payload?: Payload, ticket?: string, deadlineMs?: number }} [more]
   * @returns {Promise<PlayerEvents['joined']>}
   */
  join(kind, name, { create = false, payload, ticket = '', deadlineMs } = {}) {
    const join = { kind, name, create, payload: toBytes(payload), ticket };
    return this.#begin(() => this.#machine.join(join), deadlineMs);
  }

  /**
   * Leaves the zone. The session stays.
   * @param {{ deadlineMs?: number }} [more]
   * @returns {Promise<PlayerEvents['parted']>}
   */
  part({ deadlineMs } = {}) {
    return this.#begin(() => this.#machine.part(), deadlineMs);
  }

  /**
   * Asks the game and waits for its reply. Ends exactly once: with the reply, or with a CallError that
   * says whether it was refused, was never sent, or may have been applied.
   * @param {Payload} payload
   * @param {{ deadlineMs?: number }} [more]
   * @returns {Promise<Uint8Array>}
   */
  call(payload, { deadlineMs } = {}) {
    const bytes = toBytes(payload);
    return this.#begin(() => this.#machine.request(bytes), deadlineMs);
  }

  /**
   * Sends an ordered message: applied exactly once, or refused. Throws a SendError when it is not taken.
   * @param {Payload} payload
   * @returns {number} which send it was, for `refused` and `sendsLost`
   */
  send(payload) {
    return this.#command(() => this.#machine.send(toBytes(payload)));
  }

  /**
   * Sends a value of which only the newest of its key matters.
   * @param {string} key
   * @param {Payload} payload
   * @returns {number}
   */
  sendLatest(key, payload) {
    return this.#command(() => this.#machine.sendLatest(key, toBytes(payload)));
  }

  /**
   * Sends a message that is not kept: it may be lost, and is when the connection is behind.
   * @param {Payload} payload
   */
  sendUnreliable(payload) {
    // Better lost here than late.
    if (!this.#link?.isBehind) this.#command(() => this.#machine.sendUnreliable(toBytes(payload)));
  }

  /**
   * Answers a call of the server.
   * @param {bigint} call
   * @param {Payload} payload
   * @returns {number}
   */
  answer(call, payload) {
    return this.#command(() => this.#machine.answer(call, toBytes(payload)));
  }

  /**
   * Leaves for good: what was sent is delivered first, then the session ends.
   * @returns {Promise<void>}
   */
  leave() {
    const left = new Promise((resolve, reject) => {
      const stops = [
        this.#events.on('left', () => end(resolve)),
        this.#events.on('takenOver', () => end(() => reject(new CallError('outcome_unknown')))),
        this.#events.on('stopped', () => end(() => reject(new CallError('outcome_unknown')))),
      ];
      const end = (/** @type {(value?: any) => void} */ settle) => {
        for (const stop of stops) stop();
        settle();
      };
    });
    left.catch(() => {});
    this.#steer((now) => this.#machine.leave(now));
    return left;
  }

  /** Does not want to be connected any more. The server holds the session for a while; `retry` resumes it. */
  cancel() {
    this.#steer((now) => this.#machine.cancel(now));
  }

  /** Tries again, now: after a stop, a takeover or a cancel, or instead of waiting. */
  retry() {
    this.#steer((now) => this.#machine.retry(now));
  }

  /** Gives the session up and connects with a new one. */
  startOver() {
    this.#steer((now) => this.#machine.connectFresh(now));
  }

  /** Ends the player: as `cancel`, and nothing is told any more. */
  close() {
    if (this.#isClosed) return;
    this.cancel();
    this.#isClosed = true;
    this.#unwatch();
    clearTimeout(this.#alarm);
    this.#pending.giveUp(() => true);
    this.#events.clear();
  }

  /** What the player is doing. */
  get status() {
    return this.#machine.status;
  }

  /** The session the player is in, or would return to. */
  get session() {
    return this.#machine.session;
  }

  /** The player's public id, in hexadecimal digits; empty before the first connect. */
  get id() {
    return this.#id;
  }

  /** The zone the session is in. */
  get zone() {
    return this.#zone;
  }

  /** How long a ping takes, in milliseconds; null before the first was answered. */
  get latency() {
    const { latency } = this.#machine;
    return latency && { lastMs: latency.lastUs / 1000, smoothedMs: latency.smoothedUs / 1000 };
  }

  /** Sends that wait or are not acknowledged, and their bytes. */
  get buffered() {
    return { frames: this.#machine.buffer.length, bytes: this.#machine.buffer.bytes };
  }

  async #start() {
    // Whoever listens right after the start hears of everything.
    await null;
    const { login = 'auto', fresh = false, WebSocket } = this.#options;
    const { identity, key, state } = await this.#vault.open(login);
    this.#WebSocket = await webSocketOf(WebSocket).catch((error) => {
      throw new OpenError('websocket', `there is no WebSocket here; install the package ws: ${error.message}`);
    });
    const early = this.#early ?? [];
    this.#early = null;
    if (this.#isClosed) return;
    this.#key = key;
    this.#machine.adopt(identity, state);
    if (state !== null) this.#returns.expect();
    this.#steer((now) => (fresh ? this.#machine.connectFresh(now) : this.#machine.connect(now)));
    for (const work of early) work();
  }

  /** @param {unknown} error */
  #fail(error) {
    this.#early = null;
    const known = error instanceof OpenError ? error : new OpenError('key', String(error));
    this.#trouble = known;
    this.#hasFailed = true;
    this.#tell('failed', { error: known });
    this.#pending.giveUpUnsent();
    this.#pending.giveUp(() => true);
  }

  /**
   * A send and the promise of its end.
   * @param {() => number} send
   * @param {number | undefined} deadlineMs
   */
  #begin(send, deadlineMs) {
    try {
      if (this.#hasFailed) throw new CallError('not_sent', { cause: this.#trouble });
      // The promise is there before anything that the send brings about.
      const end = this.#pending.begin(send(), deadlineMs);
      this.#drain();
      return end;
    } catch (error) {
      const refused = Promise.reject(error);
      refused.catch(() => {});
      return refused;
    }
  }

  /**
   * @template T
   * @param {() => T} command
   */
  #command(command) {
    const result = command();
    this.#drain();
    return result;
  }

  /**
   * A word on the connection itself; not before it is known who the player is.
   * @param {(now: number) => void} steer
   */
  #steer(steer) {
    if (this.#isClosed) return;
    if (this.#early !== null) {
      this.#early.push(() => this.#steer(steer));
      return;
    }
    steer(now());
    this.#drain();
  }

  /** Carries out what the machine decided, in order. */
  #drain() {
    if (this.#isDraining) return;
    this.#isDraining = true;
    for (let output = this.#machine.nextOutput(); output; output = this.#machine.nextOutput()) {
      const done = this.#carryOut(output);
      if (done instanceof Promise) {
        done.then(() => {
          this.#isDraining = false;
          this.#drain();
        });
        return;
      }
    }
    this.#isDraining = false;
    this.#setAlarm();
    if (this.#told !== this.status) {
      this.#told = this.status;
      this.#tell('status', { status: this.#told });
    }
  }

  /** @param {import('./machine.js').Output} output */
  #carryOut(output) {
    switch (output.type) {
      case 'connect': return this.#dial(output.addresses);
      case 'send': return this.#send(output.data);
      case 'close': return this.#hangUp(output.code);
      case 'sign': return void this.#sign(output);
      case 'store_token': return this.#vault.storeSession(output.state);
      case 'store_secret': return this.#vault.storeSecret(output.secret);
      case 'forget_token': return this.#vault.forgetSession();
      default: return this.#heard(output.event);
    }
  }

  /** @param {string[]} addresses */
  #dial(addresses) {
    this.#hangUp(null);
    const known = addresses.map((address) => follow(this.#home, address)).filter((url) => url !== null);
    const urls = (known.length > 0 ? known : [this.#home]).map(String);
    /** What a link that is not the current one says is of no interest. @type {(work: () => void) => void} */
    const current = (work) => {
      if (this.#link !== link) return;
      work();
      this.#drain();
    };
    const incoming = new Incoming(this.#config.limits.serverFrameBytesMax);
    this.#incoming = incoming;
    const link = new Link({
      WebSocket: this.#WebSocket,
      urls,
      subprotocol: SUBPROTOCOLS[this.#config.encoding],
      timeoutMs: this.#config.handshakeTimeoutMs,
      opened: () => current(() => this.#machine.opened(now())),
      received: (data) =>
        incoming.take(
          data,
          (frame) => current(() => this.#received(frame)),
          (error) => current(() => this.#machine.garbled(now(), error)),
        ),
      closed: (code) => incoming.afterwards(() => current(() => this.#machine.closed(now(), code))),
      failed: (text) =>
        current(() => {
          this.#trouble = new OpenError('unreachable', text);
          this.#tell('dialFailed', { text });
          this.#machine.closed(now());
          this.#explain(urls[0]);
        }),
    });
    this.#link = link;
  }

  /**
   * A page's browser does not say why a connection failed: the server is asked, once.
   * @param {string} url
   */
  async #explain(url) {
    if (this.#isExplained) return;
    this.#isExplained = true;
    const refusal = await refusedOrigin(url);
    if (refusal === null || this.#isClosed || this.status === 'connected') return;
    this.#fail(new OpenError('origin', refusal));
    this.cancel();
  }

  /**
   * A promise while the frame is compressed: what is to be sent behind it waits.
   * @param {Uint8Array | string} frame
   */
  #send(frame) {
    const link = this.#link;
    const packed = this.#incoming?.isCompressed ? pack(frame) : frame;
    if (packed instanceof Promise) return packed.catch(() => frame).then((data) => link?.send(data));
    return link?.send(packed);
  }

  /** @param {string | null} code */
  #hangUp(code) {
    this.#link?.close(code);
    this.#link = null;
  }

  /** @param {{ text: Uint8Array, attempt: number }} wish */
  async #sign({ text, attempt }) {
    try {
      const signature = await this.#key?.sign(text);
      if (signature) this.#machine.signed(attempt, signature);
      this.#drain();
    } catch (error) {
      this.#fail(new OpenError('key', `the key does not sign: ${error}`));
      this.cancel();
    }
  }

  /** @param {Uint8Array | string} data */
  #received(data) {
    const before = this.#machine.latency;
    this.#machine.received(now(), data);
    // A page in the background has slow timers: what is due is done when something comes.
    const { deadline } = this.#machine;
    if (deadline !== null && now() >= deadline) this.#machine.wake(now());
    if (this.#machine.latency === before) return;
    this.#drain();
    const { latency } = this;
    if (latency !== null) this.#tell('latency', latency);
    const returned = this.#returns.settle();
    if (returned !== null) this.#tell('returned', returned);
    this.#probeLater();
  }

  /** @param {{ type: string, [field: string]: any }} event */
  #heard(event) {
    this.#returns.take(event);
    const { type, ...fields } = event;
    switch (type) {
      case 'reply': return this.#pending.succeed(event.request, event.payload);
      case 'request_ended': return this.#pending.fail(event.request, new CallError(event.how, { code: event.code }));
      case 'joined':
      case 'parted':
        this.#zone = event.zone ?? null;
        if (event.to !== null) this.#pending.succeed(event.to, fields);
        break;
      case 'refused':
        if (event.to !== null) this.#pending.fail(event.to, new CallError('refused', { code: event.code, sentence: event.text }));
        break;
      case 'sends_lost':
        this.#pending.giveUp((id) => event.sends.includes(id));
        break;
      case 'resync':
        this.#zone = event.zone;
        // Their answers were in the stream that is gone.
        this.#pending.giveUp((id) => !this.#machine.buffer.holds(id));
        // What had waited has come when this is answered.
        this.#machine.probe(now());
        break;
      case 'stopped':
        if (event.code === null) break;
        this.#trouble = new OpenError('refused', event.text ? `${event.code}, ${event.text}` : event.code, event.code);
        this.#pending.giveUpUnsent();
        break;
      case 'connected':
        this.#trouble = null;
        [this.#isExplained, this.#hasFailed] = [true, false];
        this.#id = fields.player = hex(event.player);
        if (this.#incoming) this.#incoming.isCompressed = event.capabilities.includes(DEFLATE);
        this.#zone = event.zone;
        this.#machine.probe(now());
        break;
      case 'left':
        this.#zone = null;
        break;
      default:
    }
    this.#tell(type.replace(/_(.)/g, (_, letter) => letter.toUpperCase()), fields);
  }

  #probeLater() {
    clearTimeout(this.#probe);
    const { latencyEveryMs = LATENCY_EVERY_MS } = this.#options;
    if (latencyEveryMs <= 0) return;
    this.#probe = setTimeout(() => {
      this.#machine.probe(now());
      this.#drain();
    }, latencyEveryMs);
  }

  #setAlarm() {
    clearTimeout(this.#alarm);
    if (this.status !== 'connected') clearTimeout(this.#probe);
    const due = this.#machine.deadline;
    if (due === null || this.#isClosed) return;
    const ring = () => {
      this.#machine.wake(now());
      this.#drain();
    };
    const waitMs = Math.min(Math.max(Math.ceil((due - now()) / 1000), 0), TIMER_MS_MAX);
    this.#alarm = setTimeout(() => {
      // After a stall, or in a page that slept, frames wait that show that the server is there.
      if (now() - due < LATE_MS * 1000) ring();
      else this.#alarm = setTimeout(ring, LATE_GRACE_MS);
    }, waitMs);
  }

  /**
   * @param {string} name
   * @param {any} event
   */
  #tell(name, event) {
    this.#events.tell(name, event);
  }
}

/** Whole microseconds on a clock that never jumps; what the date is does not matter. */
function now() {
  return Math.round(performance.now() * 1000);
}

function chance() {
  return crypto.getRandomValues(new BigUint64Array(1))[0];
}

/** @param {Uint8Array} bytes */
function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
