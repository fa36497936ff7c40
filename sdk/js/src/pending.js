/**
 * Promises of calls, joins and parts by the id of their send. Each ends exactly once.
 */

import { CallError } from './error.js';

/** @typedef {{ resolve: (value: any) => void, reject: (error: CallError) => void, timer: any }} Waiter */

export class Pending {
  /** @type {Map<number, Waiter>} */
  #waiters = new Map();

  /**
   * A promise for the end of this send.
   * @param {number} id
   * @param {number | undefined} deadlineMs
   * @returns {Promise<any>}
   */
  begin(id, deadlineMs) {
    const promise = new Promise((resolve, reject) => {
      /** @type {any} */
      let timer = null;
      if (deadlineMs !== undefined) {
        const sentence = `no answer within ${deadlineMs} ms; it may still be applied`;
        timer = setTimeout(() => this.fail(id, new CallError('outcome_unknown', { sentence, isLate: true })), deadlineMs);
      }
      this.#waiters.set(id, { resolve, reject, timer });
    });
    // Who does not wait for the end has not overlooked an error.
    promise.catch(() => {});
    return promise;
  }

  /**
   * @param {number} id
   * @param {any} value
   */
  succeed(id, value) {
    this.#take(id)?.resolve(value);
  }

  /**
   * @param {number} id
   * @param {CallError} error
   */
  fail(id, error) {
    this.#take(id)?.reject(error);
  }

  /**
   * Ends those for whom this holds: nobody can say what became of them.
   * @param {(id: number) => boolean} holds
   */
  giveUp(holds) {
    for (const id of [...this.#waiters.keys()].filter(holds)) this.fail(id, new CallError('outcome_unknown'));
  }

  /** @param {number} id */
  #take(id) {
    const waiter = this.#waiters.get(id);
    this.#waiters.delete(id);
    clearTimeout(waiter?.timer);
    return waiter;
  }
}
