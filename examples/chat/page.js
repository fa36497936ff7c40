// The chat in a page, without a build step. The query may name who you are, the room and the server:
// ?name=Ann&room=lobby&server=ws://localhost:7400/play

import { connect } from '../../sdk/js/src/index.js';
import { enterChat } from './chat.js';

const query = new URLSearchParams(location.search);
const lines = document.querySelector('#lines');
const input = document.querySelector('#line');

// Text only, whatever somebody wrote.
function show(line, from) {
  const item = document.createElement('li');
  item.textContent = from === null ? line : `${from}: ${line}`;
  item.className = from === null ? 'happened' : 'said';
  lines.append(item);
  item.scrollIntoView();
}

const player = connect(query.get('server') ?? `ws://${location.hostname}:7400/play`);
player.on('takenOver', () => show('you are chatting in another tab now', null));
player.on('failed', ({ error }) => show(error.message, null));
const say = await enterChat(player, query.get('name') ?? 'somebody', query.get('room') ?? 'lobby', show);
input.disabled = false;
document.querySelector('#form').addEventListener('submit', (event) => {
  event.preventDefault();
  try {
    say(input.value);
    input.value = '';
  } catch (error) {
    show(`not sent: ${error.message}`, null);
  }
});
