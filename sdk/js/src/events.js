/**
 * What a player tells the game, and who listens. A listener that fails stops no other.
 *
 * Codes are the contract's names without their prefix, in lower case: docs/PROTOCOL.md has the tables.
 *
 * @typedef {{ kind: string, name: string }} Zone
 * @typedef {{ key: string, payload: Uint8Array }} Latest
 */

/**
 * Every event by its name.
 *
 * `connected`: the server let the client in, on this rung. `returned`: how a return went, told once it
 * has been made good, a round trip after `connected`: `replayed` is how many numbered messages had
 * waited or were said meanwhile; `lost.upstream` how many acknowledged sends the server has lost again;
 * `lost.sends` which sends may or may not have been applied. `resync`: the whole state; what the game
 * knew before is worthless. `takenOver`: another tab or device speaks for the session; only `retry`
 * takes it back. `stopped`: the client does not try again by itself. `refused`: a send was consumed and
 * not applied. `latest` with payload null: the key has no value any more. `call`: the server asks, and
 * `answer` is due. `failed`: the player cannot start.
 *
 * @typedef {object} PlayerEvents
 * @property {{ rung: 'replayed' | 'resynced' | 'new', reason: string, session: bigint, player: string, zone: Zone | null, found: boolean, lostUpstream: bigint, after: string | null, capabilities: string[] }} connected
 * @property {{ rung: 'replayed' | 'resynced' | 'new', reason: string, replayed: number, lost: { upstream: number, sends: number[] }, after: string | null }} returned
 * @property {{ code: string | null }} disconnected
 * @property {{ attempt: number, inMs: number }} reconnecting
 * @property {{ code: string | null, text: string }} stopped
 * @property {{}} takenOver
 * @property {{}} left
 * @property {{ to: number | null, zone: Zone, payload: Uint8Array, latest: Latest[] }} joined
 * @property {{ to: number | null, cause: string, text: string }} parted
 * @property {{ to: number | null, code: string, text: string }} refused
 * @property {{ payload: Uint8Array }} message
 * @property {{ key: string, payload: Uint8Array | null }} latest
 * @property {{ payload: Uint8Array }} unreliable
 * @property {{ call: bigint, payload: Uint8Array, deadlineMs: number }} call
 * @property {{ snapshot: Uint8Array, latest: Latest[], zone: Zone | null, reason: string, lostUpstream: bigint }} resync
 * @property {{ sends: number[] }} sendsLost
 * @property {{ code: string, text: string, waitMs: number }} notice
 * @property {{ kind: string, text: string }} violation
 * @property {{ text: string }} dialFailed
 * @property {{ slot: import('./storage.js').Slot, text: string }} storageFailed
 * @property {{ lastMs: number, smoothedMs: number }} latency
 * @property {{ status: import('./machine.js').Status }} status
 * @property {{ error: import('./error.js').OpenError }} failed
 */

/** @typedef {keyof PlayerEvents} EventName */

export class Events {
  /** @type {Map<string, Set<Function>>} */
  #listeners = new Map();

  /**
   * @param {string} name
   * @param {Function} listener
   * @returns {() => void} stops listening
   */
  on(name, listener) {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /**
   * @param {string} name
   * @param {any} event
   */
  tell(name, event) {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) guarded(() => listener(event));
    for (const listener of [...(this.#listeners.get('*') ?? [])]) guarded(() => listener(name, event));
  }

  clear() {
    this.#listeners.clear();
  }
}

/** @param {() => void} listen */
function guarded(listen) {
  try {
    listen();
  } catch (error) {
    // The game's own mistake: told where such are told, and not to the player's machinery.
    queueMicrotask(() => {
      throw error;
    });
  }
}
