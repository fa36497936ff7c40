/**
 * The clocks of a live connection: when an acknowledgement is due, when silence is too long, and how
 * long a ping took. Decides when; what is sent is the machine's.
 */

/** A server that names no heartbeat gets this one: a dead link must be noticed. */
const HEARTBEAT_DEFAULT_US = 5_000_000;
/** A server cannot make a client ping more often than this. */
const HEARTBEAT_MIN_US = 10_000;

export class Pulse {
  #heartbeatUs;
  #silenceUs;
  #ackEvery;
  #ackDelayUs;
  #heardAt;
  #pingAt;
  #owed = 0;
  /** @type {number | null} */
  #ackAt = null;
  /** A sign of life was asked for, and is due by then. */
  #doubtedUntil = Infinity;
  /** The last ping that was not answered. @type {{ nonce: bigint, sentAt: number } | null} */
  #asked = null;

  /**
   * @param {number} now
   * @param {number} heartbeatMs
   * @param {import('./config.js').Config} config
   */
  constructor(now, heartbeatMs, config) {
    const heartbeatUs = heartbeatMs === 0 ? HEARTBEAT_DEFAULT_US : Math.max(heartbeatMs * 1000, HEARTBEAT_MIN_US);
    this.#heartbeatUs = heartbeatUs;
    // Silence shorter than a heartbeat would end every quiet connection before its first ping.
    this.#silenceUs = Math.max((heartbeatUs * config.silencePercent) / 100, (heartbeatUs * 3) / 2);
    this.#ackEvery = Math.max(config.ackEvery, 1);
    this.#ackDelayUs = config.ackDelayMs * 1000;
    this.#heardAt = now;
    this.#pingAt = now + heartbeatUs;
  }

  /**
   * Something came.
   * @param {number} now
   */
  heard(now) {
    this.#heardAt = now;
    this.#doubtedUntil = Infinity;
    this.#pingAt = now + this.#heartbeatUs;
  }

  /**
   * The connection may be dead: it has half a heartbeat to show that it is not.
   * @param {number} now
   */
  doubt(now) {
    this.#doubtedUntil = Math.min(this.#doubtedUntil, now + this.#heartbeatUs / 2);
  }

  /**
   * A numbered frame came. True: acknowledge at once.
   * @param {number} now
   */
  owe(now) {
    this.#owed += 1;
    this.#ackAt ??= now + this.#ackDelayUs;
    return this.#owed >= this.#ackEvery;
  }

  /** Everything was acknowledged. */
  acked() {
    this.#owed = 0;
    this.#ackAt = null;
  }

  /** @param {number} now */
  isAckDue(now) {
    return this.#ackAt !== null && now >= this.#ackAt;
  }

  /**
   * Whether a ping is due; the next one is then a heartbeat away.
   * @param {number} now
   */
  takePing(now) {
    const isDue = now >= this.#pingAt;
    if (isDue) this.#pingAt = now + this.#heartbeatUs;
    return isDue;
  }

  /**
   * A ping was sent.
   * @param {number} now
   * @param {bigint} nonce
   */
  asked(now, nonce) {
    this.#asked = { nonce, sentAt: now };
  }

  /**
   * A pong came: how long the ping of this number took, if it is the last one.
   * @param {number} now
   * @param {bigint} nonce
   */
  answered(now, nonce) {
    const asked = this.#asked;
    if (asked === null || asked.nonce !== nonce) return null;
    this.#asked = null;
    return Math.max(now - asked.sentAt, 0);
  }

  /** @param {number} now */
  isSilent(now) {
    return now >= this.#silentAt();
  }

  /** When this must be looked at next. */
  deadline() {
    const beat = Math.min(this.#pingAt, this.#silentAt());
    return this.#ackAt === null ? beat : Math.min(this.#ackAt, beat);
  }

  #silentAt() {
    return Math.min(this.#heardAt + this.#silenceUs, this.#doubtedUntil);
  }
}
