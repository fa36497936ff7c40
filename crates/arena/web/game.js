/**
 * What this page knows of the arena: what the server told, and when. Nothing is decided here; places
 * between two that were told are drawn a moment behind, where both are known.
 */

/** How far behind the server heroes are drawn. */
const BEHIND_MS = 110;
/** The time between two ticks. A hero that has stood does not glide from where it last was told. */
const TICK_MS = 50;
/** Places that are kept of a hero. */
const TRACK_MAX = 40;
/** How long an effect lasts. */
const EFFECT_MS = 700;

export class Game {
  width = 1600;
  height = 900;
  reach = 150;
  you = 0;
  /** @type {Map<number, any>} */
  heroes = new Map();
  /** @type {Map<number, { id: number, x: number, y: number, worth: number, since: number }>} */
  coins = new Map();
  /** @type {{ kind: string, x: number, y: number, text?: string, since: number }[]} */
  effects = [];

  /** Forgets everything for a whole picture. */
  show(scene, now) {
    Object.assign(this, { width: scene.width, height: scene.height, reach: scene.reach, you: scene.you });
    this.heroes.clear();
    this.coins.clear();
    this.effects = [];
    for (const figure of scene.heroes) this.#add(figure, now);
    for (const coin of scene.coins) this.#drop(coin, -Infinity);
  }

  /** Takes one piece of news, as `message.rs` describes them. */
  hear(news, now) {
    const [kind] = Object.keys(news);
    const told = news[kind];
    const hero = this.heroes.get(told.id);
    switch (kind) {
      case 'where': return this.#move(told, now);
      case 'came': return this.#add(told, now);
      case 'left': return void this.heroes.delete(told.id);
      case 'coin': return this.#drop(told, now);
      case 'took': return this.#take(hero, told, now);
      case 'zap': return this.#zap(hero, told, now);
      case 'fell': return this.#fall(hero, told, now);
      default:
    }
    if (!hero) return;
    if (kind === 'away') hero.awayUntil = now + told.ms;
    else if (kind === 'back') hero.awayUntil = null;
    else if (kind === 'named') hero.name = told.name;
  }

  get me() {
    return this.heroes.get(this.you);
  }

  /** The way to the coin that is nearest to the own hero; nothing when there is none. */
  nearestCoin() {
    if (!this.me) return null;
    const { x, y } = this.me.track.at(-1);
    const ways = [...this.coins.values()].map((coin) => ({ dx: coin.x - x, dy: coin.y - y }));
    return ways.reduce((best, way) => (best && Math.hypot(best.dx, best.dy) <= Math.hypot(way.dx, way.dy) ? best : way), null);
  }

  /** The best first. */
  ranking() {
    return [...this.heroes.values()].sort((a, b) => b.score - a.score || a.id - b.id);
  }

  /** Where a hero is drawn now, and which way it looks. */
  placeOf(hero, now) {
    const at = now - BEHIND_MS;
    const { track } = hero;
    let index = track.length - 1;
    while (index > 0 && track[index].at > at) index -= 1;
    const from = track[index];
    const to = track[index + 1] ?? from;
    const share = to === from ? 0 : Math.min(Math.max((at - from.at) / (to.at - from.at), 0), 1);
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    if (dx !== 0 || dy !== 0) hero.looks = Math.atan2(dy, dx);
    return { x: from.x + dx * share, y: from.y + dy * share, looks: hero.looks, moves: dx !== 0 || dy !== 0 };
  }

  /** Effects that still last. */
  lasting(now) {
    this.effects = this.effects.filter((effect) => now - effect.since < EFFECT_MS);
    return this.effects.map((effect) => ({ ...effect, share: Math.max((now - effect.since) / EFFECT_MS, 0) }));
  }

  #add(figure, now) {
    const { id, name, x, y, health, score, bot, away } = figure;
    const awayUntil = away === undefined ? null : now + away;
    this.heroes.set(id, { id, name, health, score, bot, awayUntil, looks: 1.2, track: [{ at: now, x, y }] });
  }

  #move(rows, now) {
    for (const [id, x, y, health] of rows) {
      const hero = this.heroes.get(id);
      if (!hero) continue;
      hero.health = health;
      const last = hero.track.at(-1);
      if (last.x === x && last.y === y) continue;
      const isJump = Math.hypot(x - last.x, y - last.y) > 120;
      if (isJump) hero.track = [];
      else if (now - last.at > 3 * TICK_MS) hero.track.push({ ...last, at: now - TICK_MS });
      hero.track.push({ at: now, x, y });
      if (hero.track.length > TRACK_MAX) hero.track.shift();
    }
  }

  #drop([id, x, y, worth], now) {
    this.coins.set(id, { id, x, y, worth, since: now });
  }

  #take(hero, { coin, score }, now) {
    const taken = this.coins.get(coin);
    this.coins.delete(coin);
    if (hero) hero.score = score;
    if (taken) this.#effect('plus', taken, now, `+${taken.worth}`);
  }

  #zap(hero, { hit }, now) {
    if (hero) this.#effect('zap', this.placeOf(hero, now), now);
    for (const id of hit) {
      const other = this.heroes.get(id);
      if (other) this.#effect('hurt', this.placeOf(other, now), now);
    }
  }

  #fall(hero, { by, score }, now) {
    if (hero) this.#effect('fall', this.placeOf(hero, now), now);
    const other = this.heroes.get(by);
    if (other) other.score = score;
  }

  #effect(kind, { x, y }, now, text) {
    this.effects.push({ kind, x, y, text, since: now });
  }
}
