// The scripts that clients in every language are held to, played by the machine in both encodings. What
// they expect was written down from the Rust client; conformance/README.md tells the form.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

import { decodeClient, decodeServer, encodeClient, encodeServer } from '../src/codec.js';
import { DEFAULTS, configOf } from '../src/config.js';
import { LIMITS } from '../src/limits.js';
import { Machine } from '../src/machine.js';

const folder = new URL('../../../conformance/', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
const bytes = (text) => new TextEncoder().encode(text);
const text = (payload) => new TextDecoder('utf-8', { fatal: true }).decode(payload);
const same = (byte, length) => new Uint8Array(length).fill(Number(byte));
const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

for (const file of files) {
  const script = JSON.parse(readFileSync(new URL(file, folder), 'utf8'));
  for (const encoding of script.encodings ?? ['protobuf', 'json']) {
    test(`${file.replace('.json', '')}, ${encoding}: ${script.about}`, () => play(script, encoding));
  }
}

test('there are scripts', () => assert.ok(files.length > 20));

test('the defaults are those of the Rust client', () => {
  const written = readFileSync(new URL('../../../crates/client/defaults.txt', import.meta.url), 'utf8');
  const rows = Object.entries(DEFAULTS).map(([name, value]) => `client.${snake(name)} = ${value}`);
  assert.deepEqual(written.split('\n').filter((line) => line && !line.startsWith('#')), rows);
});

function play(script, encoding) {
  const machine = machineOf(script, encoding);
  let now = 0;
  for (const [index, step] of script.steps.entries()) {
    if (step.at === 'deadline') now = Math.max(now, machine.deadline);
    else if (step.at !== undefined) now = step.at * 1000;
    const returned = act(machine, now, encoding, step.do);
    const played = { outputs: drain(machine, encoding), status: machine.status, deadline: machine.deadline };
    if (returned !== undefined) played.returns = returned;
    if (machine.latency) played.latency = [machine.latency.lastUs, machine.latency.smoothedUs];
    const { at, do: input, about, ...expected } = step;
    assert.deepEqual(played, expected, `step ${index + 1}, ${about ?? JSON.stringify(input)}`);
  }
}

function machineOf({ config = {}, identity, resume_state: state, chance = [] }, encoding) {
  const settings = Object.fromEntries(Object.entries(config).map(([name, value]) => [camel(name), value]));
  if (settings.admission) settings.admission = bytes(settings.admission);
  const drawn = chance.map(BigInt);
  return new Machine(
    configOf('play.example', { ...settings, encoding }),
    identityOf(identity),
    () => drawn.shift() ?? 0n,
    state && { session: BigInt(state.session), token: same(state.token, 32), epoch: BigInt(state.epoch) },
  );
}

function identityOf(identity) {
  if (identity === 'anonymous') return { kind: 'anonymous' };
  if (identity.key) return { kind: 'key', publicKey: same(identity.key, 32) };
  return { kind: 'secret', secret: identity.secret === null ? null : same(identity.secret, 32) };
}

/** One input; what a send returned. */
function act(machine, now, encoding, input) {
  const [word, given] = typeof input === 'string' ? [input, null] : Object.entries(input)[0];
  const commands = {
    join: () => machine.join({ kind: given.kind, name: given.name, create: given.create ?? false, payload: bytes(given.payload ?? ''), ticket: given.ticket }),
    part: () => machine.part(),
    send: () => machine.send(bytes(given)),
    send_latest: () => machine.sendLatest(given.key, bytes(given.payload)),
    send_unreliable: () => machine.sendUnreliable(bytes(given)) ?? null,
    request: () => machine.request(bytes(given)),
    answer: () => machine.answer(BigInt(given.call), bytes(given.payload)),
  };
  if (commands[word]) {
    try {
      return commands[word]();
    } catch (error) {
      assert.equal(error.name, 'SendError', error.stack);
      return { error: error.kind };
    }
  }
  if (word === 'receive') {
    const frame = decodeServer('json', JSON.stringify(given), LIMITS);
    machine.received(now, encodeServer(encoding, frame));
  } else if (word === 'receive_text') {
    machine.received(now, encoding === 'json' ? given : bytes(given));
  } else {
    machine[camel(word)](now, given);
  }
  return undefined;
}

/** Everything the machine wants done. A text is signed at once. */
function drain(machine, encoding) {
  const outputs = [];
  for (let output = machine.nextOutput(); output; output = machine.nextOutput()) {
    if (output.type === 'sign') machine.signed(output.attempt, echo(output.text));
    else outputs.push(said(output, encoding));
  }
  return outputs;
}

function said(output, encoding) {
  switch (output.type) {
    case 'connect': return { connect: output.addresses };
    case 'send': return { send: JSON.parse(encodeClient('json', decodeClient(encoding, output.data, LIMITS))) };
    case 'close': return { close: output.code };
    case 'store_secret': return { store_secret: String(output.secret[0]) };
    case 'forget_token': return { forget_token: {} };
    case 'event': return { event: eventSaid(output.event) };
    default: {
      const { session, token, epoch } = output.state;
      return { store_token: { session: String(session), token: String(token[0]), epoch: String(epoch) } };
    }
  }
}

function eventSaid({ type, ...fields }) {
  if (type === 'violation') delete fields.text;
  const plain = (value) => {
    if (typeof value === 'bigint') return String(value);
    if (value instanceof Uint8Array) return text(value);
    if (Array.isArray(value)) return value.map(plain);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([name, held]) => [snake(name), plain(held)]));
  };
  if (fields.player) fields.player = String(fields.player[0]);
  return { [type]: plain(fields) };
}

/** No signature, but bytes that show what was signed. */
function echo(signedText) {
  const sum = new Uint8Array(64);
  signedText.forEach((byte, index) => {
    sum[index % 64] ^= ((byte << 1) | (byte >> 7)) & 0xff;
  });
  return sum;
}
