// The C# client, compiled by Mono's mcs and run by mono, over cut connections.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { isInstalled, playOverCuts } from '../../sdk/js/test/house/engine.js';
import { noServer, serve } from '../../sdk/js/test/house/server.js';

const PARTS = ['System.Runtime.Serialization', 'System.Xml', 'System.Xml.Linq'].map((part) => `-r:${part}.dll`);
const noMono = !(isInstalled('mono') && isInstalled('mcs')) && 'mono and mcs are not installed';

test('a C# client says and hears everything once and in order over three cuts', { skip: noServer || noMono, timeout: 120_000 }, async (t) => {
  const cwd = mkdtempSync(`${tmpdir()}/rejoin-mono-`);
  t.after(() => rmSync(cwd, { recursive: true }));
  const sources = ['Rejoin.cs', 'Program.cs'].map((file) => fileURLToPath(new URL(file, import.meta.url)));
  execFileSync('mcs', ['-langversion:7.2', '-warnaserror', ...PARTS, `-out:${cwd}/player.exe`, ...sources], { stdio: 'inherit' });
  const server = await serve();
  t.after(() => server.stop());
  await playOverCuts(t, server, { command: ['mono', 'player.exe'], cwd, name: 'mono' });
});
