/**
 * What goes wrong, by who is told: bytes that are no frame, a server that breaks the protocol, a send
 * that is not taken, a call without an answer, a player that cannot start. Each has a `kind` that
 * never changes and a sentence for people. Only what a server says about a refusal is repeated in one.
 */

/** Why bytes are not a frame. */
export class DecodeError extends Error {
  /**
   * @param {'malformed' | 'too_large' | 'wrong_length' | 'empty' | 'zero_seq' | 'not_agreed'} kind
   * @param {string} sentence
   */
  constructor(kind, sentence) {
    super(sentence);
    this.name = 'DecodeError';
    this.kind = kind;
  }

  /** The code with which a connection is closed for it. */
  get closeCode() {
    if (this.kind === 'not_agreed') return 'out_of_state';
    return this.kind === 'too_large' ? 'too_large' : 'malformed';
  }

  static notAgreed() {
    return new DecodeError('not_agreed', 'the frame is compressed; that was not agreed on this connection');
  }

  static malformed() {
    return new DecodeError('malformed', 'the bytes are not a frame');
  }

  /**
   * @param {string} field
   * @param {number} length
   * @param {number} max
   */
  static tooLarge(field, length, max) {
    return new DecodeError('too_large', `${field} is ${length} long; at most ${max} is allowed`);
  }
}

/** What a server did that it may not. The connection is closed, and the client comes back cold. */
export class Violation extends Error {
  /**
   * @param {'undecodable' | 'out_of_state' | 'bad_welcome' | 'leg_backwards' | 'applied_ahead' | 'applied_behind'} kind
   * @param {string} sentence
   * @param {string} closeCode
   */
  constructor(kind, sentence, closeCode = 'out_of_state') {
    super(sentence);
    this.name = 'Violation';
    this.kind = kind;
    this.closeCode = closeCode;
  }

  static outOfState() {
    return new Violation('out_of_state', 'the frame may not stand here');
  }

  static badWelcome() {
    return new Violation('bad_welcome', 'the welcome does not answer the hello');
  }

  /** @param {bigint} leg */
  static legBackwards(leg) {
    return new Violation('leg_backwards', `leg ${leg} does not follow`);
  }

  /** @param {bigint} applied */
  static appliedAhead(applied) {
    return new Violation('applied_ahead', `${applied} was never sent`, 'number_gap');
  }

  /** @param {bigint} applied */
  static appliedBehind(applied) {
    return new Violation('applied_behind', `${applied} is less than before`, 'number_gap');
  }

  /** @param {DecodeError} error */
  static undecodable(error) {
    return new Violation('undecodable', error.message, error.closeCode);
  }
}

/** Why a send was not taken. Nothing of it is kept. */
export class SendError extends Error {
  /** @param {'full' | 'too_many_requests' | 'too_large' | 'empty_key' | 'not_connected' | 'leaving'} kind */
  constructor(kind, sentence = SEND_SENTENCES[kind]) {
    super(sentence);
    this.name = 'SendError';
    this.kind = kind;
  }
}

const SEND_SENTENCES = {
  full: 'the send buffer is full: the server has not acknowledged enough; send less, or later',
  too_many_requests: 'too many calls have not ended',
  too_large: 'a payload or a name is over its limit',
  empty_key: 'a latest value needs a key',
  not_connected: 'unreliable messages are not kept, and there is no connection',
  leaving: 'the player is leaving: nothing comes after that',
};

/**
 * Why a call, a join or a part has no answer. `outcome_unknown`: it may have been applied. `not_sent`:
 * it never left this client. `refused`: it was consumed and not applied, and `code` says why.
 */
export class CallError extends Error {
  /**
   * @param {'outcome_unknown' | 'not_sent' | 'refused'} kind
   * @param {{ code?: string, sentence?: string, isLate?: boolean, cause?: Error | null }} [more]
   *   `cause`: why there was no connection
   */
  constructor(kind, { code, sentence, isLate = false, cause = null } = {}) {
    const why = code ?? cause?.message;
    super(sentence || CALL_SENTENCES[kind] + (why ? `: ${why}` : ''), cause ? { cause } : undefined);
    this.name = 'CallError';
    this.kind = kind;
    /** Why it was refused. */
    this.code = code;
    /** Whether it ended because its deadline came. */
    this.isLate = isLate;
  }
}

const CALL_SENTENCES = {
  outcome_unknown: 'nobody can say whether it was applied',
  not_sent: 'it was never sent',
  refused: 'it was refused',
};

/**
 * Why a player has no connection. `address`, `option`, `key`, `websocket`: it cannot start. `origin`: the
 * server lets no page of this origin in. `unreachable`: nobody answers. `refused`: the server said no, and
 * `code` says why.
 */
export class OpenError extends Error {
  /**
   * @param {'address' | 'key' | 'websocket' | 'option' | 'origin' | 'unreachable' | 'refused'} kind
   * @param {string} sentence
   * @param {string | null} [code]
   */
  constructor(kind, sentence, code = null) {
    super(sentence);
    this.name = 'OpenError';
    this.kind = kind;
    this.code = code;
  }
}
