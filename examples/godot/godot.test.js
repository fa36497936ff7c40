// The GDScript client in Debian's godot3-server, over cut connections.

import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { isInstalled, playOverCuts, playPastHold } from '../../sdk/js/test/house/engine.js';
import { noServer, serve } from '../../sdk/js/test/house/server.js';

const noGodot = !isInstalled('godot3-server') && 'godot3-server is not installed';
const options = { skip: noServer || noGodot, timeout: 120_000 };

/** A server, and the client in a folder of its own: Godot writes its logs where it runs. */
async function prepare(t, settings) {
  const cwd = mkdtempSync(`${tmpdir()}/rejoin-godot-`);
  t.after(() => rmSync(cwd, { recursive: true }));
  for (const file of ['rejoin.gd', 'main.gd']) cpSync(fileURLToPath(new URL(file, import.meta.url)), `${cwd}/${file}`);
  writeFileSync(`${cwd}/rejoin.toml`, settings);
  const server = await serve(['--config', `${cwd}/rejoin.toml`]);
  t.after(() => server.stop());
  return [server, { command: ['godot3-server', '-s', 'main.gd'], cwd, name: 'godot' }];
}

test('a GDScript client says and hears everything once and in order over three cuts', options, async (t) => {
  await playOverCuts(t, ...(await prepare(t, '')));
});

test('a GDScript client whose session is gone logs in again and joins again', options, async (t) => {
  await playPastHold(t, ...(await prepare(t, '[zone.relay]\nhold_ms = 1000\n')));
});
