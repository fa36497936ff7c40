// A game in TypeScript: compiled against the declarations that are packed, never run.

import { CallError, SendError, connect, memoryStorage, text, type PlayerEvents, type Storage } from 'rejoin';
import { Machine } from 'rejoin/machine';
import { RelayError, Room, type Value } from 'rejoin/relay';

const storage: Storage = memoryStorage();
const player = connect('wss://play.example/play', { storage, login: 'secret', sendBufferFramesMax: 10 });

player.on('returned', ({ rung, replayed, lost }) => {
  const known: 'replayed' | 'resynced' | 'new' = rung;
  const count: number = replayed + lost.upstream + lost.sends.length;
  console.log(known, count);
});
player.on('message', ({ payload }) => console.log(text(payload)));
player.on('*', (name, event) => console.log(name, event));
// @ts-expect-error there is no such event
player.on('reconnected', () => {});
// @ts-expect-error there is no such field
player.on('message', ({ words }) => words);
// @ts-expect-error a payload is text or bytes
player.send(7);
// @ts-expect-error there is no such login
connect('wss://play.example/play', { login: 'password' });

export async function play(): Promise<PlayerEvents['joined']> {
  try {
    const id: number = player.send('x');
    const reply: Uint8Array = await player.call(new Uint8Array(id), { deadlineMs: 100 });
    console.log(reply.length, player.latency?.smoothedMs, player.zone?.name, Machine.name);
  } catch (error) {
    if (error instanceof CallError && error.kind === 'outcome_unknown') console.log(error.isLate);
    if (error instanceof SendError && error.kind === 'full') console.log('later');
  }
  return player.join('relay', 'lobby', { create: true });
}

export async function lead(name: string): Promise<Room> {
  const room = new Room(player, name);
  room.on('said', ({ from, body }) => console.log(from ?? 'somebody', text(body)));
  room.on('value', ({ value }) => console.log(value?.version));
  // @ts-expect-error there is no such event
  room.on('shouted', () => {});
  await room.enter({ create: true });
  // @ts-expect-error there is no such order
  await room.lead('win');
  const known: Value | null = room.get('map');
  try {
    const version: string = await room.set('map', 'cave', { ifVersion: known?.version ?? 0 });
    room.send(version, { to: 'host' });
  } catch (error) {
    if (error instanceof RelayError) console.log(error.reason, error.version);
  }
  return room;
}
