/**
 * How a return went. A welcome tells the rung; how much was replayed is seen only afterwards. So the
 * tally runs from the loss of a connection until the first answer to a ping after the welcome (and,
 * where one was promised, the Resync): what had waited has come by then. Only a replay that is longer
 * than the server's window goes on after that, uncounted.
 */

/** Events of numbered frames. */
const NUMBERED = new Set(['message', 'latest', 'reply', 'refused', 'call', 'joined', 'parted']);

export class Returns {
  /** Sends that were lost since the last live connection. @type {number[]} */
  #lost = [];
  /** @type {{ rung: string, reason: string, after: string | null, upstream: number, replayed: number, awaitsResync: boolean } | null} */
  #open = null;
  #hadSession = false;

  /**
   * Takes an event of the machine.
   * @param {{ type: string, [field: string]: any }} event
   */
  take(event) {
    if (event.type === 'connected') this.#connected(event);
    else if (event.type === 'disconnected') this.#open = null;
    else if (event.type === 'sends_lost') this.#lost.push(...event.sends);
    else if (event.type === 'left') this.#forget();
    else if (this.#open !== null) {
      if (event.type === 'resync') {
        this.#open.awaitsResync = false;
        this.#open.upstream = Number(event.lostUpstream);
      } else if (this.#open.rung === 'replayed' && NUMBERED.has(event.type)) this.#open.replayed += 1;
    }
  }

  /** A session of an earlier page or process is known. */
  expect() {
    this.#hadSession = true;
  }

  /** A ping was answered: the return that is now made good, if there is one. */
  settle() {
    if (this.#open === null || this.#open.awaitsResync) return null;
    const { rung, reason, after, upstream, replayed } = this.#open;
    const returned = { rung, reason, after, replayed, lost: { upstream, sends: this.#lost } };
    this.#open = null;
    this.#lost = [];
    return returned;
  }

  /** @param {any} event */
  #connected({ rung, reason, after, lostUpstream, found }) {
    const isReturn = this.#hadSession || found;
    this.#hadSession = true;
    if (!isReturn) {
      this.#lost = [];
      return;
    }
    const upstream = Number(lostUpstream);
    this.#open = { rung, reason, after, upstream, replayed: 0, awaitsResync: rung === 'resynced' };
  }

  #forget() {
    this.#hadSession = false;
    this.#open = null;
    this.#lost = [];
  }
}
