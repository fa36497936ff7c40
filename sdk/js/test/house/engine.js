// A client in another language, as a program: `<url> <room> <name> <count>` joins the room, says `name 1` to
// `name count`, prints `connected <rung> <reason>` and `heard <words>`, and ends when it hears `bye`.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { cable } from './cable.js';
import { enter, numbered, play, say, until } from './room.js';

/** Whether a program can be called. */
export function isInstalled(program) {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
}

/** Starts the program behind a cable, in a room with a player of this process. */
async function start(t, server, { command, cwd, name }, count) {
  const near = await cable(server.port);
  t.after(() => near.close());
  const { player, heard } = play(t, server.url);
  await enter(player, name);
  const [program, ...args] = command;
  const child = spawn(program, [...args, near.url, name, name, String(count)], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  const exit = once(child, 'exit');
  const lines = [];
  const output = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const isAlive = exit.then(() => assert.fail(`it ended too early:\n${lines.join('\n')}`));
  isAlive.catch(() => {});
  return {
    near,
    player,
    said: () => heard.filter((words) => words.startsWith(name)),
    told: (what) => lines.filter((line) => line.startsWith(`${what} `)).map((line) => line.slice(what.length + 1)),
    /** Waits until this holds of what it printed and said. */
    seen(holds) {
      const printed = new Promise((resolve) => {
        output.on('line', () => holds() && resolve());
      });
      return Promise.race([isAlive, printed, until(player, holds)]);
    },
    async end() {
      say(player, 'bye');
      const [code] = await exit;
      assert.equal(code, 0, lines.join('\n'));
    },
  };
}

/** Plays the program over three cuts: what it says and hears comes once and in order. */
export async function playOverCuts(t, server, engine) {
  const { near, player, said, told, seen, end } = await start(t, server, engine, 60);
  const words = numbered('node', 60);
  for (const round of [0, 1, 2]) {
    await seen(() => told('connected').length > round && said().length > round * 10);
    near.unplug();
    words.slice(round * 20, round * 20 + 20).forEach((each) => say(player, each));
    await until(player, () => player.buffered.frames === 0);
    near.plug();
  }
  await seen(() => said().length >= 60 && told('heard').length >= 60);
  await end();
  assert.deepEqual(said(), numbered(engine.name, 60));
  assert.deepEqual(told('heard'), [...words, 'bye']);
  const [first, ...again] = told('connected');
  assert.equal(first, 'RUNG_NEW RUNG_REASON_FIRST');
  assert.ok(again.length >= 3, again.join('\n'));
  assert.deepEqual(new Set(again), new Set(['RUNG_REPLAYED RUNG_REASON_COMPLETE']));
}

/** Keeps the program away until its session is gone: it logs in again, is told so, and plays on. */
export async function playPastHold(t, server, engine) {
  const { near, player, said, told, seen, end } = await start(t, server, engine, 5000);
  await seen(() => said().length > 0);
  near.unplug();
  // Longer than the holds of room and session together.
  await new Promise((resolve) => setTimeout(resolve, 2500));
  near.plug();
  const before = said().length;
  await seen(() => told('connected').length >= 2 && said().length > before);
  say(player, 'welcome back');
  await seen(() => told('heard').includes('welcome back'));
  await end();
  assert.deepEqual(told('connected'), Array(2).fill('RUNG_NEW RUNG_REASON_FIRST'));
  const numbers = said().map((words) => Number(words.split(' ')[1]));
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b), 'nothing twice, and in order');
}
