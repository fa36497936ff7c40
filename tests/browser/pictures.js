// Takes the pictures in docs/img: npm run pictures. They show the real page on the real server.

import { mkdirSync } from 'node:fs';

import { serve } from '../../sdk/js/test/house/server.js';
import { launch } from '../../sdk/js/test/house/site.js';
import { earn, playing, slide, visit } from './visitor.js';

const folder = new URL('../../docs/img/', import.meta.url).pathname;
const DESKTOP = { viewport: { width: 1280, height: 760 }, colorScheme: 'dark' };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2, colorScheme: 'light' };

mkdirSync(folder, { recursive: true });
const [server, browser] = await Promise.all([serve(), launch()]);

async function enter(name, settings) {
  const guest = await visit(browser, server, settings);
  await playing(guest.page);
  await guest.page.locator('#name').fill(name);
  await guest.page.locator('#name').press('Enter');
  return guest;
}

const picture = (page, name) => page.screenshot({ path: `${folder}${name}.png` });

try {
  const ann = await enter('Ann', DESKTOP);
  const bob = await enter('Bob', DESKTOP);
  await Promise.all([earn(ann.page, 7), earn(bob.page, 4)]);
  await ann.page.locator('#cut').click();
  await ann.page.locator('#rung[data-rung=replayed]').waitFor();
  await ann.page.waitForTimeout(5500);
  await picture(ann.page, 'arena');

  await slide(bob.page, '#offline-seconds', 12);
  await bob.page.locator('#offline').click();
  await ann.page.locator('#board li.away').waitFor();
  await ann.page.waitForTimeout(2500);
  await picture(ann.page, 'arena-ghost');
  await picture(bob.page, 'arena-lost');

  const cat = await enter('Cat', PHONE);
  await cat.page.waitForTimeout(3000);
  await picture(cat.page, 'arena-phone');

  await ann.open();
  await ann.page.locator('#state[data-state=elsewhere]').waitFor();
  await picture(ann.page, 'arena-takeover');
} finally {
  await browser.close();
  await server.stop();
}
