/**
 * Where the client is in what the server says: a leg, and a number in it. Decides which frame is new,
 * which was had before, and which breaks the order. The position belongs to the session and outlives
 * its connections; it is given up only for a Resync, a new session, or a server that contradicts it.
 */

import { Violation } from './error.js';

/**
 * `unknown`: a resume from here is cold. `awaiting`: a Resync will open this leg or a later one. `at`:
 * everything up to `seq` of `leg` was consumed. `between`: a leg was consumed to its end and nothing
 * yet of the one that follows; the position is still the end.
 * @typedef {{ kind: 'unknown' }
 *   | { kind: 'awaiting', leg: bigint }
 *   | { kind: 'at', leg: bigint, seq: bigint }
 *   | { kind: 'between', ended: Position, leg: bigint }} Place
 * @typedef {{ leg: bigint, seq: bigint }} Position
 */

export class Downstream {
  /** @param {Place} [place] */
  constructor(place = { kind: 'unknown' }) {
    /** @type {Place} */
    this.place = place;
  }

  /** The same place, to be tried on. */
  copy() {
    return new Downstream(this.place);
  }

  /**
   * A welcome says how the stream goes on.
   * @param {'replayed' | 'resynced' | 'new'} rung
   * @param {string} reason
   * @param {bigint} leg
   */
  welcome(rung, reason, leg) {
    // A server that never gave this position need not go on behind it.
    const position = reason === 'unknown_position' ? null : this.position();
    const follows = {
      replayed: position !== null && position.leg === leg,
      resynced: position === null || leg > position.leg,
      new: true,
    }[rung];
    if (!follows) throw Violation.legBackwards(leg);
    if (rung === 'resynced') this.place = { kind: 'awaiting', leg };
    if (rung === 'new') this.place = { kind: 'at', leg, seq: 0n };
  }

  /**
   * The whole state, on a new leg.
   * @param {bigint} leg
   * @param {bigint} seq
   */
  resync(leg, seq) {
    const { place } = this;
    const follows =
      place.kind === 'awaiting' ? leg >= place.leg
      : place.kind === 'at' ? leg > place.leg
      : place.kind === 'between' ? leg > place.ended.leg
      : false;
    if (!follows) throw Violation.legBackwards(leg);
    this.place = { kind: 'at', leg, seq };
  }

  /**
   * A numbered frame. False: it was had before.
   * @param {any} down
   */
  take(down) {
    const { place } = this;
    if (place.kind === 'unknown' || place.kind === 'awaiting') throw Violation.outOfState();
    const { leg } = place;
    const seq = place.kind === 'at' ? place.seq : 0n;
    const opened = down.joined?.leg ?? (down.refused?.leg || undefined);
    if (opened !== undefined) return this.#open(leg, seq, opened, down.seq);
    if (down.seq <= seq) return false;
    if (!down.parted) {
      this.place = { kind: 'at', leg, seq: down.seq };
    } else {
      if (down.parted.leg <= leg) throw Violation.legBackwards(down.parted.leg);
      this.place = { kind: 'between', ended: { leg, seq: down.seq }, leg: down.parted.leg };
    }
    return true;
  }

  /** Gives the position up; the next resume is cold. */
  forget() {
    this.place = { kind: 'unknown' };
  }

  /** The connection is gone. A Resync that has not come will not come any more. */
  detach() {
    if (this.place.kind === 'awaiting') this.forget();
  }

  /**
   * What a resume names; nothing when it is cold.
   * @returns {Position | null}
   */
  position() {
    const { place } = this;
    if (place.kind === 'at') return { leg: place.leg, seq: place.seq };
    return place.kind === 'between' ? place.ended : null;
  }

  /**
   * What an acknowledgement names.
   * @returns {Position | null}
   */
  acked() {
    return this.place.kind === 'awaiting' ? { leg: this.place.leg, seq: 0n } : this.position();
  }

  /**
   * The open leg.
   * @returns {bigint | null}
   */
  openLeg() {
    return this.place.kind === 'at' || this.place.kind === 'between' ? this.place.leg : null;
  }

  /**
   * A frame that is the first of its leg.
   * @param {bigint} leg
   * @param {bigint} seq
   * @param {bigint} opened
   * @param {bigint} number
   */
  #open(leg, seq, opened, number) {
    if (opened === leg && number <= seq) return false;
    // The leg may have been named before, by a Parted or a welcome, and be empty still.
    if (opened < leg || (opened === leg && seq > 0n)) throw Violation.legBackwards(opened);
    this.place = { kind: 'at', leg: opened, seq: number };
    return true;
  }
}
