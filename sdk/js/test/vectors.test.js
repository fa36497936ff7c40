// Every golden vector of the protocol, valid and refused, through both codecs.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { nextAfter, codeOf, statusOf } from '../src/close.js';
import { decodeClient, decodeServer, encodeClient, encodeServer } from '../src/codec.js';
import { unpack } from '../src/compression.js';
import { LIMITS } from '../src/limits.js';
import { signedText } from '../src/proof.js';
import { ENUMS, MESSAGES } from '../src/schema.js';

const vectors = (name) => JSON.parse(readFileSync(new URL(`../../../vectors/${name}`, import.meta.url), 'utf8'));
const unhex = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));
const hex = (bytes) => Buffer.from(bytes).toString('hex');

test('every frame is read and written as the vectors say', () => {
  const frames = vectors('frames.json');
  assert.ok(frames.length > 50);
  for (const { name, direction, proto_hex: proto, json } of frames) {
    const [read, write] = direction === 'client' ? [decodeClient, encodeClient] : [decodeServer, encodeServer];
    const fromBytes = read('protobuf', unhex(proto), LIMITS);
    const fromText = read('json', JSON.stringify(json), LIMITS);
    assert.deepEqual(fromBytes, fromText, name);
    assert.equal(hex(write('protobuf', fromText)), proto, name);
    assert.deepEqual(JSON.parse(write('json', fromBytes)), json, name);
  }
});

test('every refused input is refused for the reason the vectors give', () => {
  const refused = vectors('refused.json');
  assert.ok(refused.length > 40);
  for (const { name, direction, proto_hex: proto, json_text: text, error, close_code: code } of refused) {
    const read = direction === 'client' ? decodeClient : decodeServer;
    const decode = () => (text === undefined ? read('protobuf', unhex(proto), LIMITS) : read('json', text, LIMITS));
    assert.throws(decode, (thrown) => {
      assert.equal(thrown.name, 'DecodeError', `${name}: ${thrown.stack}`);
      assert.equal(thrown.kind, error, name);
      assert.equal(`CLOSE_CODE_${thrown.closeCode.toUpperCase()}`, code, name);
      return true;
    });
  }
});

test('every compressed frame of a server is what the vectors say', async () => {
  const packed = vectors('packed.json').filter(({ direction }) => direction === 'server');
  assert.ok(packed.length > 5);
  for (const { name, packed_hex: bytes, proto_hex: frame, error } of packed) {
    const unpacked = unpack(unhex(bytes), LIMITS.serverFrameBytesMax);
    if (error === undefined) assert.equal(hex(await unpacked), frame, name);
    else await assert.rejects(unpacked, { name: 'DecodeError', kind: error }, name);
  }
});

test('no part of a frame, and no frame with one byte changed, does anything but give a frame or a DecodeError', () => {
  for (const { direction, proto_hex: proto, json } of vectors('frames.json')) {
    const read = direction === 'client' ? decodeClient : decodeServer;
    const attempt = (encoding, data) => {
      try {
        read(encoding, data, LIMITS);
      } catch (thrown) {
        assert.equal(thrown.name, 'DecodeError', thrown.stack);
      }
    };
    const [bytes, text] = [unhex(proto), JSON.stringify(json)];
    for (let at = 0; at < bytes.length; at += 1) {
      attempt('protobuf', bytes.subarray(0, at));
      for (const change of [1, 0x7f, 0x80]) {
        const changed = bytes.slice();
        changed[at] ^= change;
        attempt('protobuf', changed);
      }
    }
    for (let at = 0; at < text.length; at += 1) {
      attempt('json', text.slice(0, at));
      attempt('json', `${text.slice(0, at)}"${text.slice(at + 1)}`);
    }
  }
});

