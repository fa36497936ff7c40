/**
 * Which way the player wants to go: from keys, or from a stick under a thumb. Tells the way when it
 * changes, as a vector whose length 100 is full speed.
 */

/** By the place of a key, so that they lie under the same fingers on every keyboard. */
const KEYS = {
  KeyW: [0, -1],
  KeyA: [-1, 0],
  KeyS: [0, 1],
  KeyD: [1, 0],
  ArrowUp: [0, -1],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowRight: [1, 0],
};
const FULL = 100;
/** A thumb that rests does not steer. */
const REST = 0.15;
/** Ways of a stick, all around: a trembling thumb does not send a message each time. */
const STEPS = 32;

export class Steer {
  /** @type {[number, number]} */
  way = [0, 0];
  #held = new Set();
  #told;
  #zap;

  /**
   * @param {{ stick: HTMLElement, knob: HTMLElement, zap: HTMLElement }} parts
   * @param {{ go: (way: [number, number]) => void, zap: () => void }} told
   */
  constructor(parts, told) {
    this.#told = told.go;
    this.#zap = told.zap;
    addEventListener('keydown', (event) => this.#key(event, true));
    addEventListener('keyup', (event) => this.#key(event, false));
    // Whoever looks elsewhere does not hold a key here.
    addEventListener('blur', () => this.#release());
    parts.zap.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      this.#zap();
    });
    this.#listenToStick(parts.stick, parts.knob);
  }

  #key(event, isDown) {
    if (event.target instanceof HTMLInputElement && event.target.type !== 'range') return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isOnButton = event.target instanceof HTMLButtonElement;
    if (event.code === 'Space' && !isOnButton) {
      event.preventDefault();
      if (isDown && !event.repeat) this.#zap();
    }
    if (!(event.code in KEYS) || (event.target instanceof HTMLInputElement && event.code.startsWith('Arrow'))) return;
    event.preventDefault();
    if (isDown) this.#held.add(event.code);
    else this.#held.delete(event.code);
    this.#steerByKeys();
  }

  #steerByKeys() {
    let [x, y] = [0, 0];
    for (const code of this.#held) {
      x += KEYS[code][0];
      y += KEYS[code][1];
    }
    [x, y] = [Math.sign(x), Math.sign(y)];
    const length = Math.hypot(x, y) || 1;
    this.#go([Math.round((x * FULL) / length), Math.round((y * FULL) / length)]);
  }

  #release() {
    this.#held.clear();
    this.#go([0, 0]);
  }

  #listenToStick(stick, knob) {
    const move = (event) => {
      const { left, top, width } = stick.getBoundingClientRect();
      const reach = width / 2;
      let [x, y] = [(event.clientX - left - reach) / reach, (event.clientY - top - reach) / reach];
      const length = Math.hypot(x, y);
      if (length > 1) [x, y] = [x / length, y / length];
      place(knob, x, y);
      const turn = (Math.round((Math.atan2(y, x) * STEPS) / (2 * Math.PI)) * 2 * Math.PI) / STEPS;
      const speed = length < REST ? 0 : FULL;
      this.#go([Math.round(Math.cos(turn) * speed), Math.round(Math.sin(turn) * speed)]);
    };
    const end = () => {
      place(knob, 0, 0);
      this.#go([0, 0]);
    };
    stick.addEventListener('pointerdown', (event) => {
      stick.setPointerCapture(event.pointerId);
      move(event);
    });
    stick.addEventListener('pointermove', (event) => {
      if (stick.hasPointerCapture(event.pointerId)) move(event);
    });
    stick.addEventListener('pointerup', end);
    stick.addEventListener('pointercancel', end);
  }

  #go(way) {
    if (way[0] === this.way[0] && way[1] === this.way[1]) return;
    this.way = way;
    this.#told(way);
  }
}

function place(knob, x, y) {
  knob.style.transform = `translate(${x * 30}px, ${y * 30}px)`;
}
