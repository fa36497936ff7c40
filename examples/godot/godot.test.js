// The GDScript client in Debian's godot3-server, over cut connections.

import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { isInstalled, playOverCuts } from '../../sdk/js/test/house/engine.js';
import { noServer, serve } from '../../sdk/js/test/house/server.js';

const noGodot = !isInstalled('godot3-server') && 'godot3-server is not installed';

test('a GDScript client says and hears everything once and in order over three cuts', { skip: noServer || noGodot, timeout: 120_000 }, async (t) => {
  const server = await serve();
  t.after(() => server.stop());
  // Godot writes its logs where it runs.
  const cwd = mkdtempSync(`${tmpdir()}/rejoin-godot-`);
  t.after(() => rmSync(cwd, { recursive: true }));
  for (const file of ['rejoin.gd', 'main.gd']) cpSync(fileURLToPath(new URL(file, import.meta.url)), `${cwd}/${file}`);
  await playOverCuts(t, server, { command: ['godot3-server', '-s', 'main.gd'], cwd, name: 'godot' });
});
