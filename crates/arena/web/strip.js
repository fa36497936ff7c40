/**
 * Everything on the page that is text: the strip with the connection's figures, the leaderboard, the
 * notices. Names and words of the server are set as text, never as markup.
 */

import { backToGame } from './controls.js';
import { colorOf } from './draw.js';

const STATES = {
  idle: 'not connected',
  stopped: 'stopped',
  waiting: 'trying again',
  connecting: 'connecting',
  connected: 'connected',
  elsewhere: 'playing elsewhere',
};
const REASONS = {
  complete: 'nothing was lost',
  cold: 'this page had lost its place',
  overrun: 'more was missed than is kept',
  rolled_back: 'the arena went back to its last save',
  zone_lost: 'the arena is gone',
  unknown_position: 'the server does not know where this page was',
  first: 'a first login',
  fresh: 'as asked',
};
/** What the player did counts more than what the protocol made of it. */
const DEEDS = {
  reload: 'the page was loaded anew',
  takeBack: 'taken back from the other tab',
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

  /** The last round trip: a smoothed one would lag behind the slider. */
  latency({ lastMs }) {
    at('latency').textContent = `${Math.round(lastMs)} ms`;
  }

  /** Which session of this tab it is; its number on the server says nothing to a player. */
  session(count) {
    at('session').textContent = `${count}${['th', 'st', 'nd', 'rd'][count > 3 ? 0 : count]}`;
  }

  /** The connection is gone: how the return before went is not of interest any more. */
  away() {
    at('rung').textContent = 'not back yet';
    at('rung').dataset.rung = 'away';
    at('replayed').textContent = '–';
    at('lost').textContent = '–';
  }

  /**
   * How a return went, in figures and in a sentence.
   * @param {any} returned
   * @param {'reload' | 'takeBack' | null} deed what the player did to bring it about
   */
  returned({ rung, reason, replayed, lost, after }, deed) {
    const count = lost.upstream + lost.sends.length;
    const why = whyOf(rung, reason, after, deed);
    at('rung').textContent = `${rung[0].toUpperCase()}${rung.slice(1)}: ${why}`;
    at('rung').dataset.rung = rung;
    at('replayed').textContent = String(replayed);
    at('lost').textContent = String(count);
    const words = {
      replayed: `You are back: ${replayed} messages caught up, ${why}.`,
      resynced: `You are back with a fresh picture: ${why}.`,
      new: `A new session: ${why}.`,
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
    const wasThere = !button.hidden;
    button.hidden = !words.button;
    button.textContent = words.button ?? '';
    button.onclick = (event) => {
      words.act?.();
      backToGame(event);
    };
    if (words.button && !wasThere) button.focus();
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

/** One reason, for strip and notice alike. */
function whyOf(rung, reason, after, deed) {
  if (rung === 'new') return AFTER[after] ?? after ?? REASONS[reason] ?? reason;
  return (rung === 'resynced' && deed && DEEDS[deed]) || (REASONS[reason] ?? reason);
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
