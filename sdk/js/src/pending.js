/**
 * Promises of calls, joins and parts by the id of their send. Each ends exactly once.
 */

import { CallError } from './error.js';

/** @typedef {{ resolve: (value: any) => void, reject: (error: CallError) => void, timer: any }} Waiter */

/**
 * What is needed to say how a send ended: takes it back if it never left, and why there is no connection.
 * @typedef {{ withdraw: (id: number) => boolean, cause: () => Error | null }} Senders
 */

export class Pending {
  /** @type {Map<number, Waiter>} */
  #waiters = new Map();
  #senders;

  /** @param {Senders} senders */
  constructor(senders) {
    this.#senders = senders;
  }

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
        timer = setTimeout(() => this.#late(id, deadlineMs), deadlineMs);
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

  /** Ends those that were never sent, and takes them back. */
  giveUpUnsent() {
    const cause = this.#senders.cause();
    for (const id of [...this.#waiters.keys()]) {
      if (this.#senders.withdraw(id)) this.fail(id, new CallError('not_sent', { cause }));
    }
  }

  /**
   * @param {number} id
   * @param {number} deadlineMs
   */
  #late(id, deadlineMs) {
    const cause = this.#senders.cause();
    const isUnsent = this.#senders.withdraw(id);
    const because = cause ? `: ${cause.message}` : '';
    const sentence = isUnsent
      ? `it was not sent within ${deadlineMs} ms${because}`
      : `no answer within ${deadlineMs} ms; it may still be applied`;
    this.fail(id, new CallError(isUnsent ? 'not_sent' : 'outcome_unknown', { sentence, isLate: true, cause }));
  }

  /** @param {number} id */
  #take(id) {
    const waiter = this.#waiters.get(id);
    this.#waiters.delete(id);
    clearTimeout(waiter?.timer);
    return waiter;
  }
}
