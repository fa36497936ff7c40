// A chat in a room of the relay: what the page and the terminal have in common. Who somebody is stands in
// the room as a value of their own, so whoever comes later knows all names without asking.

import { text } from '../../sdk/js/src/index.js';
import { Room } from '../../sdk/js/src/relay.js';

/**
 * Enters the room and tells `show` every line of the chat: `(line, from)`, where `from` is the name of who
 * said it, or null for what just happened. Gives the function that says something.
 */
export async function enterChat(player, name, roomName, show) {
  const room = new Room(player, roomName);
  // Remembered: with somebody who leaves, their values go.
  const names = new Map();
  const nameOf = (member) => {
    const known = room.get('name', member);
    if (known) names.set(member, text(known.value));
    return names.get(member) ?? `guest ${member}`;
  };
  const happened = (line) => show(line, null);

  room.on('said', ({ from, body }) => show(text(body), from === null ? 'somebody' : nameOf(from)));
  room.on('value', ({ key, of, value }) => key === 'name' && value && of !== room.you && happened(`${nameOf(of)} is here`));
  room.on('dropped', ({ member }) => happened(`${nameOf(member)} has lost the connection and is waited for`));
  room.on('back', ({ member }) => happened(`${nameOf(member)} is back`));
  room.on('parted', ({ member, cause }) => happened(`${nameOf(member)} has gone: ${cause}`));
  room.on('lost', ({ cause }) => {
    happened(`the room is lost: ${cause}`);
    enter().catch((error) => happened(`it cannot be entered again: ${error.message}`));
  });
  player.on('disconnected', () => happened('the connection is gone; what you say now is sent later'));
  player.on('returned', (event) => happened(`back, ${event.rung}: ${outcome(event)}`));

  async function enter() {
    await room.enter();
    await room.set('name', name, { isMine: true });
    const others = [...room.members.keys()].filter((member) => member !== room.you).map(nameOf);
    happened(others.length === 0 ? 'nobody else is here' : `here are ${others.join(', ')}`);
  }
  await enter();
  return (line) => room.send(line, { to: 'all' });
}

/** What a return has cost, in words. */
function outcome({ rung, reason, after, replayed, lost }) {
  const words = {
    replayed: `${replayed} missed, nothing lost`,
    resynced: reason === 'overrun' ? 'more was said than is kept, and what you missed is lost' : `what you had heard is not known here (${reason})`,
    new: `your old session is gone (${after ?? reason}), and what was said meanwhile is lost`,
  };
  const doubt = lost.sends.length > 0 ? `; ${lost.sends.length} of your own lines may be lost` : '';
  return words[rung] + doubt;
}
