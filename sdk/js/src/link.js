/**
 * One WebSocket at a time: how it is opened, and how frames go through it. A link that was closed, or
 * gave its place to another, reports nothing any more.
 */

import { codeOf, statusOf } from './close.js';

/**
 * @typedef {object} Wishes
 * @property {any} WebSocket the implementation
 * @property {string[]} urls tried one after the other, each for its share of the time
 * @property {string} subprotocol
 * @property {number} timeoutMs for all of them
 * @property {() => void} opened
 * @property {(data: Uint8Array | string) => void} received
 * @property {(code: string | null) => void} closed
 * @property {(text: string) => void} failed nobody could be reached
 */

/** Bytes that wait to be written beyond which nothing is added that can be left out. */
const BEHIND_BYTES = 256 * 1024;

export class Link {
  #wishes;
  /** @type {any} */
  #socket = null;
  /** @type {any} */
  #timer = null;

  /** @param {Wishes} wishes */
  constructor(wishes) {
    this.#wishes = wishes;
    this.#dial(0, 'there is no address to dial');
  }

  /** @param {Uint8Array | string} data */
  send(data) {
    if (this.#socket?.readyState === 1) this.#socket.send(data);
  }

  /** Whether the server takes too little for anything to be added that can be left out. */
  get isBehind() {
    return (this.#socket?.bufferedAmount ?? 0) > BEHIND_BYTES;
  }

  /** @param {string | null} code */
  close(code) {
    const socket = this.#letGo();
    if (!socket || socket.readyState > 1) return;
    const status = statusOf(code);
    if (status === undefined) socket.close();
    else socket.close(status);
  }

  /**
   * @param {number} index
   * @param {string} failure
   */
  #dial(index, failure) {
    const { WebSocket, urls, subprotocol, timeoutMs, opened, failed } = this.#wishes;
    if (index >= urls.length) {
      // Not before the one who made this link has it in hand.
      queueMicrotask(() => failed(failure));
      return;
    }
    const url = urls[index];
    const next = (/** @type {string} */ why) => {
      this.close(null);
      this.#dial(index + 1, `${url}: ${why}`);
    };
    let socket;
    try {
      socket = new WebSocket(url, [subprotocol]);
    } catch (error) {
      next(error instanceof Error ? error.message : String(error));
      return;
    }
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    this.#timer = setTimeout(() => next('no answer in time'), timeoutMs / urls.length);
    const isCurrent = () => this.#socket === socket;
    // A failure is followed by a close; of an earlier socket neither is of interest.
    socket.addEventListener('error', (/** @type {any} */ event) => {
      if (isCurrent() && this.#timer !== null) next(event.message || 'it cannot be reached');
    });
    socket.addEventListener('close', (/** @type {any} */ event) => {
      if (isCurrent()) this.#ended(event.code, next);
    });
    socket.addEventListener('message', (/** @type {any} */ event) => {
      if (isCurrent()) this.#wishes.received(bytesOf(event.data));
    });
    socket.addEventListener('open', () => {
      if (!isCurrent()) return;
      if (socket.protocol !== subprotocol) {
        next(`it does not speak ${subprotocol}`);
        return;
      }
      this.#stopTimer();
      opened();
    });
  }

  /**
   * @param {number} status
   * @param {(why: string) => void} next
   */
  #ended(status, next) {
    if (this.#timer !== null) {
      next('it was closed');
      return;
    }
    this.#letGo();
    this.#wishes.closed(codeOf(status));
  }

  #letGo() {
    const socket = this.#socket;
    this.#socket = null;
    this.#stopTimer();
    return socket;
  }

  #stopTimer() {
    clearTimeout(this.#timer);
    this.#timer = null;
  }
}

/** How long a server is given to say why it refused a page. */
const EXPLAIN_MS = 3000;

/**
 * Whether this page's origin is refused there, in the server's words. Outside of pages there is no origin.
 * @param {string} url
 * @returns {Promise<string | null>}
 */
export async function refusedOrigin(url) {
  const { document, location } = globalThis;
  if (!document || !location) return null;
  try {
    const address = url.replace(/^ws/, 'http');
    const answer = await fetch(address, { credentials: 'omit', cache: 'no-store', signal: AbortSignal.timeout(EXPLAIN_MS) });
    if (answer.status !== 403) return null;
    return (await answer.text()).trim() || `pages of ${location.origin} may not connect to ${url}`;
  } catch {
    // It cannot be reached at all, or is another kind of server.
    return null;
  }
}

/**
 * The WebSocket of this place, or the package `ws`.
 * @param {any} given
 */
export async function webSocketOf(given) {
  if (given) return given;
  if (globalThis.WebSocket) return globalThis.WebSocket;
  // Named apart, so that a bundler for browsers does not look for it.
  const name = 'ws';
  return (await import(name)).default;
}

/**
 * @param {any} data
 * @returns {Uint8Array | string}
 */
function bytesOf(data) {
  return typeof data === 'string' ? data : new Uint8Array(data);
}
