/**
 * A room of the relay, the zone that needs no game code: messages between members, shared values with
 * versions, objects with owners, and a host. docs/RELAY.md tells each message; this writes and reads them
 * and keeps what the room is like, over every return of the player.
 *
 * Members are named by the number of their session, in digits: `room.you` is the player's own.
 */

import { join as joined, text, toBytes } from './bytes.js';
import { CallError } from './error.js';
import { Events } from './events.js';

/** @typedef {import('./bytes.js').Payload} Payload */
/** @typedef {import('./player.js').Player} Player */
/** @typedef {{ member: string, player: string, connected: boolean }} Member */
/** @typedef {{ key: string, of: string | null, value: Uint8Array, version: string, by: string }} Value */
/** What becomes of an object when its owner parts. @typedef {'keep' | 'hand_over' | 'destroy'} OnPart */
/** @typedef {'start_match' | 'end_match' | 'lock' | 'unlock' | 'kick' | 'hand_over' | 'end'} HostOrder */

/**
 * What happens in a room, by name.
 *
 * `entered`: the whole room is known afresh, after a join or a return that could not go on where it was.
 * `said`: somebody says something; `from` is null for who speaks without a header, `key` names a latest
 * message. `value`: a key has another value; null: none any more. `dropped`: a member's connection is
 * gone, and `back` or `parted` follows. `refused`: an order that waits for no answer was not carried out.
 * `lost`: the player is no member any more.
 *
 * @typedef {object} RoomEvents
 * @property {{}} entered
 * @property {{ from: string | null, body: Uint8Array, key: string | null }} said
 * @property {{ key: string, of: string | null, value: Value | null }} value
 * @property {Member} joined
 * @property {{ member: string }} dropped
 * @property {{ member: string }} back
 * @property {{ member: string, cause: string }} parted
 * @property {{ member: string | null, term: string }} host
 * @property {{ object: string, player: string | null }} owner
 * @property {{ running: boolean }} match
 * @property {{ locked: boolean }} locked
 * @property {{ reason: string, version: string | null }} refused
 * @property {{ cause: string }} lost
 */

const LINE_FEED = 10;
const BRACE = 123;

/** The relay did not carry an order out. `version` is that of the key, where the reason is `version`. */
export class RelayError extends Error {
  /**
   * @param {string} reason one of docs/RELAY.md
   * @param {string | null} version
   */
  constructor(reason, version) {
    super(version === null ? `the relay refuses: ${reason}` : `the relay refuses: ${reason} (it is ${version})`);
    this.name = 'RelayError';
    this.reason = reason;
    this.version = version;
  }
}

/**
 * What is known of a room, and what can be done in it. Listeners that are added before `enter` hear
 * everything.
 */
export class Room {
  #player;
  #zone;
  #events = new Events();
  /** @type {(() => void)[]} */
  #stops;
  #isIn = false;
  /** The player's own number. */
  you = '';
  /** Who leads; null while nobody is connected. @type {string | null} */
  host = null;
  /** Grows with each change of the host. */
  term = '0';
  isMatchRunning = false;
  isLocked = false;
  /** Everybody here, by number. @type {Map<string, Member>} */
  members = new Map();
  /** Objects and the players who own them. @type {Map<string, string>} */
  owners = new Map();
  /** Values, by their place in the relay. @type {Map<string, Value>} */
  #values = new Map();

