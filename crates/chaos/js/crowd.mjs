/**
 * Players of the JavaScript SDK for a run of chaos, all in one process. Arguments: the SDK's index.js, the
 * server, the players' numbers with commas between, how many share a room, and the time between two words
 * in ms. It says `ready`, then how far everybody is, a line of JSON each; it is told `1` when there is
 * nothing more to say and `2` when it is over, and ends with everybody's notes.
 */

import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const [sdk, url, numbers, room, pace] = process.argv.slice(2);
const { connect, text } = await import(pathToFileURL(sdk).href);

/** Every so many words a request. */
const REQUEST_EVERY = 8;
/** Far above what anything takes: whatever hangs ends, and is told. */
const PATIENCE_MS = 180_000;
const PROGRESS_EVERY_MS = 100;

const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
let phase = 0;
const orders = createInterface({ input: process.stdin });
const until = (wanted) => {
  return new Promise((resolve) => orders.on('line', () => phase >= wanted && resolve()));
};
orders.on('line', (line) => (phase = Number(line)));
const [isSaid, isOver] = [until(1), until(2)];
// Whoever started this is gone.
process.stdin.on('end', () => process.exit(1));

class Talker {
  #player = connect(url, { latencyEveryMs: 0 });
  #droppedAt = null;
  #isIn = false;
  index;
  heardCount = 0;
  notes;

  constructor(index) {
    this.index = index;
    const [said, answered, unanswered, wrong_rungs] = [0, 0, 0, 0];
    const [heard, returns_ms, is_stopped] = [{}, [], false];
    this.notes = { index, said, answered, unanswered, heard, wrong_rungs, returns_ms, is_stopped };
    this.#listen();
  }

  get isAway() {
    return this.#droppedAt !== null;
  }

  #listen() {
    this.#player.on('message', ({ payload }) => {
      const [from, number] = text(payload).split(' ').map(Number);
      (this.notes.heard[from] ??= []).push(number);
      this.heardCount += 1;
    });
    this.#player.on('connected', ({ rung }) => {
      if (!this.#isIn) return;
      this.notes.wrong_rungs += rung === 'replayed' ? 0 : 1;
      if (this.isAway) this.notes.returns_ms.push(performance.now() - this.#droppedAt);
      this.#droppedAt = null;
    });
    this.#player.on('disconnected', () => (this.#droppedAt ??= performance.now()));
    for (const end of ['stopped', 'takenOver', 'left', 'parted', 'failed']) {
      this.#player.on(end, () => (this.notes.is_stopped = true));
    }
  }

  async enter() {
    const name = `room-${Math.floor(this.index / Number(room))}`;
    await this.#player.join('relay', name, { create: true, deadlineMs: PATIENCE_MS });
    this.#isIn = true;
  }

  async talk() {
    const { notes, index } = this;
    const answers = [];
    while (phase === 0) {
      try {
        this.#player.send(`${index} ${notes.said}`);
        notes.said += 1;
      } catch (error) {
        // A full buffer is not a lost word: it was never taken.
        if (error.kind !== 'full') throw error;
      }
      if (notes.said % REQUEST_EVERY === 1) answers.push(this.#ask(answers.length));
      await Promise.race([wait(Number(pace)), isSaid]);
    }
    for (const answer of answers) notes[(await answer) ? 'answered' : 'unanswered'] += 1;
  }

  async #ask(number) {
    const question = `echo ${this.index} ${number}`;
    try {
      return text(await this.#player.call(question, { deadlineMs: PATIENCE_MS })) === question;
    } catch {
      return false;
    }
  }

  /** What became of it; whoever is away at the end has not come back. */
  end() {
    const notes = { ...this.notes, is_stopped: this.notes.is_stopped || this.isAway };
    this.#player.close();
    return notes;
  }
}

const talkers = numbers.split(',').map((number) => new Talker(Number(number)));
for (const talker of talkers) await talker.enter();
tell('ready');
const progress = () => {
  tell({ progress: talkers.map(({ notes, heardCount, isAway }) => [notes.said, heardCount, isAway]) });
};
const beat = setInterval(progress, PROGRESS_EVERY_MS);
const talking = talkers.map((talker) => talker.talk());
await isOver;
await Promise.all(talking);
clearInterval(beat);
tell({ notes: talkers.map((talker) => talker.end()) });
process.stdin.destroy();
setTimeout(() => process.exit(0), 1_000).unref();
