// What a game may write as an address, and where a server may lead.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { follow, parseAddress } from '../src/address.js';
import { connect } from '../src/index.js';

test('host and scheme are found', () => {
  assert.equal(parseAddress('wss://Play.Example/play').hostname, 'play.example');
  assert.equal(parseAddress('ws://[::1]:7400/play').hostname, '[::1]');
  assert.equal(parseAddress('https://play.example/play#top').href, 'wss://play.example/play');
});

test('what is no address is refused at once, with a sentence', () => {
  for (const wrong of ['', 'play', 'ftp://a/', 'ws://', '/play', undefined]) {
    assert.throws(() => connect(wrong), { name: 'OpenError', kind: 'address' }, String(wrong));
  }
  assert.throws(() => connect('ws://a/', { encoding: 'xml' }), { name: 'OpenError', kind: 'option' });
});

test('a server names a host or a whole address, and leads nobody away from TLS', () => {
  const home = parseAddress('ws://home:7400/play');
  assert.equal(follow(home, 'other:7401').href, 'ws://other:7401/play');
  assert.equal(follow(home, 'wss://other/x').href, 'wss://other/x');
  assert.equal(follow(home, 'http://other/x'), null);
  assert.equal(follow(home, '\0'), null);
  const safe = parseAddress('wss://home/play');
  assert.equal(follow(safe, 'other').href, 'wss://other/play');
  assert.equal(follow(safe, 'ws://other/play'), null);
});
