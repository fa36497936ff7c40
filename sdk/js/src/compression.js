/**
 * Compressed frames: which may be, how they are packed, and how far they are inflated. A browser and
 * Node can inflate by themselves, but only in the background; so what comes behind a compressed frame
 * waits for it here, and order holds.
 */

import { join } from './bytes.js';
import { DecodeError } from './error.js';
import { atMost } from './limits.js';
import * as protobuf from './protobuf.js';

/** The capability by which a client asks for it. */
export const DEFLATE = 'deflate';
/** Shorter frames are left as they are. */
const BYTES_MIN = 1024;
/** With what a frame begins that is `packed`, and with what those that may be inside. */
const PACKED_TAG = tagOf(15);
const SERVER_TAGS = [tagOf(4), tagOf(9)];
const FORMAT = 'deflate-raw';
/** Bytes that are inflated before it is seen how many came out: a few megabytes at the very most. */
const SLICE_BYTES = 2048;

/** Whether this place can inflate; where it cannot, nobody is asked for compressed frames. */
export function canInflate() {
  try {
    return Boolean(new DecompressionStream(FORMAT) && new CompressionStream(FORMAT));
  } catch {
    return false;
  }
}

/** What comes on one connection, in order. */
export class Incoming {
  /** Both sides may compress from here on. */
  isCompressed = false;
  #bytesMax;
  /** What is being inflated, and all that came behind it. @type {Promise<void> | null} */
  #last = null;

  /** @param {number} bytesMax the longest frame of a server */
  constructor(bytesMax) {
    this.#bytesMax = bytesMax;
  }

  /**
   * A message came: it is heard now, or when all before it has been.
   * @param {Uint8Array | string} data
   * @param {(data: Uint8Array | string) => void} hear
   * @param {(error: DecodeError) => void} garbled it is compressed and no frame
   */
  take(data, hear, garbled) {
    if (typeof data === 'string' || !this.#isPacked(data)) {
      this.afterwards(() => hear(data));
      return;
    }
    this.#append(async () => {
      let frame;
      try {
        frame = await unpack(data, this.#bytesMax);
      } catch (error) {
        garbled(error instanceof DecodeError ? error : DecodeError.malformed());
        return;
      }
      hear(frame);
    });
  }

  /**
   * Does something when all that has come was heard.
   * @param {() => void} work
   */
  afterwards(work) {
    if (this.#last === null) work();
    else this.#append(async () => work());
  }

  /** @param {Uint8Array} data */
  #isPacked(data) {
    return this.isCompressed && data[0] === PACKED_TAG;
  }

  /** @param {() => Promise<void>} work */
  #append(work) {
    const mine = (this.#last ?? Promise.resolve()).then(work).finally(() => {
      if (this.#last === mine) this.#last = null;
    });
    this.#last = mine;
  }
}

/**
 * A frame of a client as it is sent where compression was agreed; a promise, where it is compressed.
 * @param {Uint8Array | string} frame
 * @returns {Uint8Array | string | Promise<Uint8Array>}
 */
export function pack(frame) {
  if (typeof frame === 'string' || frame.length < BYTES_MIN || !mayBePacked(frame)) return frame;
  return deflate(frame).then((packed) => (packed.length < frame.length ? packed : frame));
}

/**
 * The frame in a compressed one.
 * @param {Uint8Array} message
 * @param {number} max
 */
export async function unpack(message, max) {
  atMost('frame', message.length, max);
  const { tag, content } = onlyField(message);
  if (tag !== PACKED_TAG) throw DecodeError.malformed();
  const frame = await inflate(content, max);
  if (!SERVER_TAGS.includes(onlyField(frame).tag)) throw DecodeError.malformed();
  return frame;
}

/** @param {Uint8Array} frame */
async function deflate(frame) {
  const packed = await readAll(through(new CompressionStream(FORMAT), frame), Infinity);
  return protobuf.encode('ClientFrame', { packed });
}

/**
 * @param {Uint8Array} bytes
 * @param {number} max
 */
async function inflate(bytes, max) {
  try {
    return await readAll(through(new DecompressionStream(FORMAT), bytes), max);
  } catch (error) {
    // Cut short, damaged, or with something behind its end.
    throw error instanceof DecodeError ? error : DecodeError.malformed();
  }
}

/**
 * @param {CompressionStream | DecompressionStream} stream
 * @param {Uint8Array} bytes
 */
function through(stream, bytes) {
  // Whoever reads hears of the same failure.
  feed(stream.writable.getWriter(), bytes).catch(() => {});
  return stream.readable.getReader();
}

/**
 * In slices, each when the one before was taken: some streams inflate all they are given at once.
 * @param {WritableStreamDefaultWriter<BufferSource>} writer
 * @param {Uint8Array} bytes
 */
async function feed(writer, bytes) {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    await writer.write(/** @type {BufferSource} */ (bytes.subarray(at, at + SLICE_BYTES)));
  }
  await writer.close();
}

/**
 * What a stream gives, up to a bound; beyond it the stream is given up.
 * @param {ReadableStreamDefaultReader<Uint8Array>} reader
 * @param {number} max
 */
async function readAll(reader, max) {
  const parts = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return join(parts);
    length += value.length;
    if (length > max) {
      reader.cancel().catch(() => {});
      throw DecodeError.tooLarge('frame', length, max);
    }
    parts.push(value);
  }
}

/**
 * The first byte of a frame and the content of its field, if there is nothing else.
 * @param {Uint8Array} frame
 */
function onlyField(frame) {
  let [at, length, shift] = [1, 0, 1];
  for (;;) {
    const byte = frame[at];
    // A frame is shorter than four of these can say.
    if (byte === undefined || at > 4) throw DecodeError.malformed();
    at += 1;
    length += (byte & 0x7f) * shift;
    if (byte < 0x80) break;
    shift *= 0x80;
  }
  if (length !== frame.length - at) throw DecodeError.malformed();
  return { tag: frame[0], content: frame.subarray(at) };
}

/**
 * A join holds the ticket of a seat, a hello a proof: neither is ever compressed.
 * @param {Uint8Array} frame
 */
function mayBePacked(frame) {
  const { up } = protobuf.decode('ClientFrame', frame);
  return Boolean(up?.message || up?.answer);
}

/** @param {number} field */
function tagOf(field) {
  return (field << 3) | 2;
}
