/**
 * The player's key: Ed25519 by WebCrypto. There is none in a page that did not come from a secure
 * context (`https`, or this machine), nor in a browser that does not know the algorithm.
 */

import { join } from './bytes.js';
import { OpenError } from './error.js';

/** What PKCS #8 puts before the 32 secret bytes of an Ed25519 key. */
const PKCS8_HEAD = Uint8Array.of(0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20);
const SEED_BYTES = 32;

/** Whoever has it is the player, on every server. */
export class Key {
  #secret;

  /**
   * @param {CryptoKey} secret
   * @param {Uint8Array} publicKey
   */
  constructor(secret, publicKey) {
    this.#secret = secret;
    this.publicKey = publicKey;
  }

  /** A new key. */
  static async generate() {
    const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
    return { key: await Key.fromSeed(seed), seed };
  }

  /**
   * The key that these secret bytes are.
   * @param {Uint8Array} seed
   */
  static async fromSeed(seed) {
    if (seed.length !== SEED_BYTES) {
      throw new OpenError('key', `a key is ${SEED_BYTES} bytes; what is stored has ${seed.length}`);
    }
    const algorithm = { name: 'Ed25519' };
    const pkcs8 = join([PKCS8_HEAD, seed]);
    const readable = await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, true, ['sign']);
    const { x } = await crypto.subtle.exportKey('jwk', readable);
    const publicKey = fromBase64Url(x ?? '');
    // What signs from now on cannot be read out again.
    return new Key(await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']), publicKey);
  }

  /**
   * The signature over a text. An attacker who can have a text of its own signed can log in as this
   * player anywhere: offer this to nobody but a machine.
   * @param {Uint8Array} text
   */
  async sign(text) {
    const signature = await crypto.subtle.sign({ name: 'Ed25519' }, this.#secret, /** @type {BufferSource} */ (text));
    return new Uint8Array(signature);
  }
}

/** Whether keys can be used here. */
export async function hasKeys() {
  if (!globalThis.crypto?.subtle) return false;
  try {
    await Key.fromSeed(new Uint8Array(SEED_BYTES));
    return true;
  } catch {
    return false;
  }
}

/** @param {string} text */
function fromBase64Url(text) {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
