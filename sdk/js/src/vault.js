/**
 * What a player asks of its storage, with every failure as an event: nothing a storage does keeps
 * anybody from playing, but for a key that is there and cannot be used.
 */

import { OpenError } from './error.js';
import { Key, hasKeys } from './key.js';
import { readSecret, readSession, writeSecret, writeSession } from './record.js';

/** @typedef {import('./storage.js').Slot} Slot */
/** @typedef {import('./machine.js').ResumeState} ResumeState */
/** How a player is known; `auto`: by key where there are keys, else by secret. @typedef {'auto' | 'key' | 'secret' | 'anonymous' | Key} Login */

/**
 * What was found at the start. The key signs; the machine never sees it.
 * @typedef {{ identity: import('./machine.js').Identity, key: Key | null, state: ResumeState | null }} Found
 */

export class Vault {
  #storage;
  #server;
  #failed;

  /**
   * @param {import('./storage.js').Storage} storage
   * @param {string} server
   * @param {(slot: Slot, text: string) => void} failed
   */
  constructor(storage, server, failed) {
    this.#storage = storage;
    this.#server = server;
    this.#failed = failed;
  }

  /**
   * Reads everything; makes the key if there is none.
   * @param {Login} login
   * @returns {Promise<Found>}
   */
  async open(login) {
    const state = await this.#value('session', readSession);
    if (login instanceof Key) return withKey(login, state);
    if (login === 'anonymous') return { identity: { kind: 'anonymous' }, key: null, state };
    const seed = login === 'secret' ? null : await this.#load('key');
    if (seed) return withKey(await usable(seed), state);
    const secret = login === 'key' ? null : await this.#value('secret', readSecret);
    // A guest stays who it is when its browser learns to sign.
    if (login === 'secret' || secret !== null || (login === 'auto' && !(await hasKeys()))) {
      return { identity: { kind: 'secret', secret }, key: null, state };
    }
    return withKey(await this.#newKey(state !== null), null);
  }

  /**
   * A promise where the storage gives one; then nothing may be sent before it has ended.
   * @param {ResumeState} state
   */
  storeSession(state) {
    return this.#attempt('session', () => this.#storage.store('session', writeSession(this.#server, state)));
  }

  /** @param {Uint8Array} secret */
  storeSecret(secret) {
    return this.#attempt('secret', () => this.#storage.store('secret', writeSecret(this.#server, secret)));
  }

  forgetSession() {
    return this.#attempt('session', () => this.#storage.forget('session'));
  }

  /**
   * A token without its key opens nothing: whoever lost the key is another player now.
   * @param {boolean} hasToken
   */
  async #newKey(hasToken) {
    if (!(await hasKeys())) {
      throw new OpenError('key', 'there is no Ed25519 here: serve the page by https, or log in by secret');
    }
    const { key, seed } = await Key.generate();
    const quicker = await this.#storeKey(seed);
    if (hasToken) await this.forgetSession();
    return quicker ? usable(quicker) : key;
  }

  /**
   * Stores a new key, unless another tab was quicker: then it gives that one. Nothing happens between
   * the question and the answer where the storage needs no time.
   * @param {Uint8Array} seed
   * @returns {Promise<Uint8Array | null | undefined>}
   */
  async #storeKey(seed) {
    try {
      const found = this.#storage.load('key');
      const quicker = found instanceof Promise ? await found : found;
      if (quicker) return quicker;
    } catch {
      // It could not be read a moment ago, either, and that was told.
    }
    await this.#attempt('key', () => this.#storage.store('key', seed));
    return null;
  }

  /**
   * @template T
   * @param {Slot} slot
   * @param {(server: string, record: Uint8Array) => T | import('./record.js').Unread} read
   * @returns {Promise<T | null>}
   */
  async #value(slot, read) {
    const record = await this.#load(slot);
    if (!record) return null;
    const value = read(this.#server, record);
    if (value === 'damaged') this.#failed(slot, 'what is stored is damaged');
    return value === 'damaged' || value === 'foreign' ? null : /** @type {T} */ (value);
  }

  /** @param {Slot} slot */
  async #load(slot) {
    try {
      return await this.#storage.load(slot);
    } catch (error) {
      this.#failed(slot, words(error));
      return null;
    }
  }

  /**
   * @param {Slot} slot
   * @param {() => void | Promise<void>} work
   * @returns {void | Promise<void>}
   */
  #attempt(slot, work) {
    try {
      const done = work();
      if (done) return Promise.resolve(done).catch((error) => this.#failed(slot, words(error)));
    } catch (error) {
      this.#failed(slot, words(error));
    }
  }
}

/**
 * @param {Key} key
 * @param {ResumeState | null} state
 * @returns {Found}
 */
function withKey(key, state) {
  return { identity: { kind: 'key', publicKey: key.publicKey }, key, state };
}

/**
 * A key that is there and cannot be used stops everything: a new one in its place would be another
 * player.
 * @param {Uint8Array} seed
 */
async function usable(seed) {
  try {
    return await Key.fromSeed(seed);
  } catch (error) {
    throw new OpenError('key', `the stored key cannot be used, and is not replaced: ${words(error)}`);
  }
}

/** @param {unknown} error */
function words(error) {
  return error instanceof Error ? error.message : String(error);
}
