/**
 * Which number on the wire was which call of the game. Owns the open requests, each of which ends
 * exactly once, and a bounded memory of the other sends, so that a refusal can name its send.
 */

/** How many sends that are not requests are remembered. */
const OTHERS_MAX = 1024;

export class Ledger {
  /** In the order of their numbers, which only grow. @type {Map<bigint, number>} */
  #requests = new Map();
  /** @type {Map<bigint, number>} */
  #others = new Map();

  /**
   * A send was put on the wire under this number.
   * @param {bigint} number
   * @param {number} id
   * @param {string} kind
   */
  note(number, id, kind) {
    if (kind === 'request') {
      this.#requests.set(number, id);
      return;
    }
    if (this.#others.size === OTHERS_MAX) {
      const [oldest] = this.#others.keys();
      this.#others.delete(oldest);
    }
    this.#others.set(number, id);
  }

  /**
   * Ends the request of this number, if it is one and open.
   * @param {bigint} number
   */
  end(number) {
    const id = this.#requests.get(number);
    this.#requests.delete(number);
    return id ?? null;
  }

  /**
   * Ends all requests up to a number.
   * @param {bigint} last
   */
  endUpTo(last) {
    const ended = [...this.#requests].filter(([number]) => number <= last);
    for (const [number] of ended) this.#requests.delete(number);
    return ended.map(([, id]) => id);
  }

  /** Ends all requests and forgets all numbers. */
  endAll() {
    const ended = [...this.#requests.values()];
    this.#requests.clear();
    this.#others.clear();
    return ended;
  }

  /**
   * The send of this number, unless it was a request or is long ago.
   * @param {bigint} number
   */
  send(number) {
    return this.#others.get(number) ?? null;
  }

  /** How many requests are open. */
  get size() {
    return this.#requests.size;
  }
}
