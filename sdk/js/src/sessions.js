/**
 * Games as a game asks for them: create, search, join and leave, behind one interface, so that another
 * backend can take the place of this one. One provider is registered at a time; everything it is asked
 * ends once, as a promise and as a completion event that carries the error.
 */

import { Events } from './events.js';
import { events } from './stream.js';
import { Player } from './player.js';

/**
 * @typedef {import('./player.js').Options} Options
 * @typedef {{ fleet: string, key?: string, name?: string, capacity: number, properties?: Record<string, string>, data?: string, accepts?: boolean, visible?: boolean, creator?: string, ends_when_empty?: boolean }} NewGame
 * @typedef {{ id: string, fleet: string, status: string, capacity: number, free: number, [field: string]: unknown }} Game
 * @typedef {{ fleet: string, filter?: string, sort?: string, limit?: number, cursor?: string }} Query
 * @typedef {{ endpoint: string, region?: string, credentials?: string, player?: Options, patienceMs?: number }} Configuration
 *   `endpoint`: `http://host:port`. `region`: the location where Games shall run. `credentials`: an API key.
 *   `player`: what players are connected with. `patienceMs`: how long a connection or an end is waited for.
 * @typedef {{ endpoint: URL, region: string, credentials: string, player: Options, patienceMs: number }} Configured
 * @typedef {{ player: Player, game: Game, seat: string }} Stay
 */

/**
 * What a provider must do. `configure` comes first.
 * @typedef {object} SessionProvider
 * @property {(configuration: Configuration) => void} configure
 * @property {(game: NewGame) => Promise<Game>} create
 * @property {(query: Query) => Promise<{ games: Game[], cursor: string | null }>} search
 * @property {(game: Game, player?: Player) => Promise<Stay>} join
 * @property {(stay: Stay) => Promise<void>} leave
 * @property {(queue: string, placement: Record<string, unknown>) => Promise<Record<string, any>>} createOnQueue
 */

/** How long something is waited for, if nothing is said. */
const PATIENCE_MS = 30_000;
/** Between two looks at something that changes by itself: short at first, then longer. */
const LOOK_FROM_MS = 20;
const LOOK_MAX_MS = 500;
/** What the name of a location may be. */
const REGION = /^[A-Za-z0-9-]{1,64}$/;

/**
 * Why something did not happen. `refused`: the directory said no, and `code` says why. `unreachable`:
 * nobody answered, and it may have been done. `late`: it took longer than was waited for.
 */
export class SessionError extends Error {
  /**
   * @param {'not_configured' | 'not_registered' | 'already_registered' | 'bad_region' | 'bad_endpoint' | 'refused' | 'unreachable' | 'late'} kind
   * @param {string} sentence
   * @param {{ code?: string, status?: number, seat?: string, cause?: unknown }} [more]
   */
  constructor(kind, sentence, { code, status, seat, cause } = {}) {
    super(sentence, { cause });
    this.name = 'SessionError';
    this.kind = kind;
    this.code = code;
    this.status = status;
    /** With the code `already_seated`: the seat that the player has in the Game. */
    this.seat = seat;
  }
}

/** @type {SessionProvider | null} */
let registered = null;

/**
 * Makes a provider the one that is asked.
 * @param {SessionProvider} provider
 * @returns {() => void} takes it away again
 */
export function register(provider) {
  if (registered) throw new SessionError('already_registered', 'another provider is registered: take it away first');
  registered = provider;
  return () => {
    if (registered === provider) registered = null;
  };
}

/** The provider that is registered. */
export function sessions() {
  if (!registered) throw new SessionError('not_registered', 'no provider is registered');
  return registered;
}

/**
 * Games of a Rejoin server: its directory over HTTP, and play over WebSocket.
 * @implements {SessionProvider}
 */
export class DirectorySessions {
  #events = new Events();
  /** @type {Configured | null} */
  #configured = null;

  /**
   * Tells of every completion: `create`, `search`, `join`, `leave` and `createOnQueue`, each with its
   * `value` or its `error`.
   * @param {string} name
   * @param {(completed: { value?: any, error?: Error }) => void} listener
   * @returns {() => void} stops listening
   */
  on(name, listener) {
    return this.#events.on(name, listener);
  }

  /**
   * Where the server is, where Games shall run, and who asks.
   * @param {Configuration} configuration
   */
  configure({ endpoint, region = '', credentials = '', player = {}, patienceMs = PATIENCE_MS }) {
    if (region !== '' && !REGION.test(region)) {
      throw new SessionError('bad_region', `${JSON.stringify(region)} is no region: 1 to 64 letters, digits and "-"`);
    }
    const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
    if (!url || !['http:', 'https:'].includes(url.protocol)) {
      throw new SessionError('bad_endpoint', `${JSON.stringify(endpoint)} is no address: http://host:port`);
    }
    this.#configured = { endpoint: url, region, credentials, player, patienceMs };
  }

