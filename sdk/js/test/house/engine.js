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

/** Plays the program over three cuts: what it says and hears comes once and in order. */
export async function playOverCuts(t, server, { command, cwd, name }) {
  const near = await cable(server.port);
  t.after(() => near.close());
  const { player, heard } = play(t, server.url);
  await enter(player, name);

  const [program, ...args] = command;
  const child = spawn(program, [...args, near.url, name, name, '60'], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  const exit = once(child, 'exit');
  const lines = [];
  const told = (what) => lines.filter((line) => line.startsWith(`${what} `)).map((line) => line.slice(what.length + 1));
  const saidByIt = () => heard.filter((words) => words.startsWith(name));
  const output = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const isAlive = exit.then(() => assert.fail(`it ended too early:\n${lines.join('\n')}`));
  isAlive.catch(() => {});
  /** Waits until this holds of what it printed and said. */
  const seen = (holds) => {
    const printed = new Promise((resolve) => {
      output.on('line', () => holds() && resolve());
    });
    return Promise.race([isAlive, printed, until(player, holds)]);
  };

  const words = numbered('node', 60);
  for (const round of [0, 1, 2]) {
    await seen(() => told('connected').length > round && saidByIt().length > round * 10);
    near.unplug();
    words.slice(round * 20, round * 20 + 20).forEach((each) => say(player, each));
    await until(player, () => player.buffered.frames === 0);
    near.plug();
  }
  await seen(() => saidByIt().length >= 60 && told('heard').length >= 60);
  say(player, 'bye');
  const [code] = await exit;
  assert.deepEqual(saidByIt(), numbered(name, 60));
  assert.deepEqual(told('heard'), [...words, 'bye']);
  const [first, ...again] = told('connected');
  assert.equal(first, 'RUNG_NEW RUNG_REASON_FIRST');
  assert.ok(again.length >= 3, lines.join('\n'));
  assert.deepEqual(new Set(again), new Set(['RUNG_REPLAYED RUNG_REASON_COMPLETE']));
  assert.equal(code, 0);
}
