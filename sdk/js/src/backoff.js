/**
 * How long to wait before the next attempt: exponential, with full jitter, so that a thousand clients
 * that dropped together do not come back together. While the session is held the wait is at most a
 * quarter of the hold: there must be time for several attempts before it ends. A server that was down
 * gives everybody the whole hold again from the moment it is back, so for some minutes beyond the hold
 * the wait stays below half of it.
 */

/** A chance: gives the next of a stream of numbers of 64 bits. @typedef {() => bigint} Chance */
/** A session that the server holds: since when, and for how long. @typedef {{ sinceUs: number, holdUs: number }} Held */

const HOLD_SHARE = 4;
const OUTAGE_SHARE = 2;
/** How long a server may be down before clients ask less often than it takes to be taken back. */
const OUTAGE_US = 600_000_000;
const ATTEMPT_MAX = 0xffffffff;

export class Backoff {
  #baseUs;
  #maxUs;
  /** How many waits there were since the last reset. */
  attempt = 0;

  /**
   * @param {number} baseMs
   * @param {number} maxMs
   */
  constructor(baseMs, maxMs) {
    this.#baseUs = baseMs * 1000;
    this.#maxUs = maxMs * 1000;
  }

  /** The last connection lived long enough: waits are small again. */
  reset() {
    this.attempt = 0;
  }

  /**
   * The next wait in microseconds. The server's wish is a floor, and the jitter comes on top of it.
   * @param {number} now
   * @param {Held | null} held
   * @param {number} floorUs
   * @param {Chance} chance
   */
  next(now, held, floorUs, chance) {
    const ceilingUs = this.#ceilingUs(now, held);
    this.attempt = Math.min(this.attempt + 1, ATTEMPT_MAX);
    return floorUs + upTo(chance, ceilingUs);
  }

  /**
   * @param {number} now
   * @param {Held | null} held
   */
  #ceilingUs(now, held) {
    const ceilingUs = Math.min(this.#baseUs * 2 ** Math.min(this.attempt, 32), this.#maxUs);
    if (held === null) return ceilingUs;
    const goneUs = Math.max(now - held.sinceUs, 0);
    if (goneUs < held.holdUs) return Math.min(ceilingUs, held.holdUs / HOLD_SHARE);
    if (goneUs < held.holdUs + OUTAGE_US) return Math.min(ceilingUs, held.holdUs / OUTAGE_SHARE);
    return ceilingUs;
  }
}

/**
 * A number of at most `most`.
 * @param {Chance} chance
 * @param {number} most
 */
function upTo(chance, most) {
  return Number((chance() * (BigInt(Math.floor(most)) + 1n)) >> 64n);
}