  /**
   * Makes a Game, or finds the one that was made with the same key. Ends when it runs.
   * @param {NewGame} game
   * @returns {Promise<Game>}
   */
  create(game) {
    return this.#complete('create', async ({ region }) => {
      const where = region && { location: region };
      const made = await this.#ask('POST', '/games', { ...where, ...game });
      return this.#until('the game to run', async () => {
        const now = await this.#ask('GET', `/games/${made.id}`);
        if (now.status === 'activating') return undefined;
        if (now.status !== 'active') throw new SessionError('refused', `the game is ${now.status}: ${now.cause}`, { code: now.cause });
        return now;
      });
    });
  }

  /**
   * Games that can be joined.
   * @param {Query} query
   * @returns {Promise<{ games: Game[], cursor: string | null }>}
   */
  search(query) {
    return this.#complete('search', ({ region }) => {
      const asked = Object.entries({ ...(region && { location: region }), ...query });
      return this.#ask('GET', `/search?${new URLSearchParams(asked.map(([name, value]) => [name, String(value)]))}`);
    });
  }

  /**
   * Takes a seat and goes there. Ends when the seat is this player's, its connection is welcomed and it is
   * in; if one of these fails, the seat is given back and the others are undone.
   * @param {Game} game
   * @param {Player} [player] one that is connected, or is about to be; without it, one is made
   * @returns {Promise<Stay>}
   */
  join(game, player) {
    return this.#complete('join', async ({ endpoint, player: options, patienceMs }) => {
      const own = player ?? new Player(play(endpoint), options);
      let seat = '';
      /** @type {string | undefined} */
      let secret;
      try {
        await welcomed(own, patienceMs);
        ({ seat, secret } = await this.#reserve(game.id, own.id));
        await connectedWhile(own, own.join(game.fleet, game.id, { ticket: seat, deadlineMs: patienceMs }));
        return { player: own, game, seat };
      } catch (error) {
        // Who made a promise that it cannot keep takes it back; a seat that is lost anyway is no news.
        if (secret) await this.#ask('DELETE', `/games/${game.id}/seats/${seat}`, undefined, secret).catch(() => {});
        if (!player) own.close();
        throw error;
      }
    });
  }

  /**
   * Reserves a seat of a Game for a player, with the secret that gives it back. One that has a seat there
   * already is given that, and it is not this one's to give back.
   * @param {string} game
   * @param {string | null} player
   * @returns {Promise<{ seat: string, secret?: string }>}
   */
  async #reserve(game, player) {
    try {
      const { seats, secret } = await this.#ask('POST', `/games/${game}/seats`, { players: [{ player }] });
      return { seat: seats[0].id, secret };
    } catch (error) {
      if (error instanceof SessionError && error.code === 'already_seated' && error.seat) return { seat: error.seat };
      throw error;
    }
  }

  /**
   * Leaves for good. Ends when the session is over and its seat is free.
   * @param {Stay} stay
   * @returns {Promise<void>}
   */
  leave({ player, game, seat }) {
    return this.#complete('leave', async () => {
      await player.leave();
      player.close();
      await this.#until('the seat to be free', async () => {
        const now = await this.#ask('GET', `/games/${game.id}/seats/${seat}`);
        return now.status === 'ended' ? true : undefined;
      });
    });
  }

  /**
   * Asks a queue for a Game with seats, and ends when there is one.
   * @param {string} queue
   * @param {Record<string, unknown>} placement
   * @returns {Promise<Record<string, any>>}
   */
  createOnQueue(queue, placement) {
    return this.#complete('createOnQueue', async () => {
      const path = `/queues/${encodeURIComponent(queue)}/placements`;
      const begun = await this.#ask('POST', path, placement);
      const now = await this.#ended(`${path}/${encodeURIComponent(begun.id)}/events`);
      if (now.status !== 'fulfilled') throw new SessionError('refused', `the placement ended: ${now.status}`, { code: now.cause ?? now.status });
      return now;
    });
  }

  /**
   * Does something, and tells how it ended.
   * @template T
   * @param {string} name
   * @param {(configured: Configured) => Promise<T>} act
   * @returns {Promise<T>}
   */
  async #complete(name, act) {
    try {
      if (!this.#configured) throw new SessionError('not_configured', 'configure comes first');
      const value = await act(this.#configured);
      this.#events.tell(name, { value });
      return value;
    } catch (error) {
      this.#events.tell(name, { error });
      throw error;
    }
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {string} [secret] of what is given back
   * @returns {Promise<any>}
   */
  async #ask(method, path, body, secret) {
    const { patienceMs } = /** @type {Configured} */ (this.#configured);
    const answer = await this.#send(method, path, body, AbortSignal.timeout(patienceMs), secret);
    return answer.json().catch(() => null);
  }

  /**
   * Sends a request; what comes back has said yes.
   * @param {string} method
   * @param {string} path
   * @param {unknown} body
   * @param {AbortSignal} signal
   * @param {string} [secret]
   * @returns {Promise<Response>}
   */
  async #send(method, path, body, signal, secret) {
    const { endpoint, credentials } = /** @type {Configured} */ (this.#configured);
    const headers = {
      ...(credentials && { authorization: `Bearer ${credentials}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(secret !== undefined && { 'rejoin-secret': secret }),
    };
    const asked = { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal };
    const answer = await fetch(new URL(`/v1${path}`, endpoint), asked).catch((cause) => {
      throw new SessionError('unreachable', `${endpoint.host} does not answer`, { cause });
    });
    if (answer.ok) return answer;
    const told = await answer.json().catch(() => null);
    const sentence = told?.detail ?? told?.title ?? `the directory answered ${answer.status}`;
    throw new SessionError('refused', sentence, { code: told?.code, status: answer.status, seat: told?.seat });
  }

  /**
   * Follows the events of something until it has ended. A stream that breaks off is opened again: it
   * begins with how things are.
   * @param {string} path
   * @returns {Promise<any>}
   */
  #ended(path) {
    const { patienceMs } = /** @type {Configured} */ (this.#configured);
    const signal = AbortSignal.timeout(patienceMs);
    return this.#until('the placement to end', async () => {
      const answer = await this.#send('GET', path, undefined, signal);
      try {
        for await (const { name, data } of events(answer)) if (name === 'ended') return data;
      } catch (cause) {
        // A stream that broke off is no news: the next one is.
        if (signal.aborted) throw new SessionError('late', `the placement took longer than ${patienceMs} ms`, { cause });
      }
      return undefined;
    });
  }

  /**
   * Looks until there is something, less and less often.
   * @template T
   * @param {string} what
   * @param {() => Promise<T | undefined>} look
   * @returns {Promise<T>}
   */
  async #until(what, look) {
    const { patienceMs } = /** @type {Configured} */ (this.#configured);
    const end = Date.now() + patienceMs;
    for (let rest = LOOK_FROM_MS; ; rest = Math.min(2 * rest, LOOK_MAX_MS)) {
      const found = await look();
      if (found !== undefined) return found;
      if (Date.now() >= end) throw new SessionError('late', `${what} took longer than ${patienceMs} ms`);
      await new Promise((resolve) => setTimeout(resolve, rest));
    }
  }
}

/**
 * Where players connect, on the same server.
 * @param {URL} endpoint
 */
function play(endpoint) {
  const url = new URL('/play', endpoint);
  url.protocol = endpoint.protocol === 'https:' ? 'wss:' : 'ws:';
  return url;
}

/**
 * Waits until a player is welcomed.
 * @param {Player} player
 * @param {number} patienceMs
 * @returns {Promise<void>}
 */
function welcomed(player, patienceMs) {
  if (player.status === 'connected') return Promise.resolve();
  return new Promise((resolve, reject) => {
    const fail = (/** @type {string} */ sentence) => end(() => reject(new SessionError('unreachable', sentence)));
    const timer = setTimeout(() => fail(`no welcome within ${patienceMs} ms`), patienceMs);
    const stops = [
      player.on('connected', () => end(resolve)),
      player.on('stopped', ({ code, text }) => fail(text || `the server let nobody in: ${code}`)),
      player.on('failed', ({ error }) => fail(error.message)),
    ];
    const end = (/** @type {() => void} */ settle) => {
      clearTimeout(timer);
      for (const stop of stops) stop();
      settle();
    };
  });
}

/**
 * Waits for something that is over when the connection is.
 * @template T
 * @param {Player} player
 * @param {Promise<T>} something
 * @returns {Promise<T>}
 */
async function connectedWhile(player, something) {
  /** @type {() => void} */
  let stop = () => {};
  const gone = new Promise((_, reject) => {
    stop = player.on('disconnected', ({ code }) => {
      reject(new SessionError('unreachable', `the connection is gone: ${code ?? 'nobody said why'}`));
    });
  });
  try {
    return /** @type {T} */ (await Promise.race([something, gone]));
  } finally {
    stop();
    something.catch(() => {});
  }
}
