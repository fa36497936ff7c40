/**
 * Everything on the page that is text: the strip with the connection's figures, the leaderboard, the
 * notices. Names and words of the server are set as text, never as markup.
 */

import { colorOf } from './draw.js';

const STATES = {
  idle: 'not connected',
  stopped: 'stopped',
  waiting: 'trying again soon',
  connecting: 'connecting',
  connected: 'connected',
  elsewhere: 'playing elsewhere',
};
const REASONS = {
  complete: 'nothing was lost',
  cold: 'the page was loaded anew',
  overrun: 'more was missed than is kept',
  rolled_back: 'the arena went back to its last save',
  zone_lost: 'the arena is gone',
  unknown_position: 'the server does not know where this page was',
  first: 'a first login',
  fresh: 'as asked',
};
const AFTER = {
  session_unknown: 'the old one was held for 15 s and has ended',
  ended: 'the old one has ended',
  token_retired: 'the key to the old one was worn out',
  superseded: 'the old one was given up',
};
const TOAST_MS = 5000;
const BOARD_MAX = 8;

const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

export class Strip {
  /** @type {any} */
  #toast = null;
  #board = '';

  state(status) {
    at('state').textContent = STATES[status] ?? status;
    at('state').dataset.state = status;
  }

  latency({ smoothedMs }) {
    at('latency').textContent = `${Math.round(smoothedMs)} ms`;
  }

  session(session) {
    at('session').textContent = session === null ? '–' : String(session);
  }

  /** How a return went, in figures and in a sentence. */
  returned({ rung, reason, replayed, lost, after }) {
    const count = lost.upstream + lost.sends.length;
    at('rung').textContent = sentence(rung, reason, after);
    at('rung').dataset.rung = rung;
    at('replayed').textContent = String(replayed);
    at('lost').textContent = String(count);
    const words = {
      replayed: `You are back: ${replayed} messages caught up, nothing lost.`,
      resynced: `You are back with a fresh picture: ${REASONS[reason] ?? reason}.`,
      new: `A new session: ${AFTER[after] ?? after ?? REASONS[reason] ?? reason}.`,
    };
    const doubt = count > 0 ? ` ${count} of your inputs may be lost.` : '';
    this.say(words[rung] + doubt);
  }

  say(words) {
    clearTimeout(this.#toast);
    at('toast').textContent = words;
    at('toast').classList.add('shown');
    this.#toast = setTimeout(() => at('toast').classList.remove('shown'), TOAST_MS);
  }

  /** Covers the ground with a card; without words it is taken away. */
  veil(words) {
    at('veil').hidden = !words;
    if (!words) return;
    at('veil-title').textContent = words.title;
    at('veil-text').textContent = words.text;
    const button = /** @type {HTMLButtonElement} */ (at('veil-button'));
    button.hidden = !words.button;
    button.textContent = words.button ?? '';
    button.onclick = words.act ?? null;
    if (words.button) button.focus();
  }

  /** @param {import('./game.js').Game} game */
  board(game) {
    const rows = game.ranking().slice(0, BOARD_MAX);
    const picture = JSON.stringify(rows.map(({ id, name, score, awayUntil }) => [id, name, score, awayUntil === null]));
    if (picture === this.#board) return;
    this.#board = picture;
    at('board').replaceChildren(...rows.map((hero, index) => row(hero, index, hero.id === game.you)));
  }

  /** The own hero in words, for whoever cannot see the picture. */
  me(hero, coin) {
    const { dataset } = at('me');
    if (!hero) {
      at('me').textContent = 'You are not in the arena.';
      delete dataset.id;
      return;
    }
    const { x, y } = hero.track.at(-1);
    at('me').textContent = `You are ${hero.name}, at ${x}, ${y}, with ${hero.score} points and health ${hero.health}.${direction(coin)}`;
    Object.assign(dataset, { id: hero.id, x, y, score: hero.score, name: hero.name, dx: coin?.dx ?? 0, dy: coin?.dy ?? 0 });
  }
}

function direction(coin) {
  if (!coin) return '';
  const [dx, dy] = [Math.abs(coin.dx), Math.abs(coin.dy)];
  return ` The nearest coin is ${dx} to the ${coin.dx < 0 ? 'left' : 'right'} and ${dy} ${coin.dy < 0 ? 'up' : 'down'}.`;
}

function sentence(rung, reason, after) {
  const why = after ? (AFTER[after] ?? after) : (REASONS[reason] ?? reason);
  return `${rung[0].toUpperCase()}${rung.slice(1)}: ${why}`;
}

function row(hero, index, isYou) {
  const item = document.createElement('li');
  item.classList.toggle('you', isYou);
  item.classList.toggle('away', hero.awayUntil !== null);
  const who = part('who', hero.name);
  const note = hero.bot ? ' bot' : hero.awayUntil !== null ? ' away' : isYou ? ' you' : '';
  if (note) who.append(Object.assign(document.createElement('small'), { textContent: note }));
  item.append(part('place', String(index + 1)), dot(hero.id), who, part('score', String(hero.score)));
  return item;
}

function part(name, text) {
  return Object.assign(document.createElement('span'), { className: name, textContent: text });
}

function dot(id) {
  const dot = part('dot', '');
  dot.style.background = colorOf(id);
  dot.style.borderRadius = '50%';
  return dot;
}
