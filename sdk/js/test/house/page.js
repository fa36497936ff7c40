// The page of the browser tests: a player, and what it heard. The address of the server is in the query.

import { connect, text } from '/src/index.js';

const query = new URLSearchParams(location.search);
const told = [];
const heard = [];
if (query.has('full')) {
  Storage.prototype.setItem = () => {
    throw new DOMException('no more room', 'QuotaExceededError');
  };
}
// Whoever is patient waits for up to a quarter of the hold, and tries sooner only when there is reason to.
const patience = query.has('patient') ? { backoffBaseMs: 600_000, backoffMaxMs: 600_000 } : {};
const player = connect(query.get('server'), { latencyEveryMs: 100, ...patience });
player.on('message', ({ payload }) => heard.push(text(payload)));
player.on('*', (name, event) => {
  if (['connected', 'returned', 'takenOver', 'storageFailed', 'resync', 'failed', 'stopped', 'reconnecting'].includes(name)) {
    // With how much had been heard by then.
    told.push([name, JSON.parse(JSON.stringify(event, (_, value) => (typeof value === 'bigint' ? String(value) : value))), heard.length]);
  }
  document.querySelector('#log').textContent = `${player.status}, ${heard.length} heard\n`;
});
globalThis.game = { player, told, heard };
