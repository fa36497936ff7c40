/**
 * A bad network on demand: the player's sockets go through here, so that they can be cut, refused for a
 * while, or slowed down.
 */

/** A browser's word for a connection that went without a word. */
const ABNORMAL = 1006;

export class Network {
  /** Added to everything, each way. */
  delayMs = 0;
  #sockets = new Set();
  #offlineUntil = 0;

  /** The class of its sockets, for the player. */
  get WebSocket() {
    const network = this;
    return class extends Socket {
      constructor(url, protocols) {
        super(network, url, protocols);
      }
    };
  }

  get isOffline() {
    return performance.now() < this.#offlineUntil;
  }

  /** Milliseconds until there is a network again. */
  get offlineMs() {
    return Math.max(this.#offlineUntil - performance.now(), 0);
  }

  /** Ends every connection there is. */
  cut() {
    for (const socket of [...this.#sockets]) socket.cut();
  }

  /** @param {number} ms */
  goOffline(ms) {
    this.#offlineUntil = performance.now() + ms;
    this.cut();
  }

  /** @param {Socket} socket */
  add(socket) {
    this.#sockets.add(socket);
  }

  /** @param {Socket} socket */
  remove(socket) {
    this.#sockets.delete(socket);
  }
}

/** As much of a WebSocket as a player uses. */
class Socket extends EventTarget {
  #network;
  /** @type {WebSocket | null} */
  #real = null;
  #isOver = false;
  /** What is delayed must not overtake what went before. */
  #lastUp = 0;
  #lastDown = 0;

  constructor(network, url, protocols) {
    super();
    this.#network = network;
    if (network.isOffline) {
      setTimeout(() => this.#end(ABNORMAL, true));
      return;
    }
    network.add(this);
    const real = new WebSocket(url, protocols);
    real.binaryType = 'arraybuffer';
    real.onopen = () => this.#down(() => this.dispatchEvent(new Event('open')));
    real.onmessage = ({ data }) => this.#down(() => this.dispatchEvent(new MessageEvent('message', { data })));
    real.onerror = () => this.#down(() => this.dispatchEvent(new Event('error')));
    real.onclose = ({ code }) => this.#down(() => this.#end(code, false));
    this.#real = real;
  }

  get readyState() {
    return this.#isOver ? WebSocket.CLOSED : (this.#real?.readyState ?? WebSocket.CONNECTING);
  }

  get protocol() {
    return this.#real?.protocol ?? '';
  }

  get bufferedAmount() {
    return this.#real?.bufferedAmount ?? 0;
  }

  send(data) {
    this.#lastUp = this.#later(this.#lastUp, () => {
      if (this.#real?.readyState === WebSocket.OPEN) this.#real.send(data);
    });
  }

  close(code) {
    // Behind what was sent before.
    this.#lastUp = this.#later(this.#lastUp, () => {
      if (code === undefined) this.#real?.close();
      else this.#real?.close(code);
    });
  }

  /** The line is dead, and this end knows. */
  cut() {
    const real = this.#real;
    this.#end(ABNORMAL, false);
    real?.close();
  }

  #end(code, isFailure) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#network.remove(this);
    if (isFailure) this.dispatchEvent(new Event('error'));
    this.dispatchEvent(new CloseEvent('close', { code }));
  }

  #down(work) {
    this.#lastDown = this.#later(this.#lastDown, () => {
      if (!this.#isOver) work();
    });
  }

  /**
   * Does something after the delay of now, and not before `last`.
   * @returns {number} when
   */
  #later(last, work) {
    const now = performance.now();
    const due = Math.max(now + this.#network.delayMs, last);
    if (due <= now) work();
    else setTimeout(work, due - now);
    return due;
  }
}
