/**
 * Reads a JSON text without losing what `JSON.parse` loses: the digits of a large number, and that a
 * name came twice. Objects come out as lists of pairs, numbers as their digits. Nesting is bounded, so
 * that no text can exhaust the stack.
 */

import { DecodeError } from '../error.js';

const DEPTH_MAX = 128;
const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;

/** An object: its members in the order of the text. */
export class Members {
  /** @param {[string, any][]} pairs */
  constructor(pairs) {
    this.pairs = pairs;
  }
}

/** A number: its digits. */
export class Digits {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
}

/**
 * Reads one value that is the whole text.
 * @param {string} text
 * @returns {any}
 */
export function parse(text) {
  const scanner = new Scanner(text);
  const value = scanner.value(0);
  scanner.end();
  return value;
}

class Scanner {
  #text;
  #at = 0;

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
  }

  end() {
    this.#match(SPACE);
    if (this.#at < this.#text.length) throw DecodeError.malformed();
  }

  /**
   * @param {number} depth
   * @returns {any}
   */
  value(depth) {
    if (depth >= DEPTH_MAX) throw DecodeError.malformed();
    this.#match(SPACE);
    switch (this.#text[this.#at]) {
      case '{': return this.#members(depth);
      case '[': return this.#list(depth);
      case '"': return this.#string();
      case 't': return this.#word('true', true);
      case 'f': return this.#word('false', false);
      case 'n': return this.#word('null', null);
      default: return this.#number();
    }
  }

  /** @param {number} depth */
  #members(depth) {
    /** @type {[string, any][]} */
    const pairs = [];
    this.#take('{');
    if (this.#takes('}')) return new Members(pairs);
    do {
      this.#match(SPACE);
      const name = this.#string();
      this.#take(':');
      pairs.push([name, this.value(depth + 1)]);
    } while (this.#takes(','));
    this.#take('}');
    return new Members(pairs);
  }

  /** @param {number} depth */
  #list(depth) {
    /** @type {any[]} */
    const list = [];
    this.#take('[');
    if (this.#takes(']')) return list;
    do {
      list.push(this.value(depth + 1));
    } while (this.#takes(','));
    this.#take(']');
    return list;
  }

  #string() {
    const start = this.#at;
    this.#take('"');
    const plain = this.#match(PLAIN);
    if (this.#text[this.#at] === '"') {
      this.#at += 1;
      return plain;
    }
    while (this.#text[this.#at] === '\\') {
      this.#at += 2;
      this.#match(PLAIN);
    }
    this.#take('"');
    const value = unescaped(this.#text.slice(start, this.#at));
    // Half a character cannot be written as UTF-8.
    if (/\p{Surrogate}/u.test(value)) throw DecodeError.malformed();
    return value;
  }

  #number() {
    const digits = this.#match(NUMBER);
    if (digits === '') throw DecodeError.malformed();
    return new Digits(digits);
  }

  /**
   * @param {string} word
   * @param {boolean | null} value
   */
  #word(word, value) {
    if (!this.#text.startsWith(word, this.#at)) throw DecodeError.malformed();
    this.#at += word.length;
    return value;
  }

  /** @param {string} sign */
  #take(sign) {
    if (!this.#takes(sign)) throw DecodeError.malformed();
  }

  /** @param {string} sign */
  #takes(sign) {
    if (sign !== '"') this.#match(SPACE);
    const found = this.#text[this.#at] === sign;
    if (found) this.#at += 1;
    return found;
  }

  /**
   * What the pattern finds right here; empty when it finds nothing.
   * @param {RegExp} pattern
   */
  #match(pattern) {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }
}

/** @param {string} quoted */
function unescaped(quoted) {
  try {
    return /** @type {string} */ (JSON.parse(quoted));
  } catch {
    throw DecodeError.malformed();
  }
}
