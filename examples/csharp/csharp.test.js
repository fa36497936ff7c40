// The C# client, compiled by Mono's mcs and run by mono, over cut connections.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { isInstalled, playOverCuts, playPastHold } from '../../sdk/js/test/house/engine.js';
import { noServer, serve } from '../../sdk/js/test/house/server.js';

const PARTS = ['System.Runtime.Serialization', 'System.Xml', 'System.Xml.Linq'].map((part) => `-r:${part}.dll`);
const noMono = !(isInstalled('mono') && isInstalled('mcs')) && 'mono and mcs are not installed';
const options = { skip: noServer || noMono, timeout: 120_000 };
let cwd;

before(() => {
  if (options.skip) return;
  cwd = mkdtempSync(`${tmpdir()}/rejoin-mono-`);
  const sources = ['Rejoin.cs', 'Program.cs'].map((file) => fileURLToPath(new URL(file, import.meta.url)));
  execFileSync('mcs', ['-langversion:7.2', '-warnaserror', ...PARTS, `-out:${cwd}/player.exe`, ...sources], { stdio: 'inherit' });
});
after(() => cwd && rmSync(cwd, { recursive: true }));

async function prepare(t, settings) {
  writeFileSync(`${cwd}/rejoin.toml`, settings);
  const server = await serve(['--config', `${cwd}/rejoin.toml`]);
  t.after(() => server.stop());
  return [server, { command: ['mono', 'player.exe'], cwd, name: 'mono' }];
}

test('a C# client says and hears everything once and in order over three cuts', options, async (t) => {
  await playOverCuts(t, ...(await prepare(t, '')));
});

test('a C# client whose session is gone logs in again and joins again', options, async (t) => {
  await playPastHold(t, ...(await prepare(t, '[zone.relay]\nhold_ms = 1000\n')));
});