test('a reader of JSON takes numbers without quotes, snake_case names, and fields it does not know', () => {
  const read = (text) => decodeServer('json', text, LIMITS);
  assert.equal(read('{"applied":{"seq":9007199254740993}}').applied.seq, 9007199254740993n);
  assert.equal(read('{"farewell":{"retry_after_ms":"12","new":[{"a":1,"a":2}]}}').farewell.retryAfterMs, 12);
  assert.equal(read('{"farewell":{"code":4001}}').farewell.code, 'CLOSE_CODE_TAKEN_OVER');
  assert.equal(read('{"farewell":{"code":"CLOSE_CODE_OF_TOMORROW"}}').farewell.code, 'CLOSE_CODE_UNSPECIFIED');
  assert.equal(read(' { "notice" : { "text" : "\\u0041\\n\\"" } } ').notice.text, 'A\n"');
  assert.throws(() => read('{"notice":{"text":"\\ud800"}}'), { kind: 'malformed' });
  assert.throws(() => read('{"farewell":{"retryAfterMs":1,"retry_after_ms":1}}'), { kind: 'malformed' });
});

test('an enum value of tomorrow counts as unspecified in protobuf', () => {
  assert.equal(decodeServer('protobuf', unhex('5a0308b960'), LIMITS).farewell.code, 'CLOSE_CODE_UNSPECIFIED');
});

test('the signed text is that of the vectors', () => {
  const proofs = vectors('proof.json');
  assert.ok(proofs.length > 5);
  for (const proof of proofs) {
    const signed = signedText({
      purpose: proof.purpose,
      version: proof.version,
      serverName: proof.server_name,
      nonce: unhex(proof.nonce_hex),
      session: BigInt(proof.session),
      epoch: BigInt(proof.epoch),
      fresh: proof.fresh,
      cold: proof.cold,
      capabilities: proof.capabilities,
      admission: unhex(proof.admission_hex),
      channelBinding: unhex(proof.channel_binding_hex),
    });
    assert.equal(hex(signed), proof.signed_text_hex, proof.name);
  }
});

test('every close code leads where the table says', () => {
  const rows = vectors('close.json');
  assert.equal(rows.length, ENUMS.CloseCode.byName.size - 1);
  for (const { name, code, next } of rows) {
    const short = name.toLowerCase();
    assert.equal(nextAfter(short), next, name);
    assert.equal(codeOf(code), short);
    assert.equal(statusOf(short), code);
  }
  assert.equal(nextAfter(null), 'resume');
  assert.equal(nextAfter('unspecified'), 'resume');
  assert.equal(codeOf(1006), null);
  assert.equal(statusOf(null), undefined);
});

test('the schema has every message, field, number and enum value of the contract, and no other', () => {
  const proto = readFileSync(new URL('../../../proto/rejoin.proto', import.meta.url), 'utf8').replace(/\/\/.*/g, '');
  const messages = new Map();
  const enums = new Map();
  let oneof = null;
  let open = null;
  for (const line of proto.split('\n').map((each) => each.trim())) {
    const opened = /^(message|enum|oneof) (\w+) \{(\})?$/.exec(line);
    if (opened?.[1] === 'oneof') oneof = opened[2];
    else if (opened) {
      open = [];
      (opened[1] === 'enum' ? enums : messages).set(opened[2], open);
    } else if (line === '}') oneof = null;
    else if (/^(repeated )?\w+ \w+ = \d+;$/.test(line)) {
      const [, repeated, type, name, number] = /^(repeated )?(\w+) (\w+) = (\d+);$/.exec(line);
      open.push([Number(number), name, type, repeated !== undefined, oneof]);
    } else if (/^[A-Z_]+ = \d+;$/.test(line)) {
      const [name, number] = line.replace(';', '').split(' = ');
      open.push([name, Number(number)]);
    }
  }
  const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  assert.deepEqual([...messages.keys()].sort(), Object.keys(MESSAGES).sort());
  for (const [name, fields] of messages) {
    const expected = fields.map(([number, field, type, repeated, part]) => ({ number, name: camel(field), type, repeated, oneof: part }));
    assert.deepEqual(MESSAGES[name].fields, expected, name);
  }
  assert.deepEqual([...enums.keys()].sort(), Object.keys(ENUMS).sort());
  for (const [name, values] of enums) assert.deepEqual([...ENUMS[name].byName], values, name);
});

test('the limits are those that are written down', () => {
  const written = readFileSync(new URL('../../../crates/wire/defaults.txt', import.meta.url), 'utf8');
  const rows = Object.entries(LIMITS).map(([name, value]) => {
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return `wire.${snake} = ${value}`;
  });
  assert.deepEqual(written.split('\n').filter((line) => line && !line.startsWith('#')), rows);
});
