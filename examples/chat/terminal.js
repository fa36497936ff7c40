// The chat in a terminal: node terminal.js Ann [lobby] [ws://localhost:7400/play]. Each line that is typed
// is said; the end of the input (ctrl-d) leaves.

import { createInterface } from 'node:readline';

import { connect } from '../../sdk/js/src/index.js';
import { enterChat } from './chat.js';

const [name = 'somebody', room = 'lobby', url = 'ws://localhost:7400/play'] = process.argv.slice(2);
// Another player may have written what would change the colours of this terminal, or worse.
const plain = (words) => words.replace(/\p{Cc}/gu, ' ');
const show = (line, from) => console.log(from === null ? `* ${plain(line)}` : `${plain(from)}: ${plain(line)}`);

const player = connect(url);
player.on('failed', ({ error }) => show(error.message, null));
player.on('dialFailed', ({ text }) => show(text, null));
const say = await enterChat(player, name, room, show);
for await (const line of createInterface({ input: process.stdin })) say(line);
await player.leave();
player.close();
