/**
 * Draws the arena. On a large screen all of it fits; on a small one the view follows the own hero.
 */

import { layOut } from './labels.js';

/** Screen pixels of a unit at the least: below this a hero is too small to see. */
const SCALE_MIN = 0.56;
const RADIUS = 24;
const GRID = 100;
/** A line of text, and how much of it is below its base line. */
const TEXT_HEIGHT = 26;
const TEXT_FOOT = 6;

const COLORS = ['page', 'panel', 'text', 'dim', 'accent', 'good', 'warn', 'bad', 'ground', 'ground-far', 'grid', 'edge', 'coin', 'coin-edge', 'gold'];

/** The colour of a hero, the same everywhere. */
export function colorOf(id) {
  return `hsl(${(id * 137.5 + 215) % 360} 72% 58%)`;
}

export class Picture {
  #canvas;
  #pen;
  /** @type {Record<string, string>} */
  #colors = {};
  #isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.#canvas = canvas;
    this.#pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    this.#readColors();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#readColors());
  }

  /** @param {import('./game.js').Game} game */
  draw(game, now) {
    const { width, height } = this.#fit();
    const pen = this.#pen;
    const places = new Map();
    for (const hero of game.heroes.values()) places.set(hero, game.placeOf(hero, now));
    const view = viewOf(game, places.get(game.me), width, height);
    pen.fillStyle = this.#colors.page;
    pen.fillRect(0, 0, width, height);
    pen.save();
    pen.translate(view.left, view.top);
    pen.scale(view.scale, view.scale);
    this.#ground(game);
    for (const coin of game.coins.values()) this.#coin(coin, now);
    for (const [hero, place] of places) if (hero !== game.me) this.#hero(game, hero, place, now);
    if (game.me) this.#hero(game, game.me, places.get(game.me), now);
    this.#labels(game, places, seenOf(game, view, width, height), now);
    for (const effect of game.lasting(now)) this.#effect(game, effect);
    pen.restore();
  }

  #readColors() {
    const style = getComputedStyle(document.documentElement);
    for (const name of COLORS) this.#colors[name] = style.getPropertyValue(`--${name}`).trim();
  }

  /** As many pixels as the screen has. */
  #fit() {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const ratio = devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.#canvas.width !== w || this.#canvas.height !== h) Object.assign(this.#canvas, { width: w, height: h });
    this.#pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { width, height };
  }

  #ground({ width, height }) {
    const pen = this.#pen;
    const light = pen.createRadialGradient(width / 2, height / 2, 100, width / 2, height / 2, width * 0.62);
    light.addColorStop(0, this.#colors['ground-far']);
    light.addColorStop(1, this.#colors.ground);
    pen.fillStyle = light;
    pen.beginPath();
    pen.roundRect(0, 0, width, height, 28);
    pen.fill();
    pen.save();
    pen.clip();
    pen.strokeStyle = this.#colors.grid;
    pen.lineWidth = 2;
    pen.beginPath();
    for (let x = GRID; x < width; x += GRID) line(pen, x, 0, x, height);
    for (let y = GRID; y < height; y += GRID) line(pen, 0, y, width, y);
    pen.stroke();
    pen.restore();
    pen.strokeStyle = this.#colors.edge;
    pen.lineWidth = 4;
    pen.beginPath();
    pen.roundRect(0, 0, width, height, 28);
    pen.stroke();
  }

  #coin({ id, x, y, worth, since }, now) {
    const pen = this.#pen;
    const isGold = worth > 1;
    // A frame's instant may lie before the news that came ahead of it.
    const grown = Math.min(Math.max((now - since) / 250, 0), 1);
    const time = this.#isCalm ? 0 : now / 1000 + id * 1.7;
    const size = (isGold ? 17 : 12) * grown;
    const color = isGold ? this.#colors.gold : this.#colors.coin;
    pen.save();
    pen.translate(x, y + Math.sin(time * 2.2) * 2.5);
    const glow = pen.createRadialGradient(0, 0, size * 0.4, 0, 0, size * 2.4);
    glow.addColorStop(0, color);
    glow.addColorStop(1, `${color}00`);
    pen.globalAlpha = 0.2 + 0.1 * Math.sin(time * 3);
    disc(pen, glow, size * 2.4);
    pen.globalAlpha = 1;
    // It turns: seen from the side it is narrow.
    pen.scale(0.45 + 0.55 * Math.abs(Math.cos(time * 1.4)), 1);
    if (isGold) star(pen, color, size);
    else disc(pen, color, size);
    pen.lineWidth = 2.5;
    pen.strokeStyle = this.#colors['coin-edge'];
    pen.stroke();
    pen.restore();
    this.#sparkle(x, y, size, time);
  }

  #sparkle(x, y, size, time) {
    const glint = Math.sin(time * 2.6);
    if (glint < 0.75 || this.#isCalm) return;
    const pen = this.#pen;
    const arm = (glint - 0.75) * 4 * size * 0.8;
    pen.save();
    pen.translate(x + size * 0.55, y - size * 0.6);
    pen.strokeStyle = '#fff';
    pen.lineWidth = 2;
    pen.beginPath();
    line(pen, -arm, 0, arm, 0);
    line(pen, 0, -arm, 0, arm);
    pen.stroke();
    pen.restore();
  }

  #hero(game, hero, place, now) {
    const pen = this.#pen;
    const isGhost = hero.awayUntil !== null;
    const isMe = hero === game.me;
    pen.save();
    pen.translate(place.x, place.y);
    if (isMe) this.#halo(now);
    pen.globalAlpha = isGhost ? 0.34 : 1;
    this.#shade();
    disc(pen, this.#body(hero.id), RADIUS);
    pen.lineWidth = 3;
    pen.strokeStyle = isMe ? this.#colors.text : 'rgb(0 0 0 / .25)';
    if (isGhost) pen.setLineDash([7, 6]);
    pen.stroke();
    pen.setLineDash([]);
    this.#eyes(place.looks, isGhost);
    pen.globalAlpha = 1;
    if (!isGhost && hero.health < 100) this.#health(hero.health);
    pen.restore();
  }

  /** A ball, lit from the upper left. */
  #body(id) {
    const body = this.#pen.createRadialGradient(-8, -10, 3, 0, 0, RADIUS);
    body.addColorStop(0, `hsl(${(id * 137.5 + 215) % 360} 85% 74%)`);
    body.addColorStop(1, colorOf(id));
    return body;
  }

  #halo(now) {
    const pen = this.#pen;
    const breath = this.#isCalm ? 0 : Math.sin(now / 400) * 2;
    pen.beginPath();
    pen.arc(0, 0, RADIUS + 9 + breath, 0, Math.PI * 2);
    pen.strokeStyle = this.#colors.accent;
    pen.lineWidth = 3;
    pen.stroke();
  }

  #shade() {
    const pen = this.#pen;
    pen.beginPath();
    pen.ellipse(0, RADIUS - 1, RADIUS * 0.85, 7, 0, 0, Math.PI * 2);
    pen.fillStyle = 'rgb(0 0 0 / .22)';
    pen.fill();
  }

  #eyes(looks, isGhost) {
    const pen = this.#pen;
    for (const side of [-1, 1]) {
      const turn = looks + side * 0.55;
      const [x, y] = [Math.cos(turn) * 12, Math.sin(turn) * 12];
      pen.beginPath();
      pen.arc(x, y, 6, 0, Math.PI * 2);
      pen.fillStyle = '#fff';
      pen.fill();
      if (isGhost) continue;
      pen.beginPath();
      pen.arc(x + Math.cos(looks) * 2.2, y + Math.sin(looks) * 2.2, 3, 0, Math.PI * 2);
      pen.fillStyle = '#15171f';
      pen.fill();
    }
  }

  /** Names above all heroes, the own one first; and how long a ghost is waited for. */
  #labels(game, places, seen, now) {
    const pen = this.#pen;
    const shown = [...places].filter(([, { x, y }]) => x >= seen.left && x <= seen.right && y >= seen.top && y <= seen.bottom);
    shown.sort(([one], [other]) => Number(other === game.me) - Number(one === game.me) || one.id - other.id);
    const texts = shown.flatMap(([hero, place]) => this.#textsOf(game, hero, place, now));
    pen.save();
    pen.textAlign = 'center';
    pen.lineWidth = 5;
    pen.lineJoin = 'round';
    pen.strokeStyle = this.#colors.ground;
    const labels = texts.map((each) => {
      pen.font = each.font;
      return { ...each, width: pen.measureText(each.text).width + 6, height: TEXT_HEIGHT };
    });
    layOut(labels, seen).forEach(({ x, y }, index) => {
      const { text, font, color, alpha } = labels[index];
      Object.assign(pen, { font, fillStyle: color, globalAlpha: alpha });
      pen.strokeText(text, x, y - TEXT_FOOT);
      pen.fillText(text, x, y - TEXT_FOOT);
    });
    pen.restore();
  }

  #textsOf(game, hero, { x, y }, now) {
    const isMe = hero === game.me;
    const isGhost = hero.awayUntil !== null;
    const family = 'system-ui, "DejaVu Sans", sans-serif';
    const name = {
      text: hero.name,
      font: `${isMe ? 700 : 550} 21px ${family}`,
      color: isMe ? this.#colors.text : this.#colors.dim,
      alpha: isGhost ? 0.75 : 1,
      x,
      y: y - RADIUS - 12,
      below: y + RADIUS + 20 + TEXT_HEIGHT,
    };
    if (!isGhost) return [name];
    const left = Math.max(Math.ceil((hero.awayUntil - now) / 1000), 0);
    const below = y + RADIUS + 8 + TEXT_HEIGHT;
    const text = left > 0 ? `back within ${left} s?` : 'any moment…';
    // Below its hero if there is room, and else above.
    return [name, { ...name, text, font: `650 20px ${family}`, color: this.#colors.warn, alpha: 0.9, y: below, below: y - RADIUS - 12 }];
  }

  #health(health) {
    const pen = this.#pen;
    const [width, top] = [52, RADIUS + 11];
    pen.fillStyle = this.#colors.edge;
    pen.beginPath();
    pen.roundRect(-width / 2, top, width, 7, 3.5);
    pen.fill();
    pen.fillStyle = health > 60 ? this.#colors.good : health > 30 ? this.#colors.warn : this.#colors.bad;
    pen.beginPath();
    pen.roundRect(-width / 2, top, Math.max((width * health) / 100, 7), 7, 3.5);
    pen.fill();
  }

  #effect(game, { kind, x, y, text, share }) {
    const pen = this.#pen;
    pen.save();
    pen.translate(x, y);
    pen.globalAlpha = 1 - share;
    if (kind === 'plus') {
      pen.font = '700 26px system-ui, "DejaVu Sans", sans-serif';
      pen.textAlign = 'center';
      pen.fillStyle = this.#colors.coin;
      pen.fillText(text, 0, -20 - share * 40);
    } else {
      const color = kind === 'zap' ? this.#colors.accent : this.#colors.bad;
      const radius = kind === 'zap' ? game.reach * (1 - (1 - share) ** 3) : RADIUS * (1 + share * (kind === 'fall' ? 3 : 1));
      pen.beginPath();
      pen.arc(0, 0, radius, 0, Math.PI * 2);
      pen.lineWidth = kind === 'zap' ? 6 : 9 * (1 - share) + 1;
      pen.strokeStyle = color;
      pen.stroke();
      if (kind === 'zap') {
        pen.globalAlpha = (1 - share) * 0.13;
        pen.fillStyle = color;
        pen.fill();
      }
    }
    pen.restore();
  }
}