  /**
   * @param {Player} player
   * @param {string} name
   * @param {{ kind?: string }} [more] what the server calls its relays
   */
  constructor(player, name, { kind = 'relay' } = {}) {
    this.#player = player;
    this.#zone = { kind, name };
    this.#stops = [
      player.on('joined', ({ zone, payload, latest }) => this.#entered(zone, payload, latest, 'moved')),
      player.on('resync', ({ zone, snapshot, latest, reason }) => this.#entered(zone, snapshot, latest, reason)),
      player.on('message', ({ payload }) => this.#heard(payload)),
      player.on('unreliable', ({ payload }) => this.#heard(payload)),
      player.on('latest', ({ key, payload }) => this.#latest(key, payload)),
      player.on('parted', ({ cause }) => this.#lose(cause)),
      player.on('connected', ({ rung, after }) => rung === 'new' && this.#lose(after ?? 'fresh')),
    ];
  }

  /**
   * Calls the listener with every event of this name.
   * @template {keyof RoomEvents} Name
   * @param {Name} name
   * @param {(event: RoomEvents[Name]) => void} listener
   * @returns {() => void} stops listening
   */
  on(name, listener) {
    return this.#events.on(name, listener);
  }

  /** Whether the player is a member. */
  get isIn() {
    return this.#isIn;
  }

  /** Whether the player is the host. */
  get isHost() {
    return this.#isIn && this.host === this.you;
  }

  /**
   * Joins; `create` opens the room if there is none. Also after `lost`, to be in it again.
   * @param {{ create?: boolean, deadlineMs?: number }} [more]
   */
  async enter({ create = true, deadlineMs } = {}) {
    try {
      await this.#player.join(this.#zone.kind, this.#zone.name, { create, deadlineMs, payload: '{}' });
    } catch (error) {
      // After a reload the session is in the room already, and has been told what it is like.
      if (!this.#isIn || !(error instanceof CallError) || error.code !== 'already_joined') throw error;
    }
  }

  /** Parts, and hears nothing any more. */
  async leave() {
    if (this.#isIn) await this.#player.part();
    this.forget();
  }

  /** Stops listening to the player, who stays where it is. */
  forget() {
    for (const stop of this.#stops.splice(0)) stop();
    this.#events.clear();
  }

  /**
   * Says something: to all, to all others, to the host, or to the member of this number.
   * @param {Payload} body
   * @param {{ to?: 'all' | 'others' | 'host' | string, isUnreliable?: boolean }} [how]
   */
  send(body, { to = 'others', isUnreliable = false } = {}) {
    const order = write({ send: { to } }, body);
    if (isUnreliable) this.#player.sendUnreliable(order);
    else this.#player.send(order);
  }

  /**
   * Says something to all of which only the newest matters, and which later joiners hear, too.
   * @param {string} key
   * @param {Payload} body
   */
  sendLatest(key, body) {
    this.#player.sendLatest(key, write({ send: { to: 'all', delivery: 'latest', key } }, body));
  }

  /**
   * A shared value; of a member's own with its number.
   * @param {string} key
   * @param {string} [of]
   * @returns {Value | null}
   */
  get(key, of) {
    return this.#values.get(of === undefined ? `s/${key}` : `p/${of}/${key}`) ?? null;
  }

  /** All values that are set. */
  get values() {
    return [...this.#values.values()];
  }

  /**
   * Sets a value. With `ifVersion` only while the key has that version ('0': while it is not set); else it
   * ends with a RelayError that tells the version. `isMine` makes it the player's own.
   * @param {string} key
   * @param {Payload} value
   * @param {{ ifVersion?: string | number, isMine?: boolean, deadlineMs?: number }} [how]
   * @returns {Promise<string>} its version
   */
  async set(key, value, { ifVersion, isMine, deadlineMs } = {}) {
    const done = await this.#order({ set: place(key, ifVersion, isMine) }, value, deadlineMs);
    return String(done.version);
  }

  /**
   * @param {string} key
   * @param {{ ifVersion?: string | number, isMine?: boolean, deadlineMs?: number }} [how]
   */
  async delete(key, { ifVersion, isMine, deadlineMs } = {}) {
    await this.#order({ delete: place(key, ifVersion, isMine) }, undefined, deadlineMs);
  }

  /**
   * Takes an object that nobody owns.
   * @param {string | number} object
   * @param {OnPart} [onPart]
   */
  async own(object, onPart = 'keep') {
    await this.#order({ own: { object: String(object), on_part: onPart } });
  }

  /**
   * Gives an object of the player's to another member.
   * @param {string | number} object
   * @param {string} to
   * @param {OnPart} [onPart]
   */
  async give(object, to, onPart = 'keep') {
    await this.#order({ give: { object: String(object), to, on_part: onPart } });
  }

  /** @param {string | number} object */
  async release(object) {
    await this.#order({ release: { object: String(object) } });
  }

  /**
   * An order of the host, in the term in which it is meant.
   * @param {HostOrder} what
   * @param {string} [member]
   */
  async lead(what, member) {
    await this.#order({ lead: { do: what, term: this.term, ...(member === undefined ? {} : { member }) } });
  }

  /**
   * @param {object} order
   * @param {Payload} [body]
   * @param {number} [deadlineMs]
   */
  async #order(order, body, deadlineMs) {
    const { fact } = read(await this.#player.call(write(order, body), { deadlineMs }));
    if (fact.refused) throw new RelayError(fact.refused.reason, fact.refused.version ?? null);
    return fact.done ?? {};
  }

  /**
   * The player is in a zone, or in none: this room is known afresh, or lost.
   * @param {{ kind: string, name: string } | null} zone
   * @param {Uint8Array} payload
   * @param {import('./events.js').Latest[]} latest
   * @param {string} reason
   */
  #entered(zone, payload, latest, reason) {
    if (zone?.kind === this.#zone.kind && zone.name === this.#zone.name) this.#known(payload, latest);
    else this.#lose(reason);
  }

  /**
   * @param {Uint8Array} payload
   * @param {import('./events.js').Latest[]} latest
   */
  #known(payload, latest) {
    const { room } = read(payload).fact;
    if (!room) return;
    this.#isIn = true;
    this.you = room.you;
    this.host = room.host;
    this.term = room.term;
    this.isMatchRunning = room.match;
    this.isLocked = room.locked;
    this.members = new Map(room.members.map((/** @type {Member} */ member) => [member.member, member]));
    this.owners = new Map(room.objects.map((/** @type {any} */ each) => [each.object, each.player]));
    this.#values = new Map();
    const said = latest.filter(({ key, payload: value }) => !this.#keep(key, value));
    this.#events.tell('entered', {});
    for (const { key, payload: value } of said) this.#latest(key, value);
  }

  /** @param {string} cause */
  #lose(cause) {
    if (!this.#isIn) return;
    this.#isIn = false;
    this.#events.tell('lost', { cause });
  }

  /** @param {Uint8Array} payload */
  #heard(payload) {
    if (!this.#isIn) return;
    const { fact, body } = read(payload);
    const [[name, event] = []] = Object.entries(fact);
    if (name === 'said') this.#events.tell('said', { from: event.from, body, key: null });
    else if (name === 'bare') this.#events.tell('said', { from: null, body, key: null });
    else if (name === 'refused') this.#events.tell('refused', { reason: event.reason, version: event.version ?? null });
    else if (name !== undefined && this.#note(name, event)) this.#events.tell(name, event);
  }

  /**
   * What changes the room; whether it is known here.
   * @param {string} name
   * @param {any} event
   */
  #note(name, event) {
    const member = this.members.get(event.member);
    switch (name) {
      case 'joined': this.members.set(event.member, event); break;
      case 'parted': this.members.delete(event.member); break;
      case 'dropped':
      case 'back':
        if (member) member.connected = name === 'back';
        break;
      case 'host':
        this.host = event.member;
        this.term = event.term;
        break;
      case 'owner':
        if (event.player === null) this.owners.delete(event.object);
        else this.owners.set(event.object, event.player);
        break;
      case 'match': this.isMatchRunning = event.running; break;
      case 'locked': this.isLocked = event.locked; break;
      default: return false;
    }
    return true;
  }

  /**
   * A latest value of the protocol: a value of the room, or a member's latest message.
   * @param {string} place
   * @param {Uint8Array | null} payload
   */
  #latest(place, payload) {
    if (!this.#isIn) return;
    const { kind, of, key } = partsOf(place);
    if (kind === 'm') {
      const said = payload && read(payload);
      if (said?.fact.said) this.#events.tell('said', { from: said.fact.said.from, body: said.body, key });
      return;
    }
    if (payload === null) this.#values.delete(place);
    else this.#keep(place, payload);
    this.#events.tell('value', { key, of, value: this.#values.get(place) ?? null });
  }

  /**
   * Keeps a value; whether it was one.
   * @param {string} place
   * @param {Uint8Array} payload
   */
  #keep(place, payload) {
    const { fact, body } = read(payload);
    if (!fact.value) return false;
    const { key, of = null, version, by } = fact.value;
    this.#values.set(place, { key, of, value: body, version, by });
    return true;
  }
}

/**
 * @param {string} key
 * @param {string | number} [version]
 * @param {boolean} [isMine]
 */
function place(key, version, isMine = false) {
  return { key, of: isMine ? 'me' : 'all', ...(version === undefined ? {} : { if: String(version) }) };
}

/**
 * `s/map`, `p/17/name` and `m/17/pos`: shared values, a member's own, and its latest messages.
 * @param {string} place
 */
function partsOf(place) {
  const [kind, ...rest] = place.split('/');
  const of = kind === 's' ? null : (rest.shift() ?? null);
  return { kind, of, key: rest.join('/') };
}

/**
 * A header and a body as the relay takes them.
 * @param {object} header
 * @param {Payload} [body]
 */
function write(header, body) {
  const line = toBytes(JSON.stringify(header));
  return body === undefined ? line : joined([line, Uint8Array.of(LINE_FEED), toBytes(body)]);
}

/**
 * What the relay said. A payload without a header is `bare`; of one that cannot be read there is nothing.
 * @param {Uint8Array} payload
 * @returns {{ fact: { [name: string]: any }, body: Uint8Array }}
 */
function read(payload) {
  if (payload[0] !== BRACE) return { fact: { bare: {} }, body: payload };
  const feed = payload.indexOf(LINE_FEED);
  const end = feed < 0 ? payload.length : feed;
  try {
    return { fact: JSON.parse(text(payload.subarray(0, end))), body: payload.slice(end + 1) };
  } catch {
    return { fact: {}, body: payload };
  }
}