/** All of it in the middle, or as much as fits around the own hero. */
function viewOf(game, me, width, height) {
  const margin = 6;
  const scale = Math.max(Math.min((width - margin) / game.width, (height - margin) / game.height), SCALE_MIN);
  const along = (room, size, at) => {
    const whole = size * scale;
    if (whole + margin <= room + 1) return (room - whole) / 2;
    return Math.min(Math.max(room / 2 - at * scale, room - whole - margin / 2), margin / 2);
  };
  return {
    scale,
    left: along(width, game.width, me?.x ?? game.width / 2),
    top: along(height, game.height, me?.y ?? game.height / 2),
  };
}

/** What of the ground is on the screen, in its units. */
function seenOf(game, { left, top, scale }, width, height) {
  return {
    left: Math.max(-left / scale, 0),
    top: Math.max(-top / scale, 0),
    right: Math.min((width - left) / scale, game.width),
    bottom: Math.min((height - top) / scale, game.height),
  };
}

function line(pen, fromX, fromY, toX, toY) {
  pen.moveTo(fromX, fromY);
  pen.lineTo(toX, toY);
}

function disc(pen, fill, radius) {
  pen.beginPath();
  pen.arc(0, 0, radius, 0, Math.PI * 2);
  pen.fillStyle = fill;
  pen.fill();
}

function star(pen, fill, radius) {
  pen.beginPath();
  for (let point = 0; point < 10; point += 1) {
    const turn = (point * Math.PI) / 5 - Math.PI / 2;
    const reach = point % 2 === 0 ? radius : radius * 0.5;
    pen.lineTo(Math.cos(turn) * reach, Math.sin(turn) * reach);
  }
  pen.closePath();
  pen.fillStyle = fill;
  pen.fill();
}
